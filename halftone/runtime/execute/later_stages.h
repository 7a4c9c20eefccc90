// SPDX-License-Identifier: Apache-2.0
// Runs what a plan leaves because extents depend on data.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "halftone/ir/shape.h"
#include "halftone/runtime/execute/session_cache.h"
#include "halftone/runtime/plan/plan.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {

/// The stages behind the first one of a network that computes some of its extents. When their
/// numbers are there, the rest is a network of known extents: it is planned, and its plan and
/// session are kept for runs with the same numbers, in a small cache. The rest may leave a rest of
/// its own.
class LaterStages {
 public:
  /// The limit of memory of sessions for other numbers than the last ones.
  static constexpr std::uint64_t kMaxIdleBytes = std::uint64_t{256} << 20;

  /// A value of the stage before.
  using Values = std::function<ValueView(ir::ValueId)>;

  /// @pre the plan has a rest
  explicit LaterStages(std::shared_ptr<const Plan> plan);

  /// @throws Error kShape if a number is negative, or does not fit the network; else as make_plan()
  ///         and Session::run()
  void run(const Values& values);

  /// The session of the last run.
  /// @throws Error kUsage if there was none
  [[nodiscard]] const Session& last() const;

 private:
  /// The numbers of the extents, in the order of PlanRest::defined.
  [[nodiscard]] ir::Shape numbers_of(const Values& values) const;
  Session& session_for(const ir::Shape& numbers);

  std::shared_ptr<const Plan> plan_;
  SessionCache sessions_{kMaxIdleBytes};  ///< by the numbers
};

}  // namespace halftone::runtime
