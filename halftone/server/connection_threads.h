// SPDX-License-Identifier: Apache-2.0
// Threads that answer connections. For sources of this folder that know cpp-httplib.
#pragma once

#include <httplib.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace halftone::server {

/// A thread for each connection, up to a count; those that have none end after a while. As many
/// connections again wait for a thread, and others are not accepted.
class ConnectionThreads : public httplib::TaskQueue {
 public:
  explicit ConnectionThreads(std::size_t count) : state_(std::make_shared<State>()) {
    state_->max_threads = count;
  }

  void enqueue(std::function<void()> task) override {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [&] { return state_->tasks.size() < state_->max_threads; });
    state_->tasks.push_back(std::move(task));
    state_->has_task.notify_one();
    const bool is_busy = state_->idle < state_->tasks.size();
    if (is_busy && state_->threads < state_->max_threads) add_thread();
  }
  /// Answers those that wait, and returns when all threads have ended.
  void shutdown() override {
    std::unique_lock lock(state_->mutex);
    state_->is_over = true;
    state_->has_task.notify_all();
    state_->changed.wait(lock, [&] { return state_->threads == 0; });
  }

 private:
  static constexpr std::chrono::seconds kPatience{10};

  struct State {
    std::mutex mutex{};
    std::condition_variable has_task{};
    std::condition_variable changed{};
    std::deque<std::function<void()>> tasks{};
    std::size_t max_threads = 0;
    std::size_t threads = 0;
    std::size_t idle = 0;
    bool is_over = false;
  };

  void add_thread() {
    ++state_->threads;
    try {
      std::thread([state = state_] { run(*state); }).detach();
    } catch (const std::system_error&) {
      --state_->threads;  // the system has no more: those that there are take it
    }
  }
  static void run(State& state) {
    std::unique_lock lock(state.mutex);
    for (;;) {
      ++state.idle;
      state.has_task.wait_for(lock, kPatience,
                              [&] { return !state.tasks.empty() || state.is_over; });
      --state.idle;
      if (state.tasks.empty()) break;
      const std::function<void()> task = std::move(state.tasks.front());
      state.tasks.pop_front();
      state.changed.notify_all();
      lock.unlock();
      task();
      lock.lock();
    }
    --state.threads;
    state.changed.notify_all();
  }

  std::shared_ptr<State> state_;  // shared with threads that end behind this
};

}  // namespace halftone::server
