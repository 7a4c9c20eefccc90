// SPDX-License-Identifier: Apache-2.0
// The operators of the graph as libtorch operators, which have gradients.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "halftone/ir/operator_table.h"

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
  [[nodiscard]] at::Tensor encoded(const numerics::MatrixEncoding* encoding,
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
at::Tensor compute_by_reference(const ir::Operator& op, const TorchInputs& inputs,
                                const std::vector<ir::ElementType>& types);

/// Converts an attribute to libtorch's scalar type.
inline double wide(float x) { return static_cast<double>(x); }

/// activation(x). @throws Error kInternal unless is_differentiable(activation)
at::Tensor activate(const ir::Activation& activation, const at::Tensor& x);

/// The levels nearest to x, as in numerics::LevelTable, with a straight-through gradient.
/// @param encoding  one basis for the whole tensor
/// Source: Bengio et al., 2013 (arXiv:1308.3432), Sec. 4: the straight-through estimator.
at::Tensor nearest_levels(const numerics::MatrixEncoding& encoding, const at::Tensor& x);
/// The levels y of x, where numbers beyond the outer levels are replaced by what they become.
at::Tensor with_beyond(const numerics::Beyond& beyond, const at::Tensor& x, const at::Tensor& y);

/// Converts indices, of which negative ones count from the end, to int64 indices from 0.
/// @throws Error kShape if one is outside of `extent`
at::Tensor resolved_indices(const at::Tensor& indices, std::int64_t extent);

/// One type of operator with libtorch. @pre the operator is of that type
struct TorchFunctions {
  bool (*is_known)(const ir::Operator& op) = nullptr;  ///< whether the attributes are supported
  at::Tensor (*compute)(const ir::Operator& op, const TorchInputs& in) = nullptr;
};
using TorchEntry = ir::OperatorEntry<TorchFunctions>;

template <typename Op>
bool is_any(const Op& /*op*/) {
  return true;
}
/// The entry of an operator in the table of its family.
template <typename Op, at::Tensor (*compute)(const Op& op, const TorchInputs& in),
          bool (*is_known)(const Op& op) = is_any<Op>>
constexpr TorchEntry torch_entry() {
  return {ir::operator_index<Op>(),
          {[](const ir::Operator& op) { return is_known(std::get<Op>(op)); },
           [](const ir::Operator& op, const TorchInputs& in) {
             return compute(std::get<Op>(op), in);
           }}};
}

// is_differentiable() and compute_operator(), one table per family of operators.
std::span<const TorchEntry> activation_functions();
std::span<const TorchEntry> elementwise_functions();
std::span<const TorchEntry> encode_functions();
std::span<const TorchEntry> index_functions();
std::span<const TorchEntry> layer_functions();
std::span<const TorchEntry> move_functions();
std::span<const TorchEntry> pool_functions();
std::span<const TorchEntry> recurrent_functions();
std::span<const TorchEntry> reduce_functions();
std::span<const TorchEntry> sequence_functions();

}  // namespace halftone::train
