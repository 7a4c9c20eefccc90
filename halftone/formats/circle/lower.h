// SPDX-License-Identifier: Apache-2.0
// Lowers nodes of a graph to others that the formats have.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::formats::circle {

/// Rewrites a graph so that each node has one operator in the file, as far as there is one:
///
///     FullyConnected activation=Silu     ->  FullyConnected -> Sigmoid -> Mul
///     Clip(a, b)                         ->  Max a -> Min b
///     Selu, Celu, Elu(alpha), Softplus, Softsign, HardSigmoid, Reciprocal  ->  arithmetic
///     Softmax along an inner axis        ->  Transpose -> Softmax -> Transpose
///     Softmax log with beta              ->  Mul -> Softmax log
///     MatMul with a vector               ->  Reshape -> MatMul -> Reshape
///     Pad of edges, around, beyond       ->  Gather along each axis
///     Gather from the back               ->  from the front
///     PRelu that repeats its input       ->  Max, Min, Mul and Add
///     Normalize                          ->  means, squares and a quotient
///     Resize                             ->  Resize of an image, Gather or MatMul
///     DequantizeLinear of int32, int64   ->  the float32 values
///
/// Other nodes remain, and the exporter reports them. Values keep their names.
ir::Graph lowered(ir::Graph graph);

/// Lowers convolutions and pooling of dense values to the file's form: images of one spatial axis
/// become images of one row, and padding that is neither SAME nor VALID becomes a Pad.
void lower_windows(ir::Graph& graph);
/// Whether a window over an image [N, spatial..., C] has the file's SAME padding.
bool has_same_padding(const ir::Window& window, const ir::Shape& image,
                      std::span<const ir::Dim> kernel);

/// Lowers resizing to that of the file's images, with the same elements and weights. Others become
/// a choice of elements, or a product with a matrix.
void lower_resizing(ir::Graph& graph);

/// Lowers single steps of an LSTM with initial states, or with cells as output, to arithmetic.
void lower_recurrent_steps(ir::Graph& graph);

/// Lowers loops to those of files: conditions and limits are scalars, and results are stacked along
/// the first axis.
void lower_loops(ir::Graph& graph);

/// Lowers operators that find elements, and take those at indices, to those of files.
///
///     NonZero, Unique                    ->  TopK of what is marked
///     NonMaxSuppression                  ->  one for each image and class
///     TopK of the least, another axis    ->  of the largest along the last axis
///     GatherElements                     ->  Gather from a list
void lower_searches(ir::Graph& graph);

/// A node and those that replace it, which are named after it: NAME/1, NAME/2, ...
class NodeRewrite {
 protected:
  NodeRewrite(ir::Graph& graph, ir::NodeId id) : graph_(graph), node_(graph.node(id)) {}

  ir::ValueId add(ir::Operator op, std::vector<ir::ValueId> inputs) {
    return graph_.add_node(node_.name + "/" + std::to_string(++steps_), std::move(op),
                           std::move(inputs));
  }
  /// Gives the name and the readers of the node's output to another value.
  void replace_output(ir::ValueId result) {
    graph_.rename(result, graph_.value(node_.output).name);
    graph_.replace_uses(node_.output, result);
  }

  ir::Graph& graph_;
  const ir::Node node_;  // a copy, because added nodes invalidate references

 private:
  int steps_ = 0;
};

}  // namespace halftone::formats::circle
