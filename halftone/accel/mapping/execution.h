// SPDX-License-Identifier: Apache-2.0
// Runs a mapped nest step by step, with real buffers, and counts what moves.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "halftone/accel/mapping/mapping.h"

namespace halftone::accel::mapping {

using Word = std::vector<std::uint64_t>;  ///< coordinates in a data space

struct Counters {
  std::uint64_t reads = 0, fills = 0, updates = 0, spatial_reductions = 0;
  bool operator==(const Counters&) const = default;
};

/// The numbers of a word: one, or a tile that a unit multiplies at once.
using Numbers = std::vector<std::int64_t>;
/// The numbers of a word of an input.
using Fill = std::function<Numbers(std::size_t space, const Word& word)>;

/// sum += product of the factors, by one unit.
struct MacStep {
  std::vector<const Numbers*> factors;  ///< of the inputs, in their order
  Numbers* sum = nullptr;               ///< empty before the first step: zeros
};
/// Computes the steps that all units do at the same time.
using Multiply = std::function<void(const std::vector<MacStep>& steps)>;

/// A buffer that holds exactly a tile. It takes over words of the last tile only when nothing but
/// the innermost temporal loop outside moved.
struct Buffer {
  std::map<Word, Numbers> words;
  std::set<Word> visited;  ///< of an output: words that were here before
  Counters counters;
};

/// The machine. Level `levels.size()` are the MACs, whose buffers hold the words of one MAC. What
/// it counts equals what evaluate() computes.
class TiledExecution {
 public:
  /// Runs the nest. Sums are exact, so that their order does not matter.
  /// @pre one output; check(problem, hierarchy, mapping) passes for some hierarchy
  TiledExecution(const Problem& problem, const Mapping& mapping, const Fill& fill,
                 Multiply multiply);

  /// Of every instance of a level, in the order of their spatial indices.
  [[nodiscard]] std::vector<Counters> counters(std::size_t level, std::size_t space) const;
  /// The output in the outermost memory.
  [[nodiscard]] const std::map<Word, Numbers>& result() const;

 private:
  using Instance = std::vector<std::uint64_t>;  ///< indices of the spatial loops outside
  struct Loop {
    std::size_t dimension;
    std::uint64_t bound;
    bool is_spatial;
    std::uint64_t stride;  ///< of the dimension's index
  };
  enum class Change { kNone, kShift, kReplace };

  void prepare_loops();
  [[nodiscard]] bool keeps(std::size_t level, std::size_t space) const;
  [[nodiscard]] std::size_t outer_of(std::size_t level, std::size_t space) const;
  [[nodiscard]] std::vector<Instance> instances(std::size_t level) const;
  [[nodiscard]] std::set<Word> tile(std::size_t level, std::size_t space,
                                    const Instance& instance) const;
  [[nodiscard]] Change change(std::size_t level, std::size_t space) const;
  [[nodiscard]] bool leads_its_group(std::size_t level, std::size_t space,
                                     const Instance& instance) const;
  Buffer& parent_of(std::size_t level, std::size_t space, const Instance& instance);
  void drain(std::size_t level, std::size_t space);
  void fetch(std::size_t level, std::size_t space);
  void multiply();
  void run_step();
  bool advance();

  const Problem& problem_;
  const Mapping& mapping_;
  const Multiply multiply_;
  std::vector<Loop> loops_;
  std::vector<std::size_t> begins_;
  std::vector<std::uint64_t> now_, before_;  ///< indices of all loops; of spatial ones 0
  bool is_first_ = true;
  std::map<std::pair<std::size_t, std::size_t>, std::map<Instance, Buffer>> buffers_;
};

}  // namespace halftone::accel::mapping
