// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/serve/serve_loop.h"

#include <utility>

namespace halftone::lm {

ServeLoop::ServeLoop(TokenModel& model, const Tokenizer& tokenizer, const SchedulerOptions& options,
                     const ThreadSettings& settings)
    : scheduler_(model, tokenizer, options), thread_([this, settings] { run(settings); }) {}

ServeLoop::~ServeLoop() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = is_draining_ = true;
    scheduler_.cancel_all();
  }
  changed_.notify_all();
  thread_.join();
}

std::optional<Scheduler::Id> ServeLoop::submit(ServeJob job) {
  std::optional<Scheduler::Id> id;
  {
    const std::lock_guard lock(mutex_);
    if (is_draining_) return std::nullopt;
    id = scheduler_.submit(std::move(job));
    is_idle_ = false;
  }
  changed_.notify_all();
  return id;
}

void ServeLoop::drain() {
  std::unique_lock lock(mutex_);
  is_draining_ = true;
  changed_.wait(lock, [&] { return is_idle_; });
}

void ServeLoop::run(const ThreadSettings& settings) {
  const UseThreadSettings use(settings);
  for (;;) {
    const bool has_more = scheduler_.step();
    std::unique_lock lock(mutex_);
    if (has_more) continue;
    // A text may have come between the step and the lock.
    const ServeCounts counts = scheduler_.counts();
    is_idle_ = counts.running + counts.waiting == 0;
    if (!is_idle_) continue;
    if (is_ending_) return;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !is_idle_ || is_ending_; });
  }
}

}  // namespace halftone::lm
