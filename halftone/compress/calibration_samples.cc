// SPDX-License-Identifier: Apache-2.0
// What calibration knows of single samples.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "halftone/compress/calibration.h"
#include "halftone/ir/symbolic_batch.h"

namespace halftone::compress {
namespace {

bool has_no_gap(std::span<const float> values) {
  return std::ranges::all_of(values, [](float x) { return std::isfinite(x); });
}

/// The equal parts of a run's output, one for each of its samples; one part if the first extent is
/// not the batch.
std::vector<std::span<const float>> parts_of(const ir::Tensor& output, const ir::Value& value,
                                             std::size_t batch) {
  const std::span<const float> all = output.as<float>();
  const ir::Dim first = value.type.shape.rank() == 0 ? 0 : value.type.shape[0];
  const bool leads = first == ir::kBatch || first == static_cast<ir::Dim>(batch);
  const std::size_t count = leads ? static_cast<std::size_t>(output.shape()[0]) : 1;
  std::vector<std::span<const float>> parts;
  for (std::size_t i = 0; i < count; ++i) {
    parts.push_back(all.subspan(i * (all.size() / count), all.size() / count));
  }
  return parts;
}

/// Lists of SampleSizes.
constexpr std::size_t kNumSizes = 5;

/// Adds the size of a part of a value.
void add_size(std::span<const float> part, std::array<std::vector<float>, kNumSizes>& sizes) {
  double sum = 0;
  double peak = 0;
  std::size_t count = 0;
  bool is_bytes = true;
  bool is_infinite = false;
  for (const float x : part) {
    is_infinite = is_infinite || std::isinf(x);
    is_bytes = is_bytes && x >= 0 && x <= 255 && x == std::trunc(x);
    if (!std::isfinite(x)) continue;
    const double square = double{x} * x;
    sum += square;
    peak = std::max(peak, square);
    ++count;
  }
  sizes[0].push_back(
      static_cast<float>(sum / static_cast<double>(std::max<std::size_t>(count, 1))));
  sizes[1].push_back(static_cast<float>(peak));
  sizes[2].push_back(count == part.size() ? 1 : 0);
  sizes[3].push_back(is_infinite ? 1 : 0);
  sizes[4].push_back(is_bytes ? 1 : 0);
}

}  // namespace

std::vector<SampleSizes> Calibration::sizes(const ir::Graph& graph,
                                            std::span<const ir::ValueId> values) const {
  const runtime::Stream answers = stream(graph, values, {}, data_.size());
  const auto measure = [&](const runtime::Batch& batch) {
    std::vector<std::vector<float>> found;
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::array<std::vector<float>, kNumSizes> sizes;
      const ir::Value& value = graph.value(values[i]);
      for (const auto part : parts_of(batch.outputs[i], value, answers.batch_size(batch.part))) {
        add_size(part, sizes);
      }
      for (std::vector<float>& each : sizes) {
        each.resize(batch.count, each.front());
        found.push_back(std::move(each));
      }
    }
    return found;
  };
  std::size_t most = 0;
  for (std::size_t part = 0; part < answers.num_parts(); ++part) {
    most = std::max(most, answers.batch_size(part));
  }
  auto found = answers.collect(kNumSizes * values.size(), most, measure);
  std::vector<SampleSizes> result;
  for (std::size_t i = 0; i < found.size(); i += kNumSizes) {
    result.push_back({std::move(found[i]),
                      std::move(found[i + 1]),
                      {found[i + 2].begin(), found[i + 2].end()},
                      {found[i + 3].begin(), found[i + 3].end()},
                      {found[i + 4].begin(), found[i + 4].end()}});
  }
  return result;
}

CollectedValues Calibration::collect(const ir::Graph& graph, std::array<ir::ValueId, 2> values,
                                     std::size_t samples) const {
  const data::Dataset* like = samples_like(graph);
  if (like == nullptr) return {};
  // Batches of the cut are those of all samples, in which the first size comes first.
  const bool from_cut = like == data_.parts().data() && samples >= std::min(batch_, like->size());
  std::vector<runtime::StreamPart> one = stream_parts(*like, graph, {}, samples);
  narrow(one.front(), values, from_cut);
  const runtime::Stream answers =
      stream(std::move(one), {}, LayerValues::kFitted, ir::fixed_batch(graph).has_value());
  std::array<const ir::Value*, 2> names{&graph.value(values[0]), &graph.value(values[1])};
  const auto copy = [&](const runtime::Batch& batch) {
    std::vector<std::vector<float>> found(3);
    std::array<std::vector<std::span<const float>>, 2> parts;
    for (std::size_t v = 0; v < 2; ++v) {
      check_finite(batch.outputs[v].as<float>(), *names[v]);
      parts[v] = parts_of(batch.outputs[v], *names[v], answers.batch_size());
    }
    if (parts[0].size() != parts[1].size()) {
      for (std::size_t v = 0; v < 2; ++v) parts[v] = {batch.outputs[v].as<float>()};
    }
    for (std::size_t i = 0; i < parts[0].size(); ++i) {
      if (data_.has_gaps() && !(has_no_gap(parts[0][i]) && has_no_gap(parts[1][i]))) continue;
      for (std::size_t v = 0; v < 2; ++v) {
        found[v].insert(found[v].end(), parts[v][i].begin(), parts[v][i].end());
      }
      found[2].resize(found[2].size() + (parts[0].size() == 1 ? batch.count : 1));
    }
    return found;
  };
  const auto elements = [&](ir::ValueId id) {
    return graph.value(id).type.shape.with_batch(answers.batch_size()).element_count();
  };
  const std::size_t most =
      std::max({elements(values[0]), elements(values[1]), answers.batch_size()});
  std::vector<std::vector<float>> found = answers.collect(3, most, copy);
  return {{std::move(found[0]), std::move(found[1])}, std::min(found[2].size(), samples)};
}

}  // namespace halftone::compress
