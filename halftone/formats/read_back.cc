// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/read_back.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/random.h"
#include "halftone/formats/extent_value.h"
#include "halftone/ir/evaluate_graph.h"
#include "halftone/ir/extent.h"
#include "halftone/ir/layer_arithmetic.h"
#include "halftone/ir/open_extents.h"
#include "halftone/ir/ops/traits.h"

namespace halftone::formats {
namespace {

using ir::ValueId;

[[noreturn]] void fail_lost(const std::string& what, const std::string& expected,
                            const std::string& found) {
  fail(ErrorKind::kUnsupported,
       "does not read back: " + what + ": expected " + expected + ", found " + found);
}

/// Whether extents are equal, or both are computed: their symbols get names as a file is read.
bool is_same_extent(ir::Dim a, ir::Dim b) {
  return a == b || (has_computed(ir::extent_of(a)) && has_computed(ir::extent_of(b)));
}

/// A network of one sample may accept any batch after reading.
bool is_same_type(const ir::ValueType& written, const ir::ValueType& found) {
  if (written.encoding == found.encoding &&
      std::ranges::equal(written.shape.dims(), found.shape.dims(), is_same_extent)) {
    return true;
  }
  return written.encoding == found.encoding && written.shape.is_static() &&
         written.shape == found.shape.with_batch(1);
}

void check_values(const ir::Graph& written, std::span<const ValueId> expected,
                  const ir::Graph& read, std::span<const ValueId> found, const std::string& role) {
  if (expected.size() != found.size()) {
    fail_lost("number of " + role + "s", std::to_string(expected.size()),
              std::to_string(found.size()));
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const ir::Value& a = written.value(expected[i]);
    const ir::Value& b = read.value(found[i]);
    if (!is_same_type(a.type, b.type)) {
      fail_lost(role + " '" + a.name + "'", a.type.to_string(), b.type.to_string());
    }
  }
}

/// Number of weights of a layer, and the sum of a hash of each: the same in any order of them.
struct WeightSum {
  std::size_t count = 0;
  std::uint64_t hash = 0;
  auto operator<=>(const WeightSum&) const = default;

  void add(std::uint64_t word) {
    ++count;
    hash += Random(word).next();
  }
};

/// The constant behind conversions from codes and changes of layout; null if there is none.
const ir::Constant* weights_of(const ir::Graph& graph, ValueId id) {
  while (id != ir::kAbsent) {
    if (const ir::Constant* constant = graph.constant(id)) return constant;
    const auto producer = graph.producer(id);
    if (!producer) return nullptr;
    const ir::Node& node = graph.node(*producer);
    const bool converts = std::holds_alternative<ir::DequantizeLinear>(node.op) ||
                          std::holds_alternative<ir::Cast>(node.op);
    if (!converts && !ir::permutes_elements(node.op)) return nullptr;
    id = node.inputs[0];
  }
  return nullptr;
}

/// Whether codes are integers of 8 bits, which formats may store as such.
bool are_bytes(const numerics::MatrixEncoding& encoding) {
  return encoding.bits == 8 && encoding.codebook != nullptr &&
         (encoding.codebook->name() == "int" || encoding.codebook->name() == "affine");
}

WeightSum sum_of(const ir::Constant& constant) {
  WeightSum sum;
  if (const auto* codes = std::get_if<ir::EncodedTensor>(&constant)) {
    if (are_bytes(*codes->encoding)) {
      const numerics::BitPlanes& planes = codes->codes;
      for (std::size_t row = 0; row < planes.rows; ++row) {
        for (std::size_t col = 0; col < planes.cols; ++col) sum.add(planes.code(row, col));
      }
      return sum;
    }
    for (const std::uint64_t word : codes->codes.planes.words()) sum.add(word);
    return sum;
  }
  const auto& tensor = std::get<ir::Tensor>(constant);
  const std::size_t width = ir::size_bytes(tensor.element());
  for (std::size_t at = 0; at < tensor.bytes().size(); at += width) {
    std::uint64_t word = 0;
    std::memcpy(&word, tensor.bytes().data() + at, width);
    // As codes: the distance from the lowest integer.
    if (tensor.element() == ir::ElementType::kInt8) word ^= 0x80;
    sum.add(word);
  }
  return sum;
}

/// Those of all layers and constant factors, sorted.
std::vector<WeightSum> sums_of_weights(const ir::Graph& graph) {
  std::vector<WeightSum> sums;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ir::InputRole role = ir::input_role(node.op, i);
      const bool is_weight = role == ir::InputRole::kWeights || role == ir::InputRole::kFactor;
      const ir::Constant* constant = is_weight ? weights_of(graph, node.inputs[i]) : nullptr;
      if (constant != nullptr) sums.push_back(sum_of(*constant));
    }
  }
  std::ranges::sort(sums);
  return sums;
}

