// SPDX-License-Identifier: Apache-2.0
// A network in few bits that is being trained.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "halftone/ir/graph.h"
#include "halftone/train/graph/torch_graph.h"
#include "halftone/train/student/level_quantizer.h"

namespace halftone::train {

struct StudentOptions {
  LevelQuantizerOptions weights;
  LevelQuantizerOptions activations{.clips = true};
};

/// A graph whose encoded weights, Encodes and encoded states are learned: every weight is a float
/// number that stands for the nearest level of its basis, and bases move with what is encoded in
/// them. Everything else that trains (biases, weights that are float) is a parameter as it is.
class Student {
 public:
  /// @param graph     quantized, or float
  /// @param original  where the float numbers of encoded weights are found, by the names of values;
  ///                  null, or of other shape: weights start from their levels. They start within
  ///                  the cells of their codes, so that the network starts as the graph is.
  /// @throws Error as TorchGraph; kUnsupported if a group of weights is cut off at the end of a row
  explicit Student(ir::Graph graph, const ir::Graph* original = nullptr,
                   const StudentOptions& options = {});

  struct Pass {
    std::vector<at::Tensor> outputs;
    std::vector<LevelSums> sums;  ///< of the activations' quantizers; empty unless asked for
  };
  /// Several threads may call it at once, as TorchGraph::forward().
  [[nodiscard]] Pass forward(std::span<const at::Tensor> inputs, bool with_sums) const;

  /// The leaves that a gradient moves: weights, biases and, with LevelRule::kGradient, bases.
  [[nodiscard]] const std::vector<at::Tensor>& parameters() const { return parameters_; }
  /// To be called after the parameters have moved.
  /// @param sums  of the activations of all parts of the batch, added up
  void update(std::span<const LevelSums> sums);
  [[nodiscard]] std::size_t num_activation_quantizers() const { return activations_.size(); }
  [[nodiscard]] const LevelQuantizer& activation_quantizer(std::size_t i) const {
    return activations_[i].quantizer;
  }

  /// The graph as it is now, in codes and bases.
  [[nodiscard]] ir::Graph graph() const;
  [[nodiscard]] const ir::Graph& source() const { return torch_.source(); }

 private:
  struct Weights {
    ir::ValueId id;
    at::Tensor tensor;  ///< the parameter
    std::int64_t rows;  ///< one for each basis
    LevelQuantizer quantizer;
  };
  struct Activations {
    ir::NodeId node;
    LevelQuantizer quantizer;
  };

  void add_weights(const ir::Graph* original, const LevelQuantizerOptions& options);
  void add_activations(const LevelQuantizerOptions& options);
  [[nodiscard]] const Weights* weights_of(ir::NodeId node, std::size_t input) const;

  TorchGraph torch_;
  std::vector<Weights> weights_;
  std::vector<Activations> activations_;
  std::vector<at::Tensor> parameters_;
};

}  // namespace halftone::train
