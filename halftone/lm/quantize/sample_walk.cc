// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/sample_walk.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "halftone/base/elementary.h"
#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/compress/fit/second_moments.h"
#include "halftone/lm/quantize/logits.h"
#include "halftone/runtime/execute/session.h"

namespace halftone::lm {
namespace {

/// Samples of one run. More would take memory and save no time.
constexpr std::size_t kRunSamples = 4;

/// Logits of a run, unless one row has more, and its rows, at most.
constexpr std::size_t kMaxLogits = std::size_t{1} << 24;
constexpr std::size_t kMaxHeadRows = 128;

/// Of so many tokens of a sample one is predicted, unless there are fewer than the second number.
constexpr std::size_t kMaxLossStep = 8;
constexpr std::size_t kMinPredicted = 16;

runtime::Session float_session(ir::Graph graph, int threads, std::size_t batch = kRunSamples) {
  runtime::PlanSettings options{batch, threads, {}};
  options.execution.int8_activations = false;
  options.execution.float_order = runtime::FloatOrder::kFixed;
  return runtime::Session(runtime::make_plan(std::move(graph), options));
}

/// The moments of one input while samples run.
struct MomentSums {
  MomentSums(const ProductInput& of, std::size_t width) : input(of), fit(width), held_out(width) {}

  /// Adds the rows of some samples, of which the first `num_fit` are to be fitted.
  /// @param values  [samples, size], each of whole rows
  void add(const float* values, std::size_t samples, std::size_t size, std::size_t num_fit) {
    const std::size_t width = fit.num_inputs();
    for (std::size_t s = 0; s < samples; ++s) {
      compress::SecondMoments& to = s < num_fit ? fit : held_out;
      to.add(MatrixView<const float>(values + s * size, size / width, width, width));
    }
  }

