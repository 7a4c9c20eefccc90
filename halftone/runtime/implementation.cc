// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/implementation.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "halftone/base/buffer.h"
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

constexpr int kNotReplaced = -1;
std::atomic<int> replaced_core{kNotReplaced};

}  // namespace

constinit const Implementation kReference{
    .name = "reference", .judge = judge_reference, .create = create_reference};
constinit const Implementation kAlias{
    .name = "alias", .judge = judge_alias, .create = create_alias};

std::string_view decoded_text(const NodeContext& context) {
  const bool x = !context.input(0).encoding.is_dense();
  const bool w = !context.input(1).encoding.is_dense();
  if (x && w) return "input and weights are decoded; ";
  if (x) return "the input is decoded; ";
  return w ? "the weights are decoded; " : "";
}

Kernel with_decoded_input(const NodeContext& context, Kernel kernel) {
  const ir::ValueType& type = context.input(0);
  if (type.encoding.is_dense()) return kernel;
  const std::size_t bytes = AlignedBuffer::rounded_up(type.shape.element_count() * sizeof(float));
  kernel.scratch_bytes += bytes;
  kernel.bind = [type, bytes, bind = std::move(kernel.bind)](const Buffers& buffers) -> Call {
    Buffers inner = buffers;
    inner.inputs[0] = buffers.scratch;
    inner.scratch = buffers.scratch + bytes;
    const std::byte* codes = buffers.inputs[0];
    auto* decoded = reinterpret_cast<float*>(buffers.scratch);
    return [type, codes, decoded, run = bind(inner)] {
      decode_value({type, {codes, value_bytes(type)}}, decoded);
      run();
    };
  };
  return kernel;
}

Core cost_core() noexcept {
  const int core = replaced_core.load();
  return core == kNotReplaced ? kernels::current_core() : static_cast<Core>(core);
}

ReplacedCosts::ReplacedCosts(Core core) noexcept { replaced_core = static_cast<int>(core); }

ReplacedCosts::~ReplacedCosts() { replaced_core = kNotReplaced; }

}  // namespace halftone::runtime
