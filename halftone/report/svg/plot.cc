// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/svg/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "halftone/report/svg/picture.h"
#include "halftone/report/svg/svg.h"

namespace halftone::report::svg {
namespace {

// In pixels.
constexpr double kPlotPageWidth = 560;
constexpr double kPlotPageHeight = 322;
constexpr double kPlotPageLeft = 62;
constexpr double kPlotPageRight = 532;
constexpr double kPlotPageTop = 44;
constexpr double kPlotPageBottom = 284;
constexpr double kLegendLine = 16;
constexpr double kCharacter = 6.2;
constexpr std::size_t kMaxSeriesLabel = 24;  ///< characters
constexpr std::size_t kNumHues = 6;
constexpr double kMaxTicks = 7;

/// Whether an axis can show a value.
bool is_shown(double value, bool is_log) {
  return is_drawable(value) && (!is_log || value >= 1e-300);
}

/// The smallest and the largest value that an axis can show, if there is any.
struct Reach {
  double low = INFINITY;
  double high = -INFINITY;
  bool is_whole = true;  ///< all are integers

  void add(double value) {
    is_whole = is_whole && value == std::floor(value);
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

/// The values of a linear or logarithmic axis.
class PlotAxis {
 public:
  /// @pre reach.low <= reach.high; both can be shown
  PlotAxis(const Reach& reach, bool is_log) : is_log_(is_log) {
    if (is_log) {
      set_log(reach.low, reach.high);
    } else {
      set_linear(reach);
    }
  }

  [[nodiscard]] const std::vector<double>& values() const { return ticks_; }
  [[nodiscard]] bool shows(double value) const { return is_shown(value, is_log_); }
  /// Where a value lies: 0 at the lower end, 1 at the upper.
  [[nodiscard]] double part(double value) const {
    return ((is_log_ ? std::log10(value) : value) - low_) / (high_ - low_);
  }

 private:
  /// A range that is too small for steps of its own is widened; between integers are no ticks.
  void set_linear(const Reach& reach) {
    double low = reach.low;
    double high = reach.high;
    const double least = std::max({std::abs(low), std::abs(high), 1e-300}) * 1e-9;
    if (high - low < least) {
      low -= low == 0 ? 0 : std::abs(low) / 2;
      high += high == 0 ? 1 : std::abs(high) / 2;
    }
    const double length = reach.is_whole ? std::max(1.0, high - low) : kMaxTicks;
    ticks_ = svg::ticks(low, high, static_cast<int>(std::min(kMaxTicks, length)));
    low_ = ticks_.front();
    high_ = ticks_.back();
  }

  /// From one of 1, 2, 5 times a power of ten to another, or over powers of ten if they are many.
  void set_log(double low, double high) {
    const double first = std::floor(std::log10(low));
    const double last = std::max(first + 1, std::ceil(std::log10(high)));
    const double step = std::ceil((last - first) / 8);
    for (double power = first; power < last + step; power += step) {
      ticks_.push_back(std::pow(10, power));
      if (last - first > 3) continue;
      ticks_.push_back(2 * ticks_.back());
      ticks_.push_back(2.5 * ticks_.back());
    }
    while (ticks_.size() > 2 && ticks_[1] <= low) ticks_.erase(ticks_.begin());
    while (ticks_.size() > 2 && ticks_[ticks_.size() - 2] >= high) ticks_.pop_back();
    low_ = std::log10(ticks_.front());
    high_ = std::log10(ticks_.back());
  }

  bool is_log_;
  double low_ = 0;
  double high_ = 1;
  std::vector<double> ticks_;
};

struct Axes {
  PlotAxis x;
  PlotAxis y;

  [[nodiscard]] bool shows(const Point& point) const {
    return x.shows(point.x) && y.shows(point.y);
  }
  [[nodiscard]] double left(double value) const {
    return kPlotPageLeft + (kPlotPageRight - kPlotPageLeft) * x.part(value);
  }
  [[nodiscard]] double top(double value) const {
    return kPlotPageBottom - (kPlotPageBottom - kPlotPageTop) * y.part(value);
  }
  [[nodiscard]] std::string at(const Point& point) const {
    return pixels(left(point.x)) + " " + pixels(top(point.y));
  }
};

/// "2.5", "100000", then "1 M", "250 G".
std::string tick_text(double tick) {
  constexpr std::array kPrefixes = {std::pair{1e15, 'P'}, std::pair{1e12, 'T'}, std::pair{1e9, 'G'},
                                    std::pair{1e6, 'M'}};
  for (const auto& [unit, letter] : kPrefixes) {
    if (std::abs(tick) >= unit) return fmt::format("{:.4g} {}", tick / unit, letter);
  }
  return fmt::format("{:.6g}", tick);
}

std::string grid(const Axes& axes, const Plot& plot) {
  std::string path;
  std::string content;
  for (const double tick : axes.x.values()) {
    const double x = axes.left(tick);
    path += "M" + pixels(x) + " " + pixels(kPlotPageTop) + "V" + pixels(kPlotPageBottom);
    content += label(x, kPlotPageBottom + 15, "mid soft", tick_text(tick));
  }
  for (const double tick : axes.y.values()) {
    const double y = axes.top(tick);
    path += "M" + pixels(kPlotPageLeft) + " " + pixels(y) + "H" + pixels(kPlotPageRight);
    content += label(kPlotPageLeft - 5, y + 4, "end soft", tick_text(tick));
  }
  content += label((kPlotPageLeft + kPlotPageRight) / 2, kPlotPageBottom + 34, "mid", plot.x_label);
  content += label(6, kPlotPageTop - 10, "", plot.y_label);
  return "<path class=grid d=\"" + path + "\"/>\n" + content;
}

std::string line_of(const Series& series, const Axes& axes) {
  std::string path;
  bool goes_on = false;
  for (const Point& point : series.points) {
    const bool is_seen = axes.shows(point);
    if (is_seen) path += (goes_on ? "L" : "M") + axes.at(point);
    goes_on = is_seen;
  }
  return path.empty() ? "" : "<path class=line d=\"" + path + "\"/>\n";
}

/// Dots, those without a text in one element, then rings around marked ones.
std::string dots_of(const Series& series, const Axes& axes) {
  std::string plain;
  std::string content;
  std::string rings;
  const auto circle = [&](const Point& point, const char* look, const std::string& inside) {
    return "<circle cx=\"" + pixels(axes.left(point.x)) + "\" cy=\"" + pixels(axes.top(point.y)) +
           "\" " + look + ">" + inside + "</circle>\n";
  };
  for (const Point& point : series.points) {
    if (!axes.shows(point)) continue;
    const std::string title = "<title>" + markup(point.title) + "</title>";
    if (point.title.empty()) {
      plain += "M" + axes.at(point) + "h0";
    } else {
      content += circle(point, "r=\"3\" class=dot", title);
    }
    if (point.is_marked) {
      rings += circle(point, "r=\"6\" class=\"ring\"", point.title.empty() ? "" : title);
    }
  }
  if (!plain.empty()) content = "<path class=dots d=\"" + plain + "\"/>\n" + content;
  return content + rings;
}

/// The names beside points: above or below, where they cover no other.
class PointNames {
 public:
  std::string of(const Series& series, const Axes& axes) {
    std::string content;
    for (const Point& point : series.points) {
      if (!point.name.empty() && axes.shows(point)) content += add(point, axes);
    }
    return content;
  }

 private:
  struct Place {
    double left;
    double right;
    double y;
  };
  std::string add(const Point& point, const Axes& axes) {
    const std::string name = shortened(point.name, kMaxSeriesLabel);
    const double width = kCharacter * static_cast<double>(num_characters(name));
    const double x = axes.left(point.x);
    const bool is_right = x + width > kPlotPageRight;
    const double left = is_right ? x + 4 - width : x - 4;
    for (const double y : {axes.top(point.y) - 7, axes.top(point.y) + 15}) {
      const bool is_free = std::ranges::none_of(places_, [&](const Place& each) {
        return left < each.right && each.left < left + width && std::abs(y - each.y) < kNameHeight;
      });
      if (!is_free || y > kPlotPageBottom) continue;
      places_.push_back({left, left + width, y});
      return label(is_right ? x + 4 : x - 4, y, is_right ? "end" : "", name);
    }
    return "";
  }

  static constexpr double kNameHeight = 12;
  std::vector<Place> places_;
};

std::string hue_class(std::size_t index) { return "h" + std::to_string(index % kNumHues + 1); }

/// Below the plot: a dot and the label of each series, in as many lines as they take.
struct Legend {
  std::string content;
  double height = 0;
};

Legend legend_of(const Plot& plot) {
  Legend legend;
  double x = kPlotPageLeft;
  double y = kPlotPageHeight + 12;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    if (plot.series[i].label.empty()) continue;
    const std::string name = shortened(plot.series[i].label, kMaxSeriesLabel);
    const double width = kCharacter * static_cast<double>(num_characters(name)) + 32;
    if (x > kPlotPageLeft && x + width > kPlotPageRight) {
      x = kPlotPageLeft;
      y += kLegendLine;
    }
    legend.content += "<path class=\"dots " + hue_class(i) + "\" d=\"M" + pixels(x) + " " +
                      pixels(y - 4) + "h8\"/>" + label(x + 14, y, "", name);
    legend.height = y + 8 - kPlotPageHeight;
    x += width;
  }
  return legend;
}

}  // namespace

std::string plot(const Plot& plot) {
  Reach x;
  Reach y;
  for (const Series& series : plot.series) {
    for (const Point& point : series.points) {
      if (!is_shown(point.x, plot.log_x) || !is_shown(point.y, plot.log_y)) continue;
      x.add(point.x);
      y.add(point.y);
    }
  }
  std::string content = label(6, 14, "strong", plot.title);
  if (x.low > x.high) {
    content += label(6, 40, "soft", "no values");
    return picture({kPlotPageWidth, 52, plot.title}, content);
  }
  const Axes axes{{x, plot.log_x}, {y, plot.log_y}};
  const Legend legend = legend_of(plot);
  content += grid(axes, plot) + legend.content;
  PointNames names;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const Series& series = plot.series[i];
    content += "<g class=\"" + hue_class(i) + (series.is_dim ? " dim" : "") + "\">" +
               (series.is_line ? line_of(series, axes) : "") +
               (series.has_dots ? dots_of(series, axes) : "") + names.of(series, axes) + "</g>\n";
  }
  return picture({kPlotPageWidth, kPlotPageHeight + legend.height, plot.title}, content);
}

}  // namespace halftone::report::svg
