// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/calibration.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "halftone/base/error.h"
#include "halftone/compress/feed.h"
#include "halftone/runtime/execute/stream.h"

namespace halftone::compress {
namespace {

/// Samples per run. Fixed, since the order of summation follows from it.
constexpr std::size_t kBatch = 64;
constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

void check_finite(std::span<const float> values, const ir::Value& value) {
  if (!std::ranges::all_of(values, [](float x) { return std::isfinite(x); })) {
    fail(ErrorKind::kFormat, "calibration: value '" + value.name +
                                 "' becomes NaN or infinite; check the network and --scale");
  }
}

std::size_t elements_per_sample(const ir::Shape& shape) {
  const ir::Shape batch_of_one = shape.with_batch(1);
  return batch_of_one.element_count() /
         static_cast<std::size_t>(std::max<ir::Dim>(batch_of_one[0], 1));
}

}  // namespace

/// Streams samples through what computes the pairs: ask(stream), whose outputs are the original and
/// the actual value of each pair.
template <typename Ask>
auto Calibration::stream_pairs(const ir::Graph& graph, std::span<const ValuePair> pairs,
                               const ProgressSink& progress, std::size_t samples,
                               const Ask& ask) const {
  ir::Graph tapped = graph;
  std::vector<ir::ValueId> outputs;
  for (const ValuePair& pair : pairs) {
    outputs.push_back(pair.original);
    outputs.push_back(pair.actual);
  }
  tapped.set_outputs(std::move(outputs));
  tapped.remove_unused_nodes();
  // What is fitted must not depend on how a machine runs it.
  const runtime::Stream stream(tapped,
                               {std::min(data_.size(), samples), kBatch, progress, false, devices_},
                               make_feed(data_, tapped));
  return ask(stream);
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
    for (const std::size_t place : picks.within(first, first + actual.size())) {
      found[0].push_back(actual[place - first]);
      found[1].push_back(original[place - first]);
    }
    return found;
  };
  std::vector<std::vector<float>> found =
      stream_pairs(graph, std::span(&pair, 1), progress, kAll, [&](const auto& stream) {
        return stream.collect(2, picks.max_within(stream.batch_size() * each), pick);
      });
  return {std::move(found[0]), std::move(found[1])};
}

std::vector<LayerStatistics> Calibration::statistics(const ir::Graph& graph, ValuePair pair,
                                                     const Unfolding& unfolding,
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
      stream_pairs(graph, std::span(&pair, 1), progress, kAll,
                   [&](const auto& stream) { return stream.sum(count); });
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
  const spmd::Array total = stream_pairs(graph, pairs, progress, kAll,
                                         [&](const auto& stream) { return stream.sum(measure); });
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
  const ValuePair pair{indices, indices};
  const spmd::Array total = stream_pairs(graph, std::span(&pair, 1), progress, kAll,
                                         [&](const auto& stream) { return stream.sum(count); });
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
  const ValuePair pair{id, id};
  std::vector<std::vector<float>> found =
      stream_pairs(graph, std::span(&pair, 1), {}, samples, [&](const auto& stream) {
        return stream.collect(1, stream.batch_size() * elements_per_sample(value.type.shape), copy);
      });
  return std::move(found[0]);
}

}  // namespace halftone::compress
