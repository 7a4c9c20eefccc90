// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/team.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#if __has_include(<pthread.h>)
#include <pthread.h>
#define HALFTONE_MAY_FORK
#endif

#include "halftone/base/polling.h"

namespace halftone::internal {
namespace {

/// How often this process and those it comes from were forked.
std::atomic<int> forks{0};

void count_forks() {
#ifdef HALFTONE_MAY_FORK
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { ++forks; }); });
#endif
}

enum State : int { kIdle, kCalled, kWorks, kEnds };

/// What lies between two loops of a network, while which its helpers stay awake.
constexpr std::chrono::microseconds kBetweenLoops{50};
/// What one thread ends later than another one.
constexpr std::chrono::microseconds kUntilOthersEnd{50};

}  // namespace

/// Helpers that have nothing to do yield their core, whatever that costs them. The thread that they
/// help never does, as std::atomic's wait() would, and waits for those only that have begun.
struct Team::Helper {
  const std::function<void()>* work = nullptr;
  std::thread thread;

  void serve() {
    const auto is_wanted = [&] { return state_.load(std::memory_order_acquire) != kIdle; };
    for (;;) {
      if (!spin_until(is_wanted, kBetweenLoops, std::this_thread::yield)) sleep_until(is_wanted);
      if (state_ == kEnds) return;
      if (!changes(kCalled, kWorks)) continue;
      (*work)();
      change(kIdle);
    }
  }
  void change(State next) {
    {
      const std::lock_guard lock(mutex_);
      state_.store(next, std::memory_order_release);
    }
    changed_.notify_one();
  }
  /// Waits for the work, unless it has not begun: then there is none left.
  void take_back() {
    if (changes(kCalled, kIdle)) return;
    const auto has_ended = [&] { return state_.load(std::memory_order_acquire) == kIdle; };
    if (!spin_until(has_ended, kUntilOthersEnd, relax)) sleep_until(has_ended);
  }

 private:
  bool changes(int from, State to) { return state_.compare_exchange_strong(from, to); }
  template <typename Done>
  void sleep_until(const Done& done) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, done);
  }

  std::atomic<int> state_{kIdle};
  std::mutex mutex_;
  std::condition_variable changed_;
};

Team& Team::of_this_thread() {
  thread_local Team team;
  return team;
}

Team::Team() : forks_(forks) { count_forks(); }

Team::~Team() {
  for (std::unique_ptr<Helper>& helper : helpers_) {
    if (forks_ != forks) {
      // Its thread is not in this process; joining would wait for ever.
      static_cast<void>(helper.release());
      continue;
    }
    helper->change(kEnds);
    helper->thread.join();
  }
}

void Team::grow(std::size_t count) {
  if (forks_ != forks) {
    for (std::unique_ptr<Helper>& helper : helpers_) static_cast<void>(helper.release());
    helpers_.clear();
    forks_ = forks;
  }
  while (helpers_.size() < count) {
    auto helper = std::make_unique<Helper>();
    try {
      helper->thread = std::thread([self = helper.get()] { self->serve(); });
    } catch (const std::system_error&) {
      return;
    }
    helpers_.push_back(std::move(helper));
  }
}

void Team::run(int helpers, const std::function<void()>& work) {
  grow(static_cast<std::size_t>(helpers));
  const auto count = std::min(helpers_.size(), static_cast<std::size_t>(helpers));
  for (std::size_t h = 0; h < count; ++h) {
    helpers_[h]->work = &work;
    helpers_[h]->change(kCalled);
  }
  work();
  for (std::size_t h = 0; h < count; ++h) helpers_[h]->take_back();
}

}  // namespace halftone::internal
