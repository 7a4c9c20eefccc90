// SPDX-License-Identifier: Apache-2.0
// The one pool of threads. OpenMP carries it (shared with oneDNN); std::thread where OpenMP is off.
#pragma once

#include <cstddef>
#include <functional>

namespace halftone {

/// Sets how many threads parallel_for() may use; 0 means one per available core.
/// @throws Error kUsage if count is negative or above 1024
void set_num_threads(int count);
/// How many threads parallel_for() may use on the calling thread; >= 1.
[[nodiscard]] int num_threads();

/// While it lives, loops of the thread that made it use at most so many threads: for threads that
/// share the cores. It must end on that thread.
class ThreadLimit {
 public:
  /// @param most  >= 1; limits nest, the least counts
  explicit ThreadLimit(int most);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int outer_;
};

/// Calls body(i) once for every i in [0, count), on several threads, in no promised order.
/// A body that wants the same result for any number of threads writes only to what belongs to i.
/// The first exception by index is rethrown after all threads have stopped. Calls nested in a loop
/// that runs on several threads run on the calling thread; a loop of one index leaves the threads
/// to those inside it.
void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body);

}  // namespace halftone
