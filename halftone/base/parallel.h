// SPDX-License-Identifier: Apache-2.0
// Loops on several threads. Each thread that runs loops has helpers of its own.
#pragma once

#include <cstddef>
#include <functional>

namespace halftone {

/// Sets the number of threads that parallel_for() may use in the whole process, where
/// ThreadSettings say nothing else; 0 means one per available core.
/// @throws Error kUsage if count is negative or above 1024
void set_num_threads(int count);
/// usable_cores() when this is first asked.
[[nodiscard]] int num_cores();
/// The number of threads that parallel_for() may use when called from this thread; >= 1.
[[nodiscard]] int num_threads();

/// Limits the threads that loops of the current thread use during its lifetime, for threads that
/// share the cores. It must be destroyed on the same thread.
class ThreadLimit {
 public:
  /// @param count  >= 1; limits nest, the smallest applies
  explicit ThreadLimit(int count);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int outer_;
};

/// Calls body(i) once for every i in [0, count), on several threads, in unspecified order.
/// The result does not depend on the number of threads if body(i) writes only to data of index i.
/// The exception with the smallest index is rethrown after all threads have stopped. Calls nested
/// in a loop on several threads run on the calling thread; a loop over one index leaves the threads
/// to the loops inside it.
void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body);

}  // namespace halftone
