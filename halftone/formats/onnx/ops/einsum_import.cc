// SPDX-License-Identifier: Apache-2.0
// Einsum, decomposed into transposes, reshapes, sums and matrix products.
#include <algorithm>
#include <cctype>
#include <string>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/formats/onnx/tensors.h"

namespace halftone::formats::onnx {
namespace {

using ir::ValueId;
/// A label for each axis: a letter, or a digit for an axis of "...", counted from the last one.
using Labels = std::string;

constexpr std::size_t kMaxHidden = 10;

/// A value with its labels.
struct Term {
  ValueId value = ir::kAbsent;
  Labels labels;
};

struct Equation {
  std::vector<Labels> inputs;
  Labels output;
};

bool has(const Labels& labels, char label) { return labels.find(label) != Labels::npos; }

/// The labels as written, with "..." as '.'.
Labels read_labels(const std::string& text) {
  Labels labels;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (text.compare(i, 3, "...") == 0 && !has(labels, '.')) {
      labels += '.';
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      labels += c;
    } else {
      fail(ErrorKind::kFormat, "equation: expected letters, found '" + text + "'");
    }
  }
  return labels;
}

/// Expands "..." to labels of `hidden` axes.
Labels spelled_out(const Labels& labels, std::size_t hidden) {
  const std::size_t dots = labels.find('.');
  if (dots == Labels::npos) return labels;
  Labels digits;
  for (std::size_t i = hidden; i-- > 0;) digits += static_cast<char>('0' + i);
  return labels.substr(0, dots) + digits + labels.substr(dots + 1);
}

/// The output of an equation that states none: "...", then the letters that occur once.
Labels implied_output(const std::vector<Labels>& inputs) {
  Labels all;
  for (const Labels& labels : inputs) all += labels;
  Labels output = has(all, '.') ? "." : "";
  Labels once;
  for (const char label : all) {
    if (label != '.' && std::ranges::count(all, label) == 1) once += label;
  }
  std::ranges::sort(once);
  return output + once;
}

Equation read_equation(const std::string& text) {
  Equation equation;
  const std::size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow) + ",";
  for (std::size_t comma = 0; (comma = left.find(',')) != std::string::npos;) {
    equation.inputs.push_back(read_labels(left.substr(0, comma)));
    left.erase(0, comma + 1);
  }
  equation.output = arrow == std::string::npos ? implied_output(equation.inputs)
                                               : read_labels(text.substr(arrow + 2));
  return equation;
}

/// Transposes the value to the order of `labels`, a permutation of its own labels.
Term ordered(NodeBuilder& node, const Term& term, const Labels& labels) {
  std::vector<std::size_t> permutation;
  for (const char label : labels) permutation.push_back(term.labels.find(label));
  return {emit_transpose(node, std::move(permutation), term.value), labels};
}

/// Replaces two axes with the same label by their diagonal.
Term without_repeats(NodeBuilder& node, Term term) {
  for (std::size_t i = 0; i < term.labels.size(); ++i) {
    const std::size_t second = term.labels.find(term.labels[i], i + 1);
    if (second == Labels::npos) continue;
    std::vector<std::size_t> permutation;
    for (std::size_t axis = 0; axis < term.labels.size(); ++axis) {
      if (axis != i && axis != second) permutation.push_back(axis);
    }
    permutation.insert(permutation.end(), {i, second});
    const ValueId moved = emit_transpose(node, permutation, term.value);
    const auto dims = node.type(moved).shape.dims();
    std::vector<ir::Dim> merged(dims.begin(), dims.end() - 1);
    const ir::Dim n = merged.back();
    if (n != dims.back() || n < 1) fail(ErrorKind::kShape, "a diagonal of unequal extents");
    merged.back() = product_of(dims.last(2));
    const ValueId flat = node.reshape(moved, ir::Shape(merged));
    const ir::Slice diagonal{merged.size() - 1, 0, n + 1, static_cast<std::size_t>(n)};
    term.value = node.emit(diagonal, {flat});
    const char label = term.labels[i];
    std::erase(term.labels, label);
    term.labels += label;
    i = static_cast<std::size_t>(-1);  // restart from the front
  }
  return term;
}

/// Sums over the axes whose labels are not in `needed`.
Term summed(NodeBuilder& node, Term term, const Labels& needed) {
  std::vector<std::size_t> axes;
  Labels kept;
  for (std::size_t i = 0; i < term.labels.size(); ++i) {
    if (has(needed, term.labels[i])) {
      kept += term.labels[i];
    } else {
      axes.push_back(i);
    }
  }
  if (axes.empty()) return term;
  return {emit_reduce(node, ir::ReduceKind::kSum, axes, false, term.value), kept};
}

