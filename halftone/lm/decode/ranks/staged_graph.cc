// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/decode/ranks/staged_graph.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace halftone::lm {
namespace {

std::size_t bytes_of(const ir::ValueType& type, std::size_t rows) {
  return type.shape.with_batch(rows).element_count() * ir::size_bytes(type.encoding.element);
}

/// A value as outer x (elements of the divided axis) x inner_bytes.
struct DividedBytes {
  std::size_t outer = 1;
  std::size_t extent = 0;
  std::size_t inner_bytes = 0;

  DividedBytes(const ir::ValueType& type, const Division& division, std::size_t rows) {
    const ir::Shape shape = type.shape.with_batch(rows);
    const std::size_t axis = division.axis_of(shape);
    for (std::size_t i = 0; i < axis; ++i) outer *= static_cast<std::size_t>(shape[i]);
    extent = static_cast<std::size_t>(shape[axis]);
    inner_bytes = outer == 0 ? 0 : bytes_of(type, rows) / (outer * extent);
  }
  [[nodiscard]] std::size_t part_bytes(const Range& range) const {
    return outer * range.count * inner_bytes;
  }
  /// Puts a rank's part where it belongs. @return what follows it in `bytes`
  [[nodiscard]] std::span<const std::byte> put(const Range& range, std::span<const std::byte> bytes,
                                               std::span<std::byte> whole) const {
    const std::size_t size = range.count * inner_bytes;
    for (std::size_t i = 0; i < outer; ++i) {
      std::ranges::copy(bytes.first(size),
                        whole.subspan((i * extent + range.begin) * inner_bytes).begin());
      bytes = bytes.subspan(size);
    }
    return bytes;
  }
};

}  // namespace

StagedGraph::StagedGraph(const ir::Graph& graph, std::size_t min_rows, spmd::Transport& transport,
                         int threads, const runtime::ExecutionOptions& execution)
    : transport_(transport),
      threads_(threads),
      execution_(execution),
      stages_(stages_of(graph, {transport.num_ranks(), min_rows}, transport.rank())),
      inputs_(graph.untied(graph.inputs())),
      output_(graph.untied(graph.outputs()).front()),
      states_(stages_.size()) {
  for (const ir::ValueId input : inputs_) types_[{input, false}] = graph.value(input).type;
  for (const RankStage& stage : stages_) {
    for (std::size_t i = 0; i < stage.outputs.size(); ++i) {
      const StageOutput& output = stage.outputs[i];
      const ir::ValueId here = stage.graph.untied(stage.graph.outputs())[i];
      types_[output.stored] =
          output.gathered ? graph.value(output.stored.value).type : stage.graph.value(here).type;
    }
  }
  assign_buffers();
  prepare(1);
}

void StagedGraph::assign_buffers() {
  constexpr std::size_t kForever = std::numeric_limits<std::size_t>::max();
  std::map<StoredValue, std::size_t> last;  // stages that read values
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    for (const StoredValue& stored : stages_[s].inputs) last[stored] = s;
  }
  last[{output_, false}] = kForever;
  std::vector<std::size_t> free_from;  // by buffer: the stage whose outputs may have it
  const auto assign = [&](const StoredValue& stored, std::size_t stage, std::size_t end) {
    auto found = std::ranges::find_if(free_from, [&](std::size_t from) { return from <= stage; });
    if (found == free_from.end()) found = free_from.insert(found, 0);
    *found = end;
    buffer_of_[stored] = static_cast<std::size_t>(found - free_from.begin());
  };
  for (const ir::ValueId input : inputs_) assign({input, false}, 0, kForever);
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    for (const StageOutput& output : stages_[s].outputs) {
      assign(output.stored, s, std::max(last[output.stored], s + 1));
    }
  }
  buffers_.resize(free_from.size());
}

