// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/page/heat.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "halftone/report/page/drawing.h"

namespace halftone::report::page {

int heat_of_loss(double loss) {
  constexpr std::array kLimits = {1e-3, 3.1622776601683795e-3, 1e-2, 3.1622776601683795e-2, 1e-1};
  static_assert(kLimits.size() + 1 == kNumHeats);
  // A loss that is no number is the worst.
  const auto above = std::ranges::find_if(kLimits, [&](double limit) { return loss < limit; });
  return static_cast<int>(above - kLimits.begin());
}

std::optional<int> heat_of(const LayerFigures& layer) {
  if (layer.loss) return heat_of_loss(*layer.loss);
  if (!layer.error) return std::nullopt;
  return heat_of_loss(std::pow(10, -layer.error->sqnr_alone_db / 10));
}

int heat_of_share(double share) {
  return std::clamp(static_cast<int>(share * kNumHeats), 0, kNumHeats - 1);
}

std::string heat_legend(const std::string& words) {
  std::string swatches;
  for (int i = 0; i < kNumHeats; ++i) swatches += fmt::format("<i class=c{}></i>", i);
  const std::string before = words.empty() ? "" : markup(words) + ": ";
  return fmt::format("<span class=legend>{}little {} much</span>", before, swatches);
}

}  // namespace halftone::report::page
