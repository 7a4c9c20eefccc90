// SPDX-License-Identifier: Apache-2.0
// A network in few bits that is being trained.
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
#include "halftone/train/student/channel_norm.h"
#include "halftone/train/student/level_quantizer.h"
#include "halftone/train/student/precision.h"

namespace halftone::train {

struct StudentOptions {
  LevelQuantizerOptions weights{};
  LevelQuantizerOptions activations{.clips = true};
  /// What is free in the levels of weights and activations; with kAffine or kSymmetric they stay
  /// evenly spaced.
  compress::Scheme scheme = compress::Scheme::kBasis;
  /// Whether layers have a ChannelNorm while they learn: those with a matrix and a bias of their
  /// own, that other nodes than a Softmax read, and whose scheme can take a factor for each
  /// channel.
  bool normalises = true;
  PrecisionOptions precision{};  ///< of what is float
  at::Device device = at::kCPU;  ///< where it computes; parameters of levels stay in memory
};

/// "cpu" or "cuda".
/// @throws Error kUsage for other names; kDevice if there is no such device, or libtorch was built
///         without it
at::Device device_from(const std::string& name);

/// What a forward pass is for.
enum class PassKind {
  kApply,    ///< the network as graph() is
  kLearn,    ///< a step of training
  kMeasure,  ///< as a network without ChannelNorm, whose moments the pass tells
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
    /// float64, what update() wants to know of the batch; those of its parts add up. None of
    /// kApply.
    std::vector<at::Tensor> statistics;
  };
  /// Several threads may call it at once, as TorchGraph::forward().
  /// @param seed  of the rounding of gradients
  /// @throws Error as TorchGraph::forward() and ChannelNorm::learn()
  [[nodiscard]] Pass forward(std::span<const at::Tensor> inputs, PassKind kind,
                             std::uint64_t seed = 0) const;

  /// The leaves that a gradient moves: weights, biases, gains and shifts, and then, with
  /// LevelRule::kGradient, what levels are made of.
  [[nodiscard]] const std::vector<at::Tensor>& parameters() const { return parameters_; }
  /// How many of them are such.
  [[nodiscard]] std::size_t num_level_parameters() const { return num_levels_; }
  /// Layers, which are nodes that read weights, in order of execution.
  [[nodiscard]] std::size_t num_layers() const { return num_layers_; }
  /// Lets the first layers be from now on as they are: their weights and bases, those of what they
  /// read, and every ChannelNorm, whose averages are used from now on. parameters() are moved by
  /// the caller: not those that are frozen.
  void freeze(std::size_t num_layers) { num_frozen_ = num_layers; }
  [[nodiscard]] bool is_frozen(std::size_t parameter) const {
    return layers_[parameter] < num_frozen_;
  }
  /// Lets every ChannelNorm start where it changes nothing.
  /// @param statistics  of passes of PassKind::kMeasure, added up
  void start(std::span<const at::Tensor> statistics);
  /// To be called after the parameters have moved.
  /// @param statistics  of all parts of the batch, added up
  void update(std::span<const at::Tensor> statistics);
  [[nodiscard]] std::size_t num_activation_quantizers() const { return activations_.size(); }
  [[nodiscard]] const LevelQuantizer& activation_quantizer(std::size_t i) const {
    return activations_[i].quantizer;
  }

  /// All numbers that training moves; shares the memory.
  [[nodiscard]] NamedTensors state() const;
  /// @throws Error kFormat as assign()
  void set_state(const NamedTensors& state);

  /// The graph as it is now, in codes and bases, every ChannelNorm folded into weights and bias.
  [[nodiscard]] ir::Graph graph() const;
  /// A float network with the numbers that the codes stand for, every ChannelNorm folded in, where
  /// it has constants of the same names and shapes.
  [[nodiscard]] ir::Graph with_learned_numbers(ir::Graph original) const;
  [[nodiscard]] const ir::Graph& source() const { return torch_.source(); }

 private:
  struct Weights {
    ir::ValueId id;
    at::Tensor tensor;  ///< the parameter
    std::int64_t rows;  ///< one for each basis
    LevelQuantizer quantizer;
    std::size_t layer;  ///< the last one that reads them
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
  [[nodiscard]] bool averages_activations() const;
  [[nodiscard]] std::vector<at::Tensor> no_statistics(PassKind kind) const;
  struct LearnedNumbers {
    at::Tensor numbers;
    at::Tensor factors;  ///< float32 [channels] that they have taken up; undefined without any
  };
  [[nodiscard]] std::map<ir::ValueId, LearnedNumbers> learned_numbers() const;
  [[nodiscard]] std::shared_ptr<const ir::Constant> constant_of(const Weights& weights,
                                                                const at::Tensor& factors) const;

  TorchGraph torch_;
  at::Device device_;
  PrecisionOptions precision_;
  std::vector<Weights> weights_;
  std::vector<Activations> activations_;
  std::vector<Norm> norms_;
  std::map<ir::NodeId, std::size_t> places_;  ///< the layer that a node is, or comes before
  std::size_t num_layers_ = 0;
  std::size_t num_frozen_ = 0;
  std::vector<at::Tensor> parameters_;
  std::size_t num_levels_ = 0;       ///< the last of them
  std::vector<std::size_t> layers_;  ///< of the parameters
};

}  // namespace halftone::train
