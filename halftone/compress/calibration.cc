// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/calibration.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>
#include <limits>
#include <mutex>
#include <string>

#include "halftone/base/error.h"
#include "halftone/base/memory.h"
#include "halftone/compress/feed.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/ir/symbolic_batch.h"
#include "halftone/kernels/encode/encode.h"
#include "halftone/runtime/execute/stream.h"

namespace halftone::compress {
namespace {

/// Samples per run. Fixed, because the order of summation depends on it.
constexpr std::size_t kBatch = 64;
constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

[[noreturn]] void fail_not_finite(const ir::Value& value) {
  fail(ErrorKind::kFormat,
       "calibration: value '" + value.name +
           "' becomes NaN or infinite; check the network and the scale of the pixels",
       Hint::kScale);
}

bool is_finite(float x) { return std::isfinite(x); }
bool are_finite(std::span<const float> values) { return std::ranges::all_of(values, is_finite); }

bool leads_with_batch(const ir::Shape& shape) { return shape.rank() > 0 && shape[0] == ir::kBatch; }

/// Whether some input has a symbolic batch.
bool has_open_batch(const ir::Graph& graph) { return !ir::fixed_batch(graph).has_value(); }

/// Elements of an output of a stream, or rows of them, counted over all runs.
class Elements {
 public:
  /// @param count  count(part, elements): the rows of so many elements
  template <typename Count>
  Elements(const runtime::Stream& stream, std::size_t output, const Count& count) {
    for (std::size_t part = 0; part < stream.num_parts(); ++part) {
      before_.push_back(total_);
      per_run_.push_back(count(part, stream.run_elements(part, output)));
      total_ += count(part, stream.all_elements(part, output));
    }
  }
  Elements(const runtime::Stream& stream, std::size_t output)
      : Elements(stream, output, [](std::size_t, std::size_t elements) { return elements; }) {}

  [[nodiscard]] std::size_t total() const { return total_; }
  [[nodiscard]] std::size_t max_per_run() const { return *std::ranges::max_element(per_run_); }
  /// The index of the first one of a batch.
  [[nodiscard]] std::size_t first(const runtime::Batch& batch) const {
    return before_[batch.part] + batch.run * per_run_[batch.part];
  }

 private:
  std::vector<std::size_t> before_;   ///< by part
  std::vector<std::size_t> per_run_;  ///< by part
  std::size_t total_ = 0;
};

/// @param has_gaps  whether elements may be NaN or infinite, and are left out
Histogram histogram_of(std::span<const float> elements, bool has_gaps) {
  std::vector<float> kept;
  if (has_gaps) std::ranges::copy_if(elements, std::back_inserter(kept), is_finite);
  Histogram found;
  found.add(has_gaps ? std::span<const float>(kept) : elements);
  return found;
}

/// A layer's input in a batch: in the quantized network and in the float one.
struct BatchInput {
  std::span<const float> actual;
  std::span<const float> original;
  bool has_gaps = false;  ///< whether elements may be NaN or infinite
};

/// The sums of some rows for each group of a layer's outputs, without rows that are not finite.
std::vector<LayerStatistics::Sums> sums_of_rows(const ir::Unfolding& unfolding,
                                                const BatchInput& input,
                                                std::span<const std::size_t> rows) {
  constexpr std::size_t kBlock = 64;
  const std::size_t n = unfolding.num_cols();
  const std::size_t per_sample = unfolding.rows_per_sample();
  std::vector<float> actual(kBlock * n);
  std::vector<float> original(kBlock * n);
  std::vector<LayerStatistics::Sums> result;
  for (std::size_t group = 0; group < unfolding.num_groups(); ++group) {
    LayerStatistics::Builder builder(n);
    for (std::size_t first = 0; first < rows.size(); first += kBlock) {
      const auto block = rows.subspan(first, std::min(kBlock, rows.size() - first));
      std::size_t kept = 0;
      for (const std::size_t row : block) {
        const std::size_t sample = row / per_sample * unfolding.sample_elements();
        const std::size_t index = row % per_sample;
        const std::span to(&actual[kept * n], n);
        const std::span original_to(&original[kept * n], n);
        unfolding.gather_row(&input.actual[sample], index, group, to.data());
        unfolding.gather_row(&input.original[sample], index, group, original_to.data());
        if (!input.has_gaps || (are_finite(to) && are_finite(original_to))) ++kept;
      }
      builder.add({actual.data(), kept, n, n}, {original.data(), kept, n, n});
    }
    result.push_back(builder.finish().take_sums());
  }
  return result;
}

}  // namespace

std::size_t calibration_batch(const ir::Graph& graph, std::span<const ir::NodeId> layers) {
  const bool all_lead = std::ranges::all_of(layers, [&](ir::NodeId id) {
    const ir::Node& node = graph.node(id);
    const std::size_t data = ir::is_table(node.op) ? 1 : 0;
    return leads_with_batch(graph.value(node.inputs[data]).type.shape) &&
           leads_with_batch(graph.value(node.output).type.shape);
  });
  return all_lead || !has_open_batch(graph) ? kBatch : 1;
}

Calibration::Calibration(const data::Dataset& data, std::size_t batch, spmd::Devices devices,
                         std::optional<std::uint64_t> max_bytes, Resize resize)
    : data_(data),
      batch_(batch),
      devices_(devices.empty() ? spmd::Devices::for_threads() : std::move(devices)),
      resize_(std::move(resize)) {
  constexpr std::uint64_t kShare = 4;
  constexpr std::uint64_t kUnknown = std::uint64_t{1} << 30;
  max_bytes_ = max_bytes ? *max_bytes : available_memory().value_or(kShare * kUnknown) / kShare;
}

void Calibration::narrow(runtime::StreamPart& part, std::span<const ir::ValueId> values,
                         bool from_cut) const {
  auto behind = from_cut ? graph_behind(cut_, part.graph, values) : std::nullopt;
  if (behind) {
    part.shortcut = {std::move(behind->graph),
                     [this, inputs = std::move(behind->inputs)](std::size_t batch) {
                       return cut_.tensors(inputs, batch);
                     }};
  }
  part.graph.set_outputs({values.begin(), values.end()});
  part.graph.remove_unused_nodes();
}

runtime::Stream Calibration::stream(std::vector<runtime::StreamPart> parts,
                                    const ProgressSink& progress, LayerValues computed,
                                    bool whole_runs) const {
  runtime::StreamOptions options;
  options.batch = batch_;
  options.progress = progress;
  options.execution.int8_activations = computed == LayerValues::kAsFiles;
  options.devices = devices_;
  options.execution.float_order =
      runtime::FloatOrder::kFixed;  // fits must not depend on the processor
  options.whole_runs = whole_runs;
  return {std::move(parts), std::move(options)};
}

/// Streams samples through the part of a graph that computes some values, its outputs.
runtime::Stream Calibration::stream(const ir::Graph& graph, std::span<const ir::ValueId> values,
                                    const ProgressSink& progress, std::size_t samples,
                                    LayerValues computed) const {
  // A run of fewer samples has another size than the batches of the cut.
  const bool has_batches = samples >= std::min(batch_, data_.size());
  std::vector<runtime::StreamPart> parts = stream_parts(data_, graph, resize_, samples);
  for (runtime::StreamPart& part : parts) {
    narrow(part, values, has_batches && computed == LayerValues::kFitted);
  }
  return stream(std::move(parts), progress, computed, !has_open_batch(graph));
}

const data::Dataset* Calibration::samples_like(const ir::Graph& graph) const {
  if (data_.parts().size() == 1 && !resize_) return &data_;
  for (const data::Dataset& part : data_.parts()) {
    try {
      make_feed(part, graph);
      return &part;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kShape) throw;
    }
  }
  return nullptr;
}

