// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/mapping/execution.h"

#include <algorithm>
#include <utility>

#include "halftone/base/error.h"

namespace halftone::accel::mapping {

namespace {

/// sum += more; an empty sum is zero.
void add(Numbers& sum, const Numbers& more) {
  if (sum.empty()) {
    sum = more;
    return;
  }
  for (std::size_t i = 0; i < more.size(); ++i) sum[i] += more[i];
}

}  // namespace

TiledExecution::TiledExecution(const Problem& problem, const Mapping& mapping, const Fill& fill,
                               Multiply multiply)
    : problem_(problem), mapping_(mapping), multiply_(std::move(multiply)) {
  prepare_loops();
  for (std::size_t x = 0; x < problem.data_spaces.size(); ++x) {
    for (const Word& word : tile(0, x, {})) {
      buffers_[{0, x}][{}].words[word] =
          problem.data_spaces[x].is_output ? Numbers() : fill(x, word);
    }
  }
  do {
    run_step();
  } while (advance());
  for (std::size_t x = 0; x < problem.data_spaces.size(); ++x) {
    if (!problem.data_spaces[x].is_output) continue;
    for (std::size_t level = begins_.size() - 1; level > 0; --level) drain(level, x);
  }
}

void TiledExecution::prepare_loops() {
  for (const LevelLoops& level : mapping_.levels) {
    begins_.push_back(loops_.size());
    for (const TemporalLoop& loop : level.temporal) {
      loops_.push_back({loop.dimension, loop.bound, false, 1});
    }
    for (const SpatialLoop& loop : level.spatial) {
      loops_.push_back({loop.dimension, loop.bound, true, 1});
    }
  }
  begins_.push_back(loops_.size());
  Extents inside;
  inside.fill(1);
  for (auto loop = loops_.rbegin(); loop != loops_.rend(); ++loop) {
    loop->stride = inside[loop->dimension];
    inside[loop->dimension] *= loop->bound;
  }
  now_.assign(loops_.size(), 0);
  before_ = now_;
}

std::vector<Counters> TiledExecution::counters(std::size_t level, std::size_t space) const {
  std::vector<Counters> all;
  const auto found = buffers_.find({level, space});
  if (found == buffers_.end()) return all;
  for (const auto& [instance, buffer] : found->second) all.push_back(buffer.counters);
  return all;
}

const std::map<Word, Numbers>& TiledExecution::result() const {
  for (std::size_t x = 0;; ++x) {
    if (problem_.data_spaces[x].is_output) return buffers_.at({0, x}).at({}).words;
  }
}

bool TiledExecution::keeps(std::size_t level, std::size_t space) const {
  return level == mapping_.levels.size() || mapping_.levels[level].keeps[space];
}

std::size_t TiledExecution::outer_of(std::size_t level, std::size_t space) const {
  do {
    --level;
  } while (!keeps(level, space));
  return level;
}

std::vector<TiledExecution::Instance> TiledExecution::instances(std::size_t level) const {
  std::vector<Instance> all = {{}};
  for (std::size_t i = 0; i < begins_[level]; ++i) {
    if (!loops_[i].is_spatial) continue;
    std::vector<Instance> more;
    for (const Instance& instance : all) {
      for (std::uint64_t index = 0; index < loops_[i].bound; ++index) {
        more.push_back(instance);
        more.back().push_back(index);
      }
    }
    all = more;
  }
  return all;
}

std::set<Word> TiledExecution::tile(std::size_t level, std::size_t space,
                                    const Instance& instance) const {
  Extents base{};
  std::size_t axis = 0;
  for (std::size_t i = 0; i < begins_[level]; ++i) {
    const std::uint64_t index = loops_[i].is_spatial ? instance[axis++] : now_[i];
    base[loops_[i].dimension] += index * loops_[i].stride;
  }
  const Extents inside = extents_within(mapping_, level);
  std::set<Word> words = {{}};
  for (const std::vector<Term>& terms : problem_.data_spaces[space].axes) {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    for (const Term& term : terms) {
      first += term.stride * base[term.dimension];
      last += term.stride * (base[term.dimension] + inside[term.dimension] - 1);
    }
    std::set<Word> more;
    for (const Word& word : words) {
      for (std::uint64_t coordinate = first; coordinate <= last; ++coordinate) {
        Word longer = word;
        longer.push_back(coordinate);
        more.insert(longer);
      }
    }
    words = more;
  }
  return words;
}

TiledExecution::Change TiledExecution::change(std::size_t level, std::size_t space) const {
  if (is_first_ || level == mapping_.levels.size()) return Change::kReplace;
  bool moved = false;
  std::size_t num_moved = 0;
  std::size_t last_moved = 0;
  std::size_t innermost = 0;
  for (std::size_t i = 0; i < begins_[level]; ++i) {
    if (loops_[i].is_spatial || loops_[i].bound == 1) continue;
    innermost = i;
    if (now_[i] == before_[i]) continue;
    ++num_moved;
    last_moved = i;
    if (has_dimension(problem_.data_spaces[space], loops_[i].dimension)) moved = true;
  }
  if (!moved) return Change::kNone;
  return num_moved == 1 && last_moved == innermost ? Change::kShift : Change::kReplace;
}

/// Of the instances that get the same data, the first counts for the level outside.
bool TiledExecution::leads_its_group(std::size_t level, std::size_t space,
                                     const Instance& instance) const {
  std::size_t axis = 0;
  for (std::size_t i = 0; i < begins_[level]; ++i) {
    if (!loops_[i].is_spatial) continue;
    const bool is_between = i >= begins_[outer_of(level, space)];
    if (is_between && instance[axis] != 0 &&
        !has_dimension(problem_.data_spaces[space], loops_[i].dimension)) {
      return false;
    }
    ++axis;
  }
  return true;
}

Buffer& TiledExecution::parent_of(std::size_t level, std::size_t space, const Instance& instance) {
  const std::size_t outer = outer_of(level, space);
  const auto axes =
      std::count_if(loops_.begin(), loops_.begin() + static_cast<long>(begins_[outer]),
                    [](const Loop& loop) { return loop.is_spatial; });
  return buffers_[{outer, space}][Instance(instance.begin(), instance.begin() + axes)];
}

void TiledExecution::drain(std::size_t level, std::size_t space) {
  if (level == 0 || !keeps(level, space)) return;
  for (const Instance& instance : instances(level)) {
    Buffer& parent = parent_of(level, space, instance);
    Buffer& buffer = buffers_[{level, space}][instance];
    for (const auto& [word, sum] : buffer.words) {
      ++(leads_its_group(level, space, instance) ? parent.counters.updates
                                                 : parent.counters.spatial_reductions);
      HALFTONE_ASSERT(parent.words.contains(word));
      add(parent.words[word], sum);
    }
    buffer.words.clear();
  }
}

void TiledExecution::fetch(std::size_t level, std::size_t space) {
  const bool is_output = problem_.data_spaces[space].is_output;
  const bool shifts = change(level, space) == Change::kShift;
  for (const Instance& instance : instances(level)) {
    Buffer& parent = parent_of(level, space, instance);
    Buffer& buffer = buffers_[{level, space}][instance];
    const bool leads = leads_its_group(level, space, instance);
    std::map<Word, Numbers> words;
    for (const Word& word : tile(level, space, instance)) {
      HALFTONE_ASSERT(parent.words.contains(word));
      if (shifts && buffer.words.contains(word)) {
        words[word] = buffer.words[word];
        continue;
      }
      const bool is_new = is_output && buffer.visited.insert(word).second;
      if (!is_new) ++buffer.counters.fills;
      if (!is_new && leads) ++parent.counters.reads;
      // A sum moves to the first of the instances that share it.
      words[word] = is_new || (is_output && !leads) ? Numbers() : parent.words[word];
      if (is_output && !is_new && leads) parent.words[word].clear();
    }
    buffer.words = words;
  }
}

void TiledExecution::multiply() {
  const std::size_t macs = mapping_.levels.size();
  std::vector<MacStep> steps;
  for (const Instance& instance : instances(macs)) {
    MacStep step;
    for (std::size_t x = 0; x < problem_.data_spaces.size(); ++x) {
      auto& words = buffers_[{macs, x}][instance].words;
      HALFTONE_ASSERT(words.size() == 1);
      if (problem_.data_spaces[x].is_output) {
        step.sum = &words.begin()->second;
      } else {
        step.factors.push_back(&words.begin()->second);
      }
    }
    steps.push_back(std::move(step));
  }
  multiply_(steps);
}

void TiledExecution::run_step() {
  const std::size_t macs = mapping_.levels.size();
  for (std::size_t x = 0; x < problem_.data_spaces.size(); ++x) {
    for (std::size_t level = macs; level > 0; --level) {
      const bool leaves = !is_first_ && problem_.data_spaces[x].is_output;
      if (leaves && change(level, x) != Change::kNone) drain(level, x);
    }
    for (std::size_t level = 1; level <= macs; ++level) {
      if (keeps(level, x) && change(level, x) != Change::kNone) fetch(level, x);
    }
  }
  multiply();
  is_first_ = false;
}

bool TiledExecution::advance() {
  before_ = now_;
  for (std::size_t i = loops_.size(); i-- > 0;) {
    if (loops_[i].is_spatial) continue;
    if (++now_[i] < loops_[i].bound) return true;
    now_[i] = 0;
  }
  return false;
}

}  // namespace halftone::accel::mapping
