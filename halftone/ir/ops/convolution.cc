// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/convolution.h"

#include <algorithm>

#include "halftone/ir/extent.h"
#include "halftone/ir/ops/encoding.h"

namespace halftone::ir {
namespace {

void require_one_basis(InputTypes inputs) {
  require(inputs[0]->encoding.is_dense() ||
              inputs[0]->encoding.codes->granularity == numerics::Granularity::kTensor,
          "input 0: expected one scale for the tensor, found " + inputs[0]->to_string());
}

/// Checks that Conv and ConvTranspose share.
void check_inputs(const Window& window, Dim groups, InputTypes inputs) {
  require_one_basis(inputs);
  const Shape& x = inputs[0]->shape;
  const Shape& w = inputs[1]->shape;
  const std::size_t rank = spatial_extents(x).size();
  require(w.rank() == rank + 2 && w.is_static(),
          "weights: expected [outputs, kernel..., channels / groups] with " + std::to_string(rank) +
              " extents of the kernel, found " + w.to_string());
  check_window(window, rank);
  require(groups >= 1 && w[0] % groups == 0, std::to_string(w[0]) + " outputs do not divide into " +
                                                 std::to_string(groups) + " groups");
  require(may_be_equal(x.back(), groups * w.back()),
          "input " + x.to_string() + " does not fit weights " + w.to_string() + " in " +
              std::to_string(groups) + " groups");
  check_bias(inputs, 2, w[0]);
}

ValueType image_type(const Shape& x, std::vector<Dim> extents, Dim channels, ElementType element) {
  extents.insert(extents.begin(), x[0]);
  extents.push_back(channels);
  return dense_type(element, Shape(std::move(extents)));
}

std::vector<Dim> transposed_extents(const ConvTranspose& op, std::span<const Dim> extents,
                                    std::span<const Dim> kernel) {
  std::vector<Dim> result;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    require(kernel[i] >= 1, "expected a kernel of at least one tap");
    require(op.output_padding[i] >= 0 && op.output_padding[i] < (Dim{1} << 31),
            "output padding: expected values from 0 to 2^31 - 1, found " +
                std::to_string(op.output_padding[i]));
    if (is_expression(extents[i])) {
      const Extent all = (extent_of(extents[i]) - 1) * op.window.strides[i] +
                         covered(kernel[i], op.window.dilations[i]);
      result.push_back(
          dim_of(all + op.output_padding[i] - op.window.pads_before[i] - op.window.pads_after[i]));
      continue;
    }
    const Dim all = extents[i] == 0 ? 0
                                    : (extents[i] - 1) * op.window.strides[i] +
                                          covered(kernel[i], op.window.dilations[i]);
    const Dim cut = op.window.pads_before[i] + op.window.pads_after[i];
    require(all + op.output_padding[i] >= cut,
            "padding of " + std::to_string(cut) + " exceeds an output of " + std::to_string(all));
    result.push_back(all + op.output_padding[i] - cut);
  }
  return result;
}

/// The extents of a convolution, as small matrices per tap.
struct ConvExtents {
  std::size_t samples;
  std::size_t inputs;          ///< positions of the input
  std::size_t outputs;         ///< positions of the output
  std::size_t channels;        ///< of the input
  std::size_t group_channels;  ///< input channels per output
  std::size_t filters;         ///< output channels
  std::size_t group_filters;   ///< of one group
  std::size_t taps;
};

ConvExtents extents_of(const Shape& x, const Shape& w, const Shape& y, Dim groups) {
  return {static_cast<std::size_t>(x[0]),
          count_of(spatial_extents(x)),
          count_of(spatial_extents(y)),
          static_cast<std::size_t>(x.back()),
          static_cast<std::size_t>(w.back()),
          static_cast<std::size_t>(w[0]),
          static_cast<std::size_t>(w[0] / groups),
          count_of(kernel_extents(w))};
}

/// The sum of x w over the channels of a group, at one position and tap.
double product(const ConvExtents& e, const float* x, const float* w, std::size_t tap,
               std::size_t o) {
  const float* from = x + o / e.group_filters * e.group_channels;
  const float* weights = w + (o * e.taps + tap) * e.group_channels;
  double sum = 0;
  for (std::size_t c = 0; c < e.group_channels; ++c) {
    sum += static_cast<double>(from[c]) * static_cast<double>(weights[c]);
  }
  return sum;
}

const Tensor* bias_of(InputTensors inputs) { return inputs.size() > 2 ? inputs[2] : nullptr; }
const Tensor* residual_of(InputTensors inputs) { return inputs.size() > 3 ? inputs[3] : nullptr; }

/// Adds the bias to sums in double precision, then applies residual and activation.
Tensor finished(const std::vector<double>& sums, Shape shape, InputTensors inputs,
                const Activation& activation) {
  Tensor result(ElementType::kFloat32, std::move(shape));
  const Tensor* const bias = bias_of(inputs);
  const Tensor* const residual = residual_of(inputs);
  const auto y = result.as<float>();
  const auto filters = static_cast<std::size_t>(result.shape().back());
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double b = bias != nullptr ? static_cast<double>(bias->as<float>()[i % filters]) : 0;
    const auto sum = static_cast<float>(b + sums[i]);
    y[i] = apply(activation, residual != nullptr ? sum + residual->as<float>()[i] : sum);
  }
  return result;
}

