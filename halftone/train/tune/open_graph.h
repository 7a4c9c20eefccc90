// SPDX-License-Identifier: Apache-2.0
// A graph whose weights are given with each run.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "halftone/ir/graph.h"
#include "halftone/train/graph/torch_graph.h"

namespace halftone::train {

/// A constant of a graph that became an input.
struct OpenWeight {
  std::string name;
  std::shared_ptr<const ir::Constant> constant;
  bool is_tuned = false;
};

/// A graph of one input, of which output 0 is computed, with its matrices and the constants that
/// are tuned as further inputs: the float numbers of a matrix need memory only while it is used.
class OpenGraph {
 public:
  /// @param graph     a part of a network
  /// @param is_tuned  of the name of a constant
  /// @throws Error kUnsupported "no gradient for node ..." if gradients do not pass all nodes
  ///         between floats; kUsage unless it has one input
  OpenGraph(ir::Graph graph, const std::function<bool(const std::string&)>& is_tuned);

  [[nodiscard]] std::span<const OpenWeight> weights() const { return weights_; }
  /// Whether rows that pass this part have a gradient: they are floats.
  [[nodiscard]] bool has_float_input() const { return has_float_input_; }
  /// Output 0. Any number of threads may call it at once.
  /// @param x        of the type of the input
  /// @param weights  one for each of weights(): float32
  [[nodiscard]] at::Tensor forward(const at::Tensor& x, std::span<const at::Tensor> weights) const;

 private:
  std::vector<OpenWeight> weights_;
  bool has_float_input_ = false;
  TorchGraph graph_;
};

/// The elements of a constant: float32, without a gradient. Those of a tensor are not copied.
at::Tensor numbers_of(const ir::Constant& constant);

}  // namespace halftone::train
