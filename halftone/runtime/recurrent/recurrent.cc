// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/recurrent/recurrent.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "halftone/base/parallel.h"
#include "halftone/ir/layer_arithmetic.h"
#include "halftone/runtime/elementwise/elementwise.h"
#include "halftone/runtime/linear/linear.h"

namespace halftone::runtime {
namespace {

/// The product of one step in the form of a layer.
LayerExtent step_extent(const NodeContext& context) {
  return layer_extent(context.graph, context.node);
}

double layer_us(const NodeContext& context, Product way) {
  return speed_of(way, step_extent(context)).us;
}

Verdict accept_codes(const NodeContext& context, Product way, std::string reason) {
  return accept(std::move(reason), speed_of(way, step_extent(context)));
}

std::optional<std::string> why_not(const NodeContext& context) {
  if (context.constant(ir::kRecurrenceWeights) == nullptr) return "the weights are not constant";
  if (context.input(ir::kGates).shape.element_count() == 0) return "there is nothing to compute";
  return std::nullopt;
}

bool has_codes(const NodeContext& context) {
  return !context.input(ir::kRecurrenceWeights).encoding.is_dense();
}

/// The layer of a node, with packed weights.
RecurrentSteps make_steps(const NodeContext& context, Product way) {
  const auto& op = context.op<ir::Recurrent>();
  const ir::Constant& weights = *context.constant(ir::kRecurrenceWeights);
  const numerics::MatrixEncoding* states = op.state_encoding.get();
  RecurrentSteps layer;
  layer.op = op;
  layer.extents = ir::recurrent_extents(op, context.input(ir::kGates).shape);
  const std::size_t hidden = layer.extents.hidden;
  const bool splits = op.kind == ir::RecurrentKind::kGru && !op.linear_before_reset;
  if (splits) {
    const std::size_t early = ir::kGruNew * hidden;
    layer.products.emplace_back(way, rows_of(weights, 0, early), states);
    layer.products.emplace_back(way, rows_of(weights, early, hidden), states);
  } else {
    layer.products.emplace_back(way, weights, states);
  }
  const auto is_shared = [&context](std::size_t i) {
    return context.has_input(i) && context.input(i).shape[0] == 1;
  };
  layer.shares_hidden = is_shared(ir::kInitialHidden);
  layer.shares_cell = is_shared(ir::kInitialCell);
  return layer;
}

Kernel create(const NodeContext& context, Product way) {
  auto layer = std::make_shared<RecurrentSteps>(make_steps(context, way));
  const std::size_t shares =
      std::min(layer->extents.batch, threads_for(context, layer_us(context, way)));
  layer->shares = std::max<std::size_t>(shares, 1);
  Kernel kernel;
  for (const StateProduct& product : layer->products) kernel.packed_bytes += product.size_bytes();
  kernel.packed_inputs = {ir::kRecurrenceWeights};
  kernel.scratch_bytes = layer->shares * layer->share_scratch_bytes();
  kernel.bind = [layer](const Buffers& buffers) -> Call {
    RecurrentBuffers memory;
    const auto floats = [&buffers](std::size_t i) {
      return i < buffers.inputs.size() ? reinterpret_cast<const float*>(buffers.inputs[i])
                                       : nullptr;
    };
    memory.gates = floats(ir::kGates);
    memory.bias = floats(ir::kRecurrenceBias);
    memory.hidden = floats(ir::kInitialHidden);
    memory.cell = floats(ir::kInitialCell);
    memory.lengths = reinterpret_cast<const std::int32_t*>(floats(ir::kSequenceLengths));
    memory.peepholes = floats(ir::kPeepholes);
    memory.output = reinterpret_cast<float*>(buffers.output);
    return [layer, memory, scratch = buffers.scratch] {
      const auto body = [&](std::size_t share) {
        layer->run(memory, share, scratch + share * layer->share_scratch_bytes());
      };
      if (layer->shares == 1) return body(0);
      parallel_for(layer->shares, std::ref(body));  // by reference: allocates nothing
    };
  };
  return kernel;
}

Verdict judge_recurrent_bits(const NodeContext& context) {
  if (auto reason = why_not(context)) return refuse(std::move(*reason));
  const LayerExtent step = step_extent(context);
  return accept_codes(context, Product::kBits,
                      std::to_string(step.input_bits) + "-bit states, " +
                          std::to_string(step.weight_bits) + "-bit weights");
}

Kernel create_recurrent_bits(const NodeContext& context) { return create(context, Product::kBits); }

Verdict judge_recurrent_levels(const NodeContext& context) {
  if (auto reason = why_not(context)) return refuse(std::move(*reason));
  const LayerExtent step = step_extent(context);
  return accept_codes(context, cheapest_levels(step, cost_core()),
                      std::to_string(step.weight_bits) + "-bit weights");
}

Kernel create_recurrent_levels(const NodeContext& context) {
  const Product product = level_product(context, step_extent(context));
  Kernel kernel = create(context, product);
  kernel.variant = to_string(product);
  return kernel;
}

std::vector<Product> products_recurrent_levels(const NodeContext& context) {
  return level_products(step_extent(context));
}

Verdict judge_recurrent_float(const NodeContext& context) {
  if (auto reason = why_not(context)) return refuse(std::move(*reason));
  return accept(has_codes(context) ? "the weights are decoded" : "constant weights");
}

Kernel create_recurrent_float(const NodeContext& context) {
  return create(context, Product::kFloat);
}

}  // namespace

constinit const Implementation kRecurrentBits{.name = "xnor_popcount",
                                              .judge = judge_recurrent_bits,
                                              .create = create_recurrent_bits,
                                              .arithmetic = KernelArithmetic::kBits};
constinit const Implementation kRecurrentLevels{.name = "int8_levels",
                                                .judge = judge_recurrent_levels,
                                                .create = create_recurrent_levels,
                                                .arithmetic = KernelArithmetic::kIntegers,
                                                .products = products_recurrent_levels};
constinit const Implementation kRecurrentFloat{.name = "packed_f32",
                                               .judge = judge_recurrent_float,
                                               .create = create_recurrent_float,
                                               .arithmetic = KernelArithmetic::kFixedFloat};

}  // namespace halftone::runtime
