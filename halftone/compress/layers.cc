// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/layers.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/ir/layer_arithmetic.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/passes/equalize.h"
#include "halftone/passes/expose_layers.h"
#include "halftone/passes/simplify.h"

namespace halftone::compress {
namespace {

/// Whether a node has constant, dense float weights.
bool has_float_weights(const ir::Graph& graph, const ir::Node& node) {
  const ir::Constant* weights = graph.constant(node.inputs[weights_input(node.op)]);
  const auto* dense = weights == nullptr ? nullptr : std::get_if<ir::Tensor>(weights);
  return dense != nullptr && dense->element() == ir::ElementType::kFloat32 && dense->size() > 0;
}

/// By value: whether it depends on an input of the graph. A value that does not is the same for
/// every sample.
std::vector<bool> depend_on_inputs(const ir::Graph& graph) {
  std::vector<bool> depends(graph.num_values(), false);
  const auto at = [&](ir::ValueId id) { return depends[static_cast<std::size_t>(id)]; };
  for (const ir::ValueId id : graph.inputs()) at(id) = true;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    at(node.output) = std::ranges::any_of(
        node.inputs, [&](ir::ValueId input) { return input != ir::kAbsent && at(input); });
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
  std::vector<std::string> names;
  for (const ir::NodeId id : quantizable_layers(graph)) names.push_back(graph.node(id).name);
  if (names.empty()) {
    fail(ErrorKind::kUnsupported,
         "no layer to quantize: expected FullyConnected, Conv, ConvTranspose or Recurrent layers "
         "with constant float weights, a product with a constant, or a Gather from a constant "
         "float table");
  }
  recipe.check_patterns(names);
}

}  // namespace

std::vector<ir::NodeId> quantizable_layers(const ir::Graph& graph) {
  const std::vector<bool> depends = depend_on_inputs(graph);
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
  ir::Graph all = graph;
  passes::expose_layers(all, [](const ir::Node&) { return true; });
  check_layers(all, recipe);
  ir::Graph result = graph;
  const bool changed = passes::expose_layers(result, [&](const ir::Node& node) {
    const LayerRecipe layer = recipe.for_layer(node.name);
    return layer.weights || layer.activations;
  });
  if (changed) passes::simplify(result);
  check_arithmetic(result, recipe);
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