std::vector<ir::Unfolding> Calibration::unfoldings(const ir::Graph& graph,
                                                   const LayerInput& input) const {
  if (!resize_ || !input.layer) return {data_.parts().size(), input.unfolding};
  std::vector<ir::Unfolding> found;
  for (const data::Dataset& part : data_.parts()) {
    const ir::Graph sized = resize_(graph, part);
    found.emplace_back(sized, sized.node(*input.layer));
  }
  return found;
}

void Calibration::check_finite(std::span<const float> values, const ir::Value& value) const {
  if (!data_.has_gaps() && !are_finite(values)) fail_not_finite(value);
}

/// The same for the original and the actual value of each pair.
runtime::Stream Calibration::stream(const ir::Graph& graph, std::span<const ValuePair> pairs,
                                    const ProgressSink& progress, LayerValues computed) const {
  std::vector<ir::ValueId> values;
  for (const ValuePair& pair : pairs) {
    values.push_back(pair.original);
    values.push_back(pair.actual);
  }
  return stream(graph, values, progress, kAll, computed);
}

void Calibration::keep_cut(const ir::Graph& graph, std::vector<ir::ValueId> values) {
  std::ranges::sort(values);
  if (values.empty() || values == cut_.values()) return;
  const bool is_cut = has_open_batch(graph) && batch_ > 1;
  const bool can_keep = std::ranges::all_of(values, [&](ir::ValueId id) {
    const ir::ValueType& type = graph.value(id).type;
    return type.encoding.is_dense() && (!is_cut || leads_with_batch(type.shape));
  });
  if (!can_keep) return;
  const runtime::Stream computed = stream(graph, values, {}, kAll);
  std::uint64_t run_bytes = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    run_bytes += Elements(computed, i).max_per_run() *
                 size_bytes(graph.value(values[i]).type.encoding.element);
  }
  Cut next(std::move(values), computed.num_batches());
  std::atomic<std::uint64_t> taken = 0;
  const auto fits = [&](std::size_t) { return (taken += run_bytes) <= max_bytes_ / 2; };
  if (run_bytes <= max_bytes_ / 2) {
    computed.visit(fits, [&](std::size_t batch, runtime::Batch found) {
      next.store(batch, std::move(found.outputs));
    });
  }
  cut_ = std::move(next);
}

