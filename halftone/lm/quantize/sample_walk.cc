// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/sample_walk.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/compress/fit/second_moments.h"
#include "halftone/runtime/execute/session.h"

namespace halftone::lm {
namespace {

/// Samples of one run. More would take memory and save no time.
constexpr std::size_t kRunSamples = 4;

runtime::Session float_session(ir::Graph graph, int threads) {
  runtime::PlanOptions options{kRunSamples, threads, {}};
  options.execution.int8_activations = false;
  options.execution.float_order = runtime::FloatOrder::kFixed;
  return runtime::Session(runtime::make_plan(std::move(graph), options));
}

/// The moments of one input while samples run.
struct MomentSums {
  explicit MomentSums(std::size_t width) : fit(width), held_out(width) {}
  compress::SecondMoments fit;
  compress::SecondMoments held_out;
};

}  // namespace

SampleWalk::SampleWalk(const Description& description, const Weights& weights,
                       const Samples& samples, int threads)
    : description_(description),
      weights_(weights),
      samples_(samples),
      threads_(threads),
      sample_size_(samples.tokens * description.width),
      rows_(num_samples() * sample_size_) {
  std::vector<const std::vector<TokenId>*> all;
  for (const auto& sample : samples.fit) all.push_back(&sample);
  for (const auto& sample : samples.held_out) all.push_back(&sample);
  runtime::Session session =
      float_session(build_sample_embedding(description, weights, samples.tokens), threads);
  const std::span<std::int32_t> ids = session.input_as<std::int32_t>(0);
  for (std::size_t first = 0; first < all.size(); first += kRunSamples) {
    const std::size_t count = std::min(kRunSamples, all.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      HALFTONE_ASSERT(all[first + i]->size() == samples.tokens);
      std::ranges::copy(*all[first + i],
                        ids.begin() + static_cast<std::ptrdiff_t>(i * samples.tokens));
    }
    session.run();
    std::memcpy(rows_.data() + first * sample_size_, session.output(0).bytes.data(),
                count * sample_size_ * sizeof(float));
  }
}

std::vector<InputMoments> SampleWalk::next_block() {
  HALFTONE_ASSERT(block_ < description_.blocks);
  auto moments = run(build_sample_block(description_, weights_, samples_.tokens, block_),
                     /*replaces_rows=*/true);
  ++block_;
  return moments;
}

InputMoments SampleWalk::head() {
  HALFTONE_ASSERT(block_ == description_.blocks);
  return std::move(run(build_sample_head(description_, weights_, samples_.tokens), false)[0]);
}

std::vector<InputMoments> SampleWalk::run(const SamplePart& part, bool replaces_rows) {
  runtime::Session session = float_session(part.graph, threads_);
  std::vector<MomentSums> sums;
  for (const ProductInput& input : part.inputs) {
    const ir::ValueId value = part.graph.outputs()[input.output];
    sums.emplace_back(static_cast<std::size_t>(part.graph.value(value).type.shape.back()));
  }
  const std::size_t num_fit = samples_.fit.size();
  for (std::size_t first = 0; first < num_samples(); first += kRunSamples) {
    const std::size_t count = std::min(kRunSamples, num_samples() - first);
    float* rows = rows_.data() + first * sample_size_;
    std::memcpy(session.input(0).data(), rows, count * sample_size_ * sizeof(float));
    session.run();
    if (replaces_rows) {
      std::memcpy(rows, session.output(0).bytes.data(), count * sample_size_ * sizeof(float));
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const std::size_t width = sums[i].fit.num_inputs();
      const std::span<const std::byte> bytes = session.output(part.inputs[i].output).bytes;
      const std::size_t size = bytes.size() / sizeof(float) / kRunSamples;  // of a sample
      const auto* values = reinterpret_cast<const float*>(bytes.data());
      for (std::size_t s = 0; s < count; ++s) {
        compress::SecondMoments& to = first + s < num_fit ? sums[i].fit : sums[i].held_out;
        to.add(MatrixView<const float>(values + s * size, size / width, width, width));
      }
    }
  }
  std::vector<InputMoments> result;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    result.push_back({part.inputs[i].matrices, sums[i].fit.num_inputs(), sums[i].fit.finish(), {}});
    if (!samples_.held_out.empty()) result.back().held_out = sums[i].held_out.finish();
  }
  return result;
}

}  // namespace halftone::lm
