// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/quantize_stages.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/compress/graft.h"
#include "halftone/compress/layers.h"
#include "halftone/compress/stage_networks.h"
#include "halftone/ir/verify.h"
#include "halftone/passes/simplify.h"

namespace halftone::compress {
namespace {

/// A later stage with the layers of its quantized form.
QuantizedGraph quantize_stage(const StageNetwork& stage, const Recipe& recipe,
                              const QuantizeSettings& options) {
  QuantizeSettings settings = options;
  settings.resize = stage.resize;
  if (stage.name.empty()) return quantize(stage.graph, *stage.data, recipe, settings);
  return with_context("behind " + stage.name, [&] {
    QuantizedGraph found = quantize(stage.graph, *stage.data, recipe, settings);
    found.graph = graft_all(with_layers(stage.open.graph, recipe), found.graph);
    return found;
  });
}

}  // namespace

std::vector<std::string> float_layers(const ir::FittedStage& stage, const std::string& reason) {
  constexpr std::size_t kMaxNames = 3;
  const std::vector<std::string> names = layer_names(stage.graph);
  if (names.empty()) return {};
  const bool is_one = names.size() == 1;
  std::string line = is_one ? "a layer" : std::to_string(names.size()) + " layers";
  line += " behind " + ir::describe_definition(stage) + (is_one ? " stays" : " stay") +
          " float32, since " + reason + ": ";
  for (std::size_t i = 0; i < std::min(names.size(), kMaxNames); ++i) {
    line += (i == 0 ? "'" : ", '") + names[i] + "'";
  }
  if (names.size() > kMaxNames)
    line += " and " + std::to_string(names.size() - kMaxNames) + " more";
  return {line};
}

QuantizedGraph quantize_stages(const ir::Graph& graph, const data::Dataset& data,
                               const Recipe& recipe, const QuantizeSettings& options) {
  const Recipe own = with_ends(graph, recipe);
  const ir::Graph network = with_layers(graph, own);
  const std::vector<StageNetwork> stages = stage_networks(network, data, options.resize);
  QuantizedGraph result;
  std::vector<ir::Graph> grown;
  std::vector<ir::FittedStage> open;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const StageNetwork& stage = stages[s];
    open.push_back(stage.open);
    grown.push_back(stage.open.graph);
    const std::vector<std::string> names = layer_names(stage.open.graph);
    if (names.empty()) continue;
    if (!stage.data) {
      result.warnings.push_back(float_layers(stage.open, "it finds nothing in any sample")[0]);
      continue;
    }
    QuantizeSettings settings = options;
    const auto count = static_cast<double>(stages.size());
    const auto done = static_cast<double>(s);
    settings.progress = part_of(options.progress, done / count, (done + 1) / count);
    QuantizedGraph found = quantize_stage(stage, recipe_for_layers(own, names), settings);
    grown.back() = std::move(found.graph);
    add_rows(result, found);
  }
  if (result.layers.empty()) {
    fail(ErrorKind::kUnsupported,
         data.name() + ": no sample reaches a layer: " + ir::describe_definition(network) +
             " finds nothing in any; take samples in which it does");
  }
  result.graph = ir::join_stages(grown, open, network.outputs());
  passes::merge_duplicates(result.graph);  // later stages search again what those before found
  result.graph.remove_unused_nodes();
  ir::verify(result.graph);
  return result;
}

}  // namespace halftone::compress
