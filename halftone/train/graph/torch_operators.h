// SPDX-License-Identifier: Apache-2.0
// The operators of the graph in words of libtorch, which knows their gradients.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "halftone/ir/operator.h"

namespace halftone::train {

/// Gives a tensor of the same shape.
using TensorFunction = std::function<at::Tensor(const at::Tensor&)>;

/// What replaces numbers on their way through an operator; null functions let them be.
struct NodeHooks {
  /// What encodes the output of an Encode, or the states of a Recurrent; null: the levels of the
  /// operator, if it has any.
  TensorFunction encode = nullptr;
  /// What the products and bias of a layer become before its activation.
  TensorFunction product = nullptr;
};

/// What an operator computes with.
class TorchInputs {
 public:
  /// @param tensors  one per input of the node, undefined where it is absent
  explicit TorchInputs(std::vector<at::Tensor> tensors, NodeHooks hooks = {})
      : tensors_(std::move(tensors)), hooks_(std::move(hooks)) {}

  [[nodiscard]] std::size_t size() const { return tensors_.size(); }
  /// An input; undefined where it is absent.
  [[nodiscard]] at::Tensor operator[](std::size_t i) const {
    return i < tensors_.size() ? tensors_[i] : at::Tensor();
  }
  [[nodiscard]] const std::vector<at::Tensor>& tensors() const { return tensors_; }
  /// Brings numbers to the levels of an encoding (null: lets them be), or to those of the function
  /// that was given instead.
  [[nodiscard]] at::Tensor encoded(const numerics::BasisEncoding* encoding,
                                   const at::Tensor& x) const;
  /// What NodeHooks::product makes of it.
  [[nodiscard]] at::Tensor product(const at::Tensor& x) const {
    return hooks_.product ? hooks_.product(x) : x;
  }

 private:
  std::vector<at::Tensor> tensors_;
  NodeHooks hooks_;
};

/// Whether compute_operator() knows an operator with these attributes, and with it the gradient by
/// every input of real numbers. Functions whose slope is zero wherever there is one (Floor, Sign,
/// ...) count as unknown.
bool is_differentiable(const ir::Operator& op);

/// The output of an operator, its attributes being those for one batch; the same numbers as
/// ir::evaluate_operator() up to rounding.
/// @param inputs  real numbers, places as int64 or int32, booleans as bool
/// @pre is_differentiable(op), the inputs fit as infer_output() has it
/// @throws Error kShape if a place is out of range; kInternal if the operator is not differentiable
at::Tensor compute_operator(const ir::Operator& op, const TorchInputs& inputs);

/// The output by ir::evaluate_operator(), which has no gradient.
/// @param types  of the inputs, then of the output, as the graph has them
at::Tensor compute_by_definition(const ir::Operator& op, const TorchInputs& inputs,
                                 const std::vector<ir::ElementType>& types);

/// An attribute as libtorch takes numbers.
inline double wide(float x) { return static_cast<double>(x); }

bool is_differentiable(const ir::Activation& activation);
/// activation(x). @pre is_differentiable(activation)
at::Tensor activate(const ir::Activation& activation, const at::Tensor& x);

/// The levels nearest to x, as numerics::LevelTable has them; the gradient passes as if they were
/// x. @param encoding  of one basis for the whole tensor
/// Source: Bengio et al., 2013 (arXiv:1308.3432), Sec. 4: the straight-through estimator.
at::Tensor nearest_levels(const numerics::BasisEncoding& encoding, const at::Tensor& x);

/// Places that count from the end where they are negative, as places from 0 on, int64.
/// @throws Error kShape if one is not among `extent`
at::Tensor resolved_places(const at::Tensor& places, std::int64_t extent);

// What is_differentiable() and compute_operator() ask the families.
bool is_known(const ir::Unary& op);
bool is_known(const ir::Binary& op);
bool is_known(const ir::FullyConnected& op);
bool is_known(const ir::Conv& op);
bool is_known(const ir::ConvTranspose& op);
bool is_known(const ir::Pool& op);
bool is_known(const ir::Recurrent& op);
bool is_known(const ir::Encode& op);
bool is_known(const ir::Cast& op);

at::Tensor compute(const ir::Unary& op, const TorchInputs& in);
at::Tensor compute(const ir::Binary& op, const TorchInputs& in);
at::Tensor compute(const ir::Where& op, const TorchInputs& in);
at::Tensor compute(const ir::Cast& op, const TorchInputs& in);
at::Tensor compute(const ir::Encode& op, const TorchInputs& in);
at::Tensor compute(const ir::FullyConnected& op, const TorchInputs& in);
at::Tensor compute(const ir::MatMul& op, const TorchInputs& in);
at::Tensor compute(const ir::Conv& op, const TorchInputs& in);
at::Tensor compute(const ir::ConvTranspose& op, const TorchInputs& in);
at::Tensor compute(const ir::Pool& op, const TorchInputs& in);
at::Tensor compute(const ir::Recurrent& op, const TorchInputs& in);
at::Tensor compute(const ir::Reshape& op, const TorchInputs& in);
at::Tensor compute(const ir::Transpose& op, const TorchInputs& in);
at::Tensor compute(const ir::Concat& op, const TorchInputs& in);
at::Tensor compute(const ir::Slice& op, const TorchInputs& in);
at::Tensor compute(const ir::Pad& op, const TorchInputs& in);
at::Tensor compute(const ir::BroadcastTo& op, const TorchInputs& in);
at::Tensor compute(const ir::Tile& op, const TorchInputs& in);
at::Tensor compute(const ir::ReverseSequence& op, const TorchInputs& in);
at::Tensor compute(const ir::Resize& op, const TorchInputs& in);
at::Tensor compute(const ir::Gather& op, const TorchInputs& in);
at::Tensor compute(const ir::GatherElements& op, const TorchInputs& in);
at::Tensor compute(const ir::GatherND& op, const TorchInputs& in);
at::Tensor compute(const ir::ScatterElements& op, const TorchInputs& in);
at::Tensor compute(const ir::ScatterND& op, const TorchInputs& in);
at::Tensor compute(const ir::Softmax& op, const TorchInputs& in);
at::Tensor compute(const ir::Normalize& op, const TorchInputs& in);
at::Tensor compute(const ir::LocalNormalize& op, const TorchInputs& in);
at::Tensor compute(const ir::Reduce& op, const TorchInputs& in);
at::Tensor compute(const ir::CumSum& op, const TorchInputs& in);

}  // namespace halftone::train
