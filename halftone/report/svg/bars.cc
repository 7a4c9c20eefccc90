// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "halftone/report/svg/picture.h"
#include "halftone/report/svg/plot.h"

namespace halftone::report::svg {
namespace {

// In pixels.
constexpr double kBarsWidth = 560;
constexpr double kBarsLeft = 190;
constexpr double kBarsRight = 490;  ///< the texts of the longest bars follow
constexpr double kBarsTop = 24;
constexpr double kRow = 16;
constexpr double kBarHeight = 11;
constexpr std::size_t kMaxLabel = 30;  ///< characters

double top_of(std::size_t row) { return kBarsTop + kRow * static_cast<double>(row); }

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

std::string title_of(const std::string& text) { return "<title>" + markup(text) + "</title>"; }

/// The labels of all rows; what is shortened has its whole text under the pointer.
std::string labels(const std::vector<Bar>& bars) {
  std::string content = "<g class=end>";
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const std::string text = short_name(bars[i].label, kMaxLabel);
    std::string element = label(kBarsLeft - 6, top_of(i) + 10, "", text);
    if (text != bars[i].label) element.insert(element.find('>') + 1, title_of(bars[i].label));
    content += element + "\n";
  }
  return content + "</g>";
}

/// The outline of a bar; empty if it has none.
std::string outline(double value, double y, const BarRange& range) {
  const double zero = range.place(0);
  const double end = is_drawable(value) ? range.place(value) : zero;
  if (end == zero) return "";
  const std::string left = pixels(std::min(zero, end));
  return "M" + left + " " + pixels(y) + "h" + pixels(std::max(0.5, std::abs(end - zero))) + "v" +
         pixels(kBarHeight) + "H" + left + "z";
}

/// Bars in one element, but for those with a text under the pointer.
std::string outlines(const std::vector<Bar>& bars, const BarRange& range) {
  std::string path;
  std::string titled;
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const std::string bar = outline(bars[i].value, top_of(i), range);
    if (bars[i].title.empty() || bar.empty()) {
      path += bar;
    } else {
      titled += "<path class=bar d=\"" + bar + "\">" + title_of(bars[i].title) + "</path>\n";
    }
  }
  return (path.empty() ? "" : "<path class=bar d=\"" + path + "\"/>") + titled;
}

std::string values(const std::vector<Bar>& bars, const BarRange& range) {
  std::string content = "<g class=soft>";
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double value = bars[i].value;
    const double end = is_drawable(value) ? std::max(0.0, value) : 0;
    content +=
        label(std::round(range.place(end)) + 4, top_of(i) + 10, "", value_text(value)) + "\n";
  }
  return content + "</g>";
}

}  // namespace

std::string bars(const std::string& title, const std::vector<Bar>& bars) {
  const BarRange range = range_of(bars);
  const double bottom =
      kBarsTop + kRow * static_cast<double>(std::max<std::size_t>(1, bars.size()));
  std::string content = label(6, 14, "strong", title);
  if (bars.empty()) content += label(6, kBarsTop + 10, "soft", "no values");
  if (!bars.empty()) {
    content += labels(bars) + outlines(bars, range) + values(bars, range);
    content += "<path class=grid d=\"M" + pixels(range.place(0)) + " " + pixels(kBarsTop - 2) +
               "V" + pixels(bottom) + "\"/>\n";
  }
  return picture({kBarsWidth, bottom + 6, title}, content);
}

}  // namespace halftone::report::svg
