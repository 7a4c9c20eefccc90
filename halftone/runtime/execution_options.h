// SPDX-License-Identifier: Apache-2.0
// How layers are computed: the part of the options that plans, streams, evaluations and
// measurements share and pass on as a whole.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <typeindex>
#include <utility>

#include "halftone/ir/tensor.h"
#include "halftone/runtime/kernel.h"

namespace halftone::runtime {

struct NodeContext;
class PackedWeights;
class StepDevice;
class Tuning;

/// Creates the kernel of a layer of ir::Arithmetic::kBits in place of the implementation that was
/// chosen, for example a simulation of hardware. The context is that of Implementation::create();
/// nothing keeps the implementation.
using BitLayerFactory = std::function<std::optional<Kernel>(const NodeContext&)>;

struct ExecutionOptions {
  /// Whether layers of ir::Arithmetic::kIntegers may round their inputs to 8 bits, see
  /// kernels::quantize_rows() and kernels::Int8Levels. If not, they compute bits or float as
  /// ir::arithmetic_by_rule() says, whatever their attribute.
  bool int8_activations = true;
  FloatOrder float_order = FloatOrder::kFastest;  ///< kFixed for results that are written to a file
  /// Measured ways to compute layers, to which a plan adds those it lacks; null: estimates decide.
  /// Changes no result.
  std::shared_ptr<Tuning> tuning{};
  BitLayerFactory bit_layers{};  ///< may be empty
  /// What plans of one network share; null: each packs its own. Changes no result.
  std::shared_ptr<PackedWeights> packed_weights{};
  /// Runs the steps that it has kernels for; null: the processor runs all. Changes no result.
  std::shared_ptr<const StepDevice> device{};
};

/// Weights in the form that kernels read, by constant and type: plans of one graph for several
/// batches pack them once. Any number of threads may plan with it. What it holds stays until it is
/// destroyed; kernels keep what they use.
class PackedWeights {
 public:
  /// The packed form of a constant.
  /// @param make  gives a T; called if no plan asked for this constant as a T before
  template <typename T, typename Make>
  std::shared_ptr<const T> get(const std::shared_ptr<const ir::Constant>& constant, Make&& make) {
    const std::scoped_lock lock(mutex_);
    std::shared_ptr<const void>& packed = all_[{constant, std::type_index(typeid(T))}];
    if (packed == nullptr) packed = std::make_shared<const T>(make());
    return std::static_pointer_cast<const T>(packed);
  }

 private:
  // A constant that no graph holds any more keeps its key, so that no other gets its address.
  using Key = std::pair<std::weak_ptr<const ir::Constant>, std::type_index>;
  struct Before {
    bool operator()(const Key& a, const Key& b) const {
      if (a.first.owner_before(b.first)) return true;
      return !b.first.owner_before(a.first) && a.second < b.second;
    }
  };

  std::mutex mutex_;
  std::map<Key, std::shared_ptr<const void>, Before> all_;
};

}  // namespace halftone::runtime
