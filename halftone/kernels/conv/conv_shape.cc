// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/conv/conv_shape.h"

#include <algorithm>
#include <bit>
#include <string>

#include "halftone/base/bits.h"
#include "halftone/base/error.h"

namespace halftone::kernels {

TapRange ConvAxis::inside(std::size_t at) const {
  const std::size_t origin = at * stride;             // of tap 0, in the padded input
  const auto taps_before = [&](std::size_t padded) {  // that read before a position in it
    return padded <= origin ? 0 : std::min(kernel, (padded - origin - 1) / dilation + 1);
  };
  const TapRange range{taps_before(pad_before), taps_before(pad_before + input)};
  return range.begin == range.end ? TapRange{} : range;
}

void ConvShape::check() const {
  const auto expect = [](bool holds, const std::string& what) {
    if (!holds) fail(ErrorKind::kShape, "convolution: " + what);
  };
  for (const ConvAxis& axis : axes) {
    expect(axis.kernel > 0, "expected a kernel of at least one tap");
    expect(axis.stride > 0 && axis.dilation > 0, "expected strides and dilations from 1 on");
  }
  expect(groups > 0 && channels % groups == 0 && outputs % groups == 0,
         std::to_string(groups) + " groups do not divide " + std::to_string(channels) +
             " channels and " + std::to_string(outputs) + " outputs");
}

ConvLine line_at(const ConvShape& shape, std::size_t line) {
  const std::size_t plane = line / shape.axes[1].output;
  return {plane / shape.axes[0].output, plane % shape.axes[0].output, line % shape.axes[1].output};
}

PaddingPatterns::PaddingPatterns(const ConvShape& shape) {
  for (std::size_t a = 0; a < 3; ++a) {
    const ConvAxis& axis = shape.axes[a];
    kernel_[a] = axis.kernel;
    for (std::size_t at = 0; at < axis.output; ++at) {
      const TapRange range = axis.inside(at);
      const auto known = std::find(ranges_[a].begin(), ranges_[a].end(), range);
      ids_[a].push_back(static_cast<std::size_t>(known - ranges_[a].begin()));
      if (known == ranges_[a].end()) ranges_[a].push_back(range);
    }
  }
}

std::vector<bool> PaddingPatterns::outside(std::size_t pattern) const {
  const std::size_t x = pattern % ranges_[2].size();
  const std::size_t y = pattern / ranges_[2].size() % ranges_[1].size();
  const std::size_t z = pattern / ranges_[2].size() / ranges_[1].size();
  const auto in = [](std::size_t tap, const TapRange& r) { return tap >= r.begin && tap < r.end; };
  std::vector<bool> result;
  for (std::size_t kz = 0; kz < kernel_[0]; ++kz) {
    for (std::size_t ky = 0; ky < kernel_[1]; ++ky) {
      for (std::size_t kx = 0; kx < kernel_[2]; ++kx) {
        result.push_back(
            !(in(kz, ranges_[0][z]) && in(ky, ranges_[1][y]) && in(kx, ranges_[2][x])));
      }
    }
  }
  return result;
}

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
