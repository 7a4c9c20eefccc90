// SPDX-License-Identifier: Apache-2.0
// Counts of the n-grams of integer tokens, as sums of comparisons with each n-gram.
#include <algorithm>
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/ir/element.h"

namespace halftone::formats::onnx {
namespace {

using Numbers = std::vector<std::int64_t>;
using ir::BinaryKind;
using ir::Dim;
using ir::ElementType;
using ir::ValueId;

/// The n-grams of one length.
struct Grams {
  Dim length = 1;
  Dim count = 0;
  Numbers tokens;  ///< [count, length]
};

/// Those of all lengths from 1 on. @throws Error kFormat if the attributes do not fit
std::vector<Grams> all_grams(NodeBuilder& node) {
  const Numbers starts = node.ints_attribute("ngram_counts").value_or(Numbers{});
  const auto pool = node.ints_attribute("pool_int64s");
  if (!pool) NodeBuilder::unsupported("n-grams of strings");
  std::vector<Grams> result;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::int64_t end = i + 1 < starts.size() ? starts[i + 1] : std::ssize(*pool);
    const auto length = static_cast<Dim>(i + 1);
    if (starts[i] < 0 || end < starts[i] || end > std::ssize(*pool) ||
        (end - starts[i]) % length != 0) {
      fail(ErrorKind::kFormat, "ngram_counts: expected the starts of whole n-grams of a pool of " +
                                   std::to_string(pool->size()) + " tokens");
    }
    result.push_back(
        {length, (end - starts[i]) / length, {pool->begin() + starts[i], pool->begin() + end}});
  }
  return result;
}

/// Rows with more tokens behind them, which no n-gram has.
ValueId lengthened(NodeBuilder& node, ValueId rows, const Grams& grams, Dim more) {
  const auto least = static_cast<double>(std::ranges::min(grams.tokens));
  const ValueId none = node.add_scalar(least - 1, ElementType::kInt64);
  const Dim batch = node.type(rows).shape[0];
  return node.emit(ir::Concat{1}, {rows, node.emit(ir::BroadcastTo{{batch, more}}, {none})});
}

/// How often each n-gram [count] occurs in rows [batch, tokens] with `skip` tokens from one of its
/// tokens to the next.
ValueId occurrences(NodeBuilder& node, ValueId rows, const Grams& grams, Dim skip) {
  const Dim reach = skip * (grams.length - 1);
  const Dim batch = node.type(rows).shape[0];
  Dim windows = node.type(rows).shape[1] - reach;
  if (ir::is_expression(node.type(rows).shape[1])) {
    windows = node.type(rows).shape[1];
    if (reach > 0) rows = lengthened(node, rows, grams, reach);
  }
  ValueId equal = ir::kAbsent;
  for (Dim k = 0; k < grams.length; ++k) {
    Numbers tokens;
    for (Dim i = 0; i < grams.count; ++i) {
      tokens.push_back(grams.tokens[static_cast<std::size_t>(i * grams.length + k)]);
    }
    const ValueId wanted = node.add_constant(ir::Tensor::from<std::int64_t>({grams.count}, tokens));
    const ir::Slice slice{1, static_cast<std::size_t>(k * skip), 1,
                          static_cast<std::size_t>(windows)};
    const ValueId found = node.reshape(node.emit(slice, {rows}), {batch, windows, 1});
    const ValueId same = emit_binary(node, BinaryKind::kEqual, found, wanted);
    equal = k == 0 ? same : emit_binary(node, BinaryKind::kAnd, equal, same);
  }
  return emit_reduce(node, ir::ReduceKind::kSum, {1}, false, node.as_float(equal));
}

/// The occurrences [batch, n-grams] of all n-grams; those of lengths out of range are zero.
ValueId all_occurrences(NodeBuilder& node, ValueId rows) {
  const std::int64_t shortest = node.int_attribute("min_gram_length", 1);
  const std::int64_t longest = node.int_attribute("max_gram_length", 1);
  const std::int64_t skips = node.int_attribute("max_skip_count", 0);
  const Dim tokens = node.type(rows).shape[1];
  const Dim batch = node.type(rows).shape[0];
  std::vector<ValueId> parts;
  for (const Grams& grams : all_grams(node)) {
    if (grams.count == 0) continue;
    ValueId sum = node.emit(ir::BroadcastTo{{batch, grams.count}}, {node.add_scalar(0.0F)});
    const bool counts = grams.length >= shortest && grams.length <= longest;
    // Single tokens are counted once.
    const std::int64_t last = !counts ? 0 : grams.length == 1 ? 1 : skips + 1;
    const auto fits = [&](Dim skip) {
      return ir::is_expression(tokens) || skip * (grams.length - 1) < tokens;
    };
    for (Dim skip = 1; skip <= last && fits(skip); ++skip) {
      sum = emit_binary(node, BinaryKind::kAdd, sum, occurrences(node, rows, grams, skip));
    }
    parts.push_back(sum);
  }
  if (parts.empty()) fail(ErrorKind::kFormat, "expected n-grams, found none");
  return parts.size() == 1 ? parts[0] : node.emit(ir::Concat{1}, parts);
}

/// Brings n-gram i to column columns[i]; columns without an n-gram are zero.
ValueId in_columns(NodeBuilder& node, ValueId counts, const Numbers& columns) {
  const Dim grams = node.type(counts).shape[1];
  const bool are_valid = std::ssize(columns) == grams &&
                         std::ranges::all_of(columns, [](std::int64_t c) { return c >= 0; });
  if (!are_valid) {
    fail(ErrorKind::kFormat,
         "ngram_indexes: expected a column for each of " + std::to_string(grams) + " n-grams");
  }
  const std::int64_t width = std::ranges::max(columns) + 1;
  node.state().charge(static_cast<std::size_t>(width) * sizeof(std::int64_t));
  Numbers source(static_cast<std::size_t>(width), grams);  // the zero behind them
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::int64_t& gram = source[static_cast<std::size_t>(columns[i])];
    if (gram != grams) NodeBuilder::unsupported("two n-grams in one column");
    gram = static_cast<std::int64_t>(i);
  }
  const ValueId extended = node.emit(ir::Pad{ir::PadMode::kConstant, {0, 0}, {0, 1}}, {counts});
  const ValueId order = node.add_constant(ir::Tensor::from<std::int64_t>({width}, source));
  return node.emit(ir::Gather{1}, {extended, order});
}

