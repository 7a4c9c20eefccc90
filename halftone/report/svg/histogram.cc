// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "halftone/report/svg/picture.h"
#include "halftone/report/svg/plot.h"

namespace halftone::report::svg {
namespace {

// In pixels.
constexpr double kHistogramWidth = 340;
constexpr double kHistogramHeight = 136;
constexpr double kHistogramLeft = 8;
constexpr double kHistogramRight = 332;
constexpr double kHistogramTop = 24;
constexpr double kHistogramBottom = 116;
constexpr std::size_t kMaxTitle = 52;  ///< characters
constexpr double kUnits = 46;          ///< heights of columns

/// Values on the horizontal axis.
struct Span {
  double low;
  double high;

  [[nodiscard]] double place(double value) const {
    const double part = high > low ? (value - low) / (high - low) : 0.5;
    return kHistogramLeft + (kHistogramRight - kHistogramLeft) * part;
  }
};

Span span_of(const HistogramPlot& plot) {
  Span span{plot.low, plot.high};
  if (!is_drawable(span.low) || !is_drawable(span.high)) span = {0, 0};
  for (const std::vector<double>* list : {&plot.marks, &plot.thresholds}) {
    for (const double value : *list) {
      if (!is_drawable(value)) continue;
      span.low = std::min(span.low, value);
      span.high = std::max(span.high, value);
    }
  }
  return span;
}

double counted(double count) { return is_drawable(count) ? std::max(0.0, count) : 0; }

/// One outline of all columns. Its units are a column and two pixels, which keeps files short.
std::string columns(const HistogramPlot& plot, const Span& span) {
  double largest = 0;
  for (const double count : plot.counts) largest = std::max(largest, counted(count));
  if (largest == 0) return "";
  std::string path = "M0 0";
  int at = 0;
  int width = 0;
  for (const double count : plot.counts) {
    // A column that has any value is seen.
    const int height = static_cast<int>(std::ceil(counted(count) / largest * kUnits));
    if (height != at) {
      if (width > 0) path += fmt::format("h{}", width);
      path += fmt::format("v{}", height - at);
      width = 0;
    }
    at = height;
    ++width;
  }
  const double left = span.place(plot.low);
  const auto num_columns = static_cast<double>(plot.counts.size());
  const double scale_x = (span.place(plot.high) - left) / num_columns;
  return fmt::format("<path class=bar transform=\"matrix({:.4g} 0 0 -{} {} {})\" d=\"{}h{}V0z\"/>",
                     scale_x, (kHistogramBottom - kHistogramTop) / kUnits, pixels(left),
                     pixels(kHistogramBottom), path, width);
}

/// Vertical lines at the values, and dots on top of them if asked for.
std::string lines(const std::vector<double>& values, const Span& span, bool has_dots) {
  std::string path;
  std::string dots;
  const std::string top = pixels(kHistogramTop);
  const std::string height = pixels(kHistogramBottom - kHistogramTop);
  for (const double value : values) {
    if (!is_drawable(value)) continue;
    const std::string start = "M" + pixels(span.place(value)) + " " + top;
    path += start + "v" + height;
    dots += start + "h0";
  }
  if (path.empty()) return "";
  if (!has_dots) return "<path class=limit d=\"" + path + "\"/>";
  return "<path class=level d=\"" + path + "\"/><path class=knobs d=\"" + dots + "\"/>";
}

/// A line below, and the ends of the axis; zero if it is well between them.
std::string scale(const Span& span) {
  std::string content = "<path class=grid d=\"M" + pixels(kHistogramLeft) + " " +
                        pixels(kHistogramBottom) + "H" + pixels(kHistogramRight) + "\"/>";
  const double y = kHistogramBottom + 14;
  if (span.high == span.low) {
    return content + label(span.place(span.low), y, "mid soft", value_text(span.low));
  }
  content += label(kHistogramLeft, y, "soft", value_text(span.low)) +
             label(kHistogramRight, y, "end soft", value_text(span.high));
  const double zero = span.place(0);
  if (zero > kHistogramLeft + 70 && zero < kHistogramRight - 70) {
    content += label(std::round(zero), y, "mid soft", "0");
  }
  return content;
}

}  // namespace

std::string histogram(const HistogramPlot& plot) {
  const Span span = span_of(plot);
  std::string content = label(kHistogramLeft, 14, "strong", shortened(plot.title, kMaxTitle));
  const bool has_range = is_drawable(plot.low) && is_drawable(plot.high) && plot.high > plot.low;
  const std::string outline = has_range ? columns(plot, span) : "";
  if (outline.empty()) content += label(kHistogramLeft, 40, "soft", "no values that differ");
  content += outline + lines(plot.thresholds, span, false) + lines(plot.marks, span, true);
  return picture({kHistogramWidth, kHistogramHeight, plot.title}, content + scale(span));
}

}  // namespace halftone::report::svg
