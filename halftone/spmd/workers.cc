// SPDX-License-Identifier: Apache-2.0
#include "halftone/spmd/workers.h"

#include <condition_variable>
#include <string>
#include <system_error>
#include <utility>

#include "halftone/base/polling.h"
#include "halftone/spmd/errors.h"

namespace halftone::spmd::internal {

struct Workers::Worker {
  std::mutex mutex;
  std::condition_variable wake;
  std::function<void()> task;
  std::atomic<bool> called{false};  ///< a task is pending
  bool ends = false;                ///< the thread ends when no task is pending
  std::thread thread;
};

Workers& Workers::shared() {
  static Workers workers;
  return workers;
}

Workers::Workers() = default;

Workers::~Workers() {
  for (const std::unique_ptr<Worker>& worker : workers_) {
    {
      const std::lock_guard lock(worker->mutex);
      worker->ends = true;
    }
    worker->wake.notify_one();
    worker->thread.join();
  }
}

void Workers::start(std::function<void()> task) {
  Worker* worker = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) {
      auto added = std::make_unique<Worker>();
      added->task = std::move(task);
      added->called = true;
      try {
        added->thread = std::thread([this, self = added.get()] { work(*self); });
      } catch (const std::system_error& error) {
        fail(ErrorKind::kMemory, "cannot start thread " + std::to_string(workers_.size() + 1) +
                                     " of a mapped function: " + error.code().message());
      }
      workers_.push_back(std::move(added));
      return;
    }
    worker = idle_.back();
    idle_.pop_back();
  }
  {
    const std::lock_guard lock(worker->mutex);
    worker->task = std::move(task);
    worker->called = true;
  }
  worker->wake.notify_one();
}

void Workers::work(Worker& self) {
  for (;;) {
    spin_until([&] { return self.called.load(); });
    std::function<void()> task;
    {
      std::unique_lock lock(self.mutex);
      self.wake.wait(lock, [&] { return self.called || self.ends; });
      if (!self.called) return;
      task = std::exchange(self.task, nullptr);
      self.called = false;
    }
    task();
    task = nullptr;
    const std::lock_guard lock(mutex_);
    idle_.push_back(&self);
  }
}

}  // namespace halftone::spmd::internal
