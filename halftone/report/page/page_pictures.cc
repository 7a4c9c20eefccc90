// SPDX-License-Identifier: Apache-2.0
// The sections of a page that are pictures.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "halftone/report/page/graph_picture.h"
#include "halftone/report/page/html.h"
#include "halftone/report/page/overlay.h"
#include "halftone/report/page/page_parts.h"
#include "halftone/report/page/picture.h"
#include "halftone/report/page/plot.h"
#include "halftone/report/table.h"

namespace halftone::report::page {
namespace {

/// What an overlay shows.
struct OverlayMeasure {
  const char* name;   ///< of its file
  const char* title;  ///< for people
  bool high_is_good = false;
};

/// A bar for each layer that has a value.
template <typename Value>
std::string layer_bars(const std::string& title, const NetworkFigures& model, const Value& value) {
  std::vector<Bar> rows;
  for (const LayerFigures& layer : model.layers) {
    if (const std::optional<double> found = value(layer)) {
      rows.push_back({shown_name(layer), *found, ""});
    }
  }
  return rows.empty() ? "" : "<figure>" + bars(title, rows) + "</figure>\n";
}

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
  return "<figure>" + page::histogram(picture) + "<figcaption>" + markup(caption) +
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
constexpr std::size_t kMaxDrawnLayers = 200;

/// Lower for layers that are drawn rather than others: with an SQNR, that; else those of most
/// bytes.
double drawing_order(const LayerFigures& layer) {
  if (const std::optional<double> sqnr = accumulated_of(layer)) return *sqnr;
  return layer.weight_sqnr_db.value_or(-static_cast<double>(layer.info.weight_bytes));
}

std::vector<bool> drawn_layers(const NetworkFigures& model) {
  std::vector<std::size_t> order(model.layers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {},
                           [&](std::size_t i) { return drawing_order(model.layers[i]); });
  std::vector<bool> is_drawn(model.layers.size(), false);
  for (std::size_t i = 0; i < std::min(order.size(), kMaxDrawnLayers); ++i) {
    is_drawn[order[i]] = true;
  }
  return is_drawn;
}

std::string drawn_note(const NetworkFigures& model) {
  const bool has_sqnr = std::ranges::any_of(model.layers, [](const LayerFigures& layer) {
    return accumulated_of(layer).has_value() || layer.weight_sqnr_db.has_value();
  });
  return note(fmt::format("Of {} layers, the {} with the {} are drawn; the JSON has all.",
                          model.layers.size(), kMaxDrawnLayers,
                          has_sqnr ? "lowest SQNR" : "most bytes"));
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
  add_overlay(files, network, {"bits", "Bits of a weight"}, [](const LayerFigures& layer) {
    return std::optional(static_cast<double>(layer.info.weight_bits));
  });
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

std::string charts_section(const NetworkFigures& model) {
  const std::string charts =
      layer_bars("SQNR of the output, accumulated, dB", model, accumulated_of) +
      layer_bars("SQNR of the output, layer alone, dB", model, alone_of) +
      layer_bars("Weights, KiB", model,
                 [](const LayerFigures& layer) {
                   return std::optional(static_cast<double>(layer.info.weight_bytes) / 1024);
                 }) +
      layer_bars("Median time, us", model,
                 [&](const LayerFigures& layer) { return time_of(model, layer); });
  return charts.empty() ? "" : "<div class=pair>\n" + charts + "</div>\n";
}

std::string values_section(const NetworkFigures& model) {
  constexpr std::size_t kMaxOpen = 40;  // layers of which all pictures are seen at once
  const char* open = model.layers.size() <= kMaxOpen ? " open" : "";
  const std::vector<bool> is_drawn = drawn_layers(model);
  std::string result;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const LayerFigures& layer = model.layers[i];
    std::string pictures;
    if (layer.weights && !layer.weights->counts.empty()) pictures += weights_figure(layer);
    if (layer.inputs && !layer.inputs->counts.empty()) pictures += inputs_figure(layer);
    if (pictures.empty() || !is_drawn[i]) continue;
    result +=
        fmt::format("<details{}><summary>{}: {}</summary><div class=pair>\n{}</div></details>\n",
                    open, markup(shown_name(layer)), markup(layer.info.weights), pictures);
  }
  if (result.empty()) return "";
  return note(kValuesNote) + (model.layers.size() > kMaxDrawnLayers ? drawn_note(model) : "") +
         result;
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
  return graph_picture(graph, labels);
}

std::string sensitivity_picture(const SensitivityTable& table) {
  Plot picture{"Loss of each unit by choice", "unit", "loss", {}, false, true};
  for (std::size_t c = 0; c < table.choices.size(); ++c) {
    Series series{table.choices[c], {}};
    for (std::size_t u = 0; u < table.units.size(); ++u) {
      series.points.push_back(
          {static_cast<double>(u + 1), table.units[u].losses[c], table.units[u].name});
    }
    picture.series.push_back(std::move(series));
  }
  return "<figure>" + plot(picture) + "</figure>\n";
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
