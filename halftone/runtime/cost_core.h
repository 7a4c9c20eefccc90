// SPDX-License-Identifier: Apache-2.0
// Whose costs decide between kernels.
#pragma once

#include "halftone/kernels/core.h"

namespace halftone::runtime {

using kernels::Core;

/// The family of processors whose costs a plan uses: kernels::current_core(), unless it is
/// replaced.
Core cost_core() noexcept;

/// Replaces cost_core() in the whole process while it lives, so that a test can show that costs
/// change no result.
class ReplacedCosts {
 public:
  explicit ReplacedCosts(Core core) noexcept;
  ReplacedCosts(const ReplacedCosts&) = delete;
  ReplacedCosts& operator=(const ReplacedCosts&) = delete;
  ~ReplacedCosts();
};

}  // namespace halftone::runtime
