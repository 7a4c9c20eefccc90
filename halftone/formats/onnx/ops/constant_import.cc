// SPDX-License-Identifier: Apache-2.0
// Constants that the file stores or describes.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>
#include <set>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/registry.h"

namespace halftone::formats::onnx {
namespace {

template <typename T>
ir::Tensor vector_of(const std::vector<T>& values) {
  return ir::Tensor::from<T>({static_cast<ir::Dim>(values.size())}, std::span(values));
}

/// The constant in an attribute other than `value`.
ir::Tensor short_constant(NodeBuilder& node) {
  if (node.has_attribute("value_float")) {
    const float value = node.float_attribute("value_float", 0);
    return ir::Tensor::from<float>({}, std::span(&value, 1));
  }
  if (node.has_attribute("value_int")) {
    const std::int64_t value = node.int_attribute("value_int", 0);
    return ir::Tensor::from<std::int64_t>({}, std::span(&value, 1));
  }
  if (const auto values = node.floats_attribute("value_floats")) return vector_of(*values);
  if (const auto values = node.ints_attribute("value_ints")) return vector_of(*values);
  NodeBuilder::unsupported("expected a dense tensor of numbers as constant");
}

void build_constant(NodeBuilder& node) {
  if (const auto* proto = node.proto_attribute("value")) {
    const Binding constant = node.state().add_constant("", *proto);
    if (const auto* id = std::get_if<ir::ValueId>(&constant)) {
      node.set_output(0, *id);
    } else {
      node.bind_output(0, constant);
    }
  } else {
    node.set_output(0, node.add_constant(short_constant(node)));
  }
}

/// The shape that the input states; it may depend on the batch.
ir::Shape stated_shape(NodeBuilder& node) {
  const auto extents = node.extents(0);
  if (!extents) NodeBuilder::unsupported("input 0: expected integers known during the import");
  std::vector<ir::Dim> dims;
  for (const Extent& extent : extents->values) dims.push_back(checked_dim(extent));
  return ir::Shape(std::move(dims));
}

void build_constant_of_shape(NodeBuilder& node) {
  const ir::Shape shape = stated_shape(node);
  auto value = node.tensor_attribute("value");
  if (!value) value = ir::Tensor(ir::ElementType::kFloat32, {1});
  if (value->size() != 1) {
    fail(ErrorKind::kFormat, "value: expected one number, found " + std::to_string(value->size()));
  }
  if (!shape.is_static()) {
    const ir::ValueId number = node.add_constant(value->reshaped({}));
    node.set_output(0, node.emit(ir::BroadcastTo{shape}, {number}));
    return;
  }
  ir::Tensor filled = node.allocate(value->element(), shape);
  const auto source = value->bytes();
  for (std::size_t i = 0; i < filled.size(); ++i) {
    std::memcpy(filled.bytes().data() + i * source.size(), source.data(), source.size());
  }
  node.set_output(0, node.add_constant(std::move(filled)));
}

void build_shape_arithmetic(NodeBuilder& /*node*/) {
  NodeBuilder::unsupported("expected inputs known during the import");
}

/// The count of a Range whose ends the network computes.
Extent computed_count(NodeBuilder& node, const Extent& start, const Extent& end,
                      std::int64_t step) {
  const auto scalar = [&](const Extent& number) {
    const Integers one{true, ir::ElementType::kInt64, {number}};
    return node.state().add_integers(node.output_name() + "/end", one);
  };
  const ir::ValueId length =
      emit_binary(node, ir::BinaryKind::kMax,
                  emit_binary(node, ir::BinaryKind::kSub, scalar(end), scalar(start)), scalar(0));
  const ir::ValueId rounded = emit_binary(node, ir::BinaryKind::kAdd, length, scalar(step - 1));
  return node.computed_extent(emit_binary(node, ir::BinaryKind::kDiv, rounded, scalar(step)));
}

/// Whether an extent has symbols that the network computes.
bool has_computed(const Extent& extent) {
  std::set<std::string> names;
  extent.add_symbols(names);
  return std::ranges::any_of(names, ir::is_computed);
}

/// A Range whose count is an open extent: start and step are numbers, the limit is an expression.
/// @return false, with nothing added, for any other
bool build_open_range(NodeBuilder& node) {
  Extent ends[3];
  const auto element =
      node.integers(0) ? node.integers(0)->element : node.input_type(0).encoding.element;
  for (std::size_t i = 0; i < 3; ++i) {
    const auto known = node.extents(i);
    if (!known || known->values.size() != 1) return false;
    ends[i] = known->values[0];
  }
  const auto step = ends[2].number();
  if (ends[0].is_number() && ends[1].is_number()) return false;
  if (!step || *step < 1) NodeBuilder::unsupported("expected a step of at least 1");
  const bool is_computed = has_computed(ends[0]) || has_computed(ends[1]);
  const ir::Dim count = checked_dim(is_computed ? computed_count(node, ends[0], ends[1], *step)
                                                : (ends[1] - ends[0] + *step - 1).over(*step));
  const auto start = ends[0].number();
  const ir::ValueId steps =
      node.emit(ir::BroadcastTo{{count}}, {node.add_scalar(static_cast<double>(*step), element)});
  const ir::ValueId sums = node.emit(ir::CumSum{0, true, false}, {steps});
  const ir::ValueId first =
      start ? node.add_scalar(static_cast<double>(*start), element) : node.input(0);
  node.set_output(
      0, start == 0 ? sums : node.emit(ir::Binary{ir::BinaryKind::kAdd, {}}, {sums, first}));
  return true;
}

/// Range: start, start + step, ... below the limit. The count determines the shape.
void build_range(NodeBuilder& node) {
  if (build_open_range(node)) return;
  const ir::ElementType element = node.input_type(0).encoding.element;
  double ends[3];
  for (std::size_t i = 0; i < 3; ++i) ends[i] = static_cast<double>(node.scalar_input(i));
  const double count = std::ceil((ends[1] - ends[0]) / ends[2]);
  if (std::isnan(count) || count > 1e12) {
    fail(ErrorKind::kShape, "expected a range of at most 10^12 elements, found one from " +
                                std::to_string(ends[0]) + " to " + std::to_string(ends[1]) +
                                " by " + std::to_string(ends[2]));
  }
  const auto length = static_cast<ir::Dim>(std::max(count, 0.0));
  ir::Tensor result = node.allocate(ir::ElementType::kFloat32, {length});
  const auto values = result.as<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(ends[0] + static_cast<double>(i) * ends[2]);
  }
  node.set_output(0, node.add_constant(result.cast(element)));
}

/// Ones on a diagonal of a matrix with the shape of the input.
void build_eye_like(NodeBuilder& node) {
  const ir::ValueType& like = node.input_type(0);
  if (like.shape.rank() != 2 || !like.shape.is_static()) {
    NodeBuilder::unsupported("expected a matrix of known extents, found " + like.to_string());
  }
  ir::ElementType element = like.encoding.element;
  if (node.has_attribute("dtype")) {
    const auto wanted = element_of(static_cast<std::int32_t>(
        std::clamp<std::int64_t>(node.int_attribute("dtype", 0), 0, 1000)));
    if (!wanted) NodeBuilder::unsupported("unsupported element type");
    element = *wanted;
  }
  const std::int64_t k = node.int_attribute("k", 0);
  ir::Tensor eye = node.allocate(ir::ElementType::kFloat32, like.shape);
  for (ir::Dim i = 0; i < like.shape[0]; ++i) {
    if (k < -i || k >= like.shape[1] - i) continue;
    eye.as<float>()[static_cast<std::size_t>(i * like.shape[1] + i + k)] = 1;
  }
  node.set_output(0, node.add_constant(eye.cast(element)));
}

/// Window functions of signal processing: a sum of cosines over size (periodic) or size - 1 steps.
void build_window(NodeBuilder& node) {
  const std::vector<std::int64_t> size = node.numbers_input(0);
  if (size.size() != 1 || size[0] < 0) fail(ErrorKind::kShape, "size: expected one number >= 0");
  const bool periodic = node.int_attribute("periodic", 1) != 0;
  std::array<double, 3> terms{0.5, 0.5, 0};
  if (node.op_type() == "HammingWindow") terms = {25.0 / 46, 21.0 / 46, 0};
  if (node.op_type() == "BlackmanWindow") terms = {0.42, 0.5, 0.08};
  const double steps =
      static_cast<double>(periodic ? size[0] : std::max<std::int64_t>(size[0] - 1, 1));
  ir::Tensor window = node.allocate(ir::ElementType::kFloat32, {size[0]});
  for (std::size_t i = 0; i < window.size(); ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / steps;
    window.as<float>()[i] =
        static_cast<float>(terms[0] - terms[1] * std::cos(angle) + terms[2] * std::cos(2 * angle));
  }
  const auto data_type = static_cast<std::int32_t>(
      std::clamp<std::int64_t>(node.int_attribute("output_datatype", 1), 0, 1000));
  const auto element = element_of(data_type);
  if (!element || !float_system(data_type).empty())
    NodeBuilder::unsupported("unsupported element type");
  node.set_output(0, node.add_constant(window.cast(*element)));
}

constexpr ReaderEntry kConstantReaders[] = {
    {"", "Constant", build_constant},
    {"", "ConstantOfShape", build_constant_of_shape},
    {"", "Shape", build_shape_arithmetic},
    {"", "Size", build_shape_arithmetic},
    {"", "Range", build_range},
    {"", "EyeLike", build_eye_like},
    {"", "HannWindow", build_window},
    {"", "HammingWindow", build_window},
    {"", "BlackmanWindow", build_window},
};

}  // namespace

std::span<const ReaderEntry> constant_readers() { return kConstantReaders; }

}  // namespace halftone::formats::onnx