ValueSample Calibration::sample(const ir::Graph& graph, ValuePair pair, std::size_t most,
                                std::uint64_t seed, const ProgressSink& progress) const {
  const runtime::Stream answers = stream(graph, std::span(&pair, 1), progress);
  const Elements elements(answers, 0);
  const ValueSample::Picks picks(elements.total(), most, seed);
  const auto pick = [&](const runtime::Batch& batch) {
    const auto original = batch.outputs[0].as<float>();
    const auto actual = batch.outputs[1].as<float>();
    check_finite(original, graph.value(pair.original));
    check_finite(actual, graph.value(pair.actual));
    const std::size_t first = elements.first(batch);
    std::vector<std::vector<float>> found(2);
    for (const std::size_t index : picks.within(first, first + actual.size())) {
      if (!is_finite(actual[index - first]) || !is_finite(original[index - first])) continue;
      found[0].push_back(actual[index - first]);
      found[1].push_back(original[index - first]);
    }
    return found;
  };
  std::vector<std::vector<float>> found =
      answers.collect(2, picks.max_within(elements.max_per_run()), pick);
  if (found[0].empty()) fail_not_finite(graph.value(pair.actual));
  return {std::move(found[0]), std::move(found[1])};
}

std::vector<ValueStatistics> Calibration::ranges(const ir::Graph& graph,
                                                 std::span<const ir::ValueId> values,
                                                 double momentum,
                                                 const ProgressSink& progress) const {
  const runtime::Stream answers = stream(graph, values, progress, kAll);
  std::vector<Histogram> histograms(values.size());
  std::mutex mutex;
  // Counts are added in any order, since their sums are exact; averages in the order of batches.
  const auto count = [&](const runtime::Batch& batch) {
    const double weight = moving_average_weight(batch.number, answers.num_batches(), momentum);
    std::vector<double> ends;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto elements = batch.outputs[i].as<float>();
      check_finite(elements, graph.value(values[i]));
      const Histogram found = histogram_of(elements, data_.has_gaps());
      const bool is_empty = found.count() == 0;
      for (const float end : {found.range().low, found.range().high}) {
        ends.push_back(is_empty ? 0 : weight * double{end});
      }
      const std::lock_guard lock(mutex);
      histograms[i].add(found);
    }
    return spmd::Array::from<double>({static_cast<std::int64_t>(ends.size())}, ends);
  };
  const spmd::Array averages = answers.sum(count);
  histograms = sum_over_ranks(std::move(histograms), devices_);
  std::vector<ValueStatistics> result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto ends = averages.as<double>().subspan(2 * i, 2);
    result.push_back(
        {std::move(histograms[i]), {static_cast<float>(ends[0]), static_cast<float>(ends[1])}});
  }
  return result;
}

std::vector<LayerStatistics> Calibration::statistics(const ir::Graph& graph,
                                                     const LayerInput& input, std::size_t most,
                                                     std::uint64_t seed,
                                                     const ProgressSink& progress) const {
  const ValuePair pair = input.pair;
  const std::vector<ir::Unfolding> unfolding = unfoldings(graph, input);
  std::optional<kernels::EncodeTable> table;
  if (input.encoding != nullptr) table.emplace(input.encoding->levels(0));
  const runtime::Stream answers = stream(graph, std::span(&pair, 1), progress);
  const auto num_rows = [&](std::size_t part, std::size_t elements) {
    const ir::Unfolding& how = unfolding[part];
    return elements / how.sample_elements() * how.rows_per_sample();
  };
  const Elements all_rows(answers, 0, num_rows);
  const ValueSample::Picks picks(all_rows.total(), most, seed);
  const auto count = [&](const runtime::Batch& batch) {
    const auto original = batch.outputs[0].as<float>();
    const auto actual = batch.outputs[1].as<float>();
    check_finite(original, graph.value(pair.original));
    std::vector<float> levels(actual.begin(), actual.end());
    if (table) kernels::round_to_levels(levels, *table, levels);
    check_finite(levels, graph.value(pair.actual));
    const std::size_t first = all_rows.first(batch);
    const std::size_t rows = num_rows(batch.part, actual.size());
    std::vector<std::size_t> rows_of_batch;
    for (const std::size_t row : picks.within(first, first + rows))
      rows_of_batch.push_back(row - first);
    return sums_of_rows(unfolding[batch.part], {levels, original, data_.has_gaps()}, rows_of_batch);
  };
  std::vector<LayerStatistics> result;
  for (const LayerStatistics::Sums& group : answers.sum(count)) result.emplace_back(group);
  if (result.front().count() == 0) fail_not_finite(graph.value(pair.actual));
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
        if (data_.has_gaps()) {
          distortion.add_finite(original, actual);
        } else {
          distortion.add(original, actual);
        }
        sums[3 * p] = static_cast<double>(distortion.count());
        sums[3 * p + 1] = distortion.signal();
        sums[3 * p + 2] = distortion.noise();
      }
    });
  };
  const spmd::Array total = stream(graph, pairs, progress, LayerValues::kAsFiles).sum(measure);
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

}  // namespace halftone::compress
