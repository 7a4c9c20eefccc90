// SPDX-License-Identifier: Apache-2.0
// What each layer of a network costs on hardware, at each pair of bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halftone/accel/accelerator.h"
#include "halftone/accel/estimate.h"
#include "halftone/accel/operation_model.h"
#include "halftone/accel/workload.h"

namespace halftone::accel {

/// A network at several pairs of bits: the same pair in all layers of each workload. Equal
/// operations are kept once.
class LayerWork {
 public:
  struct Entry {
    std::size_t kind;  ///< index among kinds()
    bool is_first;     ///< reads the inputs of the network
    bool is_last;
  };

  /// Operations named as a layer or "LAYER/...", such as its Encode, belong to that layer, others
  /// to the layer before them or, before all layers, to the first one.
  /// @param by_pair  a workload for each pair, all of the same network
  /// @throws Error kInternal if a workload lacks a layer
  LayerWork(std::span<const Workload> by_pair, std::span<const std::string> layers);

  [[nodiscard]] std::size_t num_layers() const { return num_layers_; }
  [[nodiscard]] std::size_t num_pairs() const { return parts_.size() / num_layers_; }
  [[nodiscard]] std::span<const Operation> kinds() const { return kinds_; }
  /// Whether the network is a single operation, whose operands are outside.
  [[nodiscard]] bool has_one_operation() const { return has_one_operation_; }
  [[nodiscard]] std::span<const Entry> operations(std::size_t layer, std::size_t pair) const {
    return part(layer, pair).operations;
  }
  [[nodiscard]] double weight_bytes(std::size_t layer, std::size_t pair) const {
    return part(layer, pair).weight_bytes;
  }
  /// The largest inputs and outputs of one operation.
  [[nodiscard]] double activation_bytes(std::size_t layer, std::size_t pair) const {
    return part(layer, pair).activation_bytes;
  }

 private:
  struct Part {
    std::vector<Entry> operations;
    double weight_bytes = 0;
    double activation_bytes = 0;
  };
  [[nodiscard]] const Part& part(std::size_t layer, std::size_t pair) const {
    return parts_[pair * num_layers_ + layer];
  }
  void add(const Operation& operation, Entry place, Part& part);

  std::size_t num_layers_;
  bool has_one_operation_ = false;
  std::vector<Operation> kinds_;
  std::map<std::pair<std::string, std::vector<double>>, std::size_t> index_of_;
  std::vector<Part> parts_;  ///< by pair, then layer
};

struct Cost {
  double seconds = 0;
  double energy_j = 0;
};

/// The costs of a network's layers on one description. Equal operations whose operands are in the
/// same memories are estimated once. Not thread-safe.
class LayerCosts {
 public:
  /// Both must outlive this.
  LayerCosts(const Accelerator& accelerator, const LayerWork& work, Method model);

  /// The cost of a layer and of the operations that belong to it, as estimate() computes them in a
  /// network with `weight_bytes` of weights, which decide what stays in which memory. The energy
  /// includes what flows at idle. nullopt if no unit computes one of the operations or it fits no
  /// memory.
  std::optional<Cost> cost(std::size_t layer, std::size_t pair, double weight_bytes);

  /// Why the last layer without a cost has none.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }

  /// Whether weights and activations of a network fit the outermost memory.
  [[nodiscard]] bool has_room(std::span<const std::uint16_t> pairs) const;
  [[nodiscard]] double weight_bytes(std::span<const std::uint16_t> pairs) const;
  /// The cost of a network whose layers have these pairs, with the weights that it has.
  std::optional<Cost> total(std::span<const std::uint16_t> pairs);

 private:
  std::optional<Cost> layer_cost(const OperationModel& model, std::size_t layer, std::size_t pair);
  std::optional<Cost> operation_cost(const OperationModel& model, LayerWork::Entry entry);
  [[nodiscard]] OperationModel model_with(double weight_bytes) const;

  const Accelerator& accelerator_;
  const LayerWork& work_;
  Method model_;
  struct Known {
    std::optional<Cost> cost;
    std::string refusal;
  };
  /// By kind, then the memories of weights, inputs and outputs.
  std::map<std::array<std::size_t, 4>, Known> known_;
  std::string refusal_;
};

}  // namespace halftone::accel
