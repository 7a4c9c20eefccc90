// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/sensitivity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <map>
#include <utility>

#include "halftone/api/checked_save.h"
#include "halftone/api/elapsed.h"
#include "halftone/api/export_c.h"
#include "halftone/api/inspection.h"
#include "halftone/api/open_form.h"
#include "halftone/api/sample_shapes.h"
#include "halftone/api/sensitivity_state.h"
#include "halftone/api/writable.h"
#include "halftone/base/byte_count.h"
#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/file_uses.h"
#include "halftone/base/paths.h"
#include "halftone/compress/graft.h"
#include "halftone/formats/model.h"
#include "halftone/ir/open_extents.h"
#include "halftone/passes/decode_codes.h"

namespace halftone {
namespace {

using compress::Measure;

/// What a state file keeps.
constexpr const char* kStateKind = "sensitivities";

std::optional<data::Dataset> opened(const std::optional<DataSource>& source) {
  return source ? std::optional(source->open()) : std::nullopt;
}

bool is_first(const spmd::Devices& devices) { return devices.empty() || devices.rank() == 0; }

/// @param name  of the network
void check_state(const std::string& name, const data::Dataset& data,
                 const SensitivitySettings& settings) {
  if (settings.state.empty()) return;
  FileUses uses;
  uses.read("model", name);
  uses.read_samples("data", data.name());
  uses.write("state", settings.state);
  uses.check();
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && rest == end ? std::optional(value) : std::nullopt;
}

double limit_of(Measure measure, std::string_view text, const std::string& whole) {
  const bool has_unit = measure == Measure::kBytes || measure == Measure::kInstructions;
  std::optional<double> value = number(text);
  if (!value && has_unit) value = parse_bytes(text);
  if (!value || !(*value > 0)) {
    fail(ErrorKind::kUsage,
         "budget: expected a number above 0 behind " + std::string(to_string(measure)) + "=" +
             (has_unit ? ", perhaps with k, M or Ki" : "") + ", found '" + whole + "'");
  }
  return *value;
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

std::vector<v0::ChosenLayer> chosen_layers(const compress::Sensitivity& costs,
                                           const std::vector<std::size_t>& choices) {
  std::vector<v0::ChosenLayer> chosen;
  for (std::size_t u = 0; u < costs.units.size(); ++u) {
    const compress::SensitiveUnit& unit = costs.units[u];
    for (const std::size_t layer : unit.layers) {
      chosen.push_back({costs.layers[layer].name, costs.choices[choices[u]].name, unit.may_change});
    }
  }
  return chosen;
}

}  // namespace

compress::Sensitivity sensitivity(const Network& network, const data::Dataset& data,
                                  const SensitivitySettings& settings) {
  const std::string name = network.name;
  SizedGraph sized = prepared_for(network, data, Purpose::kQuantize);
  const ir::Graph graph = std::move(sized.graph);
  std::optional<StateFile> state;
  check_state(name, data, settings);
  auto options = with_state(kStateKind, graph, data, settings, state);
  options.fit.resize = std::move(sized.resize);
  return compress::sensitivity(graph, data, settings.recipe, settings.choices, options);
}

compress::Sensitivity sensitivity_of(const Network& codes, const Network& reference,
                                     const data::Dataset& data,
                                     const compress::MeasureSettings& options) {
  const Network quantized = with_samples(codes, data.parts()[0]);
  const ir::Graph graph = prepared_for(codes, data, Purpose::kFitOnFloats).graph;
  SizedGraph sized = prepared_for(reference, data, Purpose::kFitOnFloats);
  const ir::Graph other = std::move(sized.graph);
  compress::MeasureSettings how = options;
  how.fit.resize = std::move(sized.resize);
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
           "budget: expected bytes=, us=, loss=, pj=, instructions=, flash= or ram= and a "
           "number, found '" +
               limit + "'");
    }
    if (budget[*measure])
      fail(ErrorKind::kUsage, "budget: " + std::string(name) + " is there twice");
    budget[*measure] = limit_of(*measure, text.substr(equals + 1), limit);
  }
  return budget;
}

