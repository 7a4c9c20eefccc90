// SPDX-License-Identifier: Apache-2.0
// Threads that are made once and wait for work.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace halftone::spmd::internal {

/// As many threads as have ever been busy at once. They are kept because lanes that meet come and
/// go in microseconds, and are more than parallel_for()'s because lanes may wait for each other:
/// none must be queued behind another.
class Workers {
 public:
  static Workers& shared();
  Workers();
  /// Waits for the tasks that were started.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Runs a task, which throws nothing, on a thread of its own.
  /// @throws Error kUnsupported if the system has no more threads
  void start(std::function<void()> task);

 private:
  struct Worker;
  void work(Worker& self);

  std::mutex mutex_;
  std::vector<Worker*> idle_;
  std::deque<std::unique_ptr<Worker>> workers_;
};

/// Waits until done() for some microseconds, shorter than the system takes to put a thread to sleep
/// and wake it. @return whether it is done
template <typename Done>
bool spin_until(Done&& done) {
  static const bool is_single_core = std::thread::hardware_concurrency() < 2;
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::microseconds(is_single_core ? 0 : 10);
  while (!done()) {
    if (std::chrono::steady_clock::now() >= end) return done();
    std::this_thread::yield();
  }
  return true;
}

}  // namespace halftone::spmd::internal
