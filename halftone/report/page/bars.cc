// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "halftone/report/page/picture.h"
#include "halftone/report/page/plot.h"

namespace halftone::report::page {
namespace {

// In pixels.
constexpr double kBarsWidth = 560;
constexpr double kBarsLeft = 190;
constexpr double kBarsRight = 490;  ///< the texts of the longest bars follow
constexpr double kBarsTop = 24;
constexpr double kRow = 16;
constexpr double kBarHeight = 11;
constexpr std::size_t kMaxLabel = 30;  ///< characters

/// The range of the values, with zero.
struct BarRange {
  double low = 0;
  double high = 0;

  [[nodiscard]] double place(double value) const {
    const double length = high > low ? (value - low) / (high - low) : 0;
    return kBarsLeft + (kBarsRight - kBarsLeft) * length;
  }
};

BarRange range_of(const std::vector<Bar>& bars) {
  BarRange range;
  for (const Bar& bar : bars) {
    if (!is_drawable(bar.value)) continue;
    range.low = std::min(range.low, bar.value);
    range.high = std::max(range.high, bar.value);
  }
  return range;
}

/// A label, a bar from zero and its value; a title where the label does not say it.
std::string row(const Bar& bar, double y, const BarRange& range) {
  const double zero = range.place(0);
  const bool has_bar = is_drawable(bar.value);
  const double end = has_bar ? range.place(bar.value) : zero;
  const std::string text = shortened(bar.label, kMaxLabel);
  std::string title = bar.title;
  if (title.empty() && text != bar.label) title = bar.label + ": " + value_text(bar.value);
  std::string content = label(kBarsLeft - 6, y + 10, "end", text);
  if (has_bar && end != zero) {
    content += "<path class=bar d=\"M" + pixels(std::min(zero, end)) + " " + pixels(y) + "h" +
               pixels(std::max(0.5, std::abs(end - zero))) + "v" + pixels(kBarHeight) + "H" +
               pixels(std::min(zero, end)) + "z\"/>";
  }
  content += label(std::max(zero, end) + 4, y + 10, "soft", value_text(bar.value));
  return title.empty() ? content + "\n"
                       : "<g><title>" + markup(title) + "</title>" + content + "</g>\n";
}

}  // namespace

std::string bars(const std::string& title, const std::vector<Bar>& bars) {
  const BarRange range = range_of(bars);
  const double bottom =
      kBarsTop + kRow * static_cast<double>(std::max<std::size_t>(1, bars.size()));
  std::string content = label(6, 14, "strong", title);
  if (bars.empty()) content += label(6, kBarsTop + 10, "soft", "no values");
  for (std::size_t i = 0; i < bars.size(); ++i) {
    content += row(bars[i], kBarsTop + kRow * static_cast<double>(i), range);
  }
  if (!bars.empty()) {
    content += "<path class=grid d=\"M" + pixels(range.place(0)) + " " + pixels(kBarsTop - 2) +
               "V" + pixels(bottom) + "\"/>\n";
  }
  return picture({kBarsWidth, bottom + 6, title}, content);
}

}  // namespace halftone::report::page
