// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/graph/torch_operators.h"

#include <ATen/ATen.h>

#include "halftone/base/error.h"
#include "halftone/train/graph/torch_tensor.h"

namespace halftone::train {
namespace {

/// Without functions where the table of no family has the operator.
TorchFunctions functions_of(const ir::Operator& op) {
  static const ir::OperatorTable<TorchFunctions> table = {
      activation_functions(), elementwise_functions(), encode_functions(), index_functions(),
      layer_functions(),      move_functions(),        pool_functions(),   recurrent_functions(),
      reduce_functions(),     sequence_functions()};
  return table[op];
}

}  // namespace

at::Tensor TorchInputs::encoded(const numerics::MatrixEncoding* encoding,
                                const at::Tensor& x) const {
  if (hooks_.encode) return hooks_.encode(x);
  return encoding != nullptr ? nearest_levels(*encoding, x) : x;
}

bool is_differentiable(const ir::Operator& op) {
  const TorchFunctions functions = functions_of(op);
  return functions.compute != nullptr && functions.is_known(op);
}

at::Tensor compute_operator(const ir::Operator& op, const TorchInputs& inputs) {
  const TorchFunctions functions = functions_of(op);
  if (functions.compute == nullptr) {
    fail(ErrorKind::kInternal, std::string(name_of(op)) + " has no libtorch operator");
  }
  return functions.compute(op, inputs);
}

at::Tensor compute_by_reference(const ir::Operator& op, const TorchInputs& inputs,
                                const std::vector<ir::ElementType>& types) {
  std::vector<ir::Tensor> tensors(inputs.size());
  std::vector<const ir::Tensor*> pointers(inputs.size(), nullptr);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) continue;
    tensors[i] = to_ir(inputs[i], types[i]);
    pointers[i] = &tensors[i];
  }
  const ir::Tensor result = ir::evaluate_operator(op, pointers);
  return to_torch(result);
}

at::Tensor resolved_indices(const at::Tensor& indices, std::int64_t extent) {
  const at::Tensor wide = indices.to(at::kLong);
  if (wide.numel() == 0) return wide;
  const at::Tensor resolved = at::where(wide < 0, wide + extent, wide);
  const at::Tensor is_outside = resolved.lt(0).logical_or(resolved.ge(extent));
  if (is_outside.any().item<bool>()) {
    fail(ErrorKind::kShape,
         "index " + std::to_string(wide.masked_select(is_outside)[0].item<std::int64_t>()) +
             " is out of range for an extent of " + std::to_string(extent));
  }
  return resolved;
}

}  // namespace halftone::train