NamedLimits limits_named(std::span<const std::string> limits) {
  NamedLimits named;
  std::vector<std::string> others;
  for (const std::string& limit : limits) {
    if (limit.starts_with("ram=")) {
      if (named.firmware.ram) fail(ErrorKind::kUsage, "budget: ram is there twice");
      named.firmware.ram = limit_of(Measure::kBytes, std::string_view(limit).substr(4), limit);
      continue;
    }
    const bool is_flash = limit.starts_with("flash=");
    if (is_flash && named.firmware.limits_flash) {
      fail(ErrorKind::kUsage, "budget: flash is there twice");
    }
    named.firmware.limits_flash |= is_flash;
    if (is_flash) (void)limit_of(Measure::kBytes, std::string_view(limit).substr(6), limit);
    others.push_back(is_flash ? "bytes=" + limit.substr(6) : limit);
  }
  const auto is_of_file = [](const std::string& limit) { return limit.starts_with("bytes="); };
  if (named.firmware.limits_flash && std::ranges::any_of(limits, is_of_file)) {
    fail(ErrorKind::kUsage, "budget: expected one of bytes= and flash=, found both");
  }
  if (named.firmware.ram && others.empty()) {
    fail(ErrorKind::kUsage, "budget: expected another limit beside ram=, such as flash=");
  }
  named.budget = budget_named(others);
  named.firmware.limits_instructions = named.budget[Measure::kInstructions].has_value();
  return named;
}

bool needs_time(const compress::Budget& budget) {
  return budget[Measure::kTime] || compress::objective_of(budget) == Measure::kTime;
}

namespace {

/// @param filled  the network with numbers for its open extents
void restore_ends(ir::Graph& graph, const Network& network, const Network& filled) {
  const bool is_open = !ir::open_extents(graph).empty();
  passes::restore_ends(graph, is_open ? network.graph : filled.graph);
}

}  // namespace

compress::SearchResult quantize_within(const Network& given, const data::Dataset& data,
                                       const BudgetSettings& settings) {
  if (settings.tries == 0) fail(ErrorKind::kUsage, "tries: expected at least 1, found 0");
  const Network network = with_samples(given, data.parts()[0]);
  const bool is_c = settings.firmware.any();  // which has numbers
  if (is_c) compress::require_one_size(data);
  const std::optional<OpenForm> open = is_c ? std::nullopt : open_form(given, data);
  const ir::Graph graph = open ? open->filled() : prepared(network, Purpose::kQuantize);
  std::optional<StateFile> state;
  compress::SearchOptions options;
  options.budget = settings.budget;
  options.tries = settings.tries;
  const FirmwareLimits& firmware = settings.firmware;
  SensitivitySettings how = settings.sensitivity;
  check_state(network.name, data, how);
  if (firmware.counts()) count_instructions(how.options, network, firmware);
  options.sensitivity = with_state(kStateKind, graph, data, how, state);
  options.sensitivity.fit.resize = resize_of(open, data);
  options.file_bytes = [&](ir::Graph result) {
    if (firmware.limits_flash) {
      return static_cast<double>(as_c(std::move(result), network, firmware.core).flash_bytes());
    }
    (void)reopen(open, result);
    restore_ends(result, given, network);
    return static_cast<double>(
        to_bytes(Network(std::move(result)), settings.format, settings.form).bytes.size());
  };
  add_limits(options, graph, network, firmware, {how.recipe, how.choices});
  compress::SearchResult result =
      compress::quantize_within(graph, data, how.recipe, how.choices, options);
  check_ram(result.quantized.graph, network, firmware);
  if (const auto reason = reopen(open, result.quantized.graph)) {
    result.quantized.warnings.push_back(*reason);
  }
  restore_ends(result.quantized.graph, given, network);
  result.quantized.input_weight_bytes = compress::constant_bytes(network.graph);
  return result;
}