Labels filtered(const Labels& labels, const Labels& other, bool in_other) {
  Labels result;
  for (const char label : labels) {
    if (has(other, label) == in_other) result += label;
  }
  return result;
}

std::vector<ir::Dim> extents(NodeBuilder& node, const Term& term, const Labels& labels) {
  std::vector<ir::Dim> dims;
  for (const char label : labels) {
    dims.push_back(node.type(term.value).shape[term.labels.find(label)]);
  }
  return dims;
}

/// The term as [shared..., rows, cols], with the axes of rows and of cols merged.
ValueId as_matrices(NodeBuilder& node, const Term& term, const Labels& shared, const Labels& rows,
                    const Labels& cols) {
  const Term moved = ordered(node, term, shared + rows + cols);
  std::vector<ir::Dim> dims = extents(node, term, shared);
  dims.push_back(product_of(extents(node, term, rows)));
  dims.push_back(product_of(extents(node, term, cols)));
  return node.reshape(moved.value, ir::Shape(std::move(dims)));
}

/// The product of two terms, summed over the labels that are not in `needed`.
Term multiplied(NodeBuilder& node, Term a, Term b, const Labels& needed) {
  a = summed(node, std::move(a), b.labels + needed);
  b = summed(node, std::move(b), a.labels + needed);
  const Labels common = filtered(a.labels, b.labels, true);
  const Labels shared = filtered(common, needed, true);
  const Labels inner = filtered(common, needed, false);
  const Labels left = filtered(a.labels, b.labels, false);
  const Labels right = filtered(b.labels, a.labels, false);
  const ValueId lhs = as_matrices(node, a, shared, left, inner);
  const ValueId rhs = as_matrices(node, b, shared, inner, right);
  const ValueId product = node.emit(ir::MatMul{}, {lhs, rhs});
  const auto found = node.type(product).shape.dims();
  std::vector<ir::Dim> dims(found.begin(), found.end() - 2);
  for (const ir::Dim dim : extents(node, a, left)) dims.push_back(dim);
  for (const ir::Dim dim : extents(node, b, right)) dims.push_back(dim);
  return {node.reshape(product, ir::Shape(std::move(dims))), shared + left + right};
}

void build_einsum(NodeBuilder& node) {
  Equation equation = read_equation(node.string_attribute("equation", ""));
  if (equation.inputs.size() != node.num_inputs()) {
    fail(ErrorKind::kFormat, "equation: expected labels of " + std::to_string(node.num_inputs()) +
                                 " inputs, found those of " +
                                 std::to_string(equation.inputs.size()));
  }
  std::vector<Term> terms;
  std::size_t max_hidden = 0;
  for (std::size_t i = 0; i < node.num_inputs(); ++i) {
    const Labels& labels = equation.inputs[i];
    const std::size_t rank = node.input_type(i).shape.rank();
    const std::size_t letters = labels.size() - (has(labels, '.') ? 1 : 0);
    const std::size_t hidden = rank - std::min(letters, rank);
    if (letters > rank || (hidden != 0 && !has(labels, '.')) || hidden > kMaxHidden) {
      fail(ErrorKind::kShape,
           "equation: labels '" + labels + "' do not fit " + node.input_type(i).shape.to_string());
    }
    max_hidden = std::max(max_hidden, hidden);
    terms.push_back(without_repeats(node, {node.input(i), spelled_out(labels, hidden)}));
  }
  const Labels output = spelled_out(equation.output, max_hidden);
  Term result = terms[0];
  for (std::size_t i = 1; i < terms.size(); ++i) {
    Labels needed = output;
    for (std::size_t k = i + 1; k < terms.size(); ++k) needed += terms[k].labels;
    result = multiplied(node, std::move(result), terms[i], needed);
  }
  result = summed(node, std::move(result), output);
  Labels sorted_output = output;
  Labels sorted_result = result.labels;
  std::ranges::sort(sorted_output);
  std::ranges::sort(sorted_result);
  if (sorted_output != sorted_result) {
    fail(ErrorKind::kFormat, "equation: the output's labels are not those of the inputs");
  }
  node.set_output(0, ordered(node, result, output).value);
}

constexpr ReaderEntry kEinsumReaders[] = {
    {"", "Einsum", build_einsum},
};

}  // namespace

std::span<const ReaderEntry> einsum_readers() { return kEinsumReaders; }

}  // namespace halftone::formats::onnx
