// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "halftone/report/estimate.h"
#include "halftone/report/svg/picture.h"
#include "halftone/report/svg/plot.h"
#include "halftone/report/svg/svg.h"
#include "halftone/report/units.h"

namespace halftone::report {
namespace {

constexpr std::size_t kMaxNamedLayers = 12;  ///< of a roofline: those that take longest
constexpr std::size_t kMaxLegend = 60;       ///< layers of a timeline
// Of a timeline, in pixels.
constexpr double kTimelineWidth = 1000;
constexpr double kTimelineRight = 980;
constexpr double kLaneHeight = 26;
constexpr double kLanesTop = 40;
constexpr double kLaneLabels = 160;
constexpr double kLegendEntry = 205;
constexpr double kLegendRow = 18;

struct Roof {
  std::string name;
  double rate = 0;  ///< products per second
};

/// The peak rates of the units that the estimate uses.
std::vector<Roof> roofs_of(const accel::Estimate& estimate, const accel::Accelerator& chip) {
  std::set<std::string> used;
  for (const accel::OperationEstimate& each : estimate.operations) {
    if (each.products > 0) used.insert(each.unit);
  }
  std::vector<Roof> roofs;
  for (const accel::ComputeUnit& unit : chip.units) {
    if (!used.contains(unit.name)) continue;
    for (const accel::Rate& row : unit.rates) {
      const accel::Number w{row.weight_bits, row.is_float};
      const accel::Number x{row.input_bits, row.is_float};
      roofs.push_back(
          {fmt::format("{}, {} x {}", unit.name, to_string(w), to_string(x)),
           static_cast<double>(unit.count) * unit.products_per_cycle(w, x) * unit.clock_hz});
    }
  }
  return roofs;
}

/// The ends of the horizontal axis.
struct Intensities {
  double low = 1;
  double high = 10;
};

Intensities intensities_of(const accel::Estimate& estimate, const std::vector<Roof>& roofs,
                           double bandwidth) {
  Intensities range;
  for (const Roof& roof : roofs) range.high = std::max(range.high, 2 * roof.rate / bandwidth);
  for (const accel::OperationEstimate& each : estimate.operations) {
    if (each.products == 0 || each.intensity == 0) continue;
    range.low = std::min(range.low, each.intensity);
    range.high = std::max(range.high, 2 * each.intensity);
  }
  return range;
}

/// A dot for each layer with products; those that take longest have their names.
svg::Series layer_dots(const accel::Estimate& estimate) {
  std::vector<const accel::OperationEstimate*> layers;
  for (const accel::OperationEstimate& each : estimate.operations) {
    if (each.products > 0 && each.intensity > 0) layers.push_back(&each);
  }
  std::ranges::stable_sort(layers, std::ranges::greater{}, &accel::OperationEstimate::seconds);
  svg::Series series{"layers", {}, false};
  for (const accel::OperationEstimate* each : layers) {
    const std::string title = fmt::format("{}: {}, {:.4g} products per byte", each->name,
                                          time_text(each->seconds), each->intensity);
    const bool is_named = series.points.size() < kMaxNamedLayers;
    series.points.push_back({each->intensity, each->products / each->seconds, title, false,
                             is_named ? each->name : ""});
  }
  return series;
}

/// The layers of a timeline in the order of their first bars, each with a colour of its own.
class LayerColours {
 public:
  std::size_t index(const std::string& name) {
    return indices_.try_emplace(name, indices_.size()).first->second;
  }
  /// Neighbours differ most: steps of the golden angle.
  static std::string colour(std::size_t index) {
    constexpr double kGoldenAngle = 137.508;
    return fmt::format("hsl({:.0f} 60% 48%)",
                       std::fmod(kGoldenAngle * static_cast<double>(index), 360));
  }
  /// A swatch and a name each, in rows from `y` on. @return the elements, and where they end
  [[nodiscard]] std::pair<std::string, double> legend(double y) const {
    std::vector<const std::string*> names(indices_.size());
    for (const auto& [name, index] : indices_) names[index] = &name;
    std::string content;
    double x = 10;
    for (std::size_t i = 0; i < std::min(names.size(), kMaxLegend); ++i) {
      if (x + kLegendEntry > kTimelineWidth) {
        x = 10;
        y += kLegendRow;
      }
      content +=
          fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"10\" height=\"10\" fill=\"{}\"/>\n",
                      x, y - 9, colour(i));
      content += svg::text(x + 15, y, "start", svg::shortened(*names[i], kMaxLegendName));
      x += kLegendEntry;
    }
    if (names.size() > kMaxLegend) {
      y += kLegendRow;
      content += svg::text(10, y, "start", fmt::format("and {} others", names.size() - kMaxLegend));
    }
    return {content, y};
  }

