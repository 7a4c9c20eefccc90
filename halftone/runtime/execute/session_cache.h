// SPDX-License-Identifier: Apache-2.0
// Sessions of one network for several sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "halftone/ir/shape.h"
#include "halftone/runtime/plan/plan.h"

namespace halftone::runtime {

class Session;
class StateMemory;

/// Sessions by the shapes that their plans were made for. The one that was used last stays; of the
/// others, those that were not used for longest are forgotten above a limit of memory.
class SessionCache {
 public:
  /// @param max_idle_bytes  of plans and sessions other than the last one
  explicit SessionCache(std::uint64_t max_idle_bytes);
  ~SessionCache();
  SessionCache(SessionCache&& other) noexcept;
  SessionCache& operator=(SessionCache&& other) noexcept;

  /// The session of these shapes, from now on the last one; null if there is none.
  [[nodiscard]] Session* find(std::span<const ir::Shape> shapes);
  /// Makes a session, the last one.
  /// @param states  as for Session
  /// @throws Error kUnsupported if memory for the weights of the plan is not available; as
  /// Session()
  Session& add(std::vector<ir::Shape> shapes, std::shared_ptr<const Plan> plan,
               std::shared_ptr<StateMemory> states = nullptr);
  /// The session that was used last; null if there is none.
  [[nodiscard]] Session* last() const;
  [[nodiscard]] std::size_t count() const { return entries_.size(); }

 private:
  struct Entry {
    std::vector<ir::Shape> shapes;
    std::unique_ptr<Session> session;
    std::uint64_t bytes = 0;
  };
  void forget_idle();

  std::uint64_t max_idle_bytes_;
  std::list<Entry> entries_;  ///< the last one used comes first
};

}  // namespace halftone::runtime