/// Formats may express other operators as products too, with matrices of their own.
void check_weights(const ir::Graph& written, const ir::Graph& found) {
  const std::vector<WeightSum> expected = sums_of_weights(written);
  std::vector<WeightSum> missing;
  std::ranges::set_difference(expected, sums_of_weights(found), std::back_inserter(missing));
  if (missing.empty()) return;
  fail_lost("weights of " + std::to_string(missing.size()) + " of " +
                std::to_string(expected.size()) + " layers",
            std::to_string(missing.front().count) + " weights", "others");
}

/// The arithmetic of each layer with codes, sorted, but for float: codes that are decoded may be
/// read as the integers of a conversion.
std::vector<ir::Arithmetic> arithmetics_of(const ir::Graph& graph) {
  std::vector<ir::Arithmetic> found;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    const auto arithmetic = ir::arithmetic_of(graph, node);
    if (!arithmetic || *arithmetic == ir::Arithmetic::kFloat) continue;
    if (ir::layer_codes(graph, node).any()) found.push_back(*arithmetic);
  }
  std::ranges::sort(found);
  return found;
}

void check_arithmetics(const ir::Graph& written, const ir::Graph& found) {
  if (arithmetics_of(written) == arithmetics_of(found)) return;
  fail(ErrorKind::kUnsupported, "does not read back: the arithmetic of the layers differs");
}

/// Floats from -size to size, any codes of 8 bits, other integers 0 or 1, which are often indices.
ir::Tensor random_input(const ir::ValueType& type, double size, Random& random) {
  ir::Tensor numbers(ir::ElementType::kFloat32, type.shape.with_batch(1));
  const ir::ElementType element = type.encoding.element;
  for (float& x : numbers.as<float>()) {
    if (element == ir::ElementType::kFloat32) {
      x = static_cast<float>(size * (2 * random.uniform() - 1));
    } else if (ir::size_bytes(element) == 1 && element != ir::ElementType::kBool) {
      x = static_cast<float>(random.below(256)) - (element == ir::ElementType::kInt8 ? 128.0F : 0);
    } else {
      x = static_cast<float>(random.below(2));
    }
  }
  return numbers.cast(element);
}

/// Whether the root of the mean square error is below a tenth of that of the expected elements.
bool is_close(const ir::Tensor& expected, const ir::Tensor& found) {
  constexpr double kMaxError = 0.1 * 0.1;
  const ir::Tensor x = expected.cast(ir::ElementType::kFloat32);
  const ir::Tensor y = found.cast(ir::ElementType::kFloat32);
  double signal = 0;
  double error = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double a = static_cast<double>(x.as<float>()[i]);
    const double b = static_cast<double>(y.as<float>()[i]);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    signal += a * a + 1e-6;
    error += (a - b) * (a - b);
  }
  return x.shape() == y.shape() && (error == 0 || error <= kMaxError * signal);
}

/// @param size  of the inputs
bool gives_same_outputs(const ir::Graph& source, const ir::Graph& found, double size,
                        Random& random) {
  std::vector<ir::Tensor> inputs;
  for (const ValueId id : source.inputs()) {
    inputs.push_back(random_input(source.value(id).type, size, random));
  }
  std::vector<ir::Tensor> expected;
  try {
    expected = ir::evaluate_graph(source, inputs);
  } catch (const Error&) {
    return true;  // random indices are out of range
  }
  const std::vector<ir::Tensor> outputs = ir::evaluate_graph(found, inputs);
  return std::ranges::equal(expected, outputs, is_close);
}

}  // namespace

void check_read_back(const ir::Graph& source, const ir::Graph& written, const ir::Graph& found) {
  check_values(written, written.inputs(), found, found.inputs(), "input");
  check_values(written, written.outputs(), found, found.outputs(), "output");
  check_weights(written, found);
  check_arithmetics(written, found);
  // Which sizes it takes is not known.
  if (!ir::open_extents(source).empty() || !source.definitions().empty()) return;
  constexpr double kMaxWork = 4e6;  // some ten milliseconds
  if (ir::evaluation_work(source) > kMaxWork) return;
  // A fault changes the outputs for most inputs of a size, rounding next to a threshold for few.
  constexpr double kSizes[] = {1, 4, 16, 64, 256, 16, 1, 256};
  constexpr int kMaxDifferent = 3;
  Random random(1);
  int different = 0;
  for (const double size : kSizes) {
    if (!gives_same_outputs(source, found, size, random)) ++different;
  }
  if (different <= kMaxDifferent) return;
  fail(ErrorKind::kUnsupported, "does not read back: the outputs for random inputs differ");
}

}  // namespace halftone::formats
