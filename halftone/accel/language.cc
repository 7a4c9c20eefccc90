// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/language.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace halftone::accel {
namespace {

double real(std::size_t value) { return static_cast<double>(value); }

/// Builds the operations of one step.
class Builder {
 public:
  Builder(const LanguageWorkload& model, const LanguageSettings& settings, std::size_t tokens,
          std::size_t context)
      : model_(model),
        settings_(settings),
        tokens_(tokens),
        context_(context),
        rows_(settings.batch * tokens) {}

  std::vector<Operation> build() {
    const double table_row = real(model_.width) * stored("embedding").bits / 8;
    add_elements("embedding", "Gather", 0, 0).reads = {
        {TensorRole::kWeights, 0}, {TensorRole::kInputs, real(rows_) * table_row}};
    for (std::size_t i = 0; i < model_.layers; ++i) {
      block_ = "block " + std::to_string(i) + " ";
      window_ = model_.windowed.empty() || model_.windowed[i] ? model_.window : 0;
      attention();
      feed_forward();
    }
    block_.clear();
    normalize("norm");
    // Only the last token of each sequence is needed.
    layer("head", {settings_.batch, model_.width, model_.vocabulary}, false);
    return std::move(operations_);
  }

  /// The format of a matrix.
  [[nodiscard]] StoredMatrix stored(const std::string& name) const {
    const auto found = model_.stored.find(block_ + name);
    if (found != model_.stored.end()) return found->second;
    const double scale = settings_.group == 0 ? 0 : 16 / real(settings_.group);
    return {settings_.weights, settings_.weights.bits + scale};
  }

 private:
  struct Extents {
    std::size_t rows;
    std::size_t inner;
    std::size_t cols;
  };

  [[nodiscard]] double activation_bytes(double elements) const {
    return elements * settings_.activations.bits / 8;
  }

  Operation& add(const std::string& name, std::string op) {
    operations_.push_back({.name = block_ + name, .op = std::move(op)});
    return operations_.back();
  }

  /// @param operations, functions  of each element of the hidden state
  Operation& add_elements(const std::string& name, std::string op, double operations,
                          double functions) {
    const double elements = real(rows_) * real(model_.width);
    Operation& result = add(name, std::move(op));
    result.operations = operations * elements;
    result.functions = functions * elements;
    result.outputs = elements;
    result.reads = {{TensorRole::kInputs, activation_bytes(elements)}};
    result.writes = {{TensorRole::kOutputs, activation_bytes(elements)}};
    return result;
  }

  void normalize(const std::string& name) { add_elements(name, "Normalize", 6, 0); }

  /// @param joins  whether it is the second product of a pair, in a tensor split
  Operation& layer(const std::string& name, const Extents& extents, bool joins) {
    const StoredMatrix matrix = stored(name);
    Operation& result = add(name, "FullyConnected");
    result.product = {1,
                      extents.rows,
                      extents.inner,
                      extents.cols,
                      settings_.activations,
                      matrix.number,
                      settings_.activations.bits,
                      1};
    result.outputs = real(extents.rows) * real(extents.cols);
    result.reads = {
        {TensorRole::kInputs, activation_bytes(real(extents.rows) * real(extents.inner))},
        {TensorRole::kWeights, real(extents.inner) * real(extents.cols) * matrix.bits / 8}};
    result.writes = {{TensorRole::kOutputs, activation_bytes(result.outputs)}};
    result.joins_shares = joins;
    return result;
  }

  void attention() {
    const std::size_t queries = model_.heads * model_.head_width;
    const std::size_t keys = model_.kv_heads * model_.head_width;
    normalize("attention norm");
    layer("qkv", {rows_, model_.width, queries + 2 * keys}, false);
    // Two products and two sums for each pair of numbers; keys and values go to the cache.
    Operation& rotary = add_elements("rotary", "Rotary", 3, 0);
    rotary.in_shares = true;
    const double cached = 2 * real(rows_) * real(keys) * settings_.cache.bits / 8;
    rotary.writes.push_back({TensorRole::kStates, cached});
    attend();
    layer("attention output", {rows_, queries, model_.width}, true);
    add_elements("attention residual", "Add", 1, 0);
  }

