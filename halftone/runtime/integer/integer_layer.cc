// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "halftone/base/parallel.h"
#include "halftone/ir/work.h"
#include "halftone/kernels/dense/integer_matmul.h"
#include "halftone/runtime/integer/integer.h"
#include "halftone/runtime/linear/linear_cost.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

using kernels::IntegerMatmulWeights;
using Short = std::int16_t;
using Int = std::int32_t;

/// Number of outputs whose inputs are gathered before they are multiplied.
constexpr std::size_t kPatchRows = 32;
/// Estimated time of one product.
constexpr double kPicosecondsPerProduct = 20;

/// 8-bit codes minus the zero points of their outputs.
template <typename Code>
void widen(const std::byte* codes, std::size_t count, Int zero_point, Short* wide) {
  const auto* from = reinterpret_cast<const Code*>(codes);
  for (std::size_t i = 0; i < count; ++i) wide[i] = static_cast<Short>(from[i] - zero_point);
}

void widen(ir::ElementType element, const std::byte* codes, std::size_t count, Int zero_point,
           Short* wide) {
  if (element == ir::ElementType::kInt8) {
    widen<std::int8_t>(codes, count, zero_point, wide);
  } else {
    widen<std::uint8_t>(codes, count, zero_point, wide);
  }
}

/// A layer whose weights are packed. A FullyConnected is a Conv of one position and one tap.
struct IntegerLayer {
  ir::ElementType element = ir::ElementType::kInt8;
  Int zero_point = 0;
  std::size_t samples = 1;
  std::size_t inputs = 1;    ///< positions of a sample
  std::size_t outputs = 1;   ///< positions of a sample's output
  std::size_t channels = 0;  ///< of an input position
  std::size_t filters = 0;   ///< of an output position
  std::size_t groups = 1;
  std::size_t taps = 1;
  std::vector<std::ptrdiff_t> positions;      ///< [outputs, taps] input positions; -1: padding
  std::vector<Int> bias;                      ///< [filters] or empty
  std::vector<IntegerMatmulWeights> weights;  ///< by group; none if each has one channel
  std::vector<Short> depthwise;               ///< [taps, filters], if each group has one channel
  bool reads_rows = false;                    ///< the inputs of an output are a row of the input
  std::size_t shares = 1;

  [[nodiscard]] std::size_t group_channels() const { return channels / groups; }
  [[nodiscard]] std::size_t group_filters() const { return filters / groups; }
  [[nodiscard]] std::size_t rows() const { return samples * outputs; }
  [[nodiscard]] std::size_t wide_bytes() const {
    return AlignedBuffer::rounded_up(samples * inputs * channels * sizeof(Short));
  }
  [[nodiscard]] std::size_t patch_bytes() const {
    if (weights.empty() || reads_rows) return 0;
    return AlignedBuffer::rounded_up(kPatchRows * weights.front().padded_inputs() * sizeof(Short));
  }
  [[nodiscard]] std::size_t scratch_bytes() const { return wide_bytes() + shares * patch_bytes(); }
  [[nodiscard]] std::size_t packed_bytes() const {
    std::size_t sum = bias.size() * sizeof(Int) + depthwise.size() * sizeof(Short) +
                      positions.size() * sizeof(std::ptrdiff_t);
    for (const IntegerMatmulWeights& each : weights) sum += each.size_bytes();
    return sum;
  }

  void run(const std::byte* x, std::byte* scratch, Int* y) const {
    auto* wide = reinterpret_cast<Short*>(scratch);
    widen(element, x, samples * inputs * channels, zero_point, wide);
    const auto body = [&](std::size_t share) {
      auto* patches = reinterpret_cast<Short*>(scratch + wide_bytes() + share * patch_bytes());
      const std::size_t last = rows() * (share + 1) / shares;
      for (std::size_t row = rows() * share / shares; row < last;) {
        const std::size_t count = std::min(kPatchRows, last - row);
        compute(wide, row, count, patches, y + row * filters);
        row += count;
      }
    };
    if (shares == 1) return body(0);
    parallel_for(shares, std::ref(body));  // by reference: allocates nothing
  }