BudgetReport report_of(const compress::SearchResult& result, const BudgetSettings& settings) {
  BudgetReport report;
  report.quantized = report_of(result.quantized);
  report.budget = settings.budget;
  report.firmware = settings.firmware;
  if (settings.firmware.any()) {
    v0::ExportCOptions how;
    how.core = settings.firmware.core;
    report.ram_bytes = sizes_as_c(Network(result.quantized.graph), how).arena_bytes;
  }
  report.costs = result.costs;
  report.choices = chosen_layers(result.costs, result.tries[result.chosen].predicted.choices);
  for (const compress::TriedAllocation& each : result.tries) {
    report.tries.push_back({known_costs(result.costs, each.predicted.values),
                            known_costs(result.costs, each.values), each.is_within,
                            each.predicted.is_optimal});
  }
  report.chosen = result.chosen;
  for (const compress::Allocation& each : result.front) {
    report.front.push_back(known_costs(result.costs, each.values));
  }
  report.recipe = compress::to_toml(result.recipe);
  return report;
}

void check_files(const BudgetJob& job) {
  FileUses uses;
  uses.read("model", job.input);
  job.data.add_to(uses);
  if (job.evaluation) job.evaluation->add_to(uses);
  uses.write("output", job.output);
  uses.write("recipe", job.recipe_output);
  uses.write("state", job.settings.sensitivity.state);
  uses.check();
}

BudgetReport quantize_file_within(const BudgetJob& job) {
  const Elapsed elapsed;
  check_files(job);
  check_writable(job.output);
  check_writable(job.recipe_output);
  Network network = load(job.input, job.import);
  const compress::Recipe& rules = job.settings.sensitivity.recipe;
  if (!is_open(network)) check_quantized(network, rules, job.output);
  const data::Dataset data = job.data.open();
  const Network bound = with_samples(network, data.parts()[0]);
  if (is_open(network)) check_quantized(bound, rules, job.output);
  if (formats::model_format(job.output) != formats::ModelFormat::kOnnx) {
    compress::require_one_size(data);
    network = bound;
  }
  BudgetSettings settings = job.settings;
  settings.format = to_string(formats::model_format(job.output));
  const std::optional<data::Dataset> evaluation = opened(job.evaluation);
  if (evaluation) settings.sensitivity.options.evaluation = &*evaluation;
  const compress::SearchResult result = quantize_within(network, data, settings);
  BudgetReport report = report_of(result, settings);
  report.quantized.input_bytes = network.file_bytes;
  if (is_first(settings.sensitivity.options.fit.devices)) {
    NewFiles recipe;  // before the network: a full disk leaves neither
    recipe.add(job.recipe_output, report.recipe);
    report.quantized.output_bytes =
        save_checked(result.quantized.graph, job.output, settings.form, data);
    recipe.finish();
  }
  report.quantized.seconds = elapsed.seconds();
  return report;
}

compress::Sensitivity sensitivity_of_file(const SensitivityJob& job) {
  FileUses uses;
  uses.read("model", job.input);
  uses.read("reference", job.reference);
  job.data.add_to(uses);
  if (job.evaluation) job.evaluation->add_to(uses);
  uses.write("state", job.settings.state);
  uses.check();
  std::vector<std::filesystem::path> paths{job.input};
  if (!job.reference.empty()) paths.push_back(job.reference);
  std::vector<Network> networks = load_all(paths, job.import);
  const data::Dataset data = job.data.open();
  const std::optional<data::Dataset> evaluation = opened(job.evaluation);
  SensitivitySettings settings = job.settings;
  if (evaluation) settings.options.evaluation = &*evaluation;
  if (networks.size() == 1) return sensitivity(networks[0], data, settings);
  return sensitivity_of(networks[0], networks[1], data, settings.options);
}

}  // namespace halftone