  const ProductInput& input;
  compress::SecondMoments fit;
  compress::SecondMoments held_out;
};

std::vector<MomentSums> sums_of(const SamplePart& part, const WantedMatrix& wanted) {
  std::vector<MomentSums> sums;
  for (const ProductInput& input : part.inputs) {
    if (std::ranges::none_of(input.matrices, wanted)) continue;
    const ir::ValueId value = part.graph.outputs()[input.output];
    sums.emplace_back(input, static_cast<std::size_t>(part.graph.value(value).type.shape.back()));
  }
  return sums;
}

/// -log p of a token, in nats.
double loss_of(std::span<const float> logits, TokenId token) {
  const double largest = largest_logit(logits);
  double sum = 0;
  for (const float logit : logits) sum += elementary::exp(static_cast<double>(logit) - largest);
  const auto own = static_cast<double>(logits[static_cast<std::size_t>(token)]);
  return elementary::log(sum) + largest - own;
}

/// A token of a sample that predicts the next one.
struct Prediction {
  std::size_t sample = 0;
  std::size_t token = 0;
};

/// Those that a loss is the mean of, for samples of so many tokens each.
std::vector<Prediction> predictions_of(std::size_t samples, std::size_t tokens) {
  const std::size_t step = std::clamp((tokens - 1) / kMinPredicted, std::size_t{1}, kMaxLossStep);
  std::vector<Prediction> predictions;
  for (std::size_t s = 0; s < samples; ++s) {
    for (std::size_t t = step - 1; t + 1 < tokens; t += step) predictions.push_back({s, t});
  }
  return predictions;
}

}  // namespace

SampleWalk::SampleWalk(const Description& description, const Weights& weights,
                       const Samples& samples, int threads)
    : description_(description), weights_(weights), samples_(samples), threads_(threads) {
  ir::Graph graph = build_sample_embedding(description, weights, samples.tokens);
  sample_size_ = size_of(graph, graph.outputs()[0]);
  rows_.resize(num_samples() * sample_size_);
  runtime::Session session = float_session(std::move(graph), threads);
  const std::span<std::int32_t> ids = session.input_as<std::int32_t>(0);
  for (std::size_t first = 0; first < num_samples(); first += kRunSamples) {
    const std::size_t count = std::min(kRunSamples, num_samples() - first);
    for (std::size_t i = 0; i < count; ++i) {
      HALFTONE_ASSERT(sample(first + i).size() == samples.tokens);
      std::ranges::copy(sample(first + i),
                        ids.begin() + static_cast<std::ptrdiff_t>(i * samples.tokens));
    }
    session.run();
    std::memcpy(rows_.data() + first * sample_size_, session.output(0).bytes.data(),
                count * sample_size_ * sizeof(float));
  }
}

std::size_t SampleWalk::size_of(const ir::Graph& graph, ir::ValueId value) {
  const ir::Shape& shape = graph.value(value).type.shape;
  return static_cast<std::size_t>(shape[1] * shape[2]);
}

const std::vector<TokenId>& SampleWalk::sample(std::size_t index) const {
  const std::size_t num_fit = samples_.fit.size();
  return index < num_fit ? samples_.fit[index] : samples_.held_out[index - num_fit];
}

std::vector<InputMoments> SampleWalk::next_block() {
  return next_block([](const WeightId& /*id*/) { return true; });
}

std::vector<InputMoments> SampleWalk::next_block(const WantedMatrix& wanted) {
  HALFTONE_ASSERT(block_ < description_.blocks);
  auto moments = run(build_sample_block(description_, weights_, samples_.tokens, block_), wanted,
                     /*replaces_rows=*/true);
  ++block_;
  return moments;
}

InputMoments SampleWalk::head() {
  HALFTONE_ASSERT(block_ == description_.blocks);
  return std::move(run(
      build_sample_head(description_, weights_, samples_.tokens),
      [](const WeightId& /*id*/) { return true; }, /*replaces_rows=*/false)[0]);
}

std::vector<double> SampleWalk::losses(const ProgressSink& progress) {
  HALFTONE_ASSERT(block_ == description_.blocks);
  const std::size_t vocabulary = description_.vocabulary;
  const std::size_t width = description_.width;
  const std::vector<Prediction> predictions = predictions_of(num_samples(), samples_.tokens);
  // Rows do not see each other, so that a run may have some of several samples.
  const std::size_t most = std::clamp(kMaxLogits / vocabulary, std::size_t{1}, kMaxHeadRows);
  runtime::Session session =
      float_session(build_sample_logits(description_, weights_, 1).graph, threads_, most);
  std::vector<double> each(predictions.size());
  for (std::size_t first = 0; first < each.size(); first += most) {
    if (progress) {
      progress(static_cast<double>(first) / static_cast<double>(each.size()),
               "loss of the float model");
    }
    const std::size_t count = std::min(most, each.size() - first);
    std::byte* input = session.input(0).data();
    for (std::size_t i = 0; i < count; ++i) {
      const auto [s, t] = predictions[first + i];
      std::memcpy(input + i * width * sizeof(float), rows(s).data() + t * width,
                  width * sizeof(float));
    }
    session.run();
    const auto* logits = reinterpret_cast<const float*>(session.output(0).bytes.data());
    parallel_for(count, [&](std::size_t i) {
      const Prediction& of = predictions[first + i];
      each[first + i] =
          loss_of({logits + i * vocabulary, vocabulary}, sample(of.sample)[of.token + 1]);
    });
  }
  std::vector<double> losses(num_samples());
  for (std::size_t i = 0; i < each.size(); ++i) losses[predictions[i].sample] += each[i];
  const std::size_t of_sample = each.size() / num_samples();
  for (double& loss : losses) loss /= static_cast<double>(of_sample);
  return losses;
}

std::vector<InputMoments> SampleWalk::run(const SamplePart& part, const WantedMatrix& wanted,
                                          bool replaces_rows) {
  runtime::Session session = float_session(part.graph, threads_);
  std::vector<MomentSums> sums = sums_of(part, wanted);
  const std::size_t next_size =
      replaces_rows ? size_of(part.graph, part.graph.outputs()[0]) : sample_size_;
  std::vector<float> next(next_size == sample_size_ ? 0 : num_samples() * next_size);
  const std::size_t num_fit = samples_.fit.size();
  for (std::size_t first = 0; first < num_samples(); first += kRunSamples) {
    const std::size_t count = std::min(kRunSamples, num_samples() - first);
    float* rows = rows_.data() + first * sample_size_;
    std::memcpy(session.input(0).data(), rows, count * sample_size_ * sizeof(float));
    session.run();
    if (replaces_rows) {
      float* to = next.empty() ? rows : next.data() + first * next_size;
      std::memcpy(to, session.output(0).bytes.data(), count * next_size * sizeof(float));
    }
    for (MomentSums& each : sums) {
      const std::span<const std::byte> bytes = session.output(each.input.output).bytes;
      each.add(reinterpret_cast<const float*>(bytes.data()), count,
               bytes.size() / sizeof(float) / kRunSamples, num_fit - std::min(num_fit, first));
    }
  }
  if (!next.empty()) rows_ = std::move(next);
  sample_size_ = next_size;
  std::vector<InputMoments> result;
  for (MomentSums& each : sums) {
    with_context("inputs of " + to_string(each.input.matrices[0]), [&] {
      result.push_back({each.input.matrices, each.fit.num_inputs(), each.fit.finish(), {}});
      if (!samples_.held_out.empty()) result.back().held_out = each.held_out.finish();
    });
  }
  return result;
}

}  // namespace halftone::lm