 private:
  void compute(const Short* wide, std::size_t row, std::size_t count, Short* patches,
               Int* y) const {
    for (std::size_t r = 0; r < count; ++r) {
      if (bias.empty()) {
        std::fill_n(y + r * filters, filters, 0);
      } else {
        std::ranges::copy(bias, y + r * filters);
      }
    }
    if (weights.empty()) {
      for (std::size_t r = 0; r < count; ++r) add_depthwise(wide, row + r, y + r * filters);
      return;
    }
    for (std::size_t g = 0; g < groups; ++g) {
      const std::size_t n = weights[g].padded_inputs();
      const Short* from = patches;
      if (reads_rows) {
        from = wide + row * channels;
      } else {
        for (std::size_t r = 0; r < count; ++r) gather(wide, row + r, g, patches + r * n);
      }
      kernels::integer_matmul({from, count, n, n}, weights[g],
                              {y + g * group_filters(), count, group_filters(), filters});
    }
  }

  /// The channels of the input position that a tap of an output reads; null in the padding.
  [[nodiscard]] const Short* position(const Short* wide, std::size_t row, std::size_t tap) const {
    const std::ptrdiff_t index = positions[row % outputs * taps + tap];
    if (index < 0) return nullptr;
    return wide + (row / outputs * inputs + static_cast<std::size_t>(index)) * channels;
  }

  void gather(const Short* wide, std::size_t row, std::size_t group, Short* patch) const {
    const std::size_t width = group_channels();
    for (std::size_t t = 0; t < taps; ++t, patch += width) {
      const Short* from = position(wide, row, t);
      if (from == nullptr) {
        std::fill_n(patch, width, Short{0});
      } else {
        std::copy_n(from + group * width, width, patch);
      }
    }
    if (taps * width % 2 != 0) *patch = 0;
  }

  void add_depthwise(const Short* wide, std::size_t row, Int* y) const {
    const std::size_t multiplier = group_filters();
    for (std::size_t t = 0; t < taps; ++t) {
      const Short* from = position(wide, row, t);
      if (from == nullptr) continue;
      const Short* w = depthwise.data() + t * filters;
      const auto add = [&](std::size_t o, std::size_t channel) {
        // Unsigned because sums may wrap around.
        const auto product = static_cast<std::uint32_t>(Int{from[channel]} * Int{w[o]});
        y[o] = static_cast<Int>(static_cast<std::uint32_t>(y[o]) + product);
      };
      if (multiplier == 1) {
        for (std::size_t o = 0; o < filters; ++o) add(o, o);
      } else {
        for (std::size_t o = 0; o < filters; ++o) add(o, o / multiplier);
      }
    }
  }
};

/// The weights [O, taps, C / groups] minus their zero points.
std::vector<Short> wide_weights(const ir::Tensor& weights, const ir::ZeroPoints& zero_points) {
  std::vector<Short> wide(weights.size());
  const auto [outputs, n] = ir::matrix_extent(weights.shape());
  for (std::size_t o = 0; o < outputs; ++o) {
    widen(weights.element(), weights.bytes().data() + o * n, n, zero_points.of_output(o),
          wide.data() + o * n);
  }
  return wide;
}

void pack(IntegerLayer& layer, const ir::Tensor& weights, const ir::ZeroPoints& zero_points) {
  const std::vector<Short> wide = wide_weights(weights, zero_points);
  const std::size_t n = layer.taps * layer.group_channels();
  if (layer.group_channels() == 1 && layer.groups > 1) {
    layer.depthwise.resize(layer.taps * layer.filters);
    for (std::size_t o = 0; o < layer.filters; ++o) {
      for (std::size_t t = 0; t < layer.taps; ++t) {
        layer.depthwise[t * layer.filters + o] = wide[o * layer.taps + t];
      }
    }
    return;
  }
  const std::size_t rows = layer.group_filters();
  for (std::size_t g = 0; g < layer.groups; ++g) {
    layer.weights.emplace_back(MatrixView<const Short>(wide.data() + g * rows * n, rows, n, n));
  }
}

/// Finds the input position of each tap of each output.
void find_positions(IntegerLayer& layer, const ir::Conv& op, const NodeContext& context) {
  const auto image = ir::spatial_extents(context.input(0).shape);
  const auto kernel = ir::kernel_extents(context.input(1).shape);
  const auto counts = ir::spatial_extents(context.output().shape);
  layer.positions.assign(layer.outputs * layer.taps, -1);
  std::vector<ir::Tap> taps;
  for (std::size_t p = 0; p < layer.outputs; ++p) {
    ir::find_taps(op.window, {image, kernel, counts}, p, taps);
    for (const ir::Tap& tap : taps) {
      layer.positions[p * layer.taps + tap.tap] = static_cast<std::ptrdiff_t>(tap.position);
    }
  }
}

