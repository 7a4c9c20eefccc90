// SPDX-License-Identifier: Apache-2.0
// The sections of a page that are pictures.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "halftone/report/page/drawing.h"
#include "halftone/report/page/graph_picture.h"
#include "halftone/report/page/heat.h"
#include "halftone/report/page/html.h"
#include "halftone/report/page/overlay.h"
#include "halftone/report/page/page_parts.h"
#include "halftone/report/table.h"
#include "halftone/report/units.h"

namespace halftone::report::page {
namespace {

/// What an overlay shows.
struct OverlayMeasure {
  const char* name;   ///< of its file
  const char* title;  ///< for people
  bool high_is_good = false;
};

std::string levels_text(const ValueHistogram& histogram) {
  if (histogram.num_levels == 0) return "";
  const char* reason = histogram.levels.empty() ? ", too many to draw" : "";
  return fmt::format("; {} levels{}", histogram.num_levels, reason);
}

std::string histogram_figure(const std::string& title, const ValueHistogram& histogram,
                             const std::string& caption) {
  const HistogramPlot picture{title,
                              histogram.low,
                              histogram.high,
                              {histogram.counts.begin(), histogram.counts.end()},
                              {histogram.levels.begin(), histogram.levels.end()},
                              {histogram.thresholds.begin(), histogram.thresholds.end()}};
  return "<figure>" + svg::histogram(picture) + "<figcaption>" + markup(caption) +
         "</figcaption></figure>\n";
}

std::string weights_figure(const LayerFigures& layer) {
  const ValueHistogram& histogram = *layer.weights;
  const char* whose = layer.weights_are_reference ? "reference" : "model";
  const char* how = histogram.is_relative ? ", relative" : "";
  return histogram_figure("Weights", histogram, whose + (how + levels_text(histogram)));
}

std::string inputs_figure(const LayerFigures& layer) {
  const ValueHistogram& histogram = *layer.inputs;
  std::int64_t count = histogram.num_zeros;
  for (const std::int64_t each : histogram.counts) count += each;
  std::string caption = fmt::format("{} values", count);
  if (histogram.num_zeros > 0) {
    caption += fmt::format(", {:.1f} % zero", 100 * static_cast<double>(histogram.num_zeros) /
                                                  static_cast<double>(count));
  }
  return histogram_figure("Activations", histogram, caption + levels_text(histogram));
}

/// How to read the histograms.
constexpr const char* kValuesNote =
    "Lines with dots are the levels of codes; dashed lines are the thresholds between levels. "
    "Weights are those of the reference or of the model. Relative: channels or groups have levels "
    "of their own, each is shifted and scaled so that its levels span -1 to 1, and the lines are "
    "means. Activations are what a layer reads; "
    "zeros are counted, not drawn.";

/// Layers of a page whose values are drawn: more are a large file, and nobody looks at them all.
constexpr std::size_t kMaxDrawnLayers = 100;

/// Lower for layers that are drawn rather than others: those of much loss or a low SQNR, else of
/// most bytes.
double drawing_order(const LayerFigures& layer) {
  if (layer.loss) return -*layer.loss;
  if (const std::optional<double> sqnr = accumulated_of(layer)) return *sqnr;
  return layer.weight_sqnr_db.value_or(-static_cast<double>(layer.info.weight_bytes));
}

std::vector<std::size_t> worst_first(const NetworkFigures& model) {
  std::vector<std::size_t> order(model.layers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {},
                           [&](std::size_t i) { return drawing_order(model.layers[i]); });
  return order;
}

/// The histograms of a layer; empty if it has none.
std::string values_html(const NetworkFigures& model, std::size_t index, bool is_open) {
  const LayerFigures& layer = model.layers[index];
  std::string pictures;
  if (layer.weights && !layer.weights->counts.empty()) pictures += weights_figure(layer);
  if (layer.inputs && !layer.inputs->counts.empty()) pictures += inputs_figure(layer);
  if (pictures.empty()) return "";
  return fmt::format("<details{}><summary>{}: {}</summary><div class=pair>\n{}</div></details>\n",
                     is_open ? " open" : "", markup(shown_name(layer)), markup(layer.info.weights),
                     pictures);
}

std::string drawn_note(const NetworkFigures& model) {
  const bool has_sqnr = std::ranges::any_of(model.layers, [](const LayerFigures& layer) {
    return accumulated_of(layer).has_value() || layer.weight_sqnr_db.has_value();
  });
  const bool has_loss = std::ranges::any_of(
      model.layers, [](const LayerFigures& layer) { return layer.loss.has_value(); });
  const char* order = has_loss ? "largest loss" : has_sqnr ? "lowest SQNR" : "most bytes";
  return note(fmt::format("Of {} layers, the {} with the {} are drawn; the JSON has all.",
                          model.layers.size(), kMaxDrawnLayers, order));
}

/// The largest bytes and time of a layer.
std::pair<double, double> largest_of(const NetworkFigures& model) {
  std::pair<double, double> most{0, 0};
  for (const LayerFigures& layer : model.layers) {
    most.first = std::max(most.first, static_cast<double>(layer.info.weight_bytes));
    most.second = std::max(most.second, time_of(model, layer).value_or(0));
  }
  return most;
}

LayerLook look_of(const NetworkFigures& model, const LayerFigures& layer,
                  const std::pair<double, double>& largest) {
  LayerLook look{heat_of(layer)};
  const auto share = [](double value, double most) {
    return most > 0 ? std::optional(heat_of_share(value / most)) : std::nullopt;
  };
  look.size = share(static_cast<double>(layer.info.weight_bytes), largest.first);
  if (const auto us = time_of(model, layer)) look.time = share(*us, largest.second);
  return look;
}

/// Buttons that choose by what the boxes have colours; style sheets do the rest.
std::string colour_switch(const std::vector<LayerLook>& looks) {
  const auto has = [&](auto member) {
    return std::ranges::any_of(looks,
                               [&](const LayerLook& look) { return (look.*member).has_value(); });
  };
  std::string buttons;
  const auto add = [&](const char* name, bool is_there) {
    if (!is_there) return;
    buttons += fmt::format("<label><input type=radio name=colour id=by-{0}{1}> {0}</label>\n", name,
                           buttons.empty() ? " checked" : "");
  };
  add("error", has(&LayerLook::error));
  add("size", has(&LayerLook::size));
  add("time", has(&LayerLook::time));
  return buttons.empty() ? ""
                         : "<fieldset class=switch><legend>Colour by</legend>\n" + buttons +
                               heat_legend("") + "</fieldset>\n";
}

/// Adds the file of a measure if some layer has a value.
template <typename Value>
void add_overlay(std::vector<OverlayFile>& files, const NetworkFigures& network,
                 const OverlayMeasure& measure, const Value& value) {
  Overlay overlay{measure.title, {}, measure.high_is_good};
  for (const LayerFigures& layer : network.layers) {
    const std::optional<double> found = value(layer);
    if (found) overlay.values.emplace_back(layer.info.name, *found);
  }
  if (!overlay.values.empty()) files.push_back({measure.name, node_data(overlay)});
}

}  // namespace

std::vector<OverlayFile> overlays(const NetworkFigures& network) {
  std::vector<OverlayFile> files;
  add_overlay(files, network, {"bits", "Bits of a weight"},
              [](const LayerFigures& layer) { return std::optional(layer.info.weight_bits); });
  add_overlay(files, network, {"bytes", "Bytes of weights"}, [](const LayerFigures& layer) {
    return std::optional(static_cast<double>(layer.info.weight_bytes));
  });
  add_overlay(files, network, {"sqnr", "SQNR of the output, accumulated, dB", true},
              accumulated_of);
  add_overlay(files, network, {"sqnr-alone", "SQNR of the output, layer alone, dB", true},
              alone_of);
  add_overlay(files, network, {"us", "Median time, us"},
              [&](const LayerFigures& layer) { return time_of(network, layer); });
  return files;
}

std::string values_section(const NetworkFigures& model) {
  constexpr std::size_t kNumOpen = 5;
  const std::vector<std::size_t> order = worst_first(model);
  std::vector<std::size_t> shown(
      order.begin(),
      order.begin() + static_cast<std::ptrdiff_t>(std::min(order.size(), kMaxDrawnLayers)));
  const std::vector<std::size_t> open(
      shown.begin(), shown.begin() + static_cast<std::ptrdiff_t>(std::min(shown.size(), kNumOpen)));
  std::ranges::sort(shown);
  std::string worst;
  std::string others;
  for (const std::size_t i : open) worst += values_html(model, i, true);
  for (const std::size_t i : shown) {
    if (std::ranges::find(open, i) == open.end()) others += values_html(model, i, false);
  }
  if (worst.empty() && others.empty()) return "";
  return note(kValuesNote) + (model.layers.size() > kMaxDrawnLayers ? drawn_note(model) : "") +
         "<div class=worst>\n" + worst + "</div>\n" +
         (others.empty() ? "" : "<div class=others>\n" + others + "</div>\n");
}

std::string graph_section(const NetworkFigures& model) {
  if (model.nodes.empty()) return "";
  ReportGraph graph;
  for (const NodeFigures& node : model.nodes) {
    const std::size_t bytes = node.layer ? model.layers[*node.layer].info.weight_bytes : 0;
    graph.nodes.push_back({node.name, node.op, node.type, node.inputs, node.layer, bytes});
  }
  std::vector<std::string> labels;
  for (const LayerFigures& layer : model.layers) {
    const std::string bits = bits_text(layer.info.weight_bits);
    labels.push_back((bits == "float" ? bits : bits + " bits") + ", " +
                     format_bytes(layer.info.weight_bytes));
  }
  const auto largest = largest_of(model);
  std::vector<LayerLook> looks;
  for (const LayerFigures& layer : model.layers) looks.push_back(look_of(model, layer, largest));
  return colour_switch(looks) + graph_picture(graph, labels, looks);
}

std::string front_picture(const SearchFront& search) {
  Plot picture{"Front of " + search.file, "KiB", "loss", {}};
  Series front{"predicted", {}};
  for (const SearchPoint& point : search.front) {
    front.points.push_back({point.bytes / 1024, point.loss, ""});
  }
  picture.series.push_back(std::move(front));
  if (search.chosen) {
    const Point chosen{search.chosen->bytes / 1024, search.chosen->loss, "", true};
    picture.series.push_back({"chosen, as measured", {chosen}, false});
  }
  return "<figure>" + plot(picture) + "</figure>\n";
}

std::string course_pictures(const TrainingCourse& course) {
  std::string result;
  const auto add = [&](const std::string& title, const std::vector<std::string>& wanted) {
    Plot picture{title, course.unit, title, {}};
    for (std::size_t c = 0; c < course.columns.size(); ++c) {
      if (std::ranges::find(wanted, course.columns[c]) == wanted.end()) continue;
      Series series{course.columns[c], {}};
      for (const TrainingCourse::Row& row : course.rows) {
        const double y = row.values[c].value_or(std::numeric_limits<double>::quiet_NaN());
        series.points.push_back({static_cast<double>(row.number), y, ""});
      }
      picture.series.push_back(std::move(series));
    }
    if (!picture.series.empty()) result += "<figure>" + plot(picture) + "</figure>\n";
  };
  add("loss", {"loss", "kl_divergence"});
  add("share", {"agreement", "validation_accuracy"});
  return result.empty() ? "" : "<div class=pair>\n" + result + "</div>\n";
}

}  // namespace halftone::report::page
