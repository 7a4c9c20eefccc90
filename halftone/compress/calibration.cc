// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/calibration.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>

#include "halftone/base/error.h"
#include "halftone/base/memory.h"
#include "halftone/compress/feed.h"
#include "halftone/ir/symbolic_batch.h"
#include "halftone/runtime/execute/stream.h"

namespace halftone::compress {
namespace {

/// Samples per run. Fixed, because the order of summation depends on it.
constexpr std::size_t kBatch = 64;
constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

void check_finite(std::span<const float> values, const ir::Value& value) {
  if (!std::ranges::all_of(values, [](float x) { return std::isfinite(x); })) {
    fail(ErrorKind::kFormat,
         "calibration: value '" + value.name +
             "' becomes NaN or infinite; check the network and the scale of the pixels",
         Hint::kScale);
  }
}

std::size_t elements_per_sample(const ir::Shape& shape) {
  const ir::Shape batch_of_one = shape.with_batch(1);
  return batch_of_one.element_count() /
         static_cast<std::size_t>(std::max<ir::Dim>(batch_of_one[0], 1));
}

/// Bytes of the values in each batch; nullopt if the first extent of one is not the batch.
std::optional<std::size_t> bytes_per_batch(const ir::Graph& graph,
                                           std::span<const ir::ValueId> values,
                                           std::size_t samples) {
  const ir::Dim batch =
      ir::fixed_batch(graph) ? static_cast<ir::Dim>(*ir::fixed_batch(graph)) : ir::kBatch;
  std::size_t bytes = 0;
  for (const ir::ValueId id : values) {
    const ir::ValueType& type = graph.value(id).type;
    if (type.shape.rank() == 0 || type.shape[0] != batch || !type.encoding.is_dense()) {
      return std::nullopt;
    }
    const std::size_t count = std::min(kBatch, samples);
    bytes += type.shape.with_batch(count).element_count() * size_bytes(type.encoding.element);
  }
  return bytes;
}

}  // namespace

Calibration::Calibration(const data::Dataset& data, spmd::Devices devices,
                         std::optional<std::uint64_t> max_bytes)
    : data_(data), devices_(devices.empty() ? spmd::Devices::for_threads() : std::move(devices)) {
  constexpr std::uint64_t kShare = 4;
  constexpr std::uint64_t kUnknown = std::uint64_t{1} << 30;
  max_bytes_ = max_bytes ? *max_bytes : available_memory().value_or(kShare * kUnknown) / kShare;
}

/// Streams samples through the part of a graph that computes some values, its outputs.
runtime::Stream Calibration::stream(const ir::Graph& graph, std::span<const ir::ValueId> values,
                                    const ProgressSink& progress, std::size_t samples) const {
  ir::Graph tapped = graph;
  tapped.set_outputs({values.begin(), values.end()});
  tapped.remove_unused_nodes();
  std::optional<runtime::Shortcut> shortcut;
  if (std::optional<BorderGraph> behind = graph_behind(border_, graph, values)) {
    shortcut = {std::move(behind->graph),
                [this, inputs = std::move(behind->inputs)](std::size_t batch) {
                  return border_.tensors(inputs, batch);
                }};
  }
  // Fits must not depend on the processor.
  return {tapped,
          {std::min(data_.size(), samples), kBatch, progress, false, devices_,
           runtime::FloatOrder::kFixed},
          make_feed(data_, tapped),
          std::move(shortcut)};
}

/// The same for the original and the actual value of each pair.
runtime::Stream Calibration::stream(const ir::Graph& graph, std::span<const ValuePair> pairs,
                                    const ProgressSink& progress) const {
  std::vector<ir::ValueId> values;
  for (const ValuePair& pair : pairs) {
    values.push_back(pair.original);
    values.push_back(pair.actual);
  }
  return stream(graph, values, progress, kAll);
}

void Calibration::keep_border(const ir::Graph& graph, std::vector<ir::ValueId> values) {
  Border next(std::move(values), (data_.size() + kBatch - 1) / kBatch);
  if (next.values().empty() || next.values() == border_.values()) return;
  const std::optional<std::size_t> batch_bytes =
      bytes_per_batch(graph, next.values(), data_.size());
  if (!batch_bytes) return;
  std::atomic<std::uint64_t> taken = 0;
  const auto fits = [&](std::size_t) { return (taken += *batch_bytes) <= max_bytes_ / 2; };
  if (*batch_bytes <= max_bytes_ / 2) {
    stream(graph, next.values(), {}, kAll)
        .visit(fits, [&](std::size_t batch, runtime::Batch found) {
          next.store(batch, std::move(found.outputs));
        });
  }
  border_ = std::move(next);
}

ValueSample Calibration::sample(const ir::Graph& graph, ValuePair pair, std::size_t most,
                                std::uint64_t seed, const ProgressSink& progress) const {
  const std::size_t each = elements_per_sample(graph.value(pair.original).type.shape);
  const ValueSample::Picks picks(data_.size() * each, most, seed);
  const auto pick = [&](const runtime::Batch& batch) {
    const auto original = batch.outputs[0].as<float>();
    const auto actual = batch.outputs[1].as<float>();
    check_finite(original, graph.value(pair.original));
    check_finite(actual, graph.value(pair.actual));
    const std::size_t first = batch.first * each;
    std::vector<std::vector<float>> found(2);
    for (const std::size_t index : picks.within(first, first + actual.size())) {
      found[0].push_back(actual[index - first]);
      found[1].push_back(original[index - first]);
    }
    return found;
  };
  const runtime::Stream answers = stream(graph, std::span(&pair, 1), progress);
  std::vector<std::vector<float>> found =
      answers.collect(2, picks.max_within(answers.batch_size() * each), pick);
  return {std::move(found[0]), std::move(found[1])};
}

std::vector<LayerStatistics> Calibration::statistics(const ir::Graph& graph, ValuePair pair,
                                                     const ir::Unfolding& unfolding,
                                                     const numerics::BasisEncoding* encoding,
                                                     const ProgressSink& progress) const {
  std::optional<numerics::LevelTable> table;
  if (encoding != nullptr) table.emplace(encoding->bases.front());
  const auto count = [&](const runtime::Batch& batch) {
    const auto original = batch.outputs[0].as<float>();
    const auto actual = batch.outputs[1].as<float>();
    check_finite(original, graph.value(pair.original));
    std::vector<float> levels(actual.begin(), actual.end());
    if (table) {
      std::ranges::transform(levels, levels.begin(), [&](float x) { return table->nearest(x); });
    }
    check_finite(levels, graph.value(pair.actual));
    std::vector<LayerStatistics> groups(unfolding.num_groups(),
                                        LayerStatistics(unfolding.num_cols()));
    unfolding.for_each_block(levels, original,
                             [&](std::size_t group, auto actual_rows, auto original_rows) {
                               groups[group].add(actual_rows, original_rows);
                             });
    std::vector<LayerStatistics::Sums> sums;
    for (LayerStatistics& group : groups) sums.push_back(group.take_sums());
    return sums;
  };
  const std::vector<LayerStatistics::Sums> sums =
      stream(graph, std::span(&pair, 1), progress).sum(count);
  std::vector<LayerStatistics> result;
  for (const LayerStatistics::Sums& group : sums) result.emplace_back(group);
  return result;
}

std::vector<numerics::Distortion> Calibration::distortions(const ir::Graph& graph,
                                                           std::span<const ValuePair> pairs,
                                                           const ProgressSink& progress) const {
  const auto measure = [&](const runtime::Batch& batch) {
    const auto extent = static_cast<std::int64_t>(pairs.size());
    return spmd::Array::make<double>({extent, 3}, [&](std::span<double> sums) {
      for (std::size_t p = 0; p < pairs.size(); ++p) {
        const auto original = batch.outputs[2 * p].as<float>();
        const auto actual = batch.outputs[2 * p + 1].as<float>();
        check_finite(original, graph.value(pairs[p].original));
        check_finite(actual, graph.value(pairs[p].actual));
        numerics::Distortion distortion;
        distortion.add(original, actual);
        sums[3 * p] = static_cast<double>(distortion.count());
        sums[3 * p + 1] = distortion.signal();
        sums[3 * p + 2] = distortion.noise();
      }
    });
  };
  const spmd::Array total = stream(graph, pairs, progress).sum(measure);
  const auto sums = total.as<double>();
  std::vector<numerics::Distortion> result;
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    result.emplace_back(static_cast<std::size_t>(sums[3 * p]), sums[3 * p + 1], sums[3 * p + 2]);
  }
  return result;
}

