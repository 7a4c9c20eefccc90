// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "halftone/report/svg/svg.h"

namespace halftone::report {
namespace {

using Epochs = std::vector<train::EpochResult>;

// In pixels.
constexpr double kWidth = 640;
constexpr double kHeight = 560;
constexpr double kLeft = 70;
constexpr double kRight = 620;
constexpr double kTop = 40;
constexpr double kPanelHeight = 190;
constexpr double kPanelDistance = 260;
constexpr double kTickLength = 5;

struct Line {
  std::string label;
  const char* color;
  std::vector<std::optional<double>> values;  ///< one for each epoch
};

using svg::Axis;
using svg::rule;
using svg::text;
using svg::ticks;

std::string axes(const Axis& x, const Axis& y) {
  std::string svg;
  for (const double tick : y.ticks) {
    const double at = y.place(tick);
    svg += rule(x.from, at, x.to, at, "#dddddd") +
           text(x.from - 2 * kTickLength, at + 4, "end", fmt::format("{:.6g}", tick));
  }
  for (const double tick : x.ticks) {
    const double at = x.place(tick);
    svg += rule(at, y.from, at, y.from + kTickLength, "#222222") +
           text(at, y.from + 20, "middle", fmt::format("{:.6g}", tick));
  }
  return svg + rule(x.from, y.from, x.to, y.from, "#222222") +
         rule(x.from, y.from, x.from, y.to, "#222222") +
         text((x.from + x.to) / 2, y.from + 38, "middle", "epoch");
}

std::string curve(const Line& line, const Axis& x, const Axis& y) {
  std::string path;
  std::string dots;
  for (std::size_t e = 0; e < line.values.size(); ++e) {
    if (!line.values[e]) continue;
    const double at_x = x.place(static_cast<double>(e + 1));
    const double at_y = y.place(*line.values[e]);
    const bool goes_on = e > 0 && line.values[e - 1].has_value();
    path += fmt::format("{}{:.1f} {:.1f}", goes_on ? " L" : " M", at_x, at_y);
    dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2\" fill=\"{}\"/>\n", at_x, at_y,
                        line.color);
  }
  if (path.empty()) return "";
  return fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n",
                     path.substr(1), line.color) +
         dots;
}

std::string legend(std::span<const Line> lines, double y) {
  std::string svg;
  double x = kRight;
  for (std::size_t i = lines.size(); i-- > 0;) {
    svg += text(x, y, "end", lines[i].label);
    x -= 7.0 * static_cast<double>(lines[i].label.size()) + 8;
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"14\" height=\"3\" fill=\"{}\"/>\n",
                       x - 14, y - 5, lines[i].color);
    x -= 34;
  }
  return svg;
}

/// The range of all values, including `low` if given; an empty range becomes [low, low + 1].
std::vector<double> value_ticks(std::span<const Line> lines, std::optional<double> low) {
  std::optional<double> high = low;
  for (const Line& line : lines) {
    for (const std::optional<double>& value : line.values) {
      if (!value) continue;
      low = std::min(low.value_or(*value), *value);
      high = std::max(high.value_or(*value), *value);
    }
  }
  const double begin = low.value_or(0);
  return ticks(begin, high && *high > begin ? *high : begin + 1, 5);
}

std::string panel(const std::string& title, const Axis& x, const Axis& y,
                  std::span<const Line> lines) {
  const double top = y.to - 14;
  std::string svg = text(x.from, top, "start", title) + axes(x, y) + legend(lines, top);
  for (const Line& line : lines) svg += curve(line, x, y);
  return svg;
}

/// @param of  the value of an epoch, if it has one
template <typename Of>
Line line_of(const Epochs& epochs, const std::string& label, const char* color, const Of& of) {
  Line line{label, color, {}};
  for (const train::EpochResult& epoch : epochs) {
    const std::optional<double> value = of(epoch);
    line.values.push_back(value && std::isfinite(*value) ? value : std::nullopt);
  }
  return line;
}

}  // namespace

std::string to_csv(const Epochs& epochs) {
  std::string csv = "epoch,loss,agreement,held_out,rate,seconds\n";
  for (std::size_t e = 0; e < epochs.size(); ++e) {
    const train::EpochResult& epoch = epochs[e];
    csv +=
        fmt::format("{},{},{},{},{},{:.3f}\n", e + 1, epoch.loss, epoch.agreement,
                    epoch.validation_accuracy ? fmt::format("{}", *epoch.validation_accuracy) : "",
                    epoch.rate, epoch.seconds);
  }
  return csv;
}

std::string to_svg(const Epochs& epochs) {
  using Epoch = train::EpochResult;
  using Value = std::optional<double>;
  const auto last = static_cast<double>(std::max<std::size_t>(epochs.size(), 1));
  const Axis x{ticks(0, std::max(last, 5.0), 10), kLeft, kRight};
  const Line loss =
      line_of(epochs, "training", "#1f5fa8", [](const Epoch& epoch) { return Value(epoch.loss); });
  std::vector<Line> shares{line_of(epochs, "training", "#1f5fa8", [](const Epoch& epoch) {
    return Value(100 * epoch.agreement);
  })};
  const auto validation = [](const Epoch& epoch) {
    return epoch.validation_accuracy ? Value(100 * *epoch.validation_accuracy) : std::nullopt;
  };
  if (std::ranges::any_of(
          epochs, [](const Epoch& epoch) { return epoch.validation_accuracy.has_value(); })) {
    shares.push_back(line_of(epochs, "validation", "#c2571a", validation));
  }
  const Axis loss_axis{value_ticks(std::span(&loss, 1), 0.0), kTop + kPanelHeight, kTop};
  const Axis share_axis{value_ticks(shares, std::nullopt), kTop + kPanelDistance + kPanelHeight,
                        kTop + kPanelDistance};
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
             "height=\"{1}\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#222222\">\n"
             "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
             kWidth, kHeight) +
         panel("loss", x, loss_axis, std::span(&loss, 1)) +
         panel("accuracy, %", x, share_axis, shares) + "</svg>\n";
}

}  // namespace halftone::report
