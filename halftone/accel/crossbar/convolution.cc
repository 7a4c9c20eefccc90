// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/crossbar/convolution.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "halftone/accel/crossbar/arrays.h"
#include "halftone/accel/crossbar/noise.h"
#include "halftone/kernels/conv/conv_shape.h"
#include "halftone/numerics/basis.h"
#include "halftone/runtime/convolution/convolution.h"
#include "halftone/runtime/convolution/convolution_lines.h"
#include "halftone/runtime/linear/linear.h"

namespace halftone::crossbar {
namespace {

using kernels::ConvPart;
using kernels::ConvShape;

/// ORs the bits [first, first + count) of a row into another row, from bit `at` on.
void or_bits(std::span<const std::uint64_t> row, std::size_t first, std::size_t count,
             std::span<std::uint64_t> to, std::size_t at) {
  for (std::size_t done = 0; done < count;) {
    const std::size_t shift = (at + done) % 64;
    const std::size_t step = std::min(count - done, 64 - shift);
    to[(at + done) / 64] |= bits_between(row, first + done, first + done + step) << shift;
    done += step;
  }
}

/// What a convolution needs besides its arrays.
struct ConvConstants {
  numerics::Basis x_basis;
  std::vector<numerics::Digit> digits;
  bool has_offset = false;
  std::vector<float> offsets;  ///< [outputs] c
  std::vector<float> bases;    ///< [outputs, patterns]

  ConvConstants(const runtime::NodeContext& context, const ConvShape& shape,
                const kernels::PaddingPatterns& patterns)
      : x_basis(context.input(0).encoding.codes->basis(0)),
        digits(numerics::split_digits(x_basis, shape.inputs())) {
    const auto& weights = std::get<ir::EncodedTensor>(*context.constant(1));
    const auto bias = runtime::constant_floats(context, 2);
    has_offset = !weights.encoding->is_centred();
    std::vector<double> exact(patterns.count());
    for (std::size_t o = 0; o < shape.outputs; ++o) {
      const numerics::Basis basis = weights.encoding->basis(o, 0, weights.codes.cols);
      offsets.push_back(basis.offset);
      kernels::padded_bases(patterns, kernels::tap_sums(shape, weights.codes, o, basis),
                            {bias.empty() ? 0 : bias[o], x_basis.offset, x_basis.value(0)}, exact);
      for (const double base : exact) bases.push_back(static_cast<float>(base));
    }
  }
};

/// The weights of a convolution as runtime::coded_conv_kernel() takes them.
class ConvLayer {
 public:
  ConvLayer(const runtime::NodeContext& context, const CrossbarDevice& device, std::uint64_t seed)
      : shape_(runtime::conv_shape(context)),
        patterns_(shape_),
        constants_(context, shape_, patterns_) {
    const auto& weights = std::get<ir::EncodedTensor>(*context.constant(1));
    arrays_ = group_arrays(device, weights, shape_.groups, seed);
  }

  [[nodiscard]] const ConvShape& shape() const { return shape_; }
  [[nodiscard]] static std::size_t scratch_bytes() { return 0; }
  [[nodiscard]] std::size_t size_bytes() const {
    std::size_t bytes = 0;
    for (const Arrays& arrays : arrays_) bytes += arrays.size_bytes();
    return bytes;
  }

  /// @param x  [images, pixels, Kx, words] planes of the input
  void run(const std::byte* x, const ConvPart& part) const {
    const auto* words = reinterpret_cast<const std::uint64_t*>(x);
    const std::size_t pixels = part.lines.count() * shape_.line_pixels();
    const std::size_t reads = pixels * x_bits();
    for (std::size_t group = 0; group < shape_.groups; ++group) {
      const Arrays& arrays = arrays_[group];
      std::vector<std::uint64_t> pulses(reads * arrays.words());
      for (std::size_t p = 0; p < pixels; ++p) {
        gather(words, first_pixel(part) + p, group,
               std::span(pulses).subspan(p * x_bits() * arrays.words(), x_bits() * arrays.words()));
      }
      std::vector<float> memory(reads * arrays.mapping().units());
      const MatrixView<float> counts{std::span(memory), reads, arrays.mapping().units()};
      arrays.read(pulses, counts);
      finish(part, group, pulses, counts);
    }
  }

 private:
  [[nodiscard]] std::size_t x_bits() const {
    return static_cast<std::size_t>(constants_.x_basis.bits);
  }
  [[nodiscard]] std::size_t first_pixel(const ConvPart& part) const {
    return part.lines.begin * shape_.line_pixels();
  }
  [[nodiscard]] std::size_t pattern_of(std::size_t pixel) const {
    const kernels::ConvLine line = kernels::line_at(shape_, pixel / shape_.line_pixels());
    return patterns_.of(line.z, line.y, pixel % shape_.line_pixels());
  }

