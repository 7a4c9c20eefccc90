// SPDX-License-Identifier: Apache-2.0
// Implementations of Conv, ConvTranspose and Pool, with their costs.
//
// The costs were measured on one processor (Zen 3, AVX2) by `conv_bench` and `make bench
// FILTER=conv`. Layers: those of ResNet-20 (3 x 3, from 64 channels of 8 x 8 to 16 channels of 32 x
// 32, also strided and 1 x 1); for depthwise ones, those of MobileNet and DS-CNN.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "halftone/ir/graph.h"
#include "halftone/kernels/conv/conv_shape.h"
#include "halftone/runtime/implementation.h"
#include "halftone/runtime/linear/linear.h"

namespace halftone::runtime {

/// Encoded input and encoded constant weights with a basis per tensor or channel: bit planes.
extern const Implementation kConvBits;
/// Encoded input in the integer layout, and encoded constant weights of any granularity. Levels of
/// the weights are rounded to 8 bits unless they are evenly spaced.
extern const Implementation kConvInt8;
/// A dense or decoded input and constant weights, with kernels::float_conv(), whose order of sums
/// is fixed.
extern const Implementation kConvFixed;
/// The same for ConvTranspose with kernels::float_conv_transpose(), whose order of sums is fixed.
extern const Implementation kConvTransposeFixed;
/// Maximum or mean over one to three spatial axes, summed in float64 like the reference
/// implementation.
extern const Implementation kPoolFixed;

struct ConvExtent {
  std::size_t input_pixels = 0;   ///< of all images
  std::size_t output_pixels = 0;  ///< of all images
  std::size_t channels = 0;
  std::size_t inputs = 0;  ///< per output
  std::size_t groups = 1;
  std::size_t group_outputs = 0;
  int input_bits = 0;          ///< 0: float32
  int input_digits = 0;        ///< of numerics::split_digits()
  int weight_bits = 0;         ///< 0: float32
  std::size_t sections = 1;    ///< of the inputs of an output, with a basis each
  bool gathers = false;        ///< ir::gathers_inputs()
  bool depthwise = false;      ///< whether kernels::depthwise_conv() takes the weights
  std::size_t lines = 0;       ///< of output pixels along the last axis, in all images
  std::size_t line_pairs = 0;  ///< that depthwise_conv() packs for them, per channel

  /// Number of input elements, and of output elements.
  [[nodiscard]] double input_numbers() const {
    return static_cast<double>(input_pixels) * static_cast<double>(channels);
  }
  [[nodiscard]] double output_numbers() const {
    return static_cast<double>(output_pixels) * static_cast<double>(groups * group_outputs);
  }
  /// Inputs of an output if the channels of each tap are padded to whole pieces.
  [[nodiscard]] std::size_t padded_inputs(std::size_t piece) const {
    const std::size_t channels_of_tap = channels / groups;
    if (channels_of_tap == 0) return 0;
    return inputs / channels_of_tap * ((channels_of_tap + piece - 1) / piece * piece);
  }
  /// Pairs of digits of the input and bit planes of the weights.
  [[nodiscard]] int bit_pairs() const { return input_digits * weight_bits; }
  /// Number of blocks of outputs that are computed together. A partial block takes as long as a
  /// full one.
  [[nodiscard]] std::size_t num_blocks(std::size_t block) const {
    return groups * ((group_outputs + block - 1) / block);
  }
  /// Number of blocks over all output pixels.
  [[nodiscard]] double block_pixels(std::size_t block) const {
    return static_cast<double>(output_pixels) * static_cast<double>(num_blocks(block));
  }
};

/// @pre the node is a Conv and all extents are known
ConvExtent conv_extent(const ir::Graph& graph, const ir::Node& node);

/// Estimated time in microseconds for one thread to decode the input, if it has codes, and convolve
/// it in float32.
double float_conv_us(const ConvExtent& conv, Core core);

/// That of a kernel and of a float32 convolution without codes, on the processor at hand.
Speed speed_of(const ConvExtent& conv, double (*us)(const ConvExtent&, Core));

/// The axes of a window for the kernels.
/// @param x, y  shapes of the input and the output, [N, spatial..., C]
/// @pre one to three spatial axes, all extents known
std::array<kernels::ConvAxis, 3> conv_axes(const ir::Window& window,
                                           std::span<const ir::Dim> kernel, const ir::Shape& x,
                                           const ir::Shape& y);

/// The geometry of a Conv for the kernels.
/// @pre one to three spatial axes, all extents known
kernels::ConvShape conv_shape(const NodeContext& context);

/// That of a FullyConnected as a Conv whose kernel has one tap.
kernels::ConvShape pointwise_shape(std::size_t pixels, std::size_t channels, std::size_t outputs);

}  // namespace halftone::runtime
