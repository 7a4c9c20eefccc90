// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/layers.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/shell_pattern.h"
#include "halftone/ir/layer_arithmetic.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/passes/prepare_fit.h"
#include "halftone/passes/simplify.h"

namespace halftone::compress {
namespace {

/// Whether a node has constant, dense float weights.
bool has_float_weights(const ir::Graph& graph, const ir::Node& node) {
  const ir::Constant* weights = graph.constant(node.inputs[weights_input(node.op)]);
  const auto* dense = weights == nullptr ? nullptr : std::get_if<ir::Tensor>(weights);
  return dense != nullptr && dense->element() == ir::ElementType::kFloat32 && dense->size() > 0;
}

/// By value: whether it is one of some values or depends on one of them.
std::vector<bool> depend_on(const ir::Graph& graph, std::span<const ir::ValueId> values) {
  std::vector<bool> depends(graph.num_values(), false);
  const auto at = [&](ir::ValueId id) { return depends[static_cast<std::size_t>(id)]; };
  for (const ir::ValueId id : values) at(id) = true;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    at(node.output) = at(node.output) || std::ranges::any_of(node.inputs, [&](ir::ValueId input) {
                        return input != ir::kAbsent && at(input);
                      });
  }
  return depends;
}

/// An encoding of some bits without its scales.
numerics::MatrixEncoding without_scales(const numerics::NumberSystem& system, int bits) {
  numerics::MatrixEncoding encoding;
  encoding.bits = bits;
  encoding.codebook = codebook_of(system, bits);
  return encoding;
}

/// The codes that a recipe gives a layer.
ir::LayerCodes codes_of(const LayerRecipe& recipe) {
  ir::LayerCodes codes;
  if (recipe.activations && recipe.activations->scales == ActivationScales::kFitted) {
    codes.set_input(without_scales(*recipe.activations->system, recipe.activations->bits));
  }
  if (recipe.weights) {
    numerics::MatrixEncoding encoding =
        without_scales(*recipe.weights->system, recipe.weights->bits);
    encoding.granularity = recipe.weights->granularity;
    encoding.group_size = recipe.weights->group_size;
    codes.set_weights(encoding);
  }
  return codes;
}

/// Whether a node looks up rows of a table for every sample.
bool looks_up_samples(const ir::Graph& graph, const ir::Node& node) {
  return graph.value(node.inputs[0]).type.shape.rank() == 2 &&
         graph.value(node.output).type.shape.rank() > 1;
}

/// @throws Error kUnsupported if a network has no layers; kUsage as Recipe::check_patterns()
void check_layers(const ir::Graph& graph, const Recipe& recipe) {
  const std::vector<std::string> names = layer_names(graph);
  if (names.empty()) {
    fail(ErrorKind::kUnsupported,
         "no layer to quantize: expected FullyConnected, Conv, ConvTranspose or Recurrent layers "
         "with constant float weights, a product with a constant, or a Gather from a constant "
         "float table");
  }
  recipe.check_patterns(names);
}

/// Leaves the system of the other layers where it does not have the bits of the ends.
/// @param usual  of the other layers; null: the default
void set_system(const numerics::NumberSystem*& system, std::optional<int> bits,
                const numerics::NumberSystem* usual) {
  const bool inherits = system == nullptr && usual != nullptr && bits.value_or(0) != 0;
  if (inherits && !usual->allows(*bits)) system = &numerics::find_system("basis");
}

/// The quantizable layers that no other one feeds, and those that feed no other one.
std::vector<ir::NodeId> end_layers(const ir::Graph& graph) {
  const std::vector<ir::NodeId> layers = quantizable_layers(graph);
  std::vector<ir::ValueId> outputs;
  for (const ir::NodeId id : layers) outputs.push_back(graph.node(id).output);
  const auto reads_one_of = [&](ir::NodeId id, const std::vector<bool>& values) {
    return std::ranges::any_of(graph.node(id).inputs, [&](ir::ValueId input) {
      return input != ir::kAbsent && values[static_cast<std::size_t>(input)];
    });
  };
  const std::vector<bool> behind = depend_on(graph, outputs);
  std::vector<ir::NodeId> ends;
  for (const ir::NodeId id : layers) {
    const std::vector<bool> own = depend_on(graph, {&graph.node(id).output, 1});
    const bool is_first = !reads_one_of(id, behind);
    const bool is_last =
        std::ranges::none_of(layers, [&](ir::NodeId other) { return reads_one_of(other, own); });
    if (is_first || is_last) ends.push_back(id);
  }
  return ends;
}

/// @throws Error kUsage if a layer with vectors is to be refined by gradients
void check_vectors(const ir::Graph& graph, const Recipe& recipe) {
  if (recipe.fit.reconstruct.steps == 0) return;
  for (const ir::NodeId id : quantizable_layers(graph)) {
    const ir::Node& node = graph.node(id);
    const LayerRecipe layer = recipe.for_layer(node.name);
    if (ir::is_table(node.op) || !layer.weights || layer.weights->system->vectors == nullptr) {
      continue;
    }
    fail(ErrorKind::kUsage,
         ir::describe(node) + ": reconstruct_steps: expected 0 with weights in the scheme " +
             std::string(layer.weights->system->name) + ", whose vectors no gradient refines, " +
             "found " + std::to_string(recipe.fit.reconstruct.steps) +
             "; set 0 or give the layer another scheme",
         Hint::kRecipe);
  }
}

}  // namespace

