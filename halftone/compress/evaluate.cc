// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/evaluate.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/compress/feed.h"
#include "halftone/compress/output_loss.h"
#include "halftone/ir/extent.h"
#include "halftone/numerics/distortion.h"
#include "halftone/runtime/execute/stream.h"

namespace halftone::compress {
namespace {

/// Values that are NaN or infinite may be in masked rows, but not make a score so.
/// @throws Error kFormat if they do: the sample
void check_scores(std::span<const float> scores, const data::Dataset& data, std::size_t sample) {
  if (std::ranges::all_of(scores, [](float x) { return std::isfinite(x); })) return;
  data.check_finite(sample);
}

/// Both networks in one graph, or the only one; their inputs one after another. For the samples of
/// one size.
struct Contest {
  runtime::StreamPart part;
  std::size_t scores = 0;  ///< per sample; 0: their number depends on data
};

/// A network with its first output alone.
ir::Graph compared(ir::Graph graph) {
  graph.set_outputs({graph.outputs()[0]});
  if (!graph.definitions().empty()) graph.remove_unused_nodes();
  return graph;
}

Contest prepare(const ir::Graph& graph, const data::Dataset& data, const ir::Graph* reference,
                const EvaluateSettings& options) {
  Contest contest;
  contest.part.graph = graph;
  contest.part.num_samples = data.size();
  Feed own = with_context(options.network, [&] { return make_feed(data, graph); });
  contest.part.fill = own.fill;
  contest.part.fixed_batch = own.fixed_batch;
  contest.part.batch_axes = own.batch_axes;
  if (reference == nullptr) return contest;
  const ir::Graph& other = *reference;
  contest.part.graph.append(other);
  const std::size_t own_inputs = graph.inputs().size();
  Feed theirs = with_context(options.reference, [&] { return make_feed(data, other); });
  if (own.fixed_batch && theirs.fixed_batch && *own.fixed_batch != *theirs.fixed_batch) {
    fail(ErrorKind::kShape, options.reference + ": expected " + std::to_string(*own.fixed_batch) +
                                " samples per run, like the network, found " +
                                std::to_string(*theirs.fixed_batch));
  }
  if (!own.fixed_batch) contest.part.fixed_batch = theirs.fixed_batch;
  contest.part.batch_axes.insert(contest.part.batch_axes.end(), theirs.batch_axes.begin(),
                                 theirs.batch_axes.end());
  contest.part.fill = [own = std::move(own.fill), own_inputs, theirs = std::move(theirs.fill)](
                          std::size_t first, std::size_t count, std::size_t input,
                          std::span<float> values) {
    if (input < own_inputs) {
      own(first, count, input, values);
    } else {
      theirs(first, count, input - own_inputs, values);
    }
  };
  return contest;
}

/// Counts over samples; a tree of arrays, so that batches can be added.
struct Counts {
  spmd::Array answers;  ///< int64 [4] samples, correct, correct by the reference, equal
  spmd::Array moved;    ///< float64 [4] signal and noise of the scores; divergence, its weight

  static auto members(auto& self) { return std::tie(self.answers, self.moved); }
};

/// Adds the difference of two lists. What only one of them has is noise, as if the other were zero
/// there.
void add_all(numerics::Distortion& distortion, std::span<const float> reference,
             std::span<const float> scores) {
  const std::size_t both = std::min(reference.size(), scores.size());
  distortion.add(reference.first(both), scores.first(both));
  const std::vector<float> none(std::max(reference.size(), scores.size()) - both);
  distortion.add(reference.size() > both ? reference.subspan(both) : std::span(none),
                 scores.size() > both ? scores.subspan(both) : std::span(none));
}

/// Counts over the samples of a batch.
class Score {
 public:
  /// @param classes     0: as many as there are scores, which depends on data
  /// @param divergence  null: there is none
  Score(const data::Dataset& data, std::size_t classes, const OutputLoss* divergence)
      : data_(data), classes_(classes), divergence_(divergence) {}

