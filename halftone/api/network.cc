// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/network.h"

#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/file_uses.h"
#include "halftone/formats/model.h"
#include "halftone/ir/symbolic_batch.h"
#include "halftone/passes/decode_codes.h"
#include "halftone/passes/simplify.h"
#include "halftone/runtime/plan/planner.h"

namespace halftone {

Network::Network(ir::Graph the_graph, std::string the_name)
    : graph(std::move(the_graph)), name(std::move(the_name)) {}

Network load(const std::filesystem::path& path, const formats::ImportOptions& options,
             std::set<std::string>* used) {
  std::uintmax_t file_bytes = 0;
  Network network(formats::load_model(path, options, used, &file_bytes), path.string());
  network.file_bytes = file_bytes;
  network.format = to_string(formats::model_format(path));
  return network;
}

Network load(const SharedBytes& file, const std::string& name,
             const formats::ImportOptions& options) {
  Network network(formats::load_model(file, name, options), name);
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
  return formats::save_model(network.graph, path, form);
}

SharedBytes to_bytes(const Network& network, std::string_view format,
                     const formats::ExportOptions& form) {
  return formats::model_bytes(network.graph, formats::format_named(format), network.name, form);
}

ir::Graph prepared(Network network, Purpose purpose) {
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
