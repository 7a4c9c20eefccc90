// SPDX-License-Identifier: Apache-2.0
// The parts that to_html() and to_json() are made of. Private to this folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/report/json.h"
#include "halftone/report/page/html.h"
#include "halftone/report/page/page.h"

namespace halftone::report::page {

struct Section {
  const char* id;
  const char* name;  ///< in the list of sections
  std::string content;
  std::string heading{};  ///< a sentence; empty: the name
};

/// A whole page: the sections that have content, and the numbers as JSON.
/// @param subtitle     what the network is compared with; may be empty
/// @param runs_module  whether a section has a module of WebAssembly
std::string document(const std::string& name, const std::string& subtitle,
                     const std::vector<Section>& sections, const Json& json,
                     bool runs_module = false);
/// Where the numbers are.
std::string data_section();

/// Colours and layout, light and dark.
std::string page_style();
/// Sorts tables and switches the theme.
std::string_view page_script();

/// The same as to_json(), as a value.
Json page_json(const Content& content);

/// The step of a plan that computes a layer; null if there is none.
const runtime::PlanStep* step_of(const NetworkFigures& network, const LayerFigures& layer);
/// Its median time in microseconds, if it was measured.
std::optional<double> time_of(const NetworkFigures& network, const LayerFigures& layer);
/// The median time of the same layer of the reference.
std::optional<double> float_time_of(const ModelReport& report, const LayerFigures& layer);
/// Whether a layer takes longer than in the reference, by more than a tenth.
bool is_slow(const ModelReport& report, const LayerFigures& layer);
/// The network's layer that is the same as one of the model: of the reference by the name that the
/// model's layer knows, of others by name or by their layer of the reference. Null if there is
/// none.
const LayerFigures* counterpart_of(const LayerFigures& layer, const NetworkFigures& network,
                                   bool is_reference);
/// The name that people read: that of the same layer in the reference, which no file format has
/// changed, else its own.
const std::string& shown_name(const LayerFigures& layer);
/// The layer's output error in decibels, if its input is that of the reference.
std::optional<double> alone_of(const LayerFigures& layer);
/// The same after all layers before it.
std::optional<double> accumulated_of(const LayerFigures& layer);
/// The name of a class of samples, or its number.
std::string class_name(const ModelReport& report, std::int64_t index);
/// The networks of a page, with what they are to it.
struct ShownNetwork {
  std::string name;
  const NetworkFigures* network;
  bool is_reference = false;
};
std::vector<ShownNetwork> roles_of(const ModelReport& report);
/// "basis" of "basis(2 bits, channel, offset)[700, 784]"; "int8" of integers behind a conversion.
std::string system_of(const LayerInfo& layer);

/// Why a step is computed as it is, on demand.
std::string why_html(const runtime::PlanStep& step);
/// The name of a layer, with a link to its box in the graph.
Cell layer_cell(const NetworkFigures& network, std::size_t index);
/// Whether the graph has the layer.
bool is_in_graph(const NetworkFigures& network, std::size_t layer);

// Sections, each empty if there is nothing to show.
std::string live_section(const Content& content);
std::string layers_section(const ModelReport& report);
/// The network from input to output: a bar for each layer, as wide as its bytes, as high as its
/// time, in the colour of its loss.
std::string strip_picture(const NetworkFigures& model);
std::string classes_section(const ModelReport& report);
std::string networks_section(const ModelReport& report);
std::string beside_section(const ModelReport& report);
std::string values_section(const NetworkFigures& model);
std::string graph_section(const NetworkFigures& model);
std::string steps_section(const NetworkFigures& model);
std::string samples_section(const ModelReport& report);
/// The front of a search, and the curves of a training.
std::string front_picture(const SearchFront& search);
std::string course_pictures(const TrainingCourse& course);
std::string sensitivities_section(const std::vector<SensitivityTable>& tables);
/// The list "sensitivities" of page_json().
Json sensitivities_json(const std::vector<SensitivityTable>& tables);
std::string searches_section(const std::vector<SearchFront>& searches);
std::string trainings_section(const std::vector<Training>& trainings);

}  // namespace halftone::report::page
