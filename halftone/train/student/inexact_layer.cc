// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/student/inexact_layer.h"

#include <ATen/ATen.h>

#include <variant>

#include "halftone/train/graph/torch_operators.h"

namespace halftone::train {
namespace {

/// The products of a layer alone.
ir::Operator products_of(const ir::Operator& op) {
  ir::Operator products = ir::with_batch(op, 1);
  if (auto* layer = std::get_if<ir::FullyConnected>(&products)) layer->activation = {};
  if (auto* conv = std::get_if<ir::Conv>(&products)) {
    conv->activation = {};
    conv->codes = nullptr;
  }
  return products;
}

}  // namespace

InexactLayer inexact_layer(const ir::Graph& graph, const ir::Node& node, const at::Tensor& exact,
                           const at::Tensor& seen, float lowest) {
  const at::NoGradGuard no_gradient;
  const ir::Shape shape = graph.value(node.inputs[0]).type.shape.with_batch(1);
  const at::Tensor inputs = at::full(at::IntArrayRef(shape.dims().data(), shape.dims().size()),
                                     static_cast<double>(lowest), exact.options());
  return {seen, compute_operator(products_of(node.op), TorchInputs({inputs, exact - seen}))};
}

}  // namespace halftone::train