  /// The planes of the window of an output pixel; zero outside the image.
  /// @param pulses  [Kx, words of a window] zero
  void gather(const std::uint64_t* x, std::size_t pixel, std::size_t group,
              std::span<std::uint64_t> pulses) const {
    const auto& [az, ay, ax] = shape_.axes;
    const kernels::ConvLine line = kernels::line_at(shape_, pixel / ax.output);
    const std::size_t column = pixel % ax.output;
    const std::size_t channels = shape_.group_channels();
    const std::size_t row_words = words_for_bits(shape_.channels);
    const std::size_t window_words = pulses.size() / x_bits();
    const kernels::TapRange tz = az.inside(line.z);
    const kernels::TapRange ty = ay.inside(line.y);
    const kernels::TapRange tx = ax.inside(column);
    const auto input = [](const kernels::ConvAxis& axis, std::size_t at, std::size_t tap) {
      return at * axis.stride + tap * axis.dilation - axis.pad_before;
    };
    for (std::size_t z = tz.begin; z < tz.end; ++z) {
      for (std::size_t y = ty.begin; y < ty.end; ++y) {
        for (std::size_t k = tx.begin; k < tx.end; ++k) {
          const std::size_t tap = (z * ay.kernel + y) * ax.kernel + k;
          const std::size_t from =
              ((line.image * az.input + input(az, line.z, z)) * ay.input + input(ay, line.y, y)) *
                  ax.input +
              input(ax, column, k);
          for (std::size_t i = 0; i < x_bits(); ++i) {
            or_bits({x + (from * x_bits() + i) * row_words, row_words}, group * channels, channels,
                    pulses.subspan(i * window_words, window_words), tap * channels);
          }
        }
      }
    }
  }

  /// As kernels::bit_conv().
  /// @param counts  [pixels Kx, units]
  void finish(const ConvPart& part, std::size_t group, std::span<const std::uint64_t> pulses,
              MatrixView<float> counts) const {
    const std::size_t outputs = shape_.group_outputs();
    const std::size_t words = arrays_[group].words();
    std::vector<float> signs(x_bits());
    for (std::size_t p = 0; p < part.y.rows(); ++p) {
      for (std::size_t i = 0; i < x_bits(); ++i) {
        signs[i] = sum_of_signs(pulses.subspan((p * x_bits() + i) * words, words));
      }
      const std::size_t pattern = pattern_of(first_pixel(part) + p);
      const MatrixView<float> planes = counts.rows_from(p * x_bits(), x_bits());
      for (std::size_t o = 0; o < outputs; ++o) {
        const std::size_t output = group * outputs + o;
        float acc = constants_.bases[output * patterns_.count() + pattern];
        acc = add_digits(acc, planes, signs, {group, o});
        if (part.finish.residual.rows() != 0) acc += part.finish.residual(p, output);
        if (part.finish.clamps()) {
          acc = std::min(std::max(acc, part.finish.low), part.finish.high);
        }
        part.y(p, output) = acc;
      }
    }
  }

  [[nodiscard]] float sum_of_signs(std::span<const std::uint64_t> plane) const {
    std::int64_t ones = 0;
    for (const std::uint64_t word : plane) ones += std::popcount(word);
    return static_cast<float>(2 * ones - static_cast<std::int64_t>(shape_.inputs()));
  }

  struct Output {
    std::size_t group;
    std::size_t index;  ///< in the group
  };
  /// @param signs  [Kx] S_i
  [[nodiscard]] float add_digits(float acc, MatrixView<float> planes, std::span<const float> signs,
                                 Output output) const {
    const Arrays& arrays = arrays_[output.group];
    const std::size_t slices = arrays.mapping().slices;
    float row_sum = 0;
    for (const numerics::Digit& digit : constants_.digits) {
      float sum = 0;
      for (std::size_t k = 0; k < digit.num_planes(); ++k) {
        sum += static_cast<float>(digit.multiples[k]) * signs[digit.planes[k]];
      }
      for (std::size_t u = output.index * slices; u < (output.index + 1) * slices; ++u) {
        const UnitMeaning& unit = arrays.meanings()[u];
        float dot = 0;
        for (std::size_t k = 0; k < digit.num_planes(); ++k) {
          dot += static_cast<float>(digit.multiples[k]) *
                 (2 * planes(digit.planes[k], u) - unit.total);
        }
        acc += (digit.unit * unit.scale) * dot;
        if (unit.low != 0) acc += (digit.unit * unit.low) * sum;
      }
      row_sum += digit.unit * sum;
    }
    const std::size_t all = output.group * shape_.group_outputs() + output.index;
    return constants_.has_offset ? acc + constants_.offsets[all] * row_sum : acc;
  }

  ConvShape shape_;
  kernels::PaddingPatterns patterns_;
  ConvConstants constants_;
  std::vector<Arrays> arrays_;  ///< by group
};

}  // namespace

std::vector<Arrays> group_arrays(const CrossbarDevice& device, const ir::EncodedTensor& weights,
                                 std::size_t groups, std::uint64_t seed) {
  std::vector<Arrays> arrays;
  const std::size_t outputs = weights.codes.rows / groups;
  for (std::size_t group = 0; group < groups; ++group) {
    numerics::MatrixEncoding encoding = *weights.encoding;
    if (encoding.granularity == numerics::Granularity::kChannel) {
      encoding = encoding.slice(group * outputs, outputs);
    }
    arrays.emplace_back(device, weights.codes.slice(group * outputs, outputs), encoding,
                        derived_seed(seed, group));
  }
  return arrays;
}

runtime::Kernel convolution_kernel(const runtime::NodeContext& context,
                                   const CrossbarDevice& device, std::uint64_t seed) {
  const auto product = [](const std::byte* x, const ConvLayer& layer, const ConvPart& part) {
    layer.run(x, part);
  };
  constexpr double kNoEstimate = 0;  // one thread
  runtime::Kernel kernel =
      runtime::coded_conv_kernel(context, kNoEstimate, ConvLayer(context, device, seed), product);
  kernel.variant = "crossbar";
  return kernel;
}

}  // namespace halftone::crossbar