  /// Scores, softmax and weighted sums of the values, one operation.
  void attend() {
    const std::size_t group = model_.heads / model_.kv_heads;
    std::size_t seen = context_;
    if (window_ > 0) seen = std::min(seen, window_);
    // The first of several new tokens sees fewer than the last one.
    const double mean = std::max(1.0, real(seen) - real(std::min(tokens_, seen) - 1) / 2);
    Operation& result = add("attention", "Attention");
    const std::size_t sequences = settings_.batch * model_.kv_heads;
    result.product = {sequences,
                      tokens_ * group,
                      model_.head_width,
                      2 * static_cast<std::size_t>(std::ceil(mean)),
                      settings_.activations,
                      attention_factor(),
                      settings_.activations.bits,
                      1};
    const double scores = real(settings_.batch) * real(model_.heads) * real(tokens_) * mean;
    result.operations = 4 * scores;
    result.functions = scores;
    result.outputs = real(rows_) * real(model_.heads * model_.head_width);
    const double cached = 2 * real(sequences) * real(seen) * real(model_.head_width);
    result.reads = {{TensorRole::kInputs, activation_bytes(result.outputs)},
                    {TensorRole::kStates, cached * settings_.cache.bits / 8}};
    result.writes = {{TensorRole::kOutputs, activation_bytes(result.outputs)}};
  }

  /// Keys and values are widened to the format of the activations where theirs is another kind.
  [[nodiscard]] Number attention_factor() const {
    return settings_.cache.is_float == settings_.activations.is_float ? settings_.cache
                                                                      : settings_.activations;
  }

  void feed_forward() {
    normalize("feed-forward norm");
    if (model_.experts > 1) {
      layer("router", {rows_, model_.width, model_.experts}, false);
      experts();
      if (model_.shared_inner > 0) network("shared expert", model_.shared_inner);
    } else {
      network("feed-forward", model_.inner);
    }
    add_elements("feed-forward residual", "Add", 1, 0);
  }

  void activate(const std::string& name, double elements) {
    Operation& result = add(name, "Silu");
    result.in_shares = true;
    const double up = model_.is_gated ? 2 : 1;
    result.operations = 2 * elements;
    result.functions = elements;
    result.outputs = elements;
    result.reads = {{TensorRole::kInputs, activation_bytes(up * elements)}};
    result.writes = {{TensorRole::kOutputs, activation_bytes(elements)}};
  }

  void network(const std::string& name, std::size_t inner) {
    const std::size_t up = model_.is_gated ? 2 * inner : inner;
    layer(name + " up", {rows_, model_.width, up}, false);
    activate(name + " activation", real(rows_) * real(inner));
    layer(name + " down", {rows_, inner, model_.width}, true);
  }

  void experts() {
    const double share = real(model_.active_experts) / real(model_.experts);
    const double expected = real(model_.experts) * (1 - std::pow(1 - share, real(rows_)));
    const auto read = static_cast<std::size_t>(std::ceil(expected - 1e-9));
    const std::size_t chosen = rows_ * model_.active_experts;
    const std::size_t rows = (chosen + read - 1) / read;
    const std::size_t up = model_.is_gated ? 2 * model_.inner : model_.inner;
    many(layer("experts up", {rows, model_.width, up}, false), read);
    activate("experts activation", real(chosen) * real(model_.inner));
    many(layer("experts down", {rows, model_.inner, model_.width}, true), read);
  }

  /// The same product with the weights of several experts.
  static void many(Operation& operation, std::size_t count) {
    operation.product.count = count;
    operation.outputs *= real(count);
    for (auto* list : {&operation.reads, &operation.writes}) {
      for (Transfer& each : *list) each.bytes *= real(count);
    }
  }

