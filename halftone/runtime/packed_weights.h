// SPDX-License-Identifier: Apache-2.0
// Packed weights that several plans of a network share.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <typeindex>
#include <utility>

#include "halftone/ir/tensor.h"

namespace halftone::runtime {

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