std::size_t count_of(std::span<const ir::Dim> extents) {
  std::size_t count = 1;
  for (const ir::Dim extent : extents) count *= static_cast<std::size_t>(extent);
  return count;
}

void describe_layer(IntegerLayer& layer, const ir::FullyConnected& op, const NodeContext& context) {
  const ir::MatrixExtent x = row_extent(context.input(0).shape);
  layer.samples = x.rows;
  layer.channels = x.cols;
  layer.positions = {0};
  layer.zero_point = op.zero_points.x;
}

void describe_layer(IntegerLayer& layer, const ir::Conv& op, const NodeContext& context) {
  const ir::Shape& x = context.input(0).shape;
  layer.samples = static_cast<std::size_t>(x[0]);
  layer.channels = static_cast<std::size_t>(x.back());
  layer.inputs = count_of(ir::spatial_extents(x));
  layer.outputs = count_of(ir::spatial_extents(context.output().shape));
  layer.groups = static_cast<std::size_t>(op.groups);
  layer.taps = count_of(ir::kernel_extents(context.input(1).shape));
  layer.zero_point = op.zero_points.x;
  find_positions(layer, op, context);
}

bool is_row_by_row(const IntegerLayer& layer) {
  if (layer.taps != 1 || layer.groups != 1 || layer.inputs != layer.outputs) return false;
  if (layer.weights.empty() || layer.weights.front().padded_inputs() != layer.channels) {
    return false;
  }
  for (std::size_t p = 0; p < layer.outputs; ++p) {
    if (layer.positions[p] != static_cast<std::ptrdiff_t>(p)) return false;
  }
  return true;
}

Verdict judge_integer_layer(const NodeContext& context) {
  if (!ir::are_integers(context.input(0), context.input(1))) return refuse("not integers");
  if (context.constant(1) == nullptr) return refuse("the weights are not constant");
  if (context.has_input(2) && context.constant(2) == nullptr) {
    return refuse("the bias is not constant");
  }
  if (context.output().shape.element_count() == 0 || context.input(1).shape.element_count() == 0) {
    return refuse("there is nothing to compute");
  }
  return accept("integers of 8 bits");
}

Kernel create_integer_layer(const NodeContext& context) {
  auto layer = std::make_shared<IntegerLayer>();
  layer->element = context.input(0).encoding.element;
  layer->filters = static_cast<std::size_t>(context.output().shape.back());
  const auto& weights = std::get<ir::Tensor>(*context.constant(1));
  const auto fill = [&](const auto& op) {
    describe_layer(*layer, op, context);
    pack(*layer, weights, op.zero_points);
  };
  if (const auto* conv = std::get_if<ir::Conv>(&context.node.op)) {
    fill(*conv);
  } else {
    fill(context.op<ir::FullyConnected>());
  }
  layer->reads_rows = is_row_by_row(*layer);
  if (context.has_input(2)) {
    const auto bias = std::get<ir::Tensor>(*context.constant(2)).as<Int>();
    layer->bias.assign(bias.begin(), bias.end());
  }
  const double us =
      1e-6 * kPicosecondsPerProduct * ir::work_of(context.graph, context.node).products();
  layer->shares =
      std::clamp<std::size_t>(threads_for(context, us), 1, std::max<std::size_t>(layer->rows(), 1));
  Kernel kernel;
  kernel.packed_bytes = layer->packed_bytes();
  kernel.packed_inputs = {1, 2};
  kernel.scratch_bytes = layer->scratch_bytes();
  kernel.bind = [layer](const Buffers& buffers) -> Call {
    return [layer, x = buffers.inputs[0], scratch = buffers.scratch,
            y = reinterpret_cast<Int*>(buffers.output)] { layer->run(x, scratch, y); };
  };
  return kernel;
}

}  // namespace

constinit const Implementation kIntegerLayer{
    .name = "integers", .judge = judge_integer_layer, .create = create_integer_layer};

}  // namespace halftone::runtime
