// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/network.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/file_uses.h"
#include "halftone/formats/model.h"
#include "halftone/formats/read_first.h"
#include "halftone/ir/open_extents.h"
#include "halftone/ir/symbolic_batch.h"
#include "halftone/passes/decode_codes.h"
#include "halftone/passes/simplify.h"
#include "halftone/runtime/plan/planner.h"

namespace halftone {

Network::Network(ir::Graph the_graph, std::string the_name)
    : graph(std::move(the_graph)), name(std::move(the_name)) {}

namespace {

/// Of inputs, by name.
using Shapes = std::map<std::string, ir::Shape>;

formats::ImportOptions copy_of(const formats::ImportOptions& options) {
  formats::ImportOptions copy;
  for (const auto& [name, value] : options.constants) copy.constants.emplace(name, value.clone());
  copy.shapes = options.shapes;
  copy.max_iterations = options.max_iterations;
  return copy;
}

/// Reads a network, or its inputs alone if only numbers for open extents are missing.
/// @param read    read(options) is the network
/// @param again   the same, called later
/// @param inputs  inputs(options) are its inputs; nullopt: none is open
template <typename Read, typename Again, typename Inputs>
Network read_or_defer(const formats::ImportOptions& options, const std::string& name,
                      const Read& read, const Again& again, const Inputs& inputs) {
  // Copies of the network share what they were read with.
  const auto kept = std::make_shared<const formats::ImportOptions>(copy_of(options));
  const Network::Reader reader = [again, kept](const Shapes& shapes) {
    formats::ImportOptions with = copy_of(*kept);
    for (const auto& [input, shape] : shapes) with.shapes.insert_or_assign(input, shape);
    return again(with);
  };
  try {
    Network network(read(options), name);
    network.reader = reader;
    return network;
  } catch (const Error& error) {
    const bool may_be_open = error.kind() == ErrorKind::kUnsupported ||
                             error.kind() == ErrorKind::kShape ||
                             error.kind() == ErrorKind::kFormat;
    std::optional<ir::Graph> known;
    try {
      if (may_be_open) known = inputs(options);
    } catch (const Error&) {
      known.reset();  // the first error says what is wrong with the file
    }
    if (!known) throw;
    Network network(std::move(*known), name);
    network.refusal = error.what();
    network.reader = reader;
    return network;
  }
}

/// The shapes of inputs with numbers for open extents.
Shapes shapes_with(const ir::Graph& graph, const ir::Sizes& sizes) {
  Shapes shapes;
  for (const ir::ValueId id : graph.inputs()) {
    const ir::Value& input = graph.value(id);
    shapes.emplace(input.name, ir::with_sizes(input.type.shape, sizes));
  }
  return shapes;
}

/// The same where inputs that a caller gives have all their numbers, also for the batch.
Shapes with_given(Shapes shapes, const ir::Graph& graph, std::span<const ir::ValueId> given,
                  std::span<const std::optional<ir::Shape>> inputs) {
  for (std::size_t i = 0; i < std::min(given.size(), inputs.size()); ++i) {
    ir::Shape& shape = shapes.at(graph.value(given[i]).name);
    if (inputs[i] && inputs[i]->rank() == shape.rank()) shape = *inputs[i];
  }
  return shapes;
}

[[noreturn]] void fail_open(const Network& network) {
  const std::string refusal = network.refusal.empty() ? "" : "; without it: " + network.refusal;
  fail(ErrorKind::kUsage, network.name + ": " + ir::how_to_give_extents(network.graph) + refusal);
}

}  // namespace

void check_read(const Network& network) {
  if (!network.refusal.empty()) fail_open(network);
}

bool is_open(const Network& network) { return !ir::open_extents(network.graph).empty(); }

Network with_shapes(Network network, std::span<const std::optional<ir::Shape>> inputs) {
  if (!is_open(network)) return network;
  const std::vector<ir::ValueId> given = network.graph.untied(network.graph.inputs());
  const ir::Sizes sizes =
      with_context(network.name, [&] { return ir::sizes_of(network.graph, given, inputs); });
  for (const std::string& name : ir::open_extents(network.graph)) {
    if (!sizes.contains(name)) fail_open(network);
  }
  const Shapes some = shapes_with(network.graph, sizes);
  const Shapes all = with_given(some, network.graph, given, inputs);
  const Network::Reader read = std::exchange(network.reader, {});
  // Expressions take the extents of inputs to be at least 1.
  const bool has_zero =
      std::ranges::any_of(sizes, [](const auto& size) { return size.second == 0; });
  const bool may_fill = network.refusal.empty() && !(has_zero && read);
  const auto filled = [&]() -> std::optional<ir::Graph> {
    if (!may_fill) return std::nullopt;
    with_context(network.name, [&] { ir::fill_in_extents(network.graph, sizes); });
    return std::move(network.graph);
  };
  const auto read_with = [&](const Shapes& shapes) -> std::optional<ir::Graph> {
    return read ? std::optional(read(shapes)) : std::nullopt;
  };
  // With all shapes where a network counts or mixes samples.
  const std::array<formats::WayToRead, 3> ways = {filled, [&] { return read_with(some); },
                                                  [&] { return read_with(all); }};
  network.graph = formats::read_first(ways);
  network.refusal.clear();
  return network;
}

Network load(const std::filesystem::path& path, const formats::ImportOptions& options,
             std::set<std::string>* used) {
  std::uintmax_t file_bytes = 0;
  Network network = read_or_defer(
      options, path.string(),
      [&](const formats::ImportOptions& how) {
        return formats::load_model(path, how, used, &file_bytes);
      },
      [path](const formats::ImportOptions& how) { return formats::load_model(path, how); },
      [&](const formats::ImportOptions& how) { return formats::open_inputs(path, how); });
  network.file_bytes = file_bytes;
  network.format = to_string(formats::model_format(path));
  return network;
}

Network load(const SharedBytes& file, const std::string& name,
             const formats::ImportOptions& options) {
  const auto read = [file, name](const formats::ImportOptions& how) {
    return formats::load_model(file, name, how);
  };
  Network network = read_or_defer(
      options, name, read, read,
      [&](const formats::ImportOptions& how) { return formats::open_inputs(file, name, how); });
  const bool may_last = file.owner != nullptr || !network.refusal.empty();
  if (!may_last) network.reader = {};
  network.file_bytes = file.bytes.size();
  network.format = to_string(formats::model_format(file.bytes));
  return network;
}

std::vector<Network> load_all(std::span<const std::filesystem::path> paths,
                              const formats::ImportOptions& options) {
  std::vector<Network> networks;
  if (paths.size() == 1) {
    networks.push_back(load(paths.front(), options));
    return networks;
  }
  std::set<std::string> names;
  for (const std::filesystem::path& path : paths) networks.push_back(load(path, options, &names));
  for (const std::string& name : formats::names_of(options)) {
    if (names.contains(name)) continue;
    fail(ErrorKind::kUsage, "input '" + name + "': no network has such an input to fix");
  }
  return networks;
}

void check_output(const std::filesystem::path& output, const Network& network) {
  check_output_file(network.name, output);
  formats::check_model(prepared(network, Purpose::kFit), output);
}

std::uintmax_t save(const Network& network, const std::filesystem::path& path,
                    const formats::ExportOptions& form) {
  check_read(network);
  return formats::save_model(network.graph, path, form);
}

SharedBytes to_bytes(const Network& network, std::string_view format,
                     const formats::ExportOptions& form) {
  check_read(network);
  return formats::model_bytes(network.graph, formats::format_named(format), network.name, form);
}

ir::Graph prepared(Network network, Purpose purpose) {
  const bool may_stay_open = purpose == Purpose::kConvert && network.refusal.empty();
  if (!may_stay_open && is_open(network)) fail_open(network);
  return prepared_open(std::move(network), purpose);
}

ir::Graph prepared_open(Network network, Purpose purpose) {
  ir::Graph graph = std::move(network.graph);
  switch (purpose) {
    case Purpose::kConvert:
      passes::simplify(graph);
      break;
    case Purpose::kFit:
      passes::simplify(graph, {.widen = true});
      break;
    case Purpose::kFitOnFloats:
      passes::give_float_ends(graph);
      passes::simplify(graph, {.widen = true});
      break;
    case Purpose::kQuantize:
      passes::give_float_ends(graph);
      passes::simplify(graph, {.widen = true});
      passes::decode_bytes(graph);
      break;
    case Purpose::kRunOnFloats:
      passes::give_float_ends(graph);
      passes::simplify_to_run(graph);
      break;
    case Purpose::kRun:
      passes::simplify_to_run(graph);
      break;
  }
  return graph;
}

std::size_t batch_of(const ir::Graph& graph, const std::optional<std::size_t>& wanted) {
  const auto fixed = ir::fixed_batch(graph);
  if (fixed && wanted && *wanted != *fixed) {
    fail(ErrorKind::kUsage,
         "batch: expected " + std::to_string(*fixed) + ", which the network is fixed to, found " +
             std::to_string(*wanted),
         Hint::kBatch);
  }
  return fixed.value_or(wanted.value_or(1));
}

RunGraph graph_to_run(Network network, const std::optional<std::size_t>& batch) {
  const std::string name = network.name;
  ir::Graph graph = prepared(std::move(network), Purpose::kRun);
  runtime::PlanSettings options;
  options.batch = with_context(name, [&] { return batch_of(graph, batch); });
  return {runtime::prepare(std::move(graph), options).graph, options.batch};
}

}  // namespace halftone