template <typename Op>
Shape output_shape(const Op& op, InputTensors inputs) {
  const ValueType x = inputs[0]->type();
  const ValueType w = inputs[1]->type();
  const std::vector<const ValueType*> types = {&x, &w};
  return infer_types(op, types).shape;
}

WindowExtents window_extents(const Shape& x, const Shape& w, const Shape& y) {
  return {spatial_extents(x), kernel_extents(w), spatial_extents(y)};
}

/// Calls visit(sample, filter, position, tap) for each tap at each position of a window.
template <typename Visit>
void for_each_tap(const Window& window, const ConvExtents& e, const WindowExtents& extents,
                  Visit&& visit) {
  std::vector<Tap> taps;
  for (std::size_t p = 0; p < count_of(extents.output); ++p) {
    find_taps(window, extents, p, taps);
    for (std::size_t i = 0; i < e.samples * e.filters; ++i) {
      for (const Tap& tap : taps) visit(i / e.filters, i % e.filters, p, tap);
    }
  }
}

Tensor evaluate_numbers(const Conv& op, InputTensors inputs) {
  const Shape& x_shape = inputs[0]->shape();
  const Shape& w_shape = inputs[1]->shape();
  Shape shape = output_shape(op, inputs);
  const ConvExtents e = extents_of(x_shape, w_shape, shape, op.groups);
  const float* x = inputs[0]->as<float>().data();
  const float* w = inputs[1]->as<float>().data();
  std::vector<double> sums(e.samples * e.outputs * e.filters, 0);
  const auto add = [&](std::size_t n, std::size_t o, std::size_t p, const Tap& tap) {
    sums[(n * e.outputs + p) * e.filters + o] +=
        product(e, x + (n * e.inputs + tap.position) * e.channels, w, tap.tap, o);
  };
  for_each_tap(op.window, e, window_extents(x_shape, w_shape, shape), add);
  Tensor y = finished(sums, std::move(shape), inputs, op.activation);
  if (op.codes == nullptr) return y;
  const Tensor* const numbers[] = {&y};
  return evaluate(Encode{op.codes}, numbers);
}

Tensor evaluate_integers(const Conv& op, InputTensors inputs) {
  const Shape& x_shape = inputs[0]->shape();
  const Shape& w_shape = inputs[1]->shape();
  Shape shape = output_shape(op, inputs);
  const ConvExtents e = extents_of(x_shape, w_shape, shape, op.groups);
  const Tensor x = inputs[0]->cast(ElementType::kInt32);
  const Tensor w = inputs[1]->cast(ElementType::kInt32);
  Tensor result(ElementType::kInt32, shape);
  const auto y = result.as<std::int32_t>();
  if (const Tensor* bias = bias_of(inputs)) {
    const auto b = bias->as<std::int32_t>();
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = b[i % e.filters];
  }
  const auto add = [&](std::size_t n, std::size_t o, std::size_t p, const Tap& tap) {
    const std::size_t at = (n * e.outputs + p) * e.filters + o;
    const std::size_t from = (n * e.inputs + tap.position) * e.channels;
    const auto codes = x.as<std::int32_t>().subspan(from + o / e.group_filters * e.group_channels,
                                                    e.group_channels);
    const auto weights =
        w.as<std::int32_t>().subspan((o * e.taps + tap.tap) * e.group_channels, e.group_channels);
    auto sum = static_cast<std::uint32_t>(y[at]);  // unsigned because sums may wrap around
    for (std::size_t c = 0; c < e.group_channels; ++c) {
      sum += static_cast<std::uint32_t>((codes[c] - op.zero_points.x) *
                                        (weights[c] - op.zero_points.of_output(o)));
    }
    y[at] = static_cast<std::int32_t>(sum);
  };
  for_each_tap(op.window, e, window_extents(x_shape, w_shape, shape), add);
  return result;
}

