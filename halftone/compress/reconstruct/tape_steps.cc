// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/reconstruct/tape_steps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "halftone/base/error.h"

namespace halftone::compress {
namespace {

[[noreturn]] void fail_gradient(const std::string& what) {
  fail(ErrorKind::kUnsupported, what + " has no gradient");
}

/// For each element of the result, which element of an operand it reads.
std::vector<std::size_t> broadcast_indices(const ir::Shape& operand, const ir::Shape& result) {
  std::vector<std::size_t> indices(result.element_count());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    std::size_t rest = i;
    std::size_t stride = 1;
    for (std::size_t axis = result.rank(); axis-- > 0;) {
      const std::size_t at = rest % static_cast<std::size_t>(result[axis]);
      rest /= static_cast<std::size_t>(result[axis]);
      if (axis + operand.rank() < result.rank()) break;
      const ir::Dim extent = operand[axis + operand.rank() - result.rank()];
      if (extent != 1) indices[i] += at * stride;
      stride *= static_cast<std::size_t>(extent);
    }
  }
  return indices;
}

bool has_partials(ir::BinaryKind kind) {
  return kind == ir::BinaryKind::kAdd || kind == ir::BinaryKind::kSub ||
         kind == ir::BinaryKind::kMul || kind == ir::BinaryKind::kDiv;
}

/// The derivatives of a (op) b by a and by b.
std::pair<float, float> partials(ir::BinaryKind kind, float a, float b) {
  switch (kind) {
    case ir::BinaryKind::kSub:
      return {1.0F, -1.0F};
    case ir::BinaryKind::kMul:
      return {b, a};
    case ir::BinaryKind::kDiv:
      return {1 / b, -a / (b * b)};
    default:
      return {1.0F, 1.0F};
  }
}

/// Each window's taps, one list after another.
struct Windows {
  std::vector<std::size_t> first_tap;  ///< one per output position, and the end
  std::vector<std::size_t> positions;
};

Windows windows_of(const TapeContext& context, const ir::Pool& op) {
  const auto extents = ir::spatial_extents(context.input_shape(0));
  const auto counts = ir::spatial_extents(context.output_shape());
  Windows windows;
  std::size_t outputs = 1;
  for (const ir::Dim count : counts) outputs *= static_cast<std::size_t>(count);
  std::vector<ir::Tap> taps;
  for (std::size_t p = 0; p < outputs; ++p) {
    windows.first_tap.push_back(windows.positions.size());
    find_taps(op.window, extents, op.kernel, counts, p, taps);
    for (const ir::Tap& tap : taps) windows.positions.push_back(tap.position);
  }
  windows.first_tap.push_back(windows.positions.size());
  return windows;
}

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

float derivative(const ir::Activation& activation, float x) {
  using Kind = ir::ActivationKind;
  const float alpha = activation.alpha;
  const float beta = activation.beta;
  switch (activation.kind) {
    case Kind::kIdentity:
      return 1;
    case Kind::kRelu:
      return x > 0 ? 1.0F : 0.0F;
    case Kind::kReluN1To1:
      return x > -1 && x < 1 ? 1.0F : 0.0F;
    case Kind::kRelu6:
      return x > 0 && x < 6 ? 1.0F : 0.0F;
    case Kind::kClip:
      return x > alpha && x < beta ? 1.0F : 0.0F;
    case Kind::kLeakyRelu:
      return x < 0 ? alpha : 1.0F;
    case Kind::kElu:
      return x < 0 ? alpha * std::exp(x) : 1.0F;
    case Kind::kSelu:
      return beta * (x < 0 ? alpha * std::exp(x) : 1.0F);
    case Kind::kTanh: {
      const float y = std::tanh(x);
      return 1 - y * y;
    }
    case Kind::kSigmoid:
      return sigmoid(x) * (1 - sigmoid(x));
    case Kind::kHardSigmoid: {
      const float y = alpha * x + beta;
      return y > 0 && y < 1 ? alpha : 0.0F;
    }
    case Kind::kHardSwish:
      return x < -3 ? 0.0F : x > 3 ? 1.0F : x / 3 + 0.5F;
    case Kind::kSilu:
      return sigmoid(x) * (1 + x * (1 - sigmoid(x)));
    case Kind::kGelu: {
      const float density = std::exp(-x * x / 2) * 0.398942280F;
      return 0.5F * (1 + std::erf(x * std::numbers::sqrt2_v<float> / 2)) + x * density;
    }
    case Kind::kExp:
      return std::exp(x);
    case Kind::kSquare:
      return 2 * x;
    case Kind::kNeg:
      return -1;
    default:
      fail_gradient(to_string(activation));
  }
}

TapeStep unary_step(const TapeContext& context, const ir::Activation& activation) {
  derivative(activation, 0.5F);  // refuses what it does not know
  const auto x = context.inputs[0];
  const auto dx = context.input_gradients[0];
  const auto y = context.output;
  const auto dy = context.output_gradient;
  return {[=] {
            for (std::size_t i = 0; i < x.size(); ++i) y[i] = apply(activation, x[i]);
          },
          [=] {
            for (std::size_t i = 0; i < dx.size(); ++i) {
              dx[i] += dy[i] * derivative(activation, x[i]);
            }
          }};
}

TapeStep binary_step(const TapeContext& context, const ir::Binary& op) {
  if (!has_partials(op.kind)) fail_gradient(describe(context.node));
  derivative(op.activation, 0.5F);
  const auto at_a = broadcast_indices(context.input_shape(0), context.output_shape());
  const auto at_b = broadcast_indices(context.input_shape(1), context.output_shape());
  const auto a = context.inputs[0];
  const auto b = context.inputs[1];
  const auto da = context.input_gradients[0];
  const auto db = context.input_gradients[1];
  const auto y = context.output;
  const auto dy = context.output_gradient;
  return {[=] {
            for (std::size_t i = 0; i < y.size(); ++i) {
              y[i] = apply(op.activation, apply(op.kind, a[at_a[i]], b[at_b[i]]));
            }
          },
          [=] {
            for (std::size_t i = 0; i < y.size(); ++i) {
              const float left = a[at_a[i]];
              const float right = b[at_b[i]];
              const float slope = dy[i] * derivative(op.activation, apply(op.kind, left, right));
              const auto [by_a, by_b] = partials(op.kind, left, right);
              if (!da.empty()) da[at_a[i]] += slope * by_a;
              if (!db.empty()) db[at_b[i]] += slope * by_b;
            }
          }};
}

TapeStep pool_step(const TapeContext& context, const ir::Pool& op) {
  if (op.kind == ir::PoolKind::kAverage && (op.count_padding || op.round_up)) {
    fail_gradient(describe(context.node));
  }
  const Windows windows = windows_of(context, op);
  const auto x = context.inputs[0];
  const auto dx = context.input_gradients[0];
  const auto y = context.output;
  const auto dy = context.output_gradient;
  const bool is_max = op.kind == ir::PoolKind::kMax;
  const auto samples = static_cast<std::size_t>(context.output_shape()[0]);
  const auto channels = static_cast<std::size_t>(context.output_shape().back());
  const std::size_t outputs = windows.first_tap.size() - 1;
  const std::size_t sample_elements = x.size() / std::max<std::size_t>(samples, 1);
  const auto source = std::make_shared<std::vector<std::size_t>>(y.size());  // of each maximum
  // visit(output element, first input element of its sample and channel, window)
  const auto for_each_output = [=](auto&& visit) {
    for (std::size_t i = 0; i < samples * outputs * channels; ++i) {
      const std::size_t n = i / (outputs * channels);
      visit(i, n * sample_elements + i % channels, i / channels % outputs);
    }
  };
  return {[=] {
            for_each_output([&](std::size_t i, std::size_t base, std::size_t window) {
              float most = -std::numeric_limits<float>::infinity();
              float sum = 0;
              const std::size_t end = windows.first_tap[window + 1];
              for (std::size_t t = windows.first_tap[window]; t < end; ++t) {
                const std::size_t at = base + windows.positions[t] * channels;
                sum += x[at];
                if (x[at] > most) {
                  most = x[at];
                  (*source)[i] = at;
                }
              }
              const auto count = static_cast<float>(end - windows.first_tap[window]);
              y[i] = is_max ? most : sum / std::max(count, 1.0F);
            });
          },
          [=] {
            if (dx.empty()) return;
            for_each_output([&](std::size_t i, std::size_t base, std::size_t window) {
              if (is_max) {
                dx[(*source)[i]] += dy[i];
                return;
              }
              const std::size_t end = windows.first_tap[window + 1];
              const auto count = static_cast<float>(end - windows.first_tap[window]);
              for (std::size_t t = windows.first_tap[window]; t < end; ++t) {
                dx[base + windows.positions[t] * channels] += dy[i] / count;
              }
            });
          }};
}

TapeStep softmax_step(const TapeContext& context, const ir::Softmax& op) {
  const ir::Shape& shape = context.output_shape();
  if (op.log || op.axis + 1 != shape.rank()) fail_gradient(describe(context.node));
  const auto x = context.inputs[0];
  const auto dx = context.input_gradients[0];
  const auto y = context.output;
  const auto dy = context.output_gradient;
  const auto cols = static_cast<std::size_t>(shape.back());
  return {[=] {
            for (std::size_t first = 0; first < x.size(); first += cols) {
              const float most = std::ranges::max(x.subspan(first, cols));
              float sum = 0;
              for (std::size_t i = first; i < first + cols; ++i) {
                y[i] = std::exp(op.beta * (x[i] - most));
                sum += y[i];
              }
              for (std::size_t i = first; i < first + cols; ++i) y[i] /= sum;
            }
          },
          [=] {
            for (std::size_t first = 0; first < dx.size(); first += cols) {
              float mean = 0;
              for (std::size_t i = first; i < first + cols; ++i) mean += y[i] * dy[i];
              for (std::size_t i = first; i < first + cols; ++i) {
                dx[i] += op.beta * y[i] * (dy[i] - mean);
              }
            }
          }};
}

TapeStep move_step(const TapeContext& context) {
  // Number the elements of all inputs from 1 on, and see which numbers come out.
  std::vector<ir::Tensor> numbered;
  std::int32_t next = 1;
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    numbered.emplace_back(ir::ElementType::kInt32, context.input_shape(i));
    for (std::int32_t& number : numbered.back().as<std::int32_t>()) number = next++;
  }
  std::vector<const ir::Tensor*> inputs;
  for (const ir::Tensor& tensor : numbered) inputs.push_back(&tensor);
  const ir::Tensor moved = ir::evaluate_operator(context.node.op, inputs);
  const auto numbers = moved.as<std::int32_t>();
  const std::vector<std::int32_t> from(numbers.begin(), numbers.end());
  std::vector<std::size_t> begins = {1};
  for (const auto& input : context.inputs) begins.push_back(begins.back() + input.size());
  // visit(output element, input, its element), not for elements that come from nowhere
  const auto for_each = [from, begins](auto&& visit) {
    std::size_t input = 0;
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i] <= 0) continue;
      const auto number = static_cast<std::size_t>(from[i]);
      while (number < begins[input]) --input;
      while (number >= begins[input + 1]) ++input;
      visit(i, input, number - begins[input]);
    }
  };
  const auto x = context.inputs;
  const auto dx = context.input_gradients;
  const auto y = context.output;
  const auto dy = context.output_gradient;
  return {[=] {
            std::ranges::fill(y, 0.0F);
            for_each([&](std::size_t i, std::size_t input, std::size_t element) {
              y[i] = x[input][element];
            });
          },
          [=] {
            for_each([&](std::size_t i, std::size_t input, std::size_t element) {
              if (!dx[input].empty()) dx[input][element] += dy[i];
            });
          }};
}

