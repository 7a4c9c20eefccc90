// SPDX-License-Identifier: Apache-2.0
// Runs the part of a graph that is this rank's.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "halftone/lm/decode/ranks/stages.h"
#include "halftone/runtime/execute/session.h"
#include "halftone/runtime/sequence/sequence.h"
#include "halftone/spmd/transport.hpp"

namespace halftone::lm {

/// A graph over ranks. All ranks run it at the same time, with the same inputs; all get the
/// outputs.
class StagedGraph {
 public:
  /// @param transport  must outlive this
  StagedGraph(const ir::Graph& graph, std::size_t min_rows, spmd::Transport& transport, int threads,
              const runtime::ExecutionOptions& execution);

  /// An input for a run of so many rows, to be written before it.
  std::span<std::byte> input(std::size_t index, std::size_t rows) {
    return memory_of({inputs_.at(index), false}, rows);
  }
  /// Runs on the inputs.
  /// @throws Error as runtime::Session and spmd::Transport
  void run(std::size_t rows);
  /// The output of the last run.
  [[nodiscard]] std::span<const std::byte> output(std::size_t rows) {
    return memory_of({output_, false}, rows);
  }

  /// Makes the plans for a number of rows, which pack the weights.
  void prepare(std::size_t rows) { (void)sessions_of(rows); }
  [[nodiscard]] std::size_t state_bytes() const;
  /// As runtime::StateMemory::copy_front(), in all stages.
  void copy_front(const runtime::SequenceCopy& copy);
  /// As runtime::StateMemory::prepare_rows(), before a run that writes these rows.
  void prepare_rows(const runtime::SequenceRows& rows);

 private:
  /// The sessions of all stages, which share the memory of their values.
  struct Sessions {
    AlignedBuffer arena;
    std::vector<std::unique_ptr<runtime::Session>> stages;
  };
  /// Gives stored values memory, which those have in turn that are not needed at the same time.
  void assign_buffers();
  std::span<std::byte> memory_of(const StoredValue& stored, std::size_t rows);
  Sessions& sessions_of(std::size_t rows);
  /// Stores the outputs of a stage, those of all ranks where they are put together.
  void store(const RankStage& stage, const runtime::Session& session, std::size_t rows);
  void gather(const RankStage& stage, const runtime::Session& session, std::size_t rows);

  spmd::Transport& transport_;
  int threads_;
  runtime::ExecutionOptions execution_;
  std::vector<RankStage> stages_;
  std::vector<ir::ValueId> inputs_;
  ir::ValueId output_ = ir::kAbsent;
  std::map<StoredValue, ir::ValueType> types_;
  std::map<StoredValue, std::size_t> buffer_of_;
  std::vector<std::vector<std::byte>> buffers_;
  std::vector<std::byte> sent_;
  std::vector<std::byte> received_;
  std::vector<std::shared_ptr<runtime::StateMemory>> states_;  ///< by stage, shared by sessions
  std::map<std::size_t, Sessions> sessions_;                   ///< by rows
};

}  // namespace halftone::lm
