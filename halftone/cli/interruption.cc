// SPDX-License-Identifier: Apache-2.0
#include "halftone/cli/interruption.h"

#include <atomic>
#include <cstddef>

namespace halftone::cli {
namespace {

std::atomic<bool> is_asked{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may do no more");

void ask(int /*signal*/) { is_asked = true; }

}  // namespace

Interruption::Interruption() {
  is_asked = false;
  struct sigaction action {};
  action.sa_handler = ask;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    // GNU's timeout, and a service manager that ends a group, send SIGTERM twice.
    action.sa_flags =
        kSignals[i] == SIGINT ? static_cast<int>(SA_RESETHAND | SA_RESTART) : SA_RESTART;
    sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

Interruption::~Interruption() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

bool Interruption::is_wanted() { return is_asked; }

}  // namespace halftone::cli
