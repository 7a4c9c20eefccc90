// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/conv/padding.h"

#include <bit>

#include "halftone/base/bits.h"
#include "halftone/base/error.h"

namespace halftone::kernels {

void check_codes(const std::string& kernel, const ConvShape& shape,
                 const numerics::BitPlanes& codes) {
  if (codes.rows == shape.outputs && codes.cols == shape.inputs()) return;
  fail(ErrorKind::kShape, kernel + " weights: expected " + std::to_string(shape.outputs) + " x " +
                              std::to_string(shape.inputs()) + ", found " +
                              std::to_string(codes.rows) + " x " + std::to_string(codes.cols));
}

std::vector<double> tap_sums(const ConvShape& shape, const numerics::BitPlanes& codes,
                             std::size_t output, const numerics::Basis& basis) {
  const std::size_t channels = shape.group_channels();
  std::vector<double> sums(shape.taps());
  for (std::size_t tap = 0; tap < sums.size(); ++tap) {
    double sum = static_cast<double>(channels) * static_cast<double>(basis.offset);
    for (int j = 0; j < codes.bits; ++j) {
      const auto row = codes.planes.row(codes.plane(output, j));
      std::int64_t plane_sum = -static_cast<std::int64_t>(channels);
      const std::size_t end = (tap + 1) * channels;
      for (std::size_t c = tap * channels; c < end; c += 64) {
        plane_sum += 2 * std::popcount(bits_between(row, c, std::min(c + 64, end)));
      }
      sum += static_cast<double>(basis.a()[static_cast<std::size_t>(j)]) *
             static_cast<double>(plane_sum);
    }
    sums[tap] = sum;
  }
  return sums;
}

void padded_bases(const PaddingPatterns& patterns, std::span<const double> sums,
                  const OutputOffsets& offsets, std::span<double> bases) {
  double all = 0;
  for (const double sum : sums) all += sum;
  for (std::size_t p = 0; p < bases.size(); ++p) {
    const std::vector<bool> outside = patterns.outside(p);
    double padded = 0;
    for (std::size_t tap = 0; tap < sums.size(); ++tap) {
      if (outside[tap]) padded += sums[tap];
    }
    bases[p] = offsets.bias + offsets.offset * all - offsets.zero * padded;
  }
}

std::vector<std::int32_t> integer_bases(const PaddingPatterns& patterns,
                                        std::span<const double> sums, std::int32_t bias,
                                        std::int32_t zero) {
  std::vector<double> bases(patterns.count());
  const double offset = -zero;
  padded_bases(patterns, sums, {static_cast<double>(bias), offset, offset}, bases);  // all exact
  std::vector<std::int32_t> wrapped;
  for (const double base : bases) {
    wrapped.push_back(static_cast<std::int32_t>(static_cast<std::int64_t>(base)));
  }
  return wrapped;
}

}  // namespace halftone::kernels
