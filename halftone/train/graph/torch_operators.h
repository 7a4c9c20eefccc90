// SPDX-License-Identifier: Apache-2.0
// The operators of the graph as libtorch operators, which have gradients.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "halftone/ir/operator.h"

namespace halftone::train {

/// Returns a tensor of the same shape.
using TensorFunction = std::function<at::Tensor(const at::Tensor&)>;

/// Functions that replace values inside an operator; null functions change nothing.
struct NodeHooks {
  /// Encodes the output of an Encode or the states of a Recurrent; null: rounds to the operator's
  /// levels, if it has any.
  TensorFunction encode = nullptr;
  /// Replaces products plus bias of a layer, before its activation.
  TensorFunction product = nullptr;
};

/// The inputs and hooks of one operator call.
class TorchInputs {
 public:
  /// @param tensors  one per input of the node; undefined if absent
  explicit TorchInputs(std::vector<at::Tensor> tensors, NodeHooks hooks = {})
      : tensors_(std::move(tensors)), hooks_(std::move(hooks)) {}

  [[nodiscard]] std::size_t size() const { return tensors_.size(); }
  /// An input; undefined if absent.
  [[nodiscard]] at::Tensor operator[](std::size_t i) const {
    return i < tensors_.size() ? tensors_[i] : at::Tensor();
  }
  [[nodiscard]] const std::vector<at::Tensor>& tensors() const { return tensors_; }
  /// Applies NodeHooks::encode to x; without a hook, rounds x to the levels of the encoding. A null
  /// encoding leaves x unchanged.
  [[nodiscard]] at::Tensor encoded(const numerics::BasisEncoding* encoding,
                                   const at::Tensor& x) const;
  /// Applies NodeHooks::product.
  [[nodiscard]] at::Tensor product(const at::Tensor& x) const {
    return hooks_.product ? hooks_.product(x) : x;
  }

 private:
  std::vector<at::Tensor> tensors_;
  NodeHooks hooks_;
};

/// Whether compute_operator() supports an operator with these attributes, with gradients with
/// respect to all float inputs. Functions whose derivative is zero wherever it exists (Floor, Sign,
/// ...) count as unsupported.
bool is_differentiable(const ir::Operator& op);

/// The output of an operator whose attributes are resolved for the batch size; equals
/// ir::evaluate_operator() up to rounding.
/// @param inputs  floats; indices as int64 or int32; booleans as bool
/// @pre is_differentiable(op); infer_output() accepts the inputs
/// @throws Error kShape if an index is out of range; kInternal unless is_differentiable(op)
at::Tensor compute_operator(const ir::Operator& op, const TorchInputs& inputs);

/// The output of ir::evaluate_operator(), without a gradient.
/// @param types  of the inputs, then of the output, as in the graph
at::Tensor compute_by_definition(const ir::Operator& op, const TorchInputs& inputs,
                                 const std::vector<ir::ElementType>& types);

/// Converts an attribute to libtorch's scalar type.
inline double wide(float x) { return static_cast<double>(x); }

/// activation(x). @throws Error kInternal unless is_differentiable(activation)
at::Tensor activate(const ir::Activation& activation, const at::Tensor& x);

/// The levels nearest to x, as in numerics::LevelTable, with a straight-through gradient.
/// @param encoding  one basis for the whole tensor
/// Source: Bengio et al., 2013 (arXiv:1308.3432), Sec. 4: the straight-through estimator.
at::Tensor nearest_levels(const numerics::BasisEncoding& encoding, const at::Tensor& x);

/// Converts indices, of which negative ones count from the end, to int64 indices from 0.
/// @throws Error kShape if one is outside of `extent`
at::Tensor resolved_places(const at::Tensor& places, std::int64_t extent);

// The implementations of is_differentiable() and compute_operator(), by family of operators.
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
