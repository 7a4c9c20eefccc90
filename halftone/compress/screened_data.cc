// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/screened_data.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <sstream>

#include "halftone/base/error.h"
#include "halftone/compress/calibration.h"
#include "halftone/compress/fit/glitches.h"
#include "halftone/compress/layers.h"
#include "halftone/compress/remembered_states.h"
#include "halftone/ir/ops/traits.h"

namespace halftone::compress {
namespace {

using ir::ValueId;

constexpr std::size_t kFewSamples = 32;

struct FirstValues {
  std::vector<ValueId> values;
  std::vector<ValueId> of_layers;  ///< those that a layer reads
};

/// The float inputs of the network and of the layers that no other layer precedes.
FirstValues first_values(const ir::Graph& graph) {
  FirstValues first;
  std::vector<ValueId>& values = first.values;
  const auto add = [&](ValueId id) {
    const bool is_float = graph.value(id).type.is_dense(ir::ElementType::kFloat32);
    if (is_float && std::ranges::count(values, id) == 0) values.push_back(id);
  };
  for (const ValueId id : graph.inputs()) add(id);
  const std::vector<ir::NodeId> layers = quantizable_layers(graph);
  std::set<ValueId> behind;  // a layer
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    const bool follows =
        std::ranges::any_of(node.inputs, [&](ValueId input) { return behind.contains(input); });
    const bool is_layer = std::ranges::count(layers, id) > 0;
    if (is_layer && !follows && !ir::is_table(node.op)) {
      add(node.inputs[0]);
      first.of_layers.push_back(node.inputs[0]);
    }
    if (is_layer || follows) behind.insert(node.output);
  }
  return first;
}

/// The float values that layers read.
std::vector<ValueId> layer_inputs(const ir::Graph& graph) {
  std::vector<ValueId> inputs;
  for (const ir::NodeId id : quantizable_layers(graph)) {
    const ir::Node& node = graph.node(id);
    if (!ir::is_table(node.op)) inputs.push_back(node.inputs[0]);
  }
  return inputs;
}

bool has_infinite_constant(const ir::Graph& graph) {
  for (std::size_t v = 0; v < graph.num_values(); ++v) {
    const ir::Constant* constant = graph.constant(ValueId{static_cast<std::uint32_t>(v)});
    const auto* dense = constant == nullptr ? nullptr : std::get_if<ir::Tensor>(constant);
    if (dense == nullptr || dense->element() != ir::ElementType::kFloat32) continue;
    const auto is_infinite = [](float x) { return std::isinf(x); };
    if (std::ranges::any_of(dense->as<float>(), is_infinite)) return true;
  }
  return false;
}

/// "sample 7", "samples 7, 9 and 11", "samples 1, 2, 3 and 40 others".
std::string listed(const data::Dataset& data, const std::vector<std::size_t>& samples) {
  constexpr std::size_t kMost = 4;
  const std::size_t named = samples.size() <= kMost ? samples.size() : kMost - 1;
  std::string text = samples.size() == 1 ? "sample " : "samples ";
  for (std::size_t i = 0; i < named; ++i) {
    const bool is_last = i + 1 == samples.size();
    text += (i == 0 ? "" : is_last ? " and " : ", ") + std::to_string(data.origin(samples[i]));
  }
  if (named < samples.size()) text += " and " + std::to_string(samples.size() - named) + " others";
  return text;
}

std::string text_of(double number) {
  std::ostringstream text;
  text.precision(3);
  text << number;
  return text.str();
}

/// Looks at the samples of a fit, one matter after another.
class Screening {
 public:
  Screening(const ir::Graph& graph, const data::Dataset& data, const spmd::Devices& devices,
            const Resize& resize)
      : graph_(graph),
        devices_(devices),
        resize_(resize),
        first_(first_values(graph)),
        result_{data} {
    if (!first_.values.empty()) sizes_ = sizes_of(data, first_.values);
  }

  [[nodiscard]] ScreenedData take() { return std::move(result_); }

  void allow_gaps() {
    if (sizes_.empty() || result_.data.has_gaps()) return;
    const data::Dataset& all = result_.data;
    std::vector<std::size_t> samples = with_gaps(sizes_);
    // Where a row is masked as a whole, infinite constants make a softmax NaN.
    if (samples.empty() && has_infinite_constant(graph_)) {
      samples = with_gaps(sizes_of(all, layer_inputs(graph_)));
    }
    if (samples.empty()) return;
    // What follows a layer may make any output of an infinity finite, as tanh does.
    for (const std::size_t i : samples) {
      if (is_infinite_in_layers(i)) all.check_finite(i);
    }
    const std::vector<ValueId> outputs = float_outputs();
    if (!outputs.empty()) {
      const std::vector<std::size_t> wrong = with_gaps(sizes_of(all.only(samples), outputs));
      for (const std::size_t i : wrong) all.check_finite(samples[i]);
      if (!wrong.empty()) return;  // which the fit says of the value that it meets first
    }
    result_.warnings.push_back(
        all.name() + ": " + listed(all, samples) + (samples.size() == 1 ? " has" : " have") +
        " values that are NaN or infinite but do not reach the outputs; rows with them are left "
        "out of the fit");
    result_.data = all.with_gaps();
  }

