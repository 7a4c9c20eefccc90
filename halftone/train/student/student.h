// SPDX-License-Identifier: Apache-2.0
// A quantized network during training.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "halftone/ir/graph.h"
#include "halftone/train/graph/torch_graph.h"
#include "halftone/train/learn/named_tensors.h"
#include "halftone/train/options/student_options.h"
#include "halftone/train/student/channel_norm.h"
#include "halftone/train/student/inexact_layer.h"
#include "halftone/train/student/level_quantizer.h"

namespace halftone::train {

/// The device of libtorch.
/// @throws Error kDevice if there is no GPU, or libtorch was built without support for it
at::Device torch_device(ComputeDevice device);

/// The purpose of a forward pass.
enum class PassKind {
  kApply,    ///< inference, as graph() computes
  kLearn,    ///< a training step
  kMeasure,  ///< without ChannelNorm and hardware, to measure the moments of the outputs
};

/// A graph that learns its encoded weights, Encodes and encoded states. Each weight is a float that
/// is rounded to the nearest level of its basis; the bases adapt to the values that they encode.
/// All other trainable constants (biases, float weights) are plain parameters.
class Student {
 public:
  /// @param graph     quantized, or float
  /// @param original  holds the float values of encoded weights, by value name. They are clamped to
  ///                  the cells of their codes, so that the student starts equal to the graph. If
  ///                  null or of other shape: weights start from their levels.
  /// @throws Error as TorchGraph; kUnsupported if the last group of weights in a row is incomplete
  explicit Student(ir::Graph graph, const ir::Graph* original = nullptr,
                   const StudentOptions& options = {});

  /// Programs the hardware of the options with the current weights; without hardware, does
  /// nothing. Passes then see its weights, until it is programmed again.
  /// @throws Error as WeightHardware::seen
  void program(std::uint64_t seed);

  struct Pass {
    std::vector<at::Tensor> outputs;
    /// float64, for update() or start(); those of a batch's parts add up. Empty for kApply.
    std::vector<at::Tensor> statistics;
  };
  /// Several threads may call it at once, as with TorchGraph::forward().
  /// @param seed  of the stochastic rounding of gradients
  /// @throws Error as TorchGraph::forward() and ChannelNorm::learn()
  [[nodiscard]] Pass forward(std::span<const at::Tensor> inputs, PassKind kind,
                             std::uint64_t seed = 0) const;

  /// The leaves that gradients update: weights, biases, gains and shifts, and then, with
  /// LevelRule::kGradient, the parameters of levels.
  [[nodiscard]] const std::vector<at::Tensor>& parameters() const { return parameters_; }
  /// Number of level parameters among them.
  [[nodiscard]] std::size_t num_level_parameters() const { return num_levels_; }
  /// Number of layers: nodes that read weights, in order of execution.
  [[nodiscard]] std::size_t num_layers() const { return num_layers_; }
  /// Freezes the first layers: their weights and bases, the bases of their inputs, and every
  /// ChannelNorm, which uses its averages from now on. The caller must not update the parameters()
  /// that are frozen.
  void freeze(std::size_t num_layers) { num_frozen_ = num_layers; }
  [[nodiscard]] bool is_frozen(std::size_t parameter) const {
    return layers_[parameter] < num_frozen_;
  }
  /// Initialises every ChannelNorm so that it changes nothing.
  /// @param statistics  sum over passes of PassKind::kMeasure
  void start(std::span<const at::Tensor> statistics);
  /// Must be called after the parameters have changed.
  /// @param statistics  sum over all parts of the batch
  void update(std::span<const at::Tensor> statistics);
  [[nodiscard]] std::size_t num_activation_quantizers() const { return activations_.size(); }
  [[nodiscard]] const LevelQuantizer& activation_quantizer(std::size_t i) const {
    return activations_[i].quantizer;
  }

  /// All values that training changes; shares the memory.
  [[nodiscard]] NamedTensors state() const;
  /// @throws Error kFormat as assign()
  void set_state(const NamedTensors& state);

  /// The current graph, encoded, with every ChannelNorm folded into weights and bias.
  [[nodiscard]] ir::Graph graph() const;
  /// A float network with the learned float weights, every ChannelNorm folded in, in place of its
  /// constants of the same names and shapes.
  [[nodiscard]] ir::Graph with_learned_numbers(ir::Graph original) const;
  [[nodiscard]] const ir::Graph& source() const { return torch_.source(); }

 private:
  struct Weights {
    ir::ValueId id;
    at::Tensor tensor;  ///< the parameter
    std::int64_t rows;  ///< one per basis
    LevelQuantizer quantizer;
    std::size_t layer;  ///< the last reader
  };
  struct Activations {
    ir::NodeId node;
    LevelQuantizer quantizer;
  };

  struct Norm {
    ir::NodeId node;
    ChannelNorm norm;
  };

  void add_weights(const ir::Graph* original, const StudentOptions& options);
  void add_activations(const StudentOptions& options);
  void add_norms();
  void find_places();
  void add_parameters();
  [[nodiscard]] bool is_frozen(ir::NodeId node) const { return places_.at(node) < num_frozen_; }
  [[nodiscard]] bool can_be_normalised(ir::NodeId id) const;
  [[nodiscard]] const Weights* weights_of(ir::ValueId id) const;
  /// The layer on programmed hardware; null if it is not.
  [[nodiscard]] const InexactLayer* seen_by(ir::NodeId node, PassKind kind) const;
  [[nodiscard]] at::Tensor weights_or(const at::Tensor& x, ir::NodeId node, std::size_t input,
                                      const InexactLayer* seen) const;
  [[nodiscard]] float lowest_input(const ir::Node& node) const;
  [[nodiscard]] bool averages_activations() const;
  [[nodiscard]] std::vector<at::Tensor> no_statistics(PassKind kind) const;
  struct LearnedNumbers {
    at::Tensor numbers;
    at::Tensor factors;  ///< float32 [channels] that are folded in; undefined if none
  };
  [[nodiscard]] std::map<ir::ValueId, LearnedNumbers> learned_numbers() const;
  [[nodiscard]] std::shared_ptr<const ir::Constant> constant_of(const Weights& weights,
                                                                const at::Tensor& factors) const;

  TorchGraph torch_;
  at::Device device_;
  PrecisionOptions precision_;
  WeightHardware hardware_;
  std::map<ir::NodeId, InexactLayer> seen_;  ///< layers on programmed hardware
  std::vector<Weights> weights_;
  std::vector<Activations> activations_;
  std::vector<Norm> norms_;
  std::map<ir::NodeId, std::size_t> places_;  ///< index of the layer that a node is or precedes
  std::size_t num_layers_ = 0;
  std::size_t num_frozen_ = 0;
  std::vector<at::Tensor> parameters_;
  std::size_t num_levels_ = 0;       ///< level parameters, the last ones
  std::vector<std::size_t> layers_;  ///< by parameter
};

}  // namespace halftone::train
