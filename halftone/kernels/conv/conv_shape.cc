// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/conv/conv_shape.h"

#include <algorithm>
#include <string>

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

}  // namespace halftone::kernels
