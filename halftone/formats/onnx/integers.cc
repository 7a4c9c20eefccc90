// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/integers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/node_builder.h"
#include "halftone/formats/onnx/slicing.h"
#include "halftone/ir/real.h"

namespace halftone::formats::onnx {
namespace {

/// Longer vectors are data, not shapes.
constexpr std::size_t kMaxIntegers = 1024;

using Known = std::vector<Integers>;
using ir::Real;

// Each function below evaluates one operator, or returns nullopt if it cannot.

std::optional<Extent> add(const Extent& a, const Extent& b) { return a + b; }

std::optional<Extent> subtract(const Extent& a, const Extent& b) { return a - b; }

std::optional<Extent> multiply(const Extent& a, const Extent& b) { return a * b; }

/// Rounds towards zero, as ONNX does: the quotient of extents, which are not negative.
std::optional<Extent> divide(const Extent& a, const Extent& b) {
  const auto divisor = b.number();
  const auto dividend = a.number();
  if (divisor && *divisor == 0) return std::nullopt;
  if (divisor && *divisor == -1) return Extent(0) - a;
  if (divisor && dividend) return Extent(*dividend / *divisor);
  if (!b.is_at_least(1)) return std::nullopt;
  const Extent quotient = a.over(b);
  return a.is_at_least(0) || quotient * b == a ? std::optional(quotient) : std::nullopt;
}

/// With the sign of the divisor.
std::optional<Extent> remainder(const Extent& a, const Extent& b) {
  return b.is_at_least(1) ? std::optional(a - a.over(b) * b) : std::nullopt;
}

/// With the sign of the dividend.
std::optional<Extent> remainder_like_dividend(const Extent& a, const Extent& b) {
  return a.is_at_least(0) ? remainder(a, b) : std::nullopt;
}

/// Whether a >= b for all symbols.
bool is_never_below(const Extent& a, const Extent& b) { return (a - b).is_at_least(0); }

/// Whether a > b for all symbols.
bool is_always_above(const Extent& a, const Extent& b) { return (a - b).is_at_least(1); }

std::optional<Extent> largest(const Extent& a, const Extent& b) { return Extent::greatest(a, b); }

std::optional<Extent> smallest(const Extent& a, const Extent& b) { return Extent::least(a, b); }

std::optional<Extent> equal(const Extent& a, const Extent& b) {
  if (a == b) return Extent(1);
  return is_always_above(a, b) || is_always_above(b, a) ? std::optional(Extent(0)) : std::nullopt;
}

std::optional<Extent> less(const Extent& a, const Extent& b) {
  if (is_always_above(b, a)) return Extent(1);
  return is_never_below(a, b) ? std::optional(Extent(0)) : std::nullopt;
}

std::optional<Extent> greater(const Extent& a, const Extent& b) { return less(b, a); }

using BinaryRule = std::optional<Extent> (*)(const Extent&, const Extent&);

/// The length after broadcasting scalars and vectors of length 1; nullopt if the lengths differ.
std::optional<std::size_t> common_length(const Known& inputs) {
  std::size_t length = 1;
  for (const Integers& input : inputs) {
    if (input.values.size() == 1) continue;
    if (length != 1 && input.values.size() != length) return std::nullopt;
    length = input.values.size();
  }
  return length;
}

bool all_scalars(const Known& inputs) {
  return std::ranges::all_of(inputs, [](const Integers& input) { return input.is_scalar; });
}

Extent at(const Integers& input, std::size_t i) {
  return input.values[input.values.size() == 1 ? 0 : i];
}

std::optional<Integers> elementwise(const Known& inputs, BinaryRule rule) {
  const auto length = common_length(inputs);
  if (!length || inputs.size() < 2) return std::nullopt;
  Integers result{all_scalars(inputs), inputs[0].element, {}};
  for (std::size_t i = 0; i < *length; ++i) {
    Extent value = at(inputs[0], i);
    for (std::size_t k = 1; k < inputs.size(); ++k) {
      const auto next = rule(value, at(inputs[k], i));
      if (!next) return std::nullopt;
      value = *next;
    }
    result.values.push_back(value);
  }
  return result;
}

std::optional<Integers> truth(std::optional<Integers> result) {
  if (result) result->element = ir::ElementType::kBool;
  return result;
}

std::optional<Integers> where(const Known& inputs) {
  const auto length = common_length(inputs);
  if (!length || inputs.size() != 3) return std::nullopt;
  Integers result{all_scalars(inputs), inputs[1].element, {}};
  for (std::size_t i = 0; i < *length; ++i) {
    const auto condition = at(inputs[0], i).number();
    if (!condition) return std::nullopt;
    result.values.push_back(at(inputs[*condition != 0 ? 1 : 2], i));
  }
  return result;
}

std::optional<Integers> gather(const NodeBuilder& node, const Known& inputs) {
  if (inputs.size() != 2 || inputs[0].is_scalar) return std::nullopt;
  const std::int64_t axis = node.int_attribute("axis", 0);
  const auto indices = inputs[1].numbers();
  if ((axis != 0 && axis != -1) || !indices) return std::nullopt;
  Integers result{inputs[1].is_scalar, inputs[0].element, {}};
  for (const std::int64_t index : *indices) {
    const std::size_t i = ir::normalized_axis(index, inputs[0].values.size());
    result.values.push_back(inputs[0].values[i]);
  }
  return result;
}

std::optional<Integers> concat(const Known& inputs) {
  Integers result{false, inputs[0].element, {}};
  for (const Integers& input : inputs) {
    if (input.is_scalar) return std::nullopt;
    result.values.insert(result.values.end(), input.values.begin(), input.values.end());
  }
  return result;
}

std::optional<Integers> slice(NodeBuilder& node, const Known& inputs) {
  if (inputs[0].is_scalar) return std::nullopt;
  const auto requests = slice_requests(node, 1);
  Integers result = inputs[0];
  for (const SliceRequest& request : requests) {
    const ir::Slice cut = resolve_slice(request, static_cast<ir::Dim>(result.values.size()));
    std::vector<Extent> values;
    for (std::size_t i = 0; i < cut.count; ++i) {
      const auto from =
          static_cast<std::int64_t>(cut.begin) + static_cast<std::int64_t>(i) * cut.step;
      values.push_back(result.values[static_cast<std::size_t>(from)]);
    }
    result.values = std::move(values);
  }
  return result;
}

/// Squeeze, Unsqueeze and Reshape between scalars and vectors of length 1.
std::optional<Integers> relabel(const NodeBuilder& node, const Known& inputs) {
  Integers result = inputs[0];
  if (node.op_type() == "Unsqueeze") {
    if (!result.is_scalar) return std::nullopt;
    result.is_scalar = false;
    return result;
  }
  if (node.op_type() == "Squeeze") {
    if (result.is_scalar || result.values.size() != 1) return std::nullopt;
    result.is_scalar = true;
    return result;
  }
  if (inputs.size() != 2 || inputs[1].values.size() > 1) return std::nullopt;
  const auto count = static_cast<std::int64_t>(result.values.size());
  result.is_scalar = inputs[1].values.empty();
  if (result.is_scalar) return count == 1 ? std::optional(result) : std::nullopt;
  const auto wanted = inputs[1].values[0].number();
  const bool fits = wanted && (*wanted == -1 || *wanted == count);
  return fits ? std::optional(result) : std::nullopt;
}

std::optional<Integers> reduce_product(const NodeBuilder& node, const Known& inputs) {
  Integers result{node.int_attribute("keepdims", 1) == 0, inputs[0].element, {}};
  if (inputs[0].is_scalar) return std::nullopt;
  Extent product(1);
  for (const Extent& value : inputs[0].values) product = product * value;
  result.values = {product};
  return result;
}

std::optional<Integers> range(const Known& inputs) {
  if (inputs.size() != 3 || !all_scalars(inputs)) return std::nullopt;
  const Integers joined{
      false, inputs[0].element, {inputs[0].values[0], inputs[1].values[0], inputs[2].values[0]}};
  const auto numbers = joined.numbers();
  if (!numbers || (*numbers)[2] == 0) return std::nullopt;
  Integers result{false, inputs[0].element, {}};
  const std::int64_t step = (*numbers)[2];
  std::int64_t value = (*numbers)[0];
  while (step > 0 ? value < (*numbers)[1] : value > (*numbers)[1]) {
    if (result.values.size() == kMaxIntegers) return std::nullopt;
    result.values.push_back({value});
    if (__builtin_add_overflow(value, step, &value)) break;
  }
  return result;
}

std::optional<Integers> filled(const NodeBuilder& node, const Known& inputs) {
  const auto value = node.tensor_attribute("value");
  const auto known = value ? integers_of(*value) : std::nullopt;
  if (!known || known->values.size() != 1 || inputs[0].values.size() > 1) return std::nullopt;
  const auto count = inputs[0].values.empty() ? 1 : inputs[0].values[0].number();
  if (!count || *count < 0 || *count > static_cast<std::int64_t>(kMaxIntegers)) {
    return std::nullopt;
  }
  return Integers{inputs[0].values.empty(), known->element,
                  std::vector<Extent>(static_cast<std::size_t>(*count), known->values[0])};
}

/// Floats as integers, or floats that are whole.
Integers rounded(Integers floats, Extent (Real::*rule)() const, ir::ElementType element) {
  const bool is_whole = element != ir::ElementType::kFloat32;
  for (Extent& value : floats.values) {
    const Extent whole = (Real::of_bits(value).*rule)();
    value = is_whole ? whole : Real::of(whole).bits();
  }
  floats.element = element;
  return floats;
}

/// Towards zero, as ONNX casts floats.
std::optional<Integers> truncated(const Integers& floats, ir::ElementType element) {
  for (const Extent& value : floats.values) {
    const auto number = Real::of_bits(value).number();
    if (number ? *number < 0 : !value.is_at_least(0)) return std::nullopt;
  }
  return rounded(floats, &Real::floor, element);
}

std::optional<Integers> cast(const NodeBuilder& node, const Known& inputs) {
  const auto element = element_of(static_cast<std::int32_t>(
      std::clamp<std::int64_t>(node.opset() < 6 ? 0 : node.int_attribute("to", 0), 0, 100)));
  const bool is_whole = element == ir::ElementType::kInt64 || element == ir::ElementType::kInt32;
  const bool is_float = element == ir::ElementType::kFloat32 && !inputs[0].numbers() &&
                        node.int_attribute("to", 0) == onnx_pb::TensorProto::FLOAT;
  if (!is_whole && !is_float) return std::nullopt;
  Integers result = inputs[0];
  result.element = *element;
  if (inputs[0].is_float() == is_float) return result;
  if (is_whole) return truncated(inputs[0], *element);
  for (Extent& value : result.values) value = Real::of(value).bits();
  return result;
}

/// Smallest or largest of all values.
std::optional<Integers> reduce_extreme(const NodeBuilder& node, const Known& inputs,
                                       BinaryRule rule) {
  if (inputs[0].is_scalar || inputs[0].values.empty()) return std::nullopt;
  Integers result{node.int_attribute("keepdims", 1) == 0, inputs[0].element, {}};
  Extent best = inputs[0].values[0];
  for (const Extent& value : inputs[0].values) best = *rule(best, value);
  result.values = {best};
  return result;
}

Integers negated(Integers integers) {
  for (Extent& value : integers.values) value = Extent(0) - value;
  return integers;
}

/// Whether an input has floats that depend on symbols.
bool reads_open_floats(const NodeBuilder& node) {
  for (std::size_t i = 0; i < node.num_inputs(); ++i) {
    const auto* held = node.input_as<Integers>(i);
    if (held != nullptr && held->is_float()) return true;
  }
  return false;
}

/// An input of a node as integers or, beside floats, as floats.
std::optional<Integers> known_input(NodeBuilder& node, std::size_t i, bool beside_floats) {
  if (const auto* held = node.input_as<Integers>(i)) return *held;
  const auto* id = node.input_as<ir::ValueId>(i);
  const ir::Tensor* tensor = id == nullptr || !beside_floats ? nullptr : node.constant(*id);
  const auto floats = tensor == nullptr ? std::nullopt : floats_of(*tensor);
  return floats ? floats : node.integers(i);
}

/// The inputs of a node as integers. Small integers that the network computes become symbols where
/// they are joined with known ones.
std::optional<Known> known_inputs(NodeBuilder& node) {
  Known inputs;
  std::vector<std::size_t> unknown;
  const bool beside_floats = reads_open_floats(node);
  for (std::size_t i = 0; i < node.num_inputs(); ++i) {
    if (!node.has_input(i)) continue;
    auto known = known_input(node, i, beside_floats);
    if (!known) unknown.push_back(inputs.size());
    inputs.push_back(known ? std::move(*known) : Integers{});
  }
  if (unknown.empty()) return inputs;
  if (unknown.size() == inputs.size() || node.op_type() != "Concat") return std::nullopt;
  std::size_t at = 0;
  for (std::size_t i = 0; i < node.num_inputs(); ++i) {
    if (!node.has_input(i)) continue;
    auto computed = node.extents(i);
    if (!computed) return std::nullopt;
    inputs[at++] = std::move(*computed);
  }
  return inputs;
}

/// Shape and Size, which need only the type of their input.
std::optional<Integers> shape_of(NodeBuilder& node) {
  const auto known = node.integers(0);
  if (known && !known->numbers()) {
    return Integers{
        false, ir::ElementType::kInt64, {{static_cast<std::int64_t>(known->values.size())}}};
  }
  Integers shape = integers_of(node.input_type(0).shape);
  if (node.op_type() == "Size") {
    Integers result{true, ir::ElementType::kInt64, {{1}}};
    for (const Extent& extent : shape.values) result.values[0] = result.values[0] * extent;
    return result;
  }
  const auto rank = static_cast<std::int64_t>(shape.values.size());
  const auto position = [rank](std::int64_t p) {
    return std::clamp<std::int64_t>(p < 0 ? p + rank : p, 0, rank);
  };
  const std::int64_t begin = position(node.int_attribute("start", 0));
  const std::int64_t end = std::max(begin, position(node.int_attribute("end", rank)));
  shape.values = {shape.values.begin() + begin, shape.values.begin() + end};
  return shape;
}

/// Operators that move the elements of a matrix, as exporters do with the pads of axes.
std::optional<Integers> evaluate_matrix(NodeBuilder& node, const Known& inputs) {
  const std::string_view op = node.op_type();
  Integers result = inputs[0];
  const std::size_t columns = result.columns;
  if (columns == 0) return std::nullopt;
  const std::size_t rows = result.values.size() / columns;
  if (op == "Cast" || op == "Identity") return op == "Cast" ? cast(node, inputs) : result;
  if (op == "Reshape" && inputs.size() == 2) {
    if (inputs[1].values.size() != 1) return std::nullopt;
    result.columns = 0;
    return relabel(node, {result, inputs[1]});
  }
  if (op == "Transpose") {
    for (std::size_t i = 0; i < result.values.size(); ++i) {
      result.values[i] = inputs[0].values[i % rows * columns + i / rows];
    }
    result.columns = rows;
    return result;
  }
  if (op != "Slice") return std::nullopt;
  const auto requests = slice_requests(node, 2);
  if (requests.size() != 1 || requests[0].axis != 0) return std::nullopt;
  const ir::Slice cut = resolve_slice(requests[0], static_cast<ir::Dim>(rows));
  result.values.clear();
  for (std::size_t i = 0; i < cut.count; ++i) {
    const auto row = static_cast<std::int64_t>(cut.begin) + static_cast<std::int64_t>(i) * cut.step;
    const auto first = inputs[0].values.begin() + row * static_cast<std::int64_t>(columns);
    result.values.insert(result.values.end(), first, first + static_cast<std::int64_t>(columns));
  }
  return result;
}

/// A vector as the rows of a matrix.
std::optional<Integers> as_matrix(const Known& inputs) {
  const auto shape = inputs[1].numbers();
  if (!shape || inputs[0].is_scalar || inputs[0].values.empty()) return std::nullopt;
  const auto count = static_cast<std::int64_t>(inputs[0].values.size());
  const std::int64_t columns = (*shape)[1];
  const bool fits =
      columns >= 1 && count % columns == 0 && ((*shape)[0] == -1 || (*shape)[0] == count / columns);
  if (!fits) return std::nullopt;
  Integers result = inputs[0];
  result.columns = static_cast<std::size_t>(columns);
  return result;
}

/// Whether a node of our own files computes an extent.
bool is_own_extent(const NodeBuilder& node) { return node.output_name().starts_with("extent"); }

/// The quotient that our files mean: of extents, which are positive at all sizes that run.
std::optional<Extent> quotient_of_extents(const Extent& a, const Extent& b) {
  const auto divisor = b.number();
  return divisor && *divisor <= 0 ? divide(a, b) : std::optional(a.over(b));
}

/// The rule of an operator that works element by element on integers, or null.
BinaryRule elementwise_rule(const NodeBuilder& node) {
  static constexpr std::pair<std::string_view, BinaryRule> kRules[] = {
      {"Add", add},      {"Sub", subtract}, {"Mul", multiply}, {"Max", largest},
      {"Min", smallest}, {"Equal", equal},  {"Less", less},    {"Greater", greater}};
  const std::string_view op = node.op_type();
  if (op == "Div") return is_own_extent(node) ? quotient_of_extents : divide;
  if (op == "Mod") {
    return node.int_attribute("fmod", 0) != 0 ? remainder_like_dividend : remainder;
  }
  const auto* found = std::ranges::find(kRules, op, [](const auto& rule) { return rule.first; });
  return found == std::end(kRules) ? nullptr : found->second;
}

/// Operators that move elements, of integers and of floats.
std::optional<Integers> moved(NodeBuilder& node, const Known& inputs) {
  const std::string_view op = node.op_type();
  if (op == "Gather") return gather(node, inputs);
  if (op == "Concat") return concat(inputs);
  if (op == "Slice") return slice(node, inputs);
  if (op == "Squeeze" || op == "Unsqueeze" || op == "Reshape") return relabel(node, inputs);
  if (op == "Cast") return cast(node, inputs);
  if (op == "Identity") return inputs[0];
  return std::nullopt;
}

/// The result of float32 arithmetic on two numbers.
template <Extent::AtomKind kKind>
std::optional<Extent> of_reals(const Extent& a, const Extent& b) {
  return ir::combined_reals(kKind, a, b);
}

/// The smaller or larger of two numbers that are not negative.
template <BinaryRule kRule>
std::optional<Extent> of_positive(const Extent& a, const Extent& b) {
  const auto fits = [](const Extent& bits) {
    const auto number = Real::of_bits(bits).number();
    return number ? *number >= 0 : bits.is_at_least(0);
  };
  return fits(a) && fits(b) ? kRule(a, b) : std::nullopt;
}

std::optional<Integers> evaluate_floats(NodeBuilder& node, const Known& inputs) {
  static constexpr std::pair<std::string_view, BinaryRule> kRules[] = {
      {"Add", of_reals<Extent::AtomKind::kRealSum>},
      {"Sub", of_reals<Extent::AtomKind::kRealDifference>},
      {"Mul", of_reals<Extent::AtomKind::kRealProduct>},
      {"Div", of_reals<Extent::AtomKind::kRealQuotient>},
      {"Min", of_positive<smallest>},
      {"Max", of_positive<largest>}};
  const std::string_view op = node.op_type();
  if (op == "Floor") return rounded(inputs[0], &Real::floor, ir::ElementType::kFloat32);
  if (op == "Ceil") return rounded(inputs[0], &Real::ceil, ir::ElementType::kFloat32);
  const auto* found = std::ranges::find(kRules, op, [](const auto& rule) { return rule.first; });
  return found == std::end(kRules) ? moved(node, inputs) : elementwise(inputs, found->second);
}

std::optional<Integers> evaluate_whole(NodeBuilder& node, const Known& inputs) {
  const std::string_view op = node.op_type();
  if (const BinaryRule rule = elementwise_rule(node)) {
    const bool compares = op == "Equal" || op == "Less" || op == "Greater";
    return compares ? truth(elementwise(inputs, rule)) : elementwise(inputs, rule);
  }
  if (op == "Neg") return negated(inputs[0]);
  if (op == "Where") return where(inputs);
  if (op == "ReduceProd" && inputs.size() == 1) return reduce_product(node, inputs);
  if (op == "ReduceMin") return reduce_extreme(node, inputs, smallest);
  if (op == "ReduceMax") return reduce_extreme(node, inputs, largest);
  if (op == "Range") return range(inputs);
  if (op == "ConstantOfShape") return filled(node, inputs);
  return moved(node, inputs);
}

std::optional<Integers> evaluate(NodeBuilder& node, const Known& inputs) {
  const auto is_matrix = [](const Integers& input) { return input.columns != 0; };
  if (std::ranges::any_of(inputs, is_matrix)) return evaluate_matrix(node, inputs);
  if (node.op_type() == "Reshape" && inputs.size() == 2 && inputs[1].values.size() == 2) {
    return as_matrix(inputs);
  }
  if (std::ranges::any_of(inputs, &Integers::is_float)) return evaluate_floats(node, inputs);
  return evaluate_whole(node, inputs);
}

}  // namespace

ir::Dim checked_dim(const Extent& extent) {
  // Samples share nothing, so what depends on their number is a multiple of it.
  const Extent each = extent.with({{ir::kBatchSymbol, 1}});
  if (extent.depends_on_batch() && extent != Extent::symbol(ir::kBatchSymbol) * each) {
    fail(ErrorKind::kUnsupported, "an extent of " + extent.text() +
                                      ", which is neither a number nor a multiple of the batch N");
  }
  return ir::dim_of(extent);
}

std::optional<std::vector<std::int64_t>> Integers::numbers() const {
  if (!is_plain()) return std::nullopt;
  std::vector<std::int64_t> result;
  for (const Extent& extent : values) {
    const auto number = extent.number();
    if (!number) return std::nullopt;
    result.push_back(*number);
  }
  return result;
}

std::optional<Integers> integers_of(const ir::Tensor& tensor) {
  const bool is_shape_like = tensor.element() == ir::ElementType::kInt64 ||
                             tensor.element() == ir::ElementType::kInt32 ||
                             tensor.element() == ir::ElementType::kBool;
  if (!is_shape_like || tensor.shape().rank() > 1 || tensor.size() > kMaxIntegers) {
    return std::nullopt;
  }
  const ir::Tensor wide = tensor.cast(ir::ElementType::kInt64);
  Integers result{tensor.shape().rank() == 0, tensor.element(), {}};
  for (const std::int64_t value : wide.as<std::int64_t>()) result.values.push_back({value});
  return result;
}

std::optional<Integers> floats_of(const ir::Tensor& tensor) {
  if (tensor.element() != ir::ElementType::kFloat32 || tensor.shape().rank() > 1 ||
      tensor.size() > kMaxIntegers) {
    return std::nullopt;
  }
  Integers result{tensor.shape().rank() == 0, tensor.element(), {}};
  for (const float value : tensor.as<float>()) result.values.push_back(Real(value).bits());
  return result;
}

Integers integers_of(const ir::Shape& shape) {
  Integers result;
  for (const ir::Dim dim : shape.dims()) {
    result.values.push_back(ir::extent_of(dim));
  }
  return result;
}

ir::Tensor to_tensor(const Integers& integers) {
  const ir::Shape shape =
      integers.is_scalar ? ir::Shape{} : ir::Shape{static_cast<ir::Dim>(integers.values.size())};
  if (integers.is_float()) {
    std::vector<float> floats;
    for (const Extent& bits : integers.values) {
      floats.push_back(Real::of_bits(bits).number().value());
    }
    return ir::Tensor::from<float>(shape, floats);
  }
  const std::vector<std::int64_t> numbers = integers.numbers().value();
  return ir::Tensor::from<std::int64_t>(shape, numbers).cast(integers.element);
}

bool evaluate_integers(NodeBuilder& node) {
  std::optional<Integers> result;
  if (node.op_type() == "Shape" || node.op_type() == "Size") {
    result = shape_of(node);
  } else {
    const auto inputs = known_inputs(node);
    if (!inputs) return false;
    if (!inputs->empty()) result = evaluate(node, *inputs);
  }
  if (!result || result->values.size() > kMaxIntegers) return false;
  if (result->is_float() && std::ranges::all_of(result->values, &Extent::is_number)) {
    node.set_output(0, node.add_constant(to_tensor(*result)));
    return true;
  }
  node.set_output(std::move(*result));
  return true;
}

}  // namespace halftone::formats::onnx
