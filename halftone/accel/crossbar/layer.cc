// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/crossbar/layer.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include "halftone/accel/crossbar/arrays.h"
#include "halftone/accel/crossbar/convolution.h"
#include "halftone/accel/crossbar/noise.h"
#include "halftone/runtime/elementwise/elementwise.h"
#include "halftone/runtime/linear/linear.h"

namespace halftone::crossbar {
namespace {

/// 2 popcount(plane) - n
float sum_of_signs(std::span<const std::uint64_t> plane, std::size_t n) {
  std::int64_t ones = 0;
  for (const std::uint64_t word : plane) ones += std::popcount(word);
  return static_cast<float>(2 * ones - static_cast<std::int64_t>(n));
}

/// A fully connected layer on arrays.
class FullyConnectedLayer {
 public:
  FullyConnectedLayer(const runtime::NodeContext& context, const ir::EncodedTensor& weights,
                      Arrays arrays)
      : arrays_(std::move(arrays)),
        x_basis_(context.input(0).encoding.codes->basis(0)),
        rows_(runtime::row_extent(context.input(0).shape).rows),
        activation_(context.op<ir::FullyConnected>().activation),
        has_offset_(!weights.encoding->is_centred()) {
    const auto bias = runtime::constant_floats(context, 2);
    bias_.assign(bias.begin(), bias.end());
    for (std::size_t o = 0; o < outputs(); ++o) {
      const numerics::Basis basis = weights.encoding->basis(o, 0, inputs());
      offsets_.push_back(basis.offset);
      float sum = 0;
      for (int j = 0; j < basis.bits; ++j) {
        const auto plane = weights.codes.planes.row(weights.codes.plane(o, j));
        sum += basis.a()[static_cast<std::size_t>(j)] * sum_of_signs(plane, inputs());
      }
      sums_.push_back(sum);
    }
  }

  [[nodiscard]] std::size_t size_bytes() const { return arrays_.size_bytes(); }

  void run(const std::byte* x, std::byte* y) const {
    const std::size_t reads = rows_ * x_bits();
    const std::span pulses(reinterpret_cast<const std::uint64_t*>(x), reads * arrays_.words());
    std::vector<float> memory(reads * arrays_.mapping().units());
    const MatrixView<float> counts{std::span(memory), reads, arrays_.mapping().units()};
    arrays_.read(pulses, counts);
    const MatrixView<float> out = runtime::float_matrix(y, {rows_, outputs()});
    std::vector<float> signs(x_bits());
    for (std::size_t r = 0; r < rows_; ++r) {
      for (std::size_t i = 0; i < x_bits(); ++i) {
        const auto plane = pulses.subspan((r * x_bits() + i) * arrays_.words(), arrays_.words());
        signs[i] = sum_of_signs(plane, inputs());
      }
      finish_row(counts.rows_from(r * x_bits(), x_bits()), signs, out.row(r));
      runtime::apply_activation(activation_, out.row(r), out.row(r));
    }
  }

 private:
  [[nodiscard]] std::size_t inputs() const { return arrays_.mapping().inputs; }
  [[nodiscard]] std::size_t outputs() const { return arrays_.mapping().outputs; }
  [[nodiscard]] std::size_t x_bits() const { return static_cast<std::size_t>(x_basis_.bits); }

  /// As kernels::bit_matmul().
  /// @param counts  [Kx, units]
  /// @param signs   [Kx] S_i
  void finish_row(MatrixView<float> counts, std::span<const float> signs,
                  std::span<float> y) const {
    float row_sum = 0;
    for (std::size_t i = 0; i < x_bits(); ++i) row_sum += x_basis_.coefficients[i] * signs[i];
    row_sum += static_cast<float>(inputs()) * x_basis_.offset;
    const std::size_t slices = arrays_.mapping().slices;
    for (std::size_t o = 0; o < y.size(); ++o) {
      float acc = 0;
      for (std::size_t i = 0; i < x_bits(); ++i) {
        const float a = x_basis_.coefficients[i];
        for (std::size_t u = o * slices; u < (o + 1) * slices; ++u) {
          const UnitMeaning& unit = arrays_.meanings()[u];
          acc += (a * unit.scale) * (2 * counts(i, u) - unit.total);
          if (unit.low != 0) acc += (a * unit.low) * signs[i];
        }
      }
      if (has_offset_) acc += offsets_[o] * row_sum;
      if (x_basis_.offset != 0) acc += x_basis_.offset * sums_[o];
      if (!bias_.empty()) acc += bias_[o];
      y[o] = acc;
    }
  }

  Arrays arrays_;
  numerics::Basis x_basis_;
  std::size_t rows_;
  ir::Activation activation_;
  bool has_offset_;
  std::vector<float> offsets_;  ///< [outputs] c
  std::vector<float> sums_;     ///< [outputs] sum_j a_j T_j
  std::vector<float> bias_;
};

}  // namespace

std::optional<runtime::Kernel> layer_kernel(const runtime::NodeContext& context,
                                            const CrossbarDevice& device, std::uint64_t seed) {
  seed = derived_seed(seed, static_cast<std::uint64_t>(context.node.inputs[1]));
  if (std::holds_alternative<ir::Conv>(context.node.op)) {
    return convolution_kernel(context, device, seed);
  }
  if (!std::holds_alternative<ir::FullyConnected>(context.node.op)) return std::nullopt;
  const auto& weights = std::get<ir::EncodedTensor>(*context.constant(1));
  const auto layer = std::make_shared<const FullyConnectedLayer>(
      context, weights, Arrays(device, weights.codes, *weights.encoding, seed));
  runtime::Kernel kernel;
  kernel.variant = "crossbar";
  kernel.packed_bytes = layer->size_bytes();
  kernel.packed_inputs = {1, 2};
  kernel.bind = [layer](const runtime::Buffers& buffers) -> runtime::Call {
    return [layer, x = buffers.inputs[0], y = buffers.output] { layer->run(x, y); };
  };
  return kernel;
}

}  // namespace halftone::crossbar
