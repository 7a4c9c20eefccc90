// SPDX-License-Identifier: Apache-2.0
// A thread that runs a scheduler.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "halftone/base/thread_settings.h"
#include "halftone/lm/serve/scheduler.h"

namespace halftone::lm {

/// Runs a model on a thread of its own as long as there are texts. Any thread may call its
/// functions; those of jobs are called by the thread of the model.
class ServeLoop {
 public:
  /// @param settings  of the thread
  /// @throws Error as Scheduler
  ServeLoop(TokenModel& model, const Tokenizer& tokenizer, const SchedulerOptions& options,
            const ThreadSettings& settings);
  /// Interrupts the texts that have not ended.
  ~ServeLoop();
  ServeLoop(const ServeLoop&) = delete;
  ServeLoop& operator=(const ServeLoop&) = delete;

  /// @return nullopt if too many are waiting, or after drain()
  /// @throws Error as Scheduler::submit()
  std::optional<Scheduler::Id> submit(ServeJob job);
  void cancel(Scheduler::Id id) { scheduler_.cancel(id); }
  [[nodiscard]] ServeCounts counts() const { return scheduler_.counts(); }
  /// Takes no more texts, and returns when all have ended.
  void drain();

 private:
  void run(const ThreadSettings& settings);

  Scheduler scheduler_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_idle_ = false;
  bool is_draining_ = false;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace halftone::lm
