// SPDX-License-Identifier: Apache-2.0
#include "halftone/spmd/program.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "halftone/base/parallel.h"
#include "halftone/base/polling.h"
#include "halftone/base/thread_settings.h"
#include "halftone/spmd/remote.h"
#include "halftone/spmd/rounds.h"
#include "halftone/spmd/workers.h"

namespace halftone::spmd::internal {
namespace {

/// Releases a lane's baton while the lane waits, so that other lanes of its device can run.
class PutDown {
 public:
  explicit PutDown(std::mutex* baton) : baton_(baton) {
    if (baton_ != nullptr) baton_->unlock();
  }
  ~PutDown() {
    if (baton_ != nullptr) baton_->lock();
  }
  PutDown(const PutDown&) = delete;
  PutDown& operator=(const PutDown&) = delete;

 private:
  std::mutex* baton_;
};

/// Whether an error may depend on the device and its rank. Others, such as a user's mistake, would
/// be the same on each.
bool depends_on_device(ErrorKind kind) {
  return kind == ErrorKind::kIo || kind == ErrorKind::kMemory || kind == ErrorKind::kDevice ||
         kind == ErrorKind::kInternal;
}

/// Below this size the last lane to arrive does the work alone, before others would have woken up.
constexpr std::size_t kSharedWorkBytes = 65536;

}  // namespace

void Program::run(const std::shared_ptr<MapRun>& run) {
  enter(*run);
  start_queues(run);
  for (LaneQueue& queue : run->queues) {
    if (!queue.is_own_device) continue;
    if (run->parent == nullptr) queue.baton->lock();
    run_queue(*run, queue);
    if (run->parent == nullptr) queue.baton->unlock();
  }
  wait_for_end(*run);
  const Lock lock(mutex_);
  if (!failure_) return;
  if (run->parent != nullptr) throw Stopped();
  if (failure_->exception) std::rethrow_exception(failure_->exception);
  fail(failure_->kind, failure_->message, failure_->hint);
}

void Program::enter(MapRun& run) {
  Lock lock(mutex_);
  if (run.spans_ranks() && transport_ == nullptr) {
    ranks_ = RanksClaim(run.placement.devices);
    transport_ = run.placement.devices.transport();
  }
  std::size_t num_lanes = 0;
  for (const LaneQueue& queue : run.queues) num_lanes += queue.end - queue.next;
  run.ended.resize(run.size);
  run.num_left = num_lanes;
  num_runnable_ += num_lanes;
  if (run.parent != nullptr && num_lanes != 0) --num_runnable_;
  if (num_runnable_ == 0) quiet(lock);
}

void Program::start_queues(const std::shared_ptr<MapRun>& run) {
  for (LaneQueue& queue : run->queues) {
    if (queue.is_own_device) continue;
    try {
      Workers::shared().start([run, &queue, settings = thread_settings()] {
        const UseThreadSettings same(settings);
        const std::lock_guard baton(*queue.baton);
        run->program->run_queue(*run, queue);
      });
    } catch (const Error& error) {
      {
        Lock lock(mutex_);
        fail_with(lock, {{}, error.kind(), error.what(), hint_of(error)});
      }
      run_queue(*run, queue);  // ends its lanes, without running them
    }
  }
}

void Program::run_queue(MapRun& run, LaneQueue& queue) {
  const ThreadLimit limit(run.threads_each);
  for (;;) {
    const std::size_t index = queue.next.fetch_add(1);
    if (index >= queue.end) return;
    run_lane(run, queue, index);
  }
}

void Program::run_lane(MapRun& run, LaneQueue& queue, std::size_t index) {
  Lane lane{.run = &run, .queue = &queue, .index = index};
  lane.devices = run.devices_of(index);
  Lane* const outer = std::exchange(Lane::current(), &lane);
  bool go = false;
  {
    // A lane before the failed one still runs: its error would take precedence.
    const Lock lock(mutex_);
    go = !failure_ || path_of(lane) < failure_->path;
  }
  if (go) {
    try {
      (*run.body)(index);
    } catch (const Stopped&) {
      // The lane that failed has reported its error.
    } catch (...) {
      fail_with_current_exception(lane);
    }
  }
  Lane::current() = outer;
  end_lane(run, index);
}

void Program::end_lane(MapRun& run, std::size_t index) {
  Lock lock(mutex_);
  run.ended[index] = 1;
  --num_runnable_;
  if (--run.num_left == 0) {
    if (run.parent != nullptr) ++num_runnable_;
    run.all_ended.notify_all();
  }
  for (const std::shared_ptr<Meeting>& meeting : open_) {
    if (meeting->address.root != &run) continue;
    if (const auto lost = meeting->lost_lane()) {
      const auto first = std::find(meeting->arrived.begin(), meeting->arrived.end(), char{1});
      const auto position = static_cast<std::size_t>(first - meeting->arrived.begin());
      fail_with(lock, {{}, ErrorKind::kUsage, why_ended(*meeting, position, *lost)});
      break;
    }
  }
  if (num_runnable_ == 0) quiet(lock);
}

void Program::wait_for_end(MapRun& run) {
  if (run.parent != nullptr) {
    if (run.num_left == 0) return;
    const PutDown baton(run.parent->queue->baton);
    if (spin_until([&] { return run.num_left == 0; })) return;
    Lock lock(mutex_);
    run.all_ended.wait(lock, [&] { return run.num_left == 0; });
    return;
  }
  spin_until([&] { return run.num_left == 0; });
  Lock lock(mutex_);
  all_over_.wait(lock, [&] { return over_; });
}

void Program::fail_with(Lock& lock, Failure failure) {
  HALFTONE_ASSERT(lock.owns_lock());
  // The error of a lane precedes the resulting failure of the lanes that waited for it; of several
  // lanes, the first one's error counts.
  if (!failure_ || (failure_->path.empty() && !failure.path.empty()) ||
      (!failure.path.empty() && failure.path < failure_->path)) {
    failure_ = std::move(failure);
  }
  for (const std::shared_ptr<Meeting>& meeting : std::exchange(open_, {})) {
    finish_meeting(*meeting, Meeting::Phase::kAborted);
  }
}

void Program::fail_with_current_exception(const Lane& lane) {
  Failure failure{.path = path_of(lane)};
  const std::string where = device_label(lane);
  failure.exception = std::current_exception();
  try {
    throw;
  } catch (const Error& error) {
    failure.kind = error.kind();
    failure.message = error.what();
    failure.hint = hint_of(error);
    if (depends_on_device(error.kind()) && !where.empty()) {
      failure.message = where + failure.message;
      failure.exception = nullptr;
    }
  } catch (const std::bad_alloc&) {
    failure.kind = ErrorKind::kMemory;
    failure.message = where + "out of memory";
    failure.exception = nullptr;
  } catch (const std::exception& error) {
    failure.message = where + error.what();
  } catch (...) {
    failure.message = where + "an exception of unknown type";
  }
  Lock lock(mutex_);
  fail_with(lock, std::move(failure));
}

void Program::quiet(Lock& lock) {
  while (num_runnable_ == 0 && !over_) {
    if (transport_ != nullptr && !ranks_agree_) {
      meet_ranks(lock);
    } else if (!failure_ && !open_.empty()) {
      fail_with(lock, {{}, ErrorKind::kUsage, why_stuck(describe(open_))});
    } else {
      over_ = true;
      ranks_.release();
      all_over_.notify_all();
    }
  }
}

void Program::meet_ranks(Lock& lock) {
  Round round;
  try {
    round = exchange_round(*transport_, name_, open_, failure_);
    for (const std::shared_ptr<Meeting>& meeting : round.complete) {
      carry_out_over_ranks(*meeting, *transport_);
    }
  } catch (const std::exception& error) {
    // Only this rank failed, and the others wait for bytes that it will not send.
    transport_->end_all_ranks(error.what());
    round.failure = {{}, ErrorKind::kDevice, error.what()};
    round.is_last = true;
  }
  for (const std::shared_ptr<Meeting>& meeting : round.complete) {
    std::erase(open_, meeting);
    finish_meeting(*meeting, Meeting::Phase::kDone);
  }
  ranks_agree_ = round.is_last;
  if (round.failure) fail_with(lock, *round.failure);
}

void Program::finish_meeting(Meeting& meeting, Meeting::Phase phase) {
  num_runnable_ += meeting.num_arrived;
  meeting.phase = phase;
  meeting.changed.notify_all();
}

std::vector<Array> Program::meet(Lane& lane, Address address, Request request) {
  const std::size_t position = address.position;
  std::shared_ptr<Meeting> meeting;
  bool is_last = false;
  {
    Lock lock(mutex_);
    meeting = join(lock, std::move(address), std::move(request));
    is_last = meeting->complete() && !meeting->spans_ranks();
    if (is_last) {
      std::erase(open_, meeting);
      num_runnable_ += meeting->num_arrived - 1;
    } else {
      call_helpers(lane, *meeting);
      if (--num_runnable_ == 0) quiet(lock);
    }
  }
  if (is_last) {
    carry_out(*meeting);
  } else {
    wait(lane, *meeting);
  }
  if (meeting->phase != Meeting::Phase::kDone) throw Stopped();
  return meeting->job.results.size() == 1 ? meeting->job.results.front()
                                          : meeting->job.results[position];
}

std::shared_ptr<Meeting> Program::join(Lock& lock, Address address, Request request) {
  if (failure_) throw Stopped();
  const auto found = std::find_if(open_.begin(), open_.end(), [&](const auto& meeting) {
    return meeting->address.matches(address);
  });
  if (found != open_.end() && !(*found)->request.matches(request)) {
    const auto mine = std::make_shared<Meeting>(address, request);
    mine->arrived[address.position] = 1;
    fail_with(lock, {{}, ErrorKind::kUsage, why_stuck(describe({*found, mine}))});
    throw Stopped();
  }
  const std::size_t position = address.position;
  std::shared_ptr<Meeting> meeting;
  if (found == open_.end()) {
    meeting = std::make_shared<Meeting>(std::move(address), request);
    open_.push_back(meeting);
  } else {
    meeting = *found;
  }
  meeting->brought[position] = std::move(request.leaves);
  meeting->arrived[position] = 1;
  ++meeting->num_arrived;
  if (const auto lost = meeting->lost_lane()) {
    --meeting->num_arrived;  // this lane leaves without waiting
    fail_with(lock, {{}, ErrorKind::kUsage, why_ended(*meeting, position, *lost)});
    throw Stopped();
  }
  return meeting;
}

void Program::carry_out(Meeting& meeting) {
  try {
    meeting.job = make_job(meeting.request, meeting.brought);
    meeting.pieces_left = meeting.job.num_pieces;
    if (meeting.job.num_bytes >= kSharedWorkBytes) {
      const Lock lock(mutex_);
      meeting.phase = Meeting::Phase::kWorking;
      meeting.changed.notify_all();
    }
    help(meeting);
    spin_until([&] { return meeting.pieces_left == 0; });
    Lock lock(mutex_);
    meeting.changed.wait(lock, [&] { return meeting.pieces_left == 0; });
    meeting.phase = meeting.error ? Meeting::Phase::kAborted : Meeting::Phase::kDone;
    meeting.changed.notify_all();
  } catch (...) {
    const Lock lock(mutex_);
    meeting.phase = Meeting::Phase::kAborted;
    meeting.changed.notify_all();
    throw;
  }
  if (meeting.error) std::rethrow_exception(meeting.error);
}

void Program::help(Meeting& meeting) {
  for (;;) {
    const std::size_t piece = meeting.next_piece.fetch_add(1);
    if (piece >= meeting.job.num_pieces) return;
    try {
      meeting.job.work(piece);
    } catch (...) {
      const Lock lock(mutex_);
      meeting.error = std::current_exception();
    }
    if (--meeting.pieces_left == 0) {
      const Lock lock(mutex_);
      meeting.changed.notify_all();
    }
  }
}

void Program::wait(Lane& lane, Meeting& meeting) {
  using Phase = Meeting::Phase;
  const PutDown baton(lane.queue->baton);
  const auto has_left = [&meeting](Phase phase) { return meeting.phase != phase; };
  if (!spin_until([&] { return has_left(Phase::kOpen); })) {
    Lock lock(mutex_);
    meeting.changed.wait(lock, [&] { return has_left(Phase::kOpen); });
  }
  if (meeting.phase == Phase::kWorking) help(meeting);
  if (spin_until([&] { return has_left(Phase::kWorking); })) return;
  Lock lock(mutex_);
  meeting.changed.wait(lock, [&] { return has_left(Phase::kWorking); });
}

void Program::call_helpers(const Lane& lane, Meeting& meeting) {
  try {
    for (const Lane* l = &lane; l != nullptr; l = l->run->parent) {
      if (!l->queue->has_lanes()) continue;
      Workers::shared().start([run = l->run->shared_from_this(), queue = l->queue] {
        const std::lock_guard baton(*queue->baton);
        run->program->run_queue(*run, *queue);
      });
    }
  } catch (...) {
    --meeting.num_arrived;  // this lane leaves without waiting
    throw;
  }
}

}  // namespace halftone::spmd::internal
