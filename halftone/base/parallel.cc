// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <mutex>
#include <string>

#include "halftone/base/error.h"
#include "halftone/base/processor.h"
#include "halftone/base/team.h"
#include "halftone/base/thread_settings.h"

namespace halftone {
namespace {

std::atomic<int> configured_threads{0};
thread_local bool inside_parallel_for = false;
thread_local int thread_limit = std::numeric_limits<int>::max();

/// Hands out indices and records the failure with the smallest index.
class Loop {
 public:
  Loop(std::size_t count, const std::function<void(std::size_t)>& body)
      : count_(count), body_(body) {}

  /// Runs one thread's share: takes indices until none is left or a smaller one has failed. Indices
  /// are handed out in order, so every index before the first failure runs.
  void work() noexcept {
    inside_parallel_for = true;
    for (;;) {
      const std::size_t i = next_.fetch_add(1);
      if (i >= count_ || i > first_failure_.load()) break;
      try {
        body_(i);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (i < first_failure_) {
          first_failure_ = i;
          exception_ = std::current_exception();
        }
      }
    }
    inside_parallel_for = false;
  }

  void rethrow() const {
    if (exception_) std::rethrow_exception(exception_);
  }

 private:
  const std::size_t count_;
  const std::function<void(std::size_t)>& body_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> first_failure_{std::numeric_limits<std::size_t>::max()};
  std::mutex mutex_;
  std::exception_ptr exception_;
};

}  // namespace

void set_num_threads(int count) {
  constexpr int kMax = 1024;
  if (count < 0 || count > kMax) {
    fail(ErrorKind::kUsage,
         "threads: expected 0 to " + std::to_string(kMax) + ", found " + std::to_string(count));
  }
  configured_threads = count;
}

int num_cores() {
  // Cached: the query takes longer than a short loop.
  static const int cores = usable_cores();
  return cores;
}

int num_threads() {
  const int own = thread_settings().threads;
  const int count = own > 0 ? own : configured_threads.load();
  return std::min(thread_limit, count > 0 ? count : num_cores());
}

ThreadLimit::ThreadLimit(int count) : outer_(thread_limit) {
  thread_limit = std::min(thread_limit, std::max(1, count));
}

ThreadLimit::~ThreadLimit() { thread_limit = outer_; }

void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body) {
  const int threads =
      static_cast<int>(std::min<std::size_t>(count, static_cast<std::size_t>(num_threads())));
  if (threads <= 1 || inside_parallel_for) {
    for (std::size_t i = 0; i < count; ++i) body(i);
    return;
  }
  Loop loop(count, body);
  const ThreadSettings settings = thread_settings();
  internal::Team::of_this_thread().run(threads - 1, [&] {
    const UseThreadSettings same(settings);
    loop.work();
  });
  loop.rethrow();
}

}  // namespace halftone
