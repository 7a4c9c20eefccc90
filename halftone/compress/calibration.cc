// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/calibration.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "halftone/base/error.h"
#include "halftone/compress/feed.h"
#include "halftone/runtime/stream.h"

namespace halftone::compress {
namespace {

/// Samples per run. Fixed, since the order of summation follows from it.
constexpr std::size_t kBatch = 64;

/// Streams the data through what computes the pairs; consume(pair index, original, actual).
template <typename Consume>
void stream_pairs(const formats::Dataset& data, const ir::Graph& graph,
                  std::span<const ValuePair> pairs, const ProgressSink& progress, Consume&& consume,
                  std::size_t most = std::numeric_limits<std::size_t>::max()) {
  ir::Graph tapped = graph;
  std::vector<ir::ValueId> outputs;
  for (const ValuePair& pair : pairs) {
    outputs.push_back(pair.original);
    outputs.push_back(pair.actual);
  }
  tapped.set_outputs(std::move(outputs));
  tapped.remove_unused_nodes();
  // What is fitted must not depend on how a machine runs it.
  const runtime::StreamOptions options{std::min(data.size(), most), kBatch, progress, false};
  runtime::run_stream(tapped, options, make_feed(data, tapped),
                      [&](std::size_t, std::size_t, std::span<const ir::Tensor> values) {
                        for (std::size_t p = 0; p < pairs.size(); ++p) {
                          consume(p, values[2 * p], values[2 * p + 1]);
                        }
                      });
}

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

ValueSample Calibration::sample(const ir::Graph& graph, ValuePair pair, std::size_t most,
                                std::uint64_t seed, const ProgressSink& progress) const {
  const ir::Value& value = graph.value(pair.original);
  ValueSample result(data_.size() * elements_per_sample(value.type.shape), most, seed);
  stream_pairs(data_, graph, std::span(&pair, 1), progress,
               [&](std::size_t, const ir::Tensor& original, const ir::Tensor& actual) {
                 check_finite(original.as<float>(), value);
                 check_finite(actual.as<float>(), graph.value(pair.actual));
                 result.add(actual.as<float>(), original.as<float>());
               });
  return result;
}

std::vector<LayerStatistics> Calibration::statistics(const ir::Graph& graph, ValuePair pair,
                                                     const Unfolding& unfolding,
                                                     const numerics::BasisEncoding* encoding,
                                                     const ProgressSink& progress) const {
  std::vector<LayerStatistics> result(unfolding.num_groups(),
                                      LayerStatistics(unfolding.num_cols()));
  std::optional<numerics::LevelTable> table;
  if (encoding != nullptr) table.emplace(encoding->bases.front());
  std::vector<float> levels;
  stream_pairs(data_, graph, std::span(&pair, 1), progress,
               [&](std::size_t, const ir::Tensor& original, const ir::Tensor& actual) {
                 check_finite(original.as<float>(), graph.value(pair.original));
                 const auto values = actual.as<float>();
                 levels.assign(values.begin(), values.end());
                 if (table) {
                   std::ranges::transform(levels, levels.begin(),
                                          [&](float x) { return table->nearest(x); });
                 }
                 check_finite(levels, graph.value(pair.actual));
                 unfolding.for_each_block(
                     levels, original.as<float>(),
                     [&](std::size_t group, auto actual_rows, auto original_rows) {
                       result[group].add(actual_rows, original_rows);
                     });
               });
  return result;
}

std::vector<numerics::Distortion> Calibration::distortions(const ir::Graph& graph,
                                                           std::span<const ValuePair> pairs,
                                                           const ProgressSink& progress) const {
  std::vector<numerics::Distortion> result(pairs.size());
  stream_pairs(data_, graph, pairs, progress,
               [&](std::size_t p, const ir::Tensor& original, const ir::Tensor& actual) {
                 check_finite(original.as<float>(), graph.value(pairs[p].original));
                 check_finite(actual.as<float>(), graph.value(pairs[p].actual));
                 result[p].add(original.as<float>(), actual.as<float>());
               });
  return result;
}

std::vector<std::vector<float>> Calibration::collect(const ir::Graph& graph, ValuePair pair,
                                                     std::size_t samples,
                                                     const ProgressSink& progress) const {
  std::vector<std::vector<float>> result(2);
  stream_pairs(
      data_, graph, std::span(&pair, 1), progress,
      [&](std::size_t, const ir::Tensor& original, const ir::Tensor& actual) {
        const auto x = original.as<float>();
        const auto q = actual.as<float>();
        check_finite(x, graph.value(pair.original));
        check_finite(q, graph.value(pair.actual));
        result[0].insert(result[0].end(), x.begin(), x.end());
        result[1].insert(result[1].end(), q.begin(), q.end());
      },
      samples);
  return result;
}

}  // namespace halftone::compress
