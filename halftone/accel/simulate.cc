// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/simulate.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <utility>

#include "halftone/base/error.h"

namespace halftone::accel {
namespace {

/// The state of a simulation: which tasks are ready, which servers and slots are free.
class Simulation {
 public:
  Simulation(const System& system, const std::vector<Task>& tasks)
      : tasks_(tasks),
        runs_(tasks.size()),
        missing_(tasks.size()),
        followers_(tasks.size()),
        ready_(system.resources.size()),
        free_servers_(system.resources.size()) {
    for (std::size_t r = 0; r < system.resources.size(); ++r) {
      for (std::size_t s = 0; s < system.resources[r].servers; ++s) free_servers_[r].insert(s);
    }
    for (const SlotPool& pool : system.pools) free_slots_.push_back(pool.slots);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      missing_[i] = tasks[i].after.size();
      for (const std::size_t before : tasks[i].after) followers_[before].push_back(i);
      if (missing_[i] == 0) ready_[tasks[i].resource].insert(i);
    }
  }

  std::vector<TaskRun> run() {
    std::size_t ended = 0;
    start_ready(0);
    while (!running_.empty()) {
      const double now = running_.top().first;
      // All that ends now ends before anything starts, so that indices alone decide.
      while (!running_.empty() && running_.top().first == now) {
        end(running_.top().second);
        running_.pop();
        ++ended;
      }
      start_ready(now);
    }
    if (ended != tasks_.size()) {
      fail(ErrorKind::kInternal, "simulation: " + std::to_string(tasks_.size() - ended) +
                                     " tasks wait for slots that no task gives back");
    }
    return std::move(runs_);
  }

 private:
  void end(std::size_t task) {
    free_servers_[tasks_[task].resource].insert(runs_[task].server);
    if (tasks_[task].gives) ++free_slots_[*tasks_[task].gives];
    for (const std::size_t follower : followers_[task]) {
      if (--missing_[follower] == 0) ready_[tasks_[follower].resource].insert(follower);
    }
  }

  void start_ready(double now) {
    for (std::size_t r = 0; r < ready_.size(); ++r) {
      auto each = ready_[r].begin();
      while (each != ready_[r].end() && !free_servers_[r].empty()) {
        const Task& task = tasks_[*each];
        if (task.takes && free_slots_[*task.takes] == 0) {
          ++each;
          continue;
        }
        start(*each, now);
        each = ready_[r].erase(each);
      }
    }
  }

  void start(std::size_t index, double now) {
    const Task& task = tasks_[index];
    if (task.takes) --free_slots_[*task.takes];
    auto& servers = free_servers_[task.resource];
    runs_[index] = {*servers.begin(), now, now + task.seconds};
    servers.erase(servers.begin());
    running_.emplace(now + task.seconds, index);
  }

  using Ending = std::pair<double, std::size_t>;
  const std::vector<Task>& tasks_;
  std::vector<TaskRun> runs_;
  std::vector<std::size_t> missing_;  ///< by task, the tasks before it that have not ended
  std::vector<std::vector<std::size_t>> followers_;
  std::vector<std::set<std::size_t>> ready_;         ///< by resource
  std::vector<std::set<std::size_t>> free_servers_;  ///< by resource
  std::vector<std::size_t> free_slots_;              ///< by pool
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> running_;
};

}  // namespace

std::vector<TaskRun> simulate(const System& system, const std::vector<Task>& tasks) {
  return Simulation(system, tasks).run();
}

double finish(const std::vector<TaskRun>& runs) {
  double last = 0;
  for (const TaskRun& run : runs) last = std::max(last, run.end_s);
  return last;
}

double busy(const std::vector<Task>& tasks, std::size_t resource) {
  double sum = 0;
  for (const Task& task : tasks) {
    if (task.resource == resource) sum += task.seconds;
  }
  return sum;
}

TileTasks tile_tasks(const TilePipeline& pipeline) {
  const std::size_t stores = pipeline.shared_port ? 0 : 2;
  const std::size_t slots = pipeline.buffers * pipeline.units;
  TileTasks result;
  result.system.resources = {{"load", 1}, {"compute", pipeline.units}};
  if (!pipeline.shared_port) result.system.resources.push_back({"store", 1});
  result.system.pools = {{"operands", slots}, {"results", slots}};
  for (std::size_t tile = 0; tile < pipeline.tiles; ++tile) {
    const std::size_t load = result.tasks.size();
    result.tasks.push_back({0, pipeline.load_s, {}, 0, {}});
    result.tasks.push_back({1, pipeline.compute_s, {load}, 1, 0});
    result.tasks.push_back({stores, pipeline.store_s, {load + 1}, {}, 1});
  }
  return result;
}

double pipeline_seconds(const TilePipeline& pipeline) {
  const auto tiles = static_cast<double>(pipeline.tiles);
  const double once = pipeline.load_s + pipeline.compute_s + pipeline.store_s;
  if (pipeline.tiles == 0) return 0;
  if (pipeline.buffers > 1) {
    const double slowest = std::max({pipeline.load_s, pipeline.compute_s, pipeline.store_s});
    return once + (tiles - 1) * slowest;
  }
  return once + (tiles - 1) * std::max(pipeline.load_s + pipeline.compute_s,
                                       pipeline.compute_s + pipeline.store_s);
}

}  // namespace halftone::accel
