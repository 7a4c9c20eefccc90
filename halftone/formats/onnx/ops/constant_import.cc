// SPDX-License-Identifier: Apache-2.0
// Constants that the file stores or describes.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>
#include <optional>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/extent_values.h"
#include "halftone/formats/onnx/registry.h"

namespace halftone::formats::onnx {
namespace {

using ir::BinaryKind;
using ir::ElementType;
using ir::ValueId;

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
  if (!value) value = ir::Tensor(ElementType::kFloat32, {1});
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

/// The count of a Range of values: max(0, ceil((end - start) / step)).
Extent computed_count(NodeBuilder& node, const std::array<ValueId, 3>& ends) {
  const auto& [start, end, step] = ends;
  const ValueId length = emit_binary(node, BinaryKind::kSub, end, start);
  if (node.type(start).encoding.element != ElementType::kFloat32) {
    return count_of_steps(node, emit_cast(node, ElementType::kInt64, length),
                          emit_cast(node, ElementType::kInt64, step));
  }
  const ValueId quotient = emit_binary(node, BinaryKind::kDiv, length, step);
  const ValueId steps =
      emit_cast(node, ElementType::kInt64, emit_unary(node, ir::ActivationKind::kCeil, quotient));
  const ValueId zero = node.add_scalar(0.0, ElementType::kInt64);
  return node.computed_extent(emit_binary(node, BinaryKind::kMax, steps, zero));
}

/// The count of a Range whose ends are known and open extents; nothing for others.
std::optional<Extent> open_count(NodeBuilder& node) {
  std::array<Extent, 3> ends;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const auto known = node.integers(i);
    if (!known || known->values.size() != 1 || has_computed(known->values[0])) return std::nullopt;
    ends[i] = known->values[0];
  }
  const auto step = ends[2].number();
  if (!step || *step == 0) return std::nullopt;
  const Extent length = *step > 0 ? ends[1] - ends[0] : ends[0] - ends[1];
  const std::int64_t stride = *step > 0 ? *step : -*step;
  return Extent::greatest(0, length + stride - 1).over(stride);
}

/// A Range that no constants determine: its count is an open extent or computed.
void build_open_range(NodeBuilder& node) {
  const auto known = open_count(node);
  std::array<ValueId, 3> ends{};
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (known && i == 1) continue;  // the count says it, also where it is no value
    ends[i] = node.reshape(node.input(i), {});
  }
  const ElementType element = node.type(ends[0]).encoding.element;
  const Extent count = known ? *known : computed_count(node, ends);
  const ValueId at = counting(node, count, element);
  const auto is_number = [&](std::size_t i, float number) {
    const ir::Tensor* tensor = node.constant(ends[i]);
    return tensor != nullptr && tensor->cast(ElementType::kFloat32).as<float>()[0] == number;
  };
  const ValueId steps = is_number(2, 1) ? at : emit_binary(node, BinaryKind::kMul, at, ends[2]);
  node.set_output(0, is_number(0, 0) ? steps : emit_binary(node, BinaryKind::kAdd, steps, ends[0]));
}

/// Range: start, start + step, ... below the limit. The count determines the shape.
void build_range(NodeBuilder& node) {
  for (std::size_t i = 0; i < 3; ++i) {
    const auto integers = node.integers(i);
    const bool is_open = integers && !integers->numbers();
    if (is_open || node.constant(node.input(i)) == nullptr) return build_open_range(node);
  }
  const ElementType element = node.input_type(0).encoding.element;
  double ends[3];
  for (std::size_t i = 0; i < 3; ++i) ends[i] = static_cast<double>(node.scalar_input(i));
  const double count = std::ceil((ends[1] - ends[0]) / ends[2]);
  if (std::isnan(count) || count > 1e12) {
    fail(ErrorKind::kShape, "expected a range of at most 10^12 elements, found one from " +
                                std::to_string(ends[0]) + " to " + std::to_string(ends[1]) +
                                " by " + std::to_string(ends[2]));
  }
  const auto length = static_cast<ir::Dim>(std::max(count, 0.0));
  ir::Tensor result = node.allocate(ElementType::kFloat32, {length});
  const auto values = result.as<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(ends[0] + static_cast<double>(i) * ends[2]);
  }
  node.set_output(0, node.add_constant(result.cast(element)));
}

