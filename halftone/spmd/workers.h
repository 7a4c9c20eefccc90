// SPDX-License-Identifier: Apache-2.0
// A pool of threads that wait for tasks.
#pragma once

#include <atomic>
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

}  // namespace halftone::spmd::internal