  void add(std::size_t sample, std::span<const float> scores, std::span<const float> reference) {
    const std::int64_t found = predicted_class(scores);
    if (data_.has_labels()) {
      const std::int64_t label = checked_label(sample);
      right_ += found == label ? 1 : 0;
      if (!reference.empty()) reference_right_ += predicted_class(reference) == label ? 1 : 0;
    }
    if (!reference.empty()) {
      agreed_ += predicted_class(reference) == found ? 1 : 0;
      add_all(distortion_, reference, scores);
      if (divergence_ != nullptr) {
        const LossSum sum = divergence_->of(sample, reference, scores);
        diverged_.loss += sum.loss;
        diverged_.weight += sum.weight;
      }
    }
    ++samples_;
  }

  [[nodiscard]] Counts counts() const {
    return {spmd::Array::of({samples_, right_, reference_right_, agreed_}),
            spmd::Array::of(
                {distortion_.signal(), distortion_.noise(), diverged_.loss, diverged_.weight})};
  }

 private:
  [[nodiscard]] std::int64_t checked_label(std::size_t sample) const {
    const std::int64_t label = data_.label(sample);
    if (classes_ == 0) return label;
    const auto classes = static_cast<std::int64_t>(std::max<std::size_t>(classes_, 2));
    if (label < 0 || label >= classes) {
      fail(ErrorKind::kFormat, data_.name() + ": label of sample " +
                                   std::to_string(data_.origin(sample)) + ": expected 0 to " +
                                   std::to_string(classes - 1) + ", found " +
                                   std::to_string(label));
    }
    return label;
  }