std::vector<std::size_t> Calibration::uses(const ir::Graph& graph, ir::ValueId indices,
                                           std::size_t rows, const ProgressSink& progress) const {
  const auto count = [rows](const runtime::Batch& batch) {
    const ir::Tensor wide = batch.outputs[0].cast(ir::ElementType::kInt64);
    return spmd::Array::make<std::int64_t>(
        {static_cast<std::int64_t>(rows)}, [&](std::span<std::int64_t> uses) {
          std::ranges::fill(uses, 0);
          for (const std::int64_t index : wide.as<std::int64_t>()) {
            ++uses[ir::resolve_index(index, rows)];
          }
        });
  };
  const spmd::Array total = stream(graph, std::span(&indices, 1), progress, kAll).sum(count);
  const auto uses = total.as<std::int64_t>();
  return {uses.begin(), uses.end()};
}

std::vector<float> Calibration::collect(const ir::Graph& graph, ir::ValueId id,
                                        std::size_t samples) const {
  const ir::Value& value = graph.value(id);
  const auto copy = [&](const runtime::Batch& batch) {
    const auto numbers = batch.outputs[0].as<float>();
    check_finite(numbers, value);
    return std::vector<std::vector<float>>{{numbers.begin(), numbers.end()}};
  };
  const runtime::Stream answers = stream(graph, std::span(&id, 1), {}, samples);
  const std::size_t most = answers.batch_size() * elements_per_sample(value.type.shape);
  return std::move(answers.collect(1, most, copy)[0]);
}

}  // namespace halftone::compress