std::span<std::byte> StagedGraph::memory_of(const StoredValue& stored, std::size_t rows) {
  std::vector<std::byte>& buffer = buffers_[buffer_of_.at(stored)];
  const std::size_t size = bytes_of(types_.at(stored), rows);
  if (buffer.size() < size) buffer.resize(size);
  return std::span(buffer).first(size);
}

StagedGraph::Sessions& StagedGraph::sessions_of(std::size_t rows) {
  const auto found = sessions_.find(rows);
  if (found != sessions_.end()) return found->second;
  std::vector<std::shared_ptr<const runtime::Plan>> plans;  // as Session takes them
  std::size_t bytes = AlignedBuffer::kAlignment;
  for (const RankStage& stage : stages_) {
    plans.push_back(runtime::make_plan(stage.graph, {rows, threads_, execution_}));
    bytes = std::max(bytes, plans.back()->arena_bytes());
  }
  Sessions made{AlignedBuffer(bytes), {}};
  for (std::size_t s = 0; s < plans.size(); ++s) {
    made.stages.push_back(
        std::make_unique<runtime::Session>(plans[s], states_[s], made.arena.bytes()));
    states_[s] = made.stages.back()->states();
  }
  return sessions_.emplace(rows, std::move(made)).first->second;
}

void StagedGraph::run(std::size_t rows) {
  const Sessions& sessions = sessions_of(rows);
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    runtime::Session& session = *sessions.stages[s];
    for (std::size_t i = 0; i < stages_[s].inputs.size(); ++i) {
      std::ranges::copy(memory_of(stages_[s].inputs[i], rows), session.input(i).begin());
    }
    session.run();
    store(stages_[s], session, rows);
  }
}

void StagedGraph::store(const RankStage& stage, const runtime::Session& session, std::size_t rows) {
  bool has_parts = false;
  for (std::size_t i = 0; i < stage.outputs.size(); ++i) {
    has_parts |= stage.outputs[i].gathered.has_value();
    if (stage.outputs[i].gathered) continue;
    std::ranges::copy(session.output(i).bytes, memory_of(stage.outputs[i].stored, rows).begin());
  }
  if (has_parts) gather(stage, session, rows);
}

void StagedGraph::gather(const RankStage& stage, const runtime::Session& session,
                         std::size_t rows) {
  const std::size_t ranks = transport_.num_ranks();
  std::vector<std::size_t> sizes(ranks);
  sent_.clear();
  for (std::size_t i = 0; i < stage.outputs.size(); ++i) {
    const auto& [stored, division] = stage.outputs[i];
    if (!division) continue;
    const DividedBytes whole(types_.at(stored), *division, rows);
    for (std::size_t r = 0; r < ranks; ++r) sizes[r] += whole.part_bytes(division->ranges[r]);
    const auto part = session.output(i).bytes;
    sent_.insert(sent_.end(), part.begin(), part.end());
  }
  const std::size_t size = std::ranges::max(sizes);
  sent_.resize(size);
  received_.resize(size * ranks);
  transport_.all_gather(sent_, received_);
  for (std::size_t r = 0; r < ranks; ++r) {
    std::span<const std::byte> parts = std::span(received_).subspan(r * size, size);
    for (const auto& [stored, division] : stage.outputs) {
      if (!division) continue;
      const DividedBytes whole(types_.at(stored), *division, rows);
      parts = whole.put(division->ranges[r], parts, memory_of(stored, rows));
    }
  }
}

std::size_t StagedGraph::state_bytes() const {
  std::size_t bytes = 0;
  for (const auto& states : states_) {
    if (states != nullptr) bytes += states->size_bytes();
  }
  return bytes;
}

void StagedGraph::copy_front(const runtime::SequenceCopy& copy) {
  for (const auto& states : states_) {
    if (states != nullptr) states->copy_front(copy);
  }
}

void StagedGraph::prepare_rows(const runtime::SequenceRows& rows) {
  for (const auto& states : states_) {
    if (states != nullptr && states->shared_bytes() != 0) states->prepare_rows(rows);
  }
}

}  // namespace halftone::lm
