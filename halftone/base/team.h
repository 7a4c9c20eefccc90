// SPDX-License-Identifier: Apache-2.0
// The threads that help one thread with its loops.
#pragma once

#include <functional>
#include <memory>
#include <vector>

namespace halftone::internal {

/// Helpers of the thread that owns it, started when they are first needed and kept; idle ones sleep
/// after some microseconds. Destroying it ends them. In a child of fork(), which has no threads but
/// the one that called it, a team starts again.
class Team {
 public:
  /// That of the current thread.
  static Team& of_this_thread();
  Team();
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Runs `work` on the calling thread and on up to `helpers` others at once, and waits for all
  /// that have begun it: when it returns on the calling thread, nothing is left for others. If the
  /// system has no more threads, or no time for them, fewer help.
  /// @param work  must not throw, nor run the same team
  void run(int helpers, const std::function<void()>& work);

 private:
  struct Helper;
  /// Starts helpers until there are `count`, or as many as the system has threads for.
  void grow(std::size_t count);

  std::vector<std::unique_ptr<Helper>> helpers_;
  int forks_;  ///< that this process has behind it, when the helpers were started
};

}  // namespace halftone::internal