std::string join(std::string window, Dim groups, const Activation& activation) {
  if (groups != 1)
    window.append(window.empty() ? "" : " ").append("groups=" + std::to_string(groups));
  if (activation != Activation{}) {
    window.append(window.empty() ? "" : " ").append("activation=" + to_string(activation));
  }
  return window;
}

}  // namespace

bool Conv::operator==(const Conv& other) const {
  const bool same_codes =
      codes == nullptr || other.codes == nullptr ? codes == other.codes : *codes == *other.codes;
  return window == other.window && groups == other.groups && activation == other.activation &&
         zero_points == other.zero_points && arithmetic == other.arithmetic && same_codes;
}

std::span<const Dim> kernel_extents(const Shape& weights) {
  return weights.dims().subspan(1, weights.rank() - 2);
}

ValueType infer_types(const Conv& op, InputTypes inputs) {
  const Shape& x = inputs[0]->shape;
  const Shape& w = inputs[1]->shape;
  check_operands(inputs, op.zero_points, w.rank() == 0 ? 0 : w[0]);
  check_inputs(op.window, op.groups, inputs);
  const bool integers = are_integers(*inputs[0], *inputs[1]);
  const bool residual = inputs.size() > 3 && inputs[3] != nullptr;
  require(!integers || op.activation == Activation{}, "an integer product takes no activation");
  require(!integers || (!residual && op.codes == nullptr),
          "an integer product takes no residual or codes");
  ValueType y = image_type(x, window_counts(op.window, spatial_extents(x), kernel_extents(w)), w[0],
                           integers ? ElementType::kInt32 : ElementType::kFloat32);
  require(!residual || (inputs[3]->is_dense(ElementType::kFloat32) && inputs[3]->shape == y.shape),
          "residual: expected " + y.to_string() + ", found " +
              (residual ? inputs[3]->to_string() : "none"));
  if (op.codes == nullptr) return y;
  const ValueType* const numbers[] = {&y};
  return infer_types(Encode{op.codes}, numbers);
}

ValueType infer_types(const ConvTranspose& op, InputTypes inputs) {
  const Shape& x = inputs[0]->shape;
  const Shape& w = inputs[1]->shape;
  require(inputs[0]->encoding.element == ElementType::kFloat32 &&
              inputs[1]->encoding.element == ElementType::kFloat32,
          "expected float32 operands, found " + inputs[0]->to_string() + " and " +
              inputs[1]->to_string());
  check_inputs(op.window, op.groups, inputs);
  require(op.output_padding.size() == op.window.rank(),
          "output padding: expected " + std::to_string(op.window.rank()) + " values, found " +
              std::to_string(op.output_padding.size()));
  return image_type(x, transposed_extents(op, spatial_extents(x), kernel_extents(w)), w[0],
                    ElementType::kFloat32);
}

Tensor evaluate(const Conv& op, InputTensors inputs) {
  return inputs[0]->element() == ElementType::kFloat32 ? evaluate_numbers(op, inputs)
                                                       : evaluate_integers(op, inputs);
}

Tensor evaluate(const ConvTranspose& op, InputTensors inputs) {
  const Shape& x_shape = inputs[0]->shape();
  const Shape& w_shape = inputs[1]->shape();
  Shape shape = output_shape(op, inputs);
  const ConvExtents e = extents_of(x_shape, w_shape, shape, op.groups);
  const float* x = inputs[0]->as<float>().data();
  const float* w = inputs[1]->as<float>().data();
  std::vector<double> sums(e.samples * e.outputs * e.filters, 0);
  // A ConvTranspose writes where a Conv over its output would read.
  const auto add = [&](std::size_t n, std::size_t o, std::size_t p, const Tap& tap) {
    sums[(n * e.outputs + tap.position) * e.filters + o] +=
        product(e, x + (n * e.inputs + p) * e.channels, w, tap.tap, o);
  };
  for_each_tap(op.window, e, window_extents(shape, w_shape, x_shape), add);
  return finished(sums, std::move(shape), inputs, op.activation);
}

std::string attributes(const Conv& op) {
  std::string text = join(to_string(op.window), op.groups, op.activation);
  const std::string zero_points = to_string(op.zero_points);
  if (!zero_points.empty()) text.append(text.empty() ? "" : " ").append(zero_points);
  if (op.codes != nullptr)
    text.append(text.empty() ? "" : " ").append(attributes(Encode{op.codes}));
  return text;
}

std::string attributes(const ConvTranspose& op) {
  return join(to_string(op.window), op.groups, op.activation);
}

}  // namespace halftone::ir