  void leave_out_glitches() {
    std::map<std::size_t, std::string> found;  // by sample: why
    for (std::size_t v = 0; v < sizes_.size(); ++v) {
      const std::string& name = graph_.value(first_.values[v]).name;
      for (const auto& [sizes, what] : {std::pair(&sizes_[v].peak, "largest magnitude"),
                                        std::pair(&sizes_[v].mean_square, "root mean square")}) {
        for (const std::size_t sample : glitches(*sizes)) {
          found.try_emplace(sample, std::string("the ") + what + " of '" + name + "' is " +
                                        text_of(std::sqrt(double{(*sizes)[sample]})) +
                                        " there, where the median of all samples is " +
                                        text_of(std::sqrt(median(*sizes))));
        }
      }
    }
    if (found.empty()) return;
    const data::Dataset& all = result_.data;
    std::vector<std::size_t> left_out;
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < all.size(); ++i) {
      (found.contains(i) ? left_out : kept).push_back(i);
    }
    result_.warnings.push_back(all.name() + ": " + listed(all, left_out) +
                               (left_out.size() == 1 ? " is" : " are") +
                               " left out of the fit: " + found.begin()->second +
                               (left_out.size() == 1 ? "" : " (in the first)"));
    result_.data = all.only(kept);
  }

  void warn_of_few_samples() {
    const std::size_t samples = result_.data.size();
    if (samples >= kFewSamples) return;
    result_.warnings.push_back(result_.data.name() + ": " + std::to_string(samples) +
                               (samples == 1 ? " sample says" : " samples say") +
                               " little of what the network will see; some hundreds are better");
  }

  /// Pixels that nobody scales: the networks that read them so are few.
  void warn_of_bytes() {
    constexpr float kLeastPeak = 200.0F * 200.0F;
    constexpr std::size_t kLeastElements = 64;
    for (std::size_t v = 0; v < sizes_.size(); ++v) {
      const ir::Value& value = graph_.value(first_.values[v]);
      const SampleSizes& sizes = sizes_[v];
      const bool is_read = std::ranges::count(first_.of_layers, first_.values[v]) > 0;
      const bool is_large = value.type.shape.with_batch(1).element_count() >= kLeastElements;
      const auto is_set = [](std::uint8_t flag) { return flag != 0; };
      if (!is_read || !is_large || !std::ranges::all_of(sizes.is_bytes, is_set)) continue;
      if (std::ranges::none_of(sizes.peak, [&](float peak) { return peak >= kLeastPeak; }))
        continue;
      result_.warnings.push_back(
          result_.data.name() + ": the first layer reads '" + value.name +
          "' as whole numbers from 0 to 255, like pixels that are not scaled: if the network was "
          "trained on 0 to 1, divide them by 255");
      return;
    }
  }

 private:
  [[nodiscard]] std::vector<SampleSizes> sizes_of(const data::Dataset& data,
                                                  std::span<const ValueId> values) const {
    const data::Dataset tolerant = data.with_gaps();
    const Calibration calibration(tolerant, calibration_batch(graph_, quantizable_layers(graph_)),
                                  devices_, std::nullopt, resize_);
    return calibration.sizes(graph_, values);
  }

  /// Those with a value that is not finite.
  [[nodiscard]] static std::vector<std::size_t> with_gaps(const std::vector<SampleSizes>& sizes) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < sizes.front().is_finite.size(); ++i) {
      const bool all = std::ranges::all_of(
          sizes, [i](const SampleSizes& value) { return value.is_finite[i] != 0; });
      if (!all) found.push_back(i);
    }
    return found;
  }

  /// Whether a first layer reads an infinity in a sample.
  [[nodiscard]] bool is_infinite_in_layers(std::size_t sample) const {
    for (std::size_t v = 0; v < sizes_.size(); ++v) {
      const bool is_read = std::ranges::count(first_.of_layers, first_.values[v]) > 0;
      if (is_read && sizes_[v].is_infinite[sample] != 0) return true;
    }
    return false;
  }

  [[nodiscard]] std::vector<ValueId> float_outputs() const {
    std::vector<ValueId> outputs;
    for (const ValueId id : graph_.outputs()) {
      if (graph_.value(id).type.is_dense(ir::ElementType::kFloat32)) outputs.push_back(id);
    }
    return outputs;
  }

  static double median(std::vector<float> sizes) {
    std::ranges::nth_element(sizes, sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2));
    return sizes[sizes.size() / 2];
  }

  const ir::Graph& graph_;
  const spmd::Devices& devices_;
  const Resize& resize_;
  FirstValues first_;
  std::vector<SampleSizes> sizes_;  ///< by value
  ScreenedData result_;
};

}  // namespace

ScreenedData screened(const ir::Graph& graph, const data::Dataset& data,
                      const spmd::Devices& devices, const Resize& resize) {
  Screening screening(graph, with_states(graph, data), devices, resize);
  screening.allow_gaps();
  screening.leave_out_glitches();
  screening.warn_of_few_samples();
  screening.warn_of_bytes();
  return screening.take();
}

data::Dataset with_masked_gaps(const ir::Graph& graph, const data::Dataset& data,
                               const spmd::Devices& devices, const Resize& resize) {
  Screening screening(graph, data, devices, resize);
  screening.allow_gaps();
  return screening.take().data;
}

}  // namespace halftone::compress