TapeStep make_tape_step(const TapeContext& context) {
  const ir::Operator& op = context.node.op;
  if (const auto* layer = std::get_if<ir::FullyConnected>(&op)) {
    return layer_step(context, layer->activation);
  }
  if (const auto* conv = std::get_if<ir::Conv>(&op)) return layer_step(context, conv->activation);
  if (const auto* conv = std::get_if<ir::ConvTranspose>(&op)) {
    return layer_step(context, conv->activation);
  }
  if (const auto* unary = std::get_if<ir::Unary>(&op))
    return unary_step(context, unary->activation);
  if (const auto* binary = std::get_if<ir::Binary>(&op)) return binary_step(context, *binary);
  if (const auto* pool = std::get_if<ir::Pool>(&op)) return pool_step(context, *pool);
  if (const auto* softmax = std::get_if<ir::Softmax>(&op)) return softmax_step(context, *softmax);
  if (std::holds_alternative<ir::Reshape>(op) || std::holds_alternative<ir::Transpose>(op) ||
      std::holds_alternative<ir::Slice>(op) || std::holds_alternative<ir::Concat>(op) ||
      std::holds_alternative<ir::BroadcastTo>(op) || std::holds_alternative<ir::Tile>(op)) {
    return move_step(context);
  }
  const auto* pad = std::get_if<ir::Pad>(&op);
  if (pad != nullptr && context.inputs.size() == 1) return move_step(context);
  fail_gradient(describe(context.node));
}

}  // namespace halftone::compress