 private:
  static constexpr std::size_t kMaxLegendName = 28;  ///< characters
  std::map<std::string, std::size_t> indices_;
};

/// Ticks of time below the lanes, with lines through them.
std::string time_axis(const svg::Axis& axis, double bottom) {
  std::string content;
  for (const double tick : axis.ticks) {
    const double x = axis.place(tick);
    if (x > kTimelineRight + 1) continue;
    content += svg::rule(x, kLanesTop - 4, x, bottom, "#dddddd") +
               svg::text(x, bottom + 15, "middle", fmt::format("{:.4g}", tick));
  }
  return content + svg::text(kLaneLabels - 8, bottom + 15, "end", "us");
}

}  // namespace

std::string roofline_svg(const accel::Estimate& estimate, const accel::Accelerator& accelerator) {
  const double bandwidth = accelerator.memories.front().bandwidth();
  const std::vector<Roof> roofs = roofs_of(estimate, accelerator);
  const Intensities range = intensities_of(estimate, roofs, bandwidth);
  svg::Plot picture{"Estimate: " + estimate.workload + " on " + estimate.accelerator,
                    "products per byte",
                    "products per second",
                    {},
                    true,
                    true};
  for (const Roof& roof : roofs) {
    const double ridge = std::clamp(roof.rate / bandwidth, range.low, range.high);
    svg::Series line{roof.name,
                     {{range.low, std::min(roof.rate, range.low * bandwidth), ""},
                      {ridge, std::min(roof.rate, ridge * bandwidth), ""},
                      {range.high, roof.rate, ""}}};
    line.has_dots = false;
    picture.series.push_back(std::move(line));
  }
  picture.series.push_back(layer_dots(estimate));
  return svg::file_of(svg::plot(picture));
}

std::string timeline_svg(const accel::Estimate& estimate) {
  double end = 0;
  for (const accel::Bar& bar : estimate.timeline) end = std::max(end, bar.end_s);
  const svg::Axis axis{svg::ticks(0, end > 0 ? 1e6 * end : 1, 10), kLaneLabels, kTimelineRight};
  std::vector<std::string> lanes;
  LayerColours colours;
  std::string bars;
  for (const accel::Bar& bar : estimate.timeline) {
    const auto found = std::ranges::find(lanes, bar.lane);
    const auto lane = static_cast<double>(found - lanes.begin());
    if (found == lanes.end()) lanes.push_back(bar.lane);
    const double left = axis.place(1e6 * bar.start_s);
    bars += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" fill=\"{}\">"
        "<title>{}: {}</title></rect>\n",
        left, kLanesTop + kLaneHeight * lane, std::max(0.3, axis.place(1e6 * bar.end_s) - left),
        kLaneHeight - 6, LayerColours::colour(colours.index(bar.name)), svg::escaped(bar.name),
        time_text(bar.end_s - bar.start_s));
  }
  std::string picture = svg::text(10, 20, "start",
                                  fmt::format("Estimate: {} on {}, {}", estimate.workload,
                                              estimate.accelerator, time_text(end)));
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    picture += svg::text(kLaneLabels - 8, kLanesTop + kLaneHeight * static_cast<double>(i) + 14,
                         "end", lanes[i]);
  }
  const double bottom = kLanesTop + kLaneHeight * static_cast<double>(lanes.size());
  const auto [legend, last] = colours.legend(bottom + 40);
  return svg::document(kTimelineWidth, last + 14,
                       picture + time_axis(axis, bottom) + bars + legend);
}

}  // namespace halftone::report
