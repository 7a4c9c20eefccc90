// SPDX-License-Identifier: Apache-2.0
// Sessions of a network for inputs of any size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "halftone/api/network.h"
#include "halftone/runtime/execute/session.h"
#include "halftone/runtime/execute/session_cache.h"

namespace halftone {

/// Runs a network on inputs of other sizes than before: one plan and one session for each, in a
/// small cache. What a network remembers goes on from size to size. One thread at a time.
class SizedSessions {
 public:
  /// The limit of memory that plans and sessions of sizes not in use may take.
  static constexpr std::uint64_t kMaxIdleBytes = std::uint64_t{512} << 20;

  /// @param how             its batch is that of inputs of known sizes
  /// @param max_idle_bytes  sizes that were not used for longest are forgotten above it
  SizedSessions(Network network, runtime::PlanSettings how,
                std::uint64_t max_idle_bytes = kMaxIdleBytes);

  /// Takes a plan of the network that was made before.
  void add(std::shared_ptr<const runtime::Plan> plan);

  /// The session for inputs of these shapes: the one of the last run with them, or a new one.
  /// @param inputs  of the inputs that a caller gives, in order
  /// @throws Error kShape if the network does not take such inputs; else as with_shapes(),
  ///         runtime::make_plan() and runtime::Session
  runtime::Session& at(std::span<const ir::Shape> inputs);

  /// The session of the last size.
  /// @throws Error kUsage if there is none yet
  [[nodiscard]] runtime::Session& last();

  /// The sizes that are planned.
  [[nodiscard]] std::size_t count() const { return sessions_.count(); }
  /// Makes the sessions forget: the next run begins as the first one did.
  void reset();

 private:
  [[nodiscard]] std::shared_ptr<const runtime::Plan> plan(std::span<const ir::Shape> inputs) const;
  runtime::Session& add(std::vector<ir::Shape> shapes, std::shared_ptr<const runtime::Plan> plan);

  Network network_;
  runtime::PlanSettings how_;
  std::shared_ptr<runtime::StateMemory> states_;  ///< shared by the sessions
  runtime::SessionCache sessions_;
};

}  // namespace halftone