/// Ones on a diagonal of a matrix with the shape of the input.
void build_eye_like(NodeBuilder& node) {
  const ir::ValueType like = node.input_type(0);
  if (like.shape.rank() != 2) {
    fail(ErrorKind::kShape, "expected a matrix, found " + like.to_string());
  }
  ElementType element = like.encoding.element;
  if (node.has_attribute("dtype")) {
    const auto wanted = element_of(static_cast<std::int32_t>(
        std::clamp<std::int64_t>(node.int_attribute("dtype", 0), 0, 1000)));
    if (!wanted) NodeBuilder::unsupported("unsupported element type");
    element = *wanted;
  }
  const std::int64_t k = node.int_attribute("k", 0);
  if (!like.shape.is_static()) {
    const ValueId diagonal = node.add_scalar(static_cast<double>(k), ElementType::kInt64);
    const ValueId mask = diagonal_mask(node, like.shape, BinaryKind::kEqual, diagonal);
    return node.set_output(0, emit_cast(node, element, mask));
  }
  ir::Tensor eye = node.allocate(ElementType::kFloat32, like.shape);
  for (ir::Dim i = 0; i < like.shape[0]; ++i) {
    if (k < -i || k >= like.shape[1] - i) continue;
    eye.as<float>()[static_cast<std::size_t>(i * like.shape[1] + i + k)] = 1;
  }
  node.set_output(0, node.add_constant(eye.cast(element)));
}

/// The type that the attribute output_datatype names.
ElementType described_type(NodeBuilder& node) {
  const auto data_type = static_cast<std::int32_t>(
      std::clamp<std::int64_t>(node.int_attribute("output_datatype", 1), 0, 1000));
  const auto element = element_of(data_type);
  if (!element || !float_system(data_type).empty())
    NodeBuilder::unsupported("unsupported element type");
  return *element;
}

/// The factors of a window function: a - b cos(angle) + c cos(2 angle).
std::array<double, 3> window_terms(const std::string& name) {
  if (name == "HammingWindow") return {25.0 / 46, 21.0 / 46, 0};
  if (name == "BlackmanWindow") return {0.42, 0.5, 0.08};
  return {0.5, 0.5, 0};
}

ValueId known_window(NodeBuilder& node, std::int64_t size, bool periodic) {
  if (size < 0) fail(ErrorKind::kShape, "size: expected one number >= 0");
  const auto [a, b, c] = window_terms(node.op_type());
  const double steps = static_cast<double>(periodic ? size : std::max<std::int64_t>(size - 1, 1));
  ir::Tensor window = node.allocate(ElementType::kFloat32, {size});
  for (std::size_t i = 0; i < window.size(); ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / steps;
    window.as<float>()[i] = static_cast<float>(a - b * std::cos(angle) + c * std::cos(2 * angle));
  }
  return node.add_constant(std::move(window));
}

/// The same for a size that is an open extent or computed, in float32.
ValueId open_window(NodeBuilder& node, const Extent& size, bool periodic) {
  const auto [a, b, c] = window_terms(node.op_type());
  const Extent count = positive_part(node, size);
  ValueId steps = extent_value(node, count, "size");
  if (!periodic) {
    const ValueId one = node.add_scalar(1.0, ElementType::kInt64);
    steps =
        emit_binary(node, BinaryKind::kMax, emit_binary(node, BinaryKind::kSub, steps, one), one);
  }
  const ValueId part =
      emit_binary(node, BinaryKind::kDiv, counting(node, count, ElementType::kFloat32),
                  emit_cast(node, ElementType::kFloat32, steps));
  const auto wave = [&](double turns, double factor) {
    const auto scale = static_cast<float>(2 * std::numbers::pi * turns);
    const ValueId angle = emit_binary(node, BinaryKind::kMul, part, node.add_scalar(scale));
    return emit_binary(node, BinaryKind::kMul, emit_unary(node, ir::ActivationKind::kCos, angle),
                       node.add_scalar(static_cast<float>(factor)));
  };
  const ValueId window =
      emit_binary(node, BinaryKind::kAdd, wave(1, -b), node.add_scalar(static_cast<float>(a)));
  return c == 0 ? window : emit_binary(node, BinaryKind::kAdd, window, wave(2, c));
}

