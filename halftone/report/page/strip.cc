// SPDX-License-Identifier: Apache-2.0
// A network in one line of bars.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "halftone/report/page/drawing.h"
#include "halftone/report/page/heat.h"
#include "halftone/report/page/page_parts.h"
#include "halftone/report/table.h"
#include "halftone/report/units.h"

namespace halftone::report::page {
namespace {

// In pixels.
constexpr double kStripWidth = 1200;
constexpr double kStripHeight = 84;
constexpr std::size_t kMaxFacts = 200;  ///< layers with more than their name under the pointer
constexpr double kStripLeast = 16;      ///< height of a bar
constexpr double kStripEqual = 0.35;    ///< share of the width that all bars have alike

/// "3 bits, 4.5 KiB, 21.0 us, loss 0.012"
std::string facts_of(const NetworkFigures& model, const LayerFigures& layer) {
  const std::string bits = bits_text(layer.info.weight_bits);
  std::string text = (layer.info.weight_bits == 32 ? bits : bits + " bits") + ", " +
                     format_bytes(layer.info.weight_bytes);
  if (const auto us = time_of(model, layer)) text += ", " + format_number(*us, 1) + " us";
  if (const auto db = alone_of(layer)) text += ", " + format_number(*db, 1) + " dB alone";
  if (layer.loss) text += fmt::format(", loss {:.2g}", *layer.loss);
  return text;
}

}  // namespace

std::string strip_picture(const NetworkFigures& model) {
  if (model.layers.size() < 2) return "";
  double bytes = 0;
  double max_us = 0;
  bool has_heat = false;
  for (const LayerFigures& layer : model.layers) {
    bytes += static_cast<double>(layer.info.weight_bytes);
    max_us = std::max(max_us, time_of(model, layer).value_or(0));
    has_heat = has_heat || heat_of(layer).has_value();
  }
  const auto count = static_cast<double>(model.layers.size());
  const double gap = std::min(3.0, 0.2 * kStripWidth / count);
  const double space = kStripWidth - gap * (count - 1);
  std::string content;
  double x = 0;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const LayerFigures& layer = model.layers[i];
    const double share =
        bytes > 0 ? static_cast<double>(layer.info.weight_bytes) / bytes : 1 / count;
    const double width = space * (kStripEqual / count + (1 - kStripEqual) * share);
    const double part = max_us > 0 ? time_of(model, layer).value_or(0) / max_us : 1;
    const double height = kStripLeast + (kStripHeight - kStripLeast) * part;
    const auto heat = heat_of(layer);
    const std::string facts =
        model.layers.size() > kMaxFacts ? "" : ": " + markup(facts_of(model, layer));
    content += fmt::format(
        "<a href=\"#l{}\" tabindex=-1><title>{}{}</title><path class={} d=\"M{} "
        "{}h{}V{}h-{}z\"/></a>\n",
        i, markup(shown_name(layer)), facts, heat ? fmt::format("c{}", *heat) : "bar", pixels(x),
        pixels(kStripHeight - height), pixels(width), pixels(kStripHeight), pixels(width));
    x += width + gap;
  }
  const std::string legend = heat_legend("Colour, what the layer loses");
  return fmt::format(
      "<figure class=strip><svg class=strip viewBox=\"0 0 {0} {1}\" preserveAspectRatio=none "
      "role=group aria-label=\"Layers by bytes{2}, from input to output\">{3}</svg>"
      "<figcaption>From input to output. Width: bytes. {4}{5}</figcaption></figure>\n",
      pixels(kStripWidth), pixels(kStripHeight), max_us > 0 ? " and time" : "", content,
      max_us > 0 ? "Height: time. " : "", has_heat ? legend : "");
}

}  // namespace halftone::report::page
