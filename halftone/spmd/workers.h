// SPDX-License-Identifier: Apache-2.0
// A pool of threads that wait for tasks.
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

/// A pool that grows to the largest number of tasks ever active at once. Threads are kept because
/// lanes in collectives start and end within microseconds. The pool is separate from parallel_for()
/// because lanes may wait for each other: no task may queue behind another.
class Workers {
 public:
  static Workers& shared();
  Workers();
  /// Waits for all started tasks.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Runs a task, which must not throw, on its own thread.
  /// @throws Error kUnsupported if the system has no more threads
  void start(std::function<void()> task);

 private:
  struct Worker;
  void work(Worker& self);

  std::mutex mutex_;
  std::vector<Worker*> idle_;
  std::deque<std::unique_ptr<Worker>> workers_;
};

/// Polls done() for some microseconds, less than the system needs to put a thread to sleep and wake
/// it. @return whether it is done
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
