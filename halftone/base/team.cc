// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/team.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <system_error>
#include <thread>

#if __has_include(<pthread.h>)
#include <pthread.h>
#define HALFTONE_MAY_FORK
#endif

#include "halftone/base/thread_settings.h"

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

enum State : int { kIdle, kCalled, kEnds };

/// What lies between two loops of a network, while which its helpers stay awake.
constexpr std::chrono::microseconds kBetweenLoops{50};

}  // namespace

struct Team::Helper {
  std::atomic<int> state{kIdle};
  const std::function<void()>* work = nullptr;
  std::thread thread;

  void wait() {
    for (;;) {
      spin_until([&] { return state.load(std::memory_order_acquire) != kIdle; }, kBetweenLoops);
      state.wait(kIdle, std::memory_order_acquire);
      if (state.load(std::memory_order_acquire) == kEnds) return;
      (*work)();
      change(kIdle);
    }
  }
  void change(State next) {
    state.store(next, std::memory_order_release);
    state.notify_one();
  }
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
      helper->thread = std::thread([self = helper.get()] { self->wait(); });
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
  for (std::size_t h = 0; h < count; ++h) {
    std::atomic<int>& state = helpers_[h]->state;
    spin_until([&] { return state.load(std::memory_order_acquire) == kIdle; });
    state.wait(kCalled, std::memory_order_acquire);
  }
}

}  // namespace halftone::internal