  const LanguageWorkload& model_;
  const LanguageSettings& settings_;
  std::size_t tokens_;
  std::size_t context_;
  std::size_t rows_;
  std::string block_;
  std::size_t window_ = 0;  ///< of the block
  std::vector<Operation> operations_;
};

double attention_parameters(const LanguageWorkload& model) {
  const double queries = real(model.heads) * real(model.head_width);
  const double keys = real(model.kv_heads) * real(model.head_width);
  return real(model.width) * (2 * queries + 2 * keys);
}

double network_parameters(const LanguageWorkload& model, std::size_t inner) {
  return (model.is_gated ? 3 : 2) * real(model.width) * real(inner);
}

double block_parameters(const LanguageWorkload& model, std::size_t experts) {
  const double router = model.experts > 1 ? real(model.width) * real(model.experts) : 0;
  return attention_parameters(model) + router +
         real(experts) * network_parameters(model, model.inner) +
         network_parameters(model, model.shared_inner);
}

/// The bytes of all weights, those of experts that a step does not read included.
double stored_bytes(const LanguageWorkload& model, const LanguageSettings& settings) {
  if (model.stored_bytes > 0) return model.stored_bytes;
  return model.parameters() * Builder(model, settings, 1, 1).stored("").bits / 8;
}

/// The smallest number of chips that fits; at most 4096.
std::size_t chips_needed(const Footprint& one, const Accelerator& accelerator) {
  const double room = accelerator.memories.front().bytes - one.activations;
  if (room <= 0) return 4096;
  const double chips = std::ceil((one.weights + one.states) / room);
  return static_cast<std::size_t>(std::clamp(chips, 1.0, 4096.0));
}

std::vector<BatchPoint> batch_points(const LanguageWorkload& model, LanguageSettings settings,
                                     const Accelerator& accelerator,
                                     const EstimateSettings& options) {
  constexpr std::size_t kMaxBatch = 1024;
  std::vector<BatchPoint> points;
  for (settings.batch = 1; settings.batch <= kMaxBatch; settings.batch *= 2) {
    if (options.split.kind == SplitKind::kData && settings.batch < options.split.chips) continue;
    const Workload workload = language_workload(model, settings, 1, settings.context);
    const Footprint need = footprint(workload, options.split);
    if (need.total() > accelerator.memories.front().bytes) break;
    points.push_back({settings.batch, estimate(workload, accelerator, options).seconds});
  }
  return points;
}

/// "int4"; "4.85 bits in the file".
std::string weights_text(const LanguageWorkload& model, const LanguageSettings& settings) {
  if (model.stored_bytes == 0) return to_string(settings.weights);
  return fmt::format("{:.2f} bits in the file", 8 * model.stored_bytes / model.parameters());
}

}  // namespace

double LanguageWorkload::parameters() const {
  const double tables = (ties_embeddings ? 1 : 2) * real(vocabulary) * real(width);
  return real(layers) * block_parameters(*this, experts) + tables;
}

double LanguageWorkload::active_parameters() const {
  return real(layers) * block_parameters(*this, active_experts) + real(vocabulary) * real(width);
}

Workload language_workload(const LanguageWorkload& model, const LanguageSettings& settings,
                           std::size_t tokens, std::size_t context) {
  Workload workload{model.name, settings.batch, Builder(model, settings, tokens, context).build()};
  const double keys = real(model.kv_heads) * real(model.head_width);
  workload.state_bytes = 2 * real(settings.batch) * real(model.layers) * real(context) * keys *
                         settings.cache.bits / 8;
  workload.stored_weight_bytes = stored_bytes(model, settings);
  return workload;
}

LanguageEstimate estimate_language(const LanguageWorkload& model, const LanguageSettings& settings,
                                   const Accelerator& accelerator,
                                   const EstimateSettings& options) {
  LanguageEstimate result{.parameters = model.parameters(),
                          .active_parameters = model.active_parameters(),
                          .weights = weights_text(model, settings),
                          .activations = to_string(settings.activations),
                          .cache = to_string(settings.cache),
                          .prompt_tokens = settings.prompt,
                          .context_tokens = settings.context};
  const Workload token = language_workload(model, settings, 1, settings.context);
  result.devices_needed = chips_needed(footprint(token, {}), accelerator);
  result.token = estimate(token, accelerator, options);
  const Workload prompt = language_workload(model, settings, settings.prompt, settings.prompt);
  result.prompt = estimate(prompt, accelerator, options);
  result.batches = batch_points(model, settings, accelerator, options);
  return result;
}

}  // namespace halftone::accel
