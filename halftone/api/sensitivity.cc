// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/sensitivity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <map>
#include <utility>

#include "halftone/api/elapsed.h"
#include "halftone/api/inspection.h"
#include "halftone/api/sensitivity_state.h"
#include "halftone/api/writable.h"
#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/hash.h"
#include "halftone/compress/graft.h"
#include "halftone/compress/input_hash.h"
#include "halftone/formats/model.h"
#include "halftone/passes/float_ends.h"

namespace halftone {
namespace {

using compress::Measure;

std::uint64_t key_of(const ir::Graph& graph, const data::Dataset& data,
                     const SensitivitySettings& settings) {
  Hash hash;
  compress::add_to_hash(hash, graph);
  compress::add_to_hash(hash, data);
  if (settings.options.evaluation != nullptr) {
    compress::add_to_hash(hash, *settings.options.evaluation);
  }
  hash.add(compress::to_toml(settings.recipe));
  hash.add(std::as_bytes(std::span(&settings.options.fit.seed, 1)));
  const auto loss = settings.options.loss.value_or(compress::default_loss(graph, data));
  hash.add(to_string(loss));
  hash.add(settings.options.costs ? settings.options.costs_name : "no costs");
  return hash.value();
}

std::optional<data::Dataset> opened(const std::optional<DataSource>& source) {
  return source ? std::optional(source->open()) : std::nullopt;
}

bool is_first(const spmd::Devices& devices) { return devices.empty() || devices.rank() == 0; }

/// Options with the hooks of a state, if there is one.
/// @param state  outlives the result
compress::SensitivityOptions with_state(const ir::Graph& graph, const data::Dataset& data,
                                        const SensitivitySettings& settings,
                                        std::optional<StateFile>& state) {
  compress::SensitivityOptions options = settings.options;
  if (settings.state.empty()) return options;
  state.emplace(settings.state,
                StateIdentity{"sensitivities", key_of(graph, data, settings),
                              "network, data, recipe, seed or kind of costs"},
                is_first(settings.options.fit.devices));
  options.known = [&state](const std::string& choice) {
    return state->find(choice,
                       [&](const StateFile::Json& json) { return from_state(choice, json); });
  };
  options.measured = [&state](const compress::ChoiceSensitivity& choice) {
    state->add(choice.name, to_state(choice));
  };
  return options;
}

/// The factor of a unit of bytes; nothing if there is no such unit.
std::optional<double> bytes_in(std::string_view unit) {
  if (unit.ends_with('B')) unit.remove_suffix(1);
  constexpr std::array<std::pair<std::string_view, double>, 8> kUnits{{
      {"", 1},
      {"k", 1e3},
      {"K", 1e3},
      {"M", 1e6},
      {"G", 1e9},
      {"Ki", 1024},
      {"Mi", 1024.0 * 1024},
      {"Gi", 1024.0 * 1024 * 1024},
  }};
  for (const auto& [name, factor] : kUnits) {
    if (name == unit) return factor;
  }
  return std::nullopt;
}

double limit_of(Measure measure, std::string_view text, const std::string& whole) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  const auto factor = measure == Measure::kBytes ? bytes_in(unit)
                      : unit.empty()             ? std::optional(1.0)
                                                 : std::nullopt;
  if (error != std::errc() || !factor || !(value > 0)) {
    fail(ErrorKind::kUsage, "budget: expected a number above 0 behind " +
                                std::string(to_string(measure)) + "=" +
                                (measure == Measure::kBytes ? ", perhaps with k, M or Ki" : "") +
                                ", found '" + whole + "'");
  }
  return value * *factor;
}

/// How the file of a network stores the weights of its layers: integers become float32 in the graph
/// that is compared.
/// @param graph  of the network, on floats
std::vector<std::optional<compress::StoredWeights>> stored_weights(const Network& network,
                                                                   const ir::Graph& graph) {
  std::map<std::string, std::deque<compress::StoredWeights>> by_name;
  for (const LayerInfo& layer : inspect(prepared(network, Purpose::kConvert), "", 0).layers) {
    by_name[layer.name].push_back({layer.weight_bits, layer.weight_bytes});
  }
  std::vector<std::optional<compress::StoredWeights>> stored;
  for (const compress::LayerPair& pair : compress::paired_layers(graph, graph)) {
    std::deque<compress::StoredWeights>& left = by_name[graph.node(pair.quantized).name];
    stored.push_back(left.empty() ? std::nullopt : std::optional(left.front()));
    if (!left.empty()) left.pop_front();
  }
  return stored;
}

}  // namespace

std::vector<std::string> default_choices() { return {"1", "2", "3", "4", "5", "6", "8"}; }

compress::Sensitivity sensitivity(Network network, const data::Dataset& data,
                                  const SensitivitySettings& settings) {
  const ir::Graph graph = prepared(std::move(network), Purpose::kFitOnFloats);
  std::optional<StateFile> state;
  const compress::SensitivityOptions options = with_state(graph, data, settings, state);
  return compress::sensitivity(graph, data, settings.recipe, settings.choices, options);
}