std::vector<ir::NodeId> quantizable_layers(const ir::Graph& graph) {
  // A value that depends on no input is the same for every sample.
  const std::vector<bool> depends = depend_on(graph, graph.inputs());
  std::vector<ir::NodeId> layers;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    const ir::LayerKind kind = ir::traits_of(node.op).layer;
    if (kind == ir::LayerKind::kNone) continue;
    const bool fits = kind == ir::LayerKind::kTable
                          ? looks_up_samples(graph, node)
                          : graph.value(node.inputs[0]).type.encoding.is_dense();
    const bool varies = depends[static_cast<std::size_t>(node.output)];
    if (fits && varies && has_float_weights(graph, node)) layers.push_back(id);
  }
  return layers;
}

std::vector<std::string> layer_names(const ir::Graph& graph) {
  ir::Graph all = graph;
  passes::expose_layers(all, [](const ir::Node&) { return true; });
  std::vector<std::string> names;
  for (const ir::NodeId id : quantizable_layers(all)) names.push_back(all.node(id).name);
  for (const ir::NodeId id : graph.topological_order()) {
    const auto* loop = std::get_if<ir::Loop>(&graph.node(id).op);
    if (loop == nullptr) continue;
    const std::vector<std::string> inner = layer_names(*loop->body);
    names.insert(names.end(), inner.begin(), inner.end());
  }
  return names;
}

Recipe with_ends(const ir::Graph& graph, const Recipe& recipe) {
  if (recipe.ends == LayerSettings{}) return recipe;
  Recipe result = recipe;
  LayerSettings settings = std::exchange(result.ends, {});
  set_system(settings.weight_system, settings.weight_bits, recipe.defaults.weight_system);
  set_system(settings.activation_system, settings.activation_bits,
             recipe.defaults.activation_system);
  ir::Graph all = graph;
  passes::expose_layers(all, [](const ir::Node&) { return true; });
  std::vector<LayerOverride> ends;
  for (const ir::NodeId id : end_layers(all)) {
    ends.push_back({literal_pattern(all.node(id).name), settings, "ends"});
  }
  result.overrides.insert(result.overrides.begin(), ends.begin(), ends.end());
  return result;
}

Recipe recipe_for_layers(const Recipe& recipe, const std::vector<std::string>& layers) {
  Recipe own = recipe;
  std::erase_if(own.overrides, [&](const LayerOverride& each) {
    return std::ranges::none_of(
        layers, [&](const std::string& layer) { return matches_pattern(each.pattern, layer); });
  });
  return own;
}

void check_arithmetic(const ir::Graph& graph, const Recipe& recipe) {
  for (const ir::NodeId id : quantizable_layers(graph)) {
    const ir::Node& node = graph.node(id);
    if (ir::arithmetic(node.op) == nullptr) continue;
    const LayerRecipe layer = recipe.for_layer(node.name);
    const ir::LayerCodes codes = codes_of(layer);
    const auto reason = codes.any() ? ir::why_not(layer.arithmetic, node.op, codes) : std::nullopt;
    if (!reason) continue;
    fail(ErrorKind::kUsage,
         ir::describe(node) + ": arithmetic " + std::string(to_string(layer.arithmetic)) + ": " +
             *reason + "; give this layer another arithmetic, such as auto",
         Hint::kRecipe);
  }
}

ir::Graph with_layers(const ir::Graph& graph, const Recipe& recipe) {
  check_layers(graph, recipe);
  ir::Graph result = graph;
  const bool changed = passes::expose_layers(result, [&](const ir::Node& node) {
    const LayerRecipe layer = recipe.for_layer(node.name);
    return layer.weights || layer.activations;
  });
  if (changed) passes::simplify(result);
  check_arithmetic(result, recipe);
  check_vectors(result, recipe);
  return result;
}

ir::FakeQuantize fake_quantize(const ActivationFormat& format) {
  using numerics::Granularity;
  const Granularity granularity = format.scales == ActivationScales::kSample ? Granularity::kTensor
                                  : format.scales == ActivationScales::kRow  ? Granularity::kChannel
                                                                             : Granularity::kGroup;
  return {format.system, format.bits, {granularity, format.group_size}};
}

std::size_t equalize_layers(ir::Graph& graph, const Recipe& recipe) {
  if (!recipe.fit.equalize) return 0;
  return passes::equalize(graph, [&](const ir::Node& node) {
    const LayerRecipe layer = recipe.for_layer(node.name);
    return layer.weights || layer.activations;
  });
}

void fix_arithmetic(ir::Graph& graph, ir::NodeId layer, ir::Arithmetic wanted) {
  const ir::Node& node = graph.node(layer);
  ir::Operator op = node.op;
  ir::Arithmetic* stored = ir::arithmetic(op);
  if (stored == nullptr || !ir::layer_codes(graph, node).any()) return;
  *stored = wanted != ir::Arithmetic::kAuto ? wanted : *ir::arithmetic_by_rule(graph, node);
  graph.replace_node(layer, std::move(op), graph.node(layer).inputs);
}

void fix_arithmetic(ir::Graph& graph, const Recipe& recipe) {
  for (const ir::NodeId id : graph.topological_order()) {
    if (ir::traits_of(graph.node(id).op).layer == ir::LayerKind::kNone) continue;
    fix_arithmetic(graph, id, recipe.for_layer(graph.node(id).name).arithmetic);
  }
}

}  // namespace halftone::compress
