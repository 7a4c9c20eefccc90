// SPDX-License-Identifier: Apache-2.0
// The extents of a convolution, its padding, and the lines that a call computes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "halftone/base/view.h"
#include "halftone/numerics/encoding.h"

namespace halftone::kernels {

/// Taps [begin, end) of a kernel.
struct TapRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool operator==(const TapRange&) const = default;
};

/// One spatial axis: tap k of output p reads input p stride + k dilation - pad_before.
struct ConvAxis {
  std::size_t input = 1;
  std::size_t output = 1;
  std::size_t kernel = 1;
  std::size_t stride = 1;
  std::size_t dilation = 1;
  std::size_t pad_before = 0;

  /// Whether each output reads the input of the same index, and no other.
  [[nodiscard]] bool is_pointwise() const {
    return kernel == 1 && stride == 1 && pad_before == 0 && input == output;
  }
  /// The taps of output `at` that lie within the input; an empty range begins at 0.
  [[nodiscard]] TapRange inside(std::size_t at) const;
};

/// A convolution y [images, pixels, outputs] of x [images, pixels, channels] with w [outputs, taps,
/// channels / groups], channels last. Pixels and taps have three axes, the slowest first; a
/// convolution of fewer has axes of extent 1 in front.
struct ConvShape {
  std::size_t images = 1;
  std::array<ConvAxis, 3> axes;
  std::size_t channels = 1;
  std::size_t outputs = 1;
  std::size_t groups = 1;

  [[nodiscard]] std::size_t taps() const {
    return axes[0].kernel * axes[1].kernel * axes[2].kernel;
  }
  [[nodiscard]] std::size_t group_channels() const { return channels / groups; }
  [[nodiscard]] std::size_t group_outputs() const { return outputs / groups; }
  /// Inputs of an output.
  [[nodiscard]] std::size_t inputs() const { return taps() * group_channels(); }
  [[nodiscard]] std::size_t image_input_pixels() const {
    return axes[0].input * axes[1].input * axes[2].input;
  }
  [[nodiscard]] std::size_t line_pixels() const { return axes[2].output; }
  /// Lines of output pixels along the last axis, in all images: kernels compute ranges of these.
  [[nodiscard]] std::size_t num_lines() const { return images * axes[0].output * axes[1].output; }
  [[nodiscard]] std::size_t num_pixels() const { return num_lines() * line_pixels(); }

  /// Whether each output reads the pixel of the same index, and no other.
  [[nodiscard]] bool is_pointwise() const {
    return axes[0].is_pointwise() && axes[1].is_pointwise() && axes[2].is_pointwise();
  }

  /// @throws Error kShape if an extent, stride or dilation is zero where it must not be, or groups
  ///         do not divide channels and outputs
  void check() const;
};

/// The position of an output line.
struct ConvLine {
  std::size_t image;
  std::size_t z;
  std::size_t y;
};
ConvLine line_at(const ConvShape& shape, std::size_t line);

/// The distinct sets of taps that lie outside the input for some output pixel: a 3 x 3 kernel on an
/// image padded by one has nine.
class PaddingPatterns {
 public:
  explicit PaddingPatterns(const ConvShape& shape);

  [[nodiscard]] std::size_t count() const {
    return ranges_[0].size() * ranges_[1].size() * ranges_[2].size();
  }
  /// The pattern of output pixel (z, y, x).
  [[nodiscard]] std::size_t of(std::size_t z, std::size_t y, std::size_t x) const {
    return line(z, y) + ids_[2][x];
  }
  /// The term of of() for a line, to which it adds the pattern of x.
  [[nodiscard]] std::size_t line(std::size_t z, std::size_t y) const {
    return (ids_[0][z] * ranges_[1].size() + ids_[1][y]) * ranges_[2].size();
  }
  /// [outputs of the last axis]
  [[nodiscard]] std::span<const std::size_t> along_line() const { return ids_[2]; }
  /// [taps] whether a tap lies outside the input.
  [[nodiscard]] std::vector<bool> outside(std::size_t pattern) const;

 private:
  std::array<std::size_t, 3> kernel_{};
  std::array<std::vector<TapRange>, 3> ranges_;  ///< of each pattern of an axis
  std::array<std::vector<std::size_t>, 3> ids_;  ///< pattern of each output of an axis
};

/// @throws Error kShape unless the codes are [outputs, inputs of an output]
void check_codes(const std::string& kernel, const ConvShape& shape,
                 const numerics::BitPlanes& codes);

/// The sums of the levels of each tap of an output: m c + sum_j a_j T_j with m channels, in
/// float64, from j = 0 on.
/// @return [taps]
std::vector<double> tap_sums(const ConvShape& shape, const numerics::BitPlanes& codes,
                             std::size_t output, const numerics::Basis& basis);

/// Constants for the initial values of outputs.
struct OutputOffsets {
  double bias = 0;
  double offset = 0;  ///< of the activations
  double zero = 0;    ///< the value used for activations outside the image
};

/// bias + offset sum_k w_k - zero sum_(k outside) w_k for each pattern, in float64.
/// @param sums   [taps] of the weights w
/// @param bases  [patterns]
void padded_bases(const PaddingPatterns& patterns, std::span<const double> sums,
                  const OutputOffsets& offsets, std::span<double> bases);

/// bias - zero sum_(k inside) w_k for each pattern, modulo 2^32.
/// @param sums  [taps] of the weights w, integers
/// @return [patterns]
std::vector<std::int32_t> integer_bases(const PaddingPatterns& patterns,
                                        std::span<const double> sums, std::int32_t bias,
                                        std::int32_t zero);

/// The final step of a convolution, while its outputs are in registers:
/// y = min(max(sums + residual, low), high).
struct ConvFinish {
  MatrixView<const float> residual{};  ///< [pixels of y, outputs]; no rows: none
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();

  [[nodiscard]] bool clamps() const {
    return low != -std::numeric_limits<float>::infinity() ||
           high != std::numeric_limits<float>::infinity();
  }
};

/// Lines [begin, end) of the outputs of a convolution: the share of one caller.
struct LineRange {
  std::size_t begin = 0;
  std::size_t end = 0;

  [[nodiscard]] std::size_t count() const { return end - begin; }
};

/// Some lines of a convolution's outputs, which one call computes.
struct ConvPart {
  LineRange lines;  ///< which lines to compute
  ConvFinish finish;
  std::span<std::byte> scratch;  ///< [scratch_bytes() of the weights], aligned to 64
  MatrixView<float> y;           ///< [pixels of `lines`, outputs], as the residual
};

/// The same for sums of integers, which have no final step.
struct IntegerConvPart {
  LineRange lines;
  std::span<std::byte> scratch;
  MatrixView<std::int32_t> y;
};

/// Whether the lines exist and y has the extents of their pixels.
template <typename Number>
bool are_outputs(const MatrixView<Number>& y, const ConvShape& shape, LineRange lines) {
  return lines.begin <= lines.end && lines.end <= shape.num_lines() &&
         y.rows() == lines.count() * shape.line_pixels() && y.cols() == shape.outputs;
}

/// y[pixel, o] = min(max(y[pixel, o] + base[o] + residual[pixel, o], low), high), for all outputs.
/// @param base  [outputs]
void finish_pixel(const float* base, const ConvFinish& finish, std::size_t pixel,
                  MatrixView<float> y) noexcept;

}  // namespace halftone::kernels