void build_tfidf(NodeBuilder& node) {
  const std::string mode = node.choice_attribute("mode", "TF", {"TF", "IDF", "TFIDF"});
  const ValueId x = node.input(0);
  const ir::Shape shape = node.type(x).shape;
  if (shape.rank() < 1 || shape.rank() > 2 || ir::depends_on_batch(shape.back()) ||
      !ir::is_integer(node.type(x).encoding.element)) {
    fail(ErrorKind::kShape,
         "expected integers [tokens] or [batch, tokens], found " + node.type(x).to_string());
  }
  const Dim batch = shape.rank() == 1 ? 1 : shape[0];
  const ValueId rows = node.reshape(emit_cast(node, ElementType::kInt64, x), {batch, shape.back()});
  ValueId y = in_columns(node, all_occurrences(node, rows),
                         node.ints_attribute("ngram_indexes").value_or(Numbers{}));
  if (mode == "IDF") {
    y = node.as_float(emit_binary(node, BinaryKind::kGreater, y, node.add_scalar(0.0F)));
  }
  const auto weights = node.floats_attribute("weights");
  if (mode != "TF" && weights) {
    const Dim width = node.type(y).shape[1];
    if (std::ssize(*weights) != width) {
      fail(ErrorKind::kFormat, "weights: expected " + std::to_string(width) + ", found " +
                                   std::to_string(weights->size()));
    }
    y = emit_binary(node, BinaryKind::kMul, y,
                    node.add_constant(ir::Tensor::from<float>({width}, *weights)));
  }
  const Dim width = node.type(y).shape[1];
  node.set_output(0, shape.rank() == 1 ? node.reshape(y, {width}) : y);
}

constexpr ReaderEntry kTextReaders[] = {
    {"", "TfIdfVectorizer", build_tfidf},
};

}  // namespace

std::span<const ReaderEntry> text_readers() { return kTextReaders; }

}  // namespace halftone::formats::onnx