  const data::Dataset& data_;
  std::size_t classes_;
  const OutputLoss* divergence_;
  LossSum diverged_;
  std::int64_t samples_ = 0;
  std::int64_t right_ = 0;
  std::int64_t reference_right_ = 0;
  std::int64_t agreed_ = 0;
  numerics::Distortion distortion_;
};

Evaluation evaluation_of(const Counts& counts, bool has_labels, bool with_reference) {
  const auto found = counts.answers.as<std::int64_t>();
  const auto fraction = [&](std::size_t i) {
    return static_cast<double>(found[i]) / static_cast<double>(found[0]);
  };
  Evaluation evaluation;
  evaluation.samples = static_cast<std::size_t>(found[0]);
  evaluation.metric = has_labels ? "accuracy" : "agreement";
  evaluation.value = fraction(has_labels ? 1 : 3);
  if (with_reference) {
    const auto moved = counts.moved.as<double>();
    const numerics::Distortion distortion(evaluation.samples, moved[0], moved[1]);
    evaluation.reference = Comparison{{}, fraction(3), distortion.sqnr_db(), {}};
    if (moved[3] > 0) evaluation.reference->divergence = moved[2] / moved[3];
    if (has_labels) evaluation.reference->value = fraction(2);
  }
  return evaluation;
}

/// Whether the number of scores depends on data.
bool has_computed_size(const ir::Graph& graph) {
  return ir::has_expressions(graph.value(graph.outputs()[0]).type.shape);
}

/// Scores per sample of both networks; 0 if their number depends on data.
std::size_t common_scores(const ir::Graph& graph, const ir::Graph* reference,
                          std::size_t fixed_batch, const EvaluateSettings& options) {
  if (has_computed_size(graph) || (reference != nullptr && has_computed_size(*reference))) return 0;
  const std::size_t scores = scores_per_sample(graph, fixed_batch, options.network);
  if (reference == nullptr) return scores;
  const std::size_t theirs = scores_per_sample(*reference, fixed_batch, options.reference);
  if (theirs != scores) {
    fail(ErrorKind::kShape, options.reference + ": expected " + std::to_string(scores) +
                                " scores per sample, found " + std::to_string(theirs));
  }
  return scores;
}

/// The contest of each size of samples.
std::vector<Contest> contests_of(const ir::Graph& graph, const data::Dataset& data,
                                 const ir::Graph* reference, const EvaluateSettings& options) {
  std::vector<Contest> contests;
  const auto add = [&](const data::Dataset& part) {
    const ir::Graph own = options.resize ? options.resize(graph, part) : graph;
    std::optional<ir::Graph> other;
    if (reference != nullptr) {
      other = options.resize_reference ? options.resize_reference(*reference, part) : *reference;
    }
    const ir::Graph* theirs = other ? &*other : nullptr;
    contests.push_back(prepare(own, part, theirs, options));
    contests.back().scores =
        common_scores(own, theirs, contests.back().part.fixed_batch.value_or(1), options);
  };
  if (data.parts().size() == 1) {
    add(data);
    return contests;
  }
  for (const data::Dataset& part : data.parts()) {
    with_context("sample " + std::to_string(part.origin(0)), [&] { add(part); });
  }
  return contests;
}

}  // namespace

std::int64_t predicted_class(std::span<const float> scores) {
  if (scores.size() == 1) return scores[0] > 0.5F ? 1 : 0;
  return std::ranges::max_element(scores) - scores.begin();
}

namespace {

/// The scores of a sample.
/// @param scores  per sample; 0: the batch is one sample
std::span<const float> scores_of(const runtime::Batch& batch, std::size_t output,
                                 std::size_t sample, std::size_t scores) {
  const std::span<const float> all = batch.outputs[output].as<float>();
  return scores == 0 ? all : all.subspan(sample * scores, scores);
}

/// The samples of a run: what depends on one sample must not depend on others.
std::size_t batch_for(const ir::Graph& graph, const ir::Graph* reference, std::size_t batch) {
  const bool is_computed =
      !graph.definitions().empty() || (reference != nullptr && !reference->definitions().empty());
  return is_computed ? 1 : batch;
}

}  // namespace

Evaluation evaluate(const ir::Graph& network, const data::Dataset& data, const ir::Graph* other,
                    const EvaluateSettings& options) {
  const ir::Graph graph = compared(network);
  const std::optional<ir::Graph> theirs_alone =
      other == nullptr ? std::nullopt : std::optional(compared(*other));
  const ir::Graph* reference = theirs_alone ? &*theirs_alone : nullptr;
  if (!data.has_labels() && reference == nullptr) {
    fail(ErrorKind::kUsage,
         data.name() + ": has no labels; give a reference network to compare with",
         Hint::kReference);
  }
  const data::Dataset tolerant = data.with_gaps();
  std::vector<Contest> contests = contests_of(graph, tolerant, reference, options);
  std::optional<OutputLoss> divergence;
  const bool has_rows = reference != nullptr && contests.front().scores > 0;
  if (has_rows && default_loss(*reference, data) == LossKind::kDivergence) {
    divergence.emplace(*reference, data, LossKind::kDivergence, contests.front().scores);
    divergence->allow_rounding_of(graph);
  }
  const auto count = [&](const runtime::Batch& batch) {
    const std::size_t classes = contests[batch.part].scores;
    Score score(data, classes, divergence ? &*divergence : nullptr);
    for (std::size_t i = 0; i < batch.count; ++i) {
      const auto scores = [&](std::size_t output) { return scores_of(batch, output, i, classes); };
      const auto theirs = reference == nullptr ? std::span<const float>() : scores(1);
      check_scores(scores(0), data, batch.first + i);
      score.add(batch.first + i, scores(0), theirs);
      if (options.visit) options.visit(batch.first + i, scores(0), theirs);
    }
    return score.counts();
  };
  std::vector<runtime::StreamPart> parts;
  for (Contest& contest : contests) parts.push_back(std::move(contest.part));
  const runtime::Stream stream(std::move(parts),
                               {.batch = batch_for(graph, reference, options.batch),
                                .progress = options.progress,
                                .devices = options.devices,
                                .execution = options.execution});
  return evaluation_of(stream.sum(count), data.has_labels(), reference != nullptr);
}

}  // namespace halftone::compress
