// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/cost_core.h"

#include <atomic>

namespace halftone::runtime {
namespace {

constexpr int kNotReplaced = -1;
std::atomic<int> replaced_core{kNotReplaced};

}  // namespace

Core cost_core() noexcept {
  const int core = replaced_core.load();
  return core == kNotReplaced ? kernels::current_core() : static_cast<Core>(core);
}

ReplacedCosts::ReplacedCosts(Core core) noexcept { replaced_core = static_cast<int>(core); }

ReplacedCosts::~ReplacedCosts() { replaced_core = kNotReplaced; }

}  // namespace halftone::runtime
