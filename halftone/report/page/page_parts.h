// SPDX-License-Identifier: Apache-2.0
// The parts that to_html() and to_json() are made of. Private to this folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/report/json.h"
#include "halftone/report/page/page.h"

namespace halftone::report::page {

struct Section {
  const char* id;
  const char* heading;
  std::string content;
};

/// A whole page: the sections that have content, and the numbers as JSON.
std::string document(const std::string& name, const std::vector<Section>& sections,
                     const Json& json);
/// Where the numbers are.
std::string data_section();

/// Colours and layout, light and dark.
std::string_view page_style();
/// Sorts tables and switches the theme.
std::string_view page_script();

/// The same as to_json(), as a value.
Json page_json(const Content& content);

/// The step of a plan that computes a layer; null if there is none.
const runtime::Step* step_of(const NetworkFigures& network, const LayerFigures& layer);
/// Its median time in microseconds, if it was measured.
std::optional<double> time_of(const NetworkFigures& network, const LayerFigures& layer);
/// The network's layer that is the same as one of the model: of the reference by the name that the
/// model's layer knows, of others by name or by their layer of the reference. Null if there is
/// none.
const LayerFigures* twin_of(const LayerFigures& layer, const NetworkFigures& network,
                            bool is_reference);
/// The name that people read: that of the same layer in the reference, which no file format has
/// changed, else its own.
const std::string& shown_name(const LayerFigures& layer);
/// The layer's output error in decibels, if its input is that of the reference.
std::optional<double> alone_of(const LayerFigures& layer);
/// The same after all layers before it.
std::optional<double> accumulated_of(const LayerFigures& layer);
/// "float" or the number.
std::string bits_text(int bits);
/// "basis" of "basis(2 bits, channel, offset)[700, 784]"; "int8" of integers behind a conversion.
std::string system_of(const LayerInfo& layer);

// Sections, each empty if there is nothing to show.
std::string summary_section(const ModelReport& report);
std::string layers_section(const ModelReport& report);
std::string charts_section(const NetworkFigures& model);
std::string beside_section(const ModelReport& report);
std::string values_section(const NetworkFigures& model);
std::string graph_section(const NetworkFigures& model);
std::string steps_section(const NetworkFigures& model);
std::string samples_section(const ModelReport& report);
/// The losses of choices, the front of a search, and the curves of a training.
std::string sensitivity_picture(const SensitivityTable& table);
std::string front_picture(const SearchFront& search);
std::string course_pictures(const TrainingCourse& course);
std::string sensitivities_section(const std::vector<SensitivityTable>& tables);
/// The list "sensitivities" of page_json().
Json sensitivities_json(const std::vector<SensitivityTable>& tables);
std::string searches_section(const std::vector<SearchFront>& searches);
std::string trainings_section(const std::vector<Training>& trainings);

}  // namespace halftone::report::page