/// Window functions of signal processing: a sum of cosines over size (periodic) or size - 1 steps.
void build_window(NodeBuilder& node) {
  const auto size = node.extents(0);
  if (!size || size->values.size() != 1) fail(ErrorKind::kShape, "size: expected one number >= 0");
  const bool periodic = node.int_attribute("periodic", 1) != 0;
  const auto number = size->values[0].number();
  const ValueId window =
      number ? known_window(node, *number, periodic) : open_window(node, size->values[0], periodic);
  node.set_output(0, emit_cast(node, described_type(node), window));
}

/// The bins of a spectrum of `length` points where the triangles of mel filters begin and end.
std::vector<std::int64_t> mel_bins(NodeBuilder& node, std::int64_t count, std::int64_t length) {
  const auto mel_of = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel_of(static_cast<double>(node.scalar_input(3)));
  const double step =
      (mel_of(static_cast<double>(node.scalar_input(4))) - low) / static_cast<double>(count + 2);
  const auto rate = static_cast<double>(number_input(node, 2));
  const std::int64_t num_bins = length / 2 + 1;
  std::vector<std::int64_t> bins(static_cast<std::size_t>(count + 2));
  for (std::size_t i = 0; i < bins.size(); ++i) {
    const double mel = low + static_cast<double>(i) * step;
    const double hertz = 700 * (std::pow(10, mel / 2595) - 1);
    const double bin = std::floor(static_cast<double>(length + 1) * hertz / rate);
    const bool fits = bin >= 0 && bin < static_cast<double>(num_bins);
    if (!fits) fail(ErrorKind::kShape, "a mel filter beyond the spectrum");
    bins[i] = static_cast<std::int64_t>(bin);
  }
  return bins;
}

/// Triangles [bins of the spectrum, filters] that overlap: each rises to 1 and falls to 0.
void build_mel_weights(NodeBuilder& node) {
  constexpr std::int64_t kMax = std::int64_t{1} << 20;
  const std::int64_t count = number_input(node, 0);
  const std::int64_t length = number_input(node, 1);
  if (count < 1 || count > kMax || length < 1 || length > kMax || number_input(node, 2) < 1) {
    fail(ErrorKind::kShape, std::to_string(count) + " mel filters of " + std::to_string(length) +
                                " points: expected 1 to 2^20, and a sample rate above 0");
  }
  ir::Tensor weights = node.allocate(ElementType::kFloat32, {length / 2 + 1, count});
  const std::vector<std::int64_t> bins = mel_bins(node, count, length);
  const auto values = weights.as<float>();
  for (std::int64_t filter = 0; filter < count; ++filter) {
    const auto i = static_cast<std::size_t>(filter);
    const auto at = [&](std::int64_t bin) -> float& {
      return values[static_cast<std::size_t>(bin * count + filter)];
    };
    for (std::int64_t bin = bins[i]; bin < bins[i + 1]; ++bin) {
      at(bin) = static_cast<float>(bin - bins[i]) / static_cast<float>(bins[i + 1] - bins[i]);
    }
    at(bins[i + 1]) = 1;
    for (std::int64_t bin = bins[i + 1]; bin < bins[i + 2]; ++bin) {
      at(bin) =
          static_cast<float>(bins[i + 2] - bin) / static_cast<float>(bins[i + 2] - bins[i + 1]);
    }
  }
  node.set_output(0, node.add_constant(weights.cast(described_type(node))));
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
    {"", "MelWeightMatrix", build_mel_weights},
};

}  // namespace

std::span<const ReaderEntry> constant_readers() { return kConstantReaders; }

}  // namespace halftone::formats::onnx
