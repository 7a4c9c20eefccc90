// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/reference.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

/// A node and the types of its inputs.
struct Reference {
  ir::Operator op;
  std::vector<ir::ValueType> types;  ///< one per input; ignored if absent
  std::vector<bool> present;
  std::vector<std::optional<ir::Tensor>> decoded;  ///< one per input: the encoded constants
  std::size_t output_bytes = 0;

  void run(const Buffers& buffers) const {
    std::vector<ir::Tensor> copies(types.size());
    std::vector<const ir::Tensor*> inputs(types.size(), nullptr);
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (!present[i]) continue;
      if (decoded[i]) {
        inputs[i] = &*decoded[i];
        continue;
      }
      copies[i] = to_tensor({types[i], {buffers.inputs[i], value_bytes(types[i])}});
      inputs[i] = &copies[i];
    }
    const ir::Tensor result = ir::evaluate_operator(op, inputs);
    std::copy_n(result.bytes().begin(), output_bytes, buffers.output);
  }
};

Verdict judge_reference(const NodeContext& /*context*/) {
  return accept("the reference implementation");
}

Kernel create_reference(const NodeContext& context) {
  auto reference = std::make_shared<Reference>();
  Kernel kernel;
  reference->op = context.node.op;
  reference->output_bytes = value_bytes(context.output());
  for (std::size_t i = 0; i < context.node.inputs.size(); ++i) {
    reference->present.push_back(context.has_input(i));
    reference->types.push_back(context.has_input(i) ? context.input(i) : ir::ValueType{});
    reference->decoded.emplace_back();
    const ir::Constant* constant = context.constant(i);
    if (constant != nullptr && !std::holds_alternative<ir::Tensor>(*constant)) {
      reference->decoded[i] = ir::to_float(*constant);
      kernel.packed_bytes += reference->decoded[i]->bytes().size();
      kernel.packed_inputs.push_back(i);
    }
  }
  kernel.bind = [reference](const Buffers& buffers) -> Call {
    return [reference, buffers] { reference->run(buffers); };
  };
  return kernel;
}

Verdict judge_alias(const NodeContext& /*context*/) { return accept("the same memory"); }

Kernel create_alias(const NodeContext& /*context*/) { return {}; }

}  // namespace

constinit const Implementation kReference{
    .name = "reference", .judge = judge_reference, .create = create_reference};
constinit const Implementation kAlias{
    .name = "alias", .judge = judge_alias, .create = create_alias};

}  // namespace halftone::runtime
