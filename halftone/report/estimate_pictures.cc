// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "halftone/report/estimate.h"
#include "halftone/report/svg.h"

namespace halftone::report {
namespace {

// In pixels.
constexpr double kPlotWidth = 760;
constexpr double kPlotHeight = 480;
constexpr double kPlotLeft = 90;
constexpr double kPlotRight = 730;
constexpr double kPlotTop = 50;
constexpr double kPlotBottom = 420;

constexpr std::array kColors = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd",
                                "#ff7f0e", "#17becf", "#8c564b", "#7f7f7f"};

/// A logarithmic axis over whole powers of ten.
struct LogAxis {
  int low;
  int high;
  double from;
  double to;

  [[nodiscard]] double place(double value) const {
    return from + (to - from) * (std::log10(value) - low) / (high - low);
  }
};

LogAxis log_axis(double low, double high, double from, double to) {
  const int begin = static_cast<int>(std::floor(std::log10(low)));
  return {begin, std::max(begin + 1, static_cast<int>(std::ceil(std::log10(high)))), from, to};
}

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

std::string log_axes(const LogAxis& x, const LogAxis& y) {
  std::string picture;
  for (int power = x.low; power <= x.high; ++power) {
    const double at = x.place(std::pow(10, power));
    picture += svg::rule(at, y.from, at, y.to, "#eeeeee") +
               svg::text(at, y.from + 18, "middle", fmt::format("1e{}", power));
  }
  for (int power = y.low; power <= y.high; ++power) {
    const double at = y.place(std::pow(10, power));
    picture += svg::rule(x.from, at, x.to, at, "#eeeeee") +
               svg::text(x.from - 8, at + 4, "end", fmt::format("1e{}", power));
  }
  return picture + svg::text((x.from + x.to) / 2, y.from + 40, "middle", "products per byte") +
         svg::text(x.from - 60, y.to - 12, "start", "products per second");
}

std::string roof_lines(const std::vector<Roof>& roofs, double bandwidth, const LogAxis& x,
                       const LogAxis& y) {
  std::string picture;
  for (std::size_t i = 0; i < roofs.size(); ++i) {
    const char* color = kColors[i % kColors.size()];
    const double ridge =
        std::clamp(roofs[i].rate / bandwidth, std::pow(10, x.low), std::pow(10, x.high));
    const double low = std::max(std::pow(10, x.low), std::pow(10, y.low) / bandwidth);
    picture +=
        svg::rule(x.place(low), y.place(low * bandwidth), x.place(ridge),
                  y.place(std::min(roofs[i].rate, ridge * bandwidth)), color) +
        svg::rule(x.place(ridge), y.place(roofs[i].rate), x.to, y.place(roofs[i].rate), color) +
        svg::text(x.to, y.place(roofs[i].rate) - 4, "end", roofs[i].name);
  }
  return picture;
}

}  // namespace

std::string roofline_svg(const accel::Estimate& estimate, const accel::Accelerator& accelerator) {
  const double bandwidth = accelerator.memories.front().bandwidth();
  const std::vector<Roof> roofs = roofs_of(estimate, accelerator);
  double least = 1;
  double most = 10;
  double slowest = bandwidth;
  double fastest = bandwidth;
  for (const Roof& roof : roofs) {
    fastest = std::max(fastest, roof.rate);
    most = std::max(most, roof.rate / bandwidth);
  }
  for (const accel::OperationEstimate& each : estimate.operations) {
    if (each.products == 0) continue;
    slowest = std::min(slowest, each.products / each.seconds);
    if (each.intensity == 0) continue;
    least = std::min(least, each.intensity);
    most = std::max(most, each.intensity);
  }
  const LogAxis x = log_axis(least, 2 * most, kPlotLeft, kPlotRight);
  const LogAxis y = log_axis(slowest, 2 * fastest, kPlotBottom, kPlotTop);
  std::string picture = svg::text(kPlotLeft, 20, "start",
                                  "Estimate: " + estimate.workload + " on " + estimate.accelerator);
  picture += log_axes(x, y) + roof_lines(roofs, bandwidth, x, y);
  for (const accel::OperationEstimate& each : estimate.operations) {
    if (each.products == 0 || each.intensity == 0) continue;
    picture += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"#222222\" fill-opacity=\"0.6\">"
        "<title>{}</title></circle>\n",
        x.place(each.intensity), y.place(each.products / each.seconds), svg::escaped(each.name));
  }
  return svg::document(kPlotWidth, kPlotHeight, picture);
}

std::string timeline_svg(const accel::Estimate& estimate) {
  constexpr double kLane = 26;
  constexpr double kLabels = 160;
  constexpr double kWide = 1000;
  std::vector<std::string> lanes;
  std::vector<std::string> names;
  std::string bars;
  double end = 0;
  for (const accel::Bar& bar : estimate.timeline) end = std::max(end, bar.end_s);
  const auto index = [](std::vector<std::string>& list, const std::string& name) {
    const auto found = std::ranges::find(list, name);
    const auto at = static_cast<std::size_t>(found - list.begin());
    if (found == list.end()) list.push_back(name);
    return at;
  };
  for (const accel::Bar& bar : estimate.timeline) {
    const auto lane = static_cast<double>(index(lanes, bar.lane));
    const char* color = kColors[index(names, bar.name) % kColors.size()];
    const double scale = end > 0 ? (kWide - kLabels - 20) / end : 0;
    bars += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" fill=\"{}\">"
        "<title>{}</title></rect>\n",
        kLabels + scale * bar.start_s, 40 + kLane * lane,
        std::max(0.3, scale * (bar.end_s - bar.start_s)), kLane - 6, color, svg::escaped(bar.name));
  }
  std::string picture = svg::text(10, 20, "start",
                                  fmt::format("Estimate: {} on {}, {:.4g} us", estimate.workload,
                                              estimate.accelerator, 1e6 * end));
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    picture += svg::text(kLabels - 8, 40 + kLane * static_cast<double>(i) + 14, "end", lanes[i]);
  }
  return svg::document(kWide, 60 + kLane * static_cast<double>(lanes.size()), picture + bars);
}

}  // namespace halftone::report
