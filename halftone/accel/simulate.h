// SPDX-License-Identifier: Apache-2.0
// Tasks that compete for resources, simulated event by event.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace halftone::accel {

/// Something that tasks occupy one after another: a memory's port, compute units, a link.
struct Resource {
  std::string name;
  std::size_t servers = 1;  ///< tasks that it serves at the same time
};

/// Room for tiles: a task that loads takes a slot, the task that used the tile gives it back.
struct SlotPool {
  std::string name;
  std::size_t slots = 1;
};

/// Work on one resource.
struct Task {
  std::size_t resource = 0;
  double seconds = 0;
  std::vector<std::size_t> after{};    ///< tasks that must have ended, with smaller indices
  std::optional<std::size_t> takes{};  ///< a slot of this pool, when it starts
  std::optional<std::size_t> gives{};  ///< a slot back to this pool, when it ends
};

/// When and where a task ran.
struct TaskRun {
  std::size_t server = 0;
  double start_s = 0;
  double end_s = 0;
};

struct System {
  std::vector<Resource> resources;
  std::vector<SlotPool> pools;
};

/// Runs all tasks. A task starts as soon as those before it have ended, a server of its resource is
/// free and its pool has a slot. Of several that could start, the one with the smallest index does;
/// of several free servers it takes the first. Within a resource, a task that waits for a slot
/// does not hold up later ones that need none of its pool.
/// @return one entry for each task
/// @throws Error kInternal if tasks wait for slots that no other task gives back
std::vector<TaskRun> simulate(const System& system, const std::vector<Task>& tasks);

/// The end of the last task; 0 for none.
double finish(const std::vector<TaskRun>& runs);
/// The seconds that servers of a resource were occupied.
double busy(const std::vector<Task>& tasks, std::size_t resource);

/// Tiles that go through a memory's load port, one of several units, and a store port.
struct TilePipeline {
  double load_s = 0;
  double compute_s = 0;
  double store_s = 0;
  std::size_t tiles = 1;
  std::size_t units = 1;
  std::size_t buffers = 2;   ///< tiles that a unit has room for: 2 if it loads while it computes
  bool shared_port = false;  ///< loads and stores take turns
};

/// The tasks of a pipeline: load, compute and store of tile 0, then of tile 1, ...
/// Resources: 0 loads, 1 units, 2 stores (or 0 if shared).
struct TileTasks {
  System system;
  std::vector<Task> tasks;
};
TileTasks tile_tasks(const TilePipeline& pipeline);

/// The time of a pipeline of one unit with two buffers and ports of their own, where nothing is
/// shared:
///
///     load + compute + store + (tiles - 1) max(load, compute, store)
///
/// With one buffer a tile is loaded when the one before has been computed:
///
///     store + tiles (load + compute)   if store <= load + compute
double pipeline_seconds(const TilePipeline& pipeline);

}  // namespace halftone::accel