compress::Sensitivity sensitivity_of(const Network& quantized, const Network& reference,
                                     const data::Dataset& data,
                                     const compress::SensitivityOptions& options) {
  const ir::Graph graph = prepared(quantized, Purpose::kFitOnFloats);
  const ir::Graph other = prepared(reference, Purpose::kFitOnFloats);
  compress::SensitivityOptions how = options;
  if (options.costs) {
    how.costs = [&](const ir::Graph& /*on floats*/, const std::vector<std::string>& layers) {
      return options.costs(quantized.graph, layers);
    };
  }
  return with_context(quantized.name, [&] {
    return compress::sensitivity_of(graph, other, data, how, stored_weights(quantized, graph));
  });
}

compress::Budget budget_named(std::span<const std::string> limits) {
  compress::Budget budget;
  for (const std::string& limit : limits) {
    const std::string_view text = limit;
    const auto equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    const auto measure =
        std::ranges::find(compress::kMeasures, name, [](Measure each) { return to_string(each); });
    if (equals == std::string_view::npos || measure == compress::kMeasures.end()) {
      fail(ErrorKind::kUsage,
           "budget: expected bytes=, us=, loss= or pj= and a number, found '" + limit + "'");
    }
    if (budget[*measure])
      fail(ErrorKind::kUsage, "budget: " + std::string(name) + " is there twice");
    budget[*measure] = limit_of(*measure, text.substr(equals + 1), limit);
  }
  return budget;
}

bool needs_time(const compress::Budget& budget) {
  return budget[Measure::kTime] || compress::objective_of(budget) == Measure::kTime;
}

compress::BudgetResult quantize_within(const Network& network, const data::Dataset& data,
                                       const BudgetSettings& settings) {
  if (settings.tries == 0) fail(ErrorKind::kUsage, "tries: expected at least 1, found 0");
  const ir::Graph graph = prepared(network, Purpose::kFitOnFloats);
  std::optional<StateFile> state;
  compress::BudgetOptions options;
  options.budget = settings.budget;
  options.tries = settings.tries;
  options.sensitivity = with_state(graph, data, settings.sensitivity, state);
  options.file_bytes = [&](ir::Graph result) {
    passes::restore_ends(result, network.graph);
    return static_cast<double>(
        to_bytes(Network(std::move(result)), settings.format, settings.form).bytes.size());
  };
  compress::BudgetResult result = compress::quantize_within(
      graph, data, settings.sensitivity.recipe, settings.sensitivity.choices, options);
  passes::restore_ends(result.quantized.graph, network.graph);
  result.quantized.input_weight_bytes = compress::constant_bytes(network.graph);
  return result;
}

BudgetReport report_of(compress::BudgetResult result, const compress::Budget& budget) {
  BudgetReport report;
  report.quantized = report_of(result.quantized);
  report.budget = budget;
  report.costs = std::move(result.costs);
  report.tries = std::move(result.tries);
  report.chosen = result.chosen;
  report.front = std::move(result.front);
  report.recipe = compress::to_toml(result.recipe);
  return report;
}

BudgetReport quantize_file_within(const BudgetJob& job) {
  const Elapsed elapsed;
  check_output(job.output, {&job.input, 1});
  check_writable(job.output);
  check_writable(job.recipe_output);
  const Network network = load(job.input, job.import);
  check_quantized(network, job.settings.sensitivity.recipe, job.output);
  BudgetSettings settings = job.settings;
  settings.format = to_string(formats::model_format(job.output));
  const data::Dataset data = job.data.open();
  const std::optional<data::Dataset> evaluation = opened(job.evaluation);
  if (evaluation) settings.sensitivity.options.evaluation = &*evaluation;
  compress::BudgetResult result = quantize_within(network, data, settings);
  const ir::Graph quantized = result.quantized.graph;
  BudgetReport report = report_of(std::move(result), settings.budget);
  report.quantized.input_bytes = network.file_bytes;
  if (is_first(settings.sensitivity.options.fit.devices)) {
    report.quantized.output_bytes = save(quantized, job.output, settings.form);
    if (!job.recipe_output.empty()) write_file(job.recipe_output, report.recipe);
  }
  report.quantized.seconds = elapsed.seconds();
  return report;
}

compress::Sensitivity sensitivity_of_file(const SensitivityJob& job) {
  std::vector<std::filesystem::path> paths{job.input};
  if (!job.reference.empty()) paths.push_back(job.reference);
  std::vector<Network> networks = load_all(paths, job.import);
  const data::Dataset data = job.data.open();
  const std::optional<data::Dataset> evaluation = opened(job.evaluation);
  SensitivitySettings settings = job.settings;
  if (evaluation) settings.options.evaluation = &*evaluation;
  if (networks.size() == 1) return sensitivity(std::move(networks[0]), data, settings);
  return sensitivity_of(networks[0], networks[1], data, settings.options);
}

}  // namespace halftone
