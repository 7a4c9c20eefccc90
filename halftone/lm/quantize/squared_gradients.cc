// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/squared_gradients.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "halftone/base/elementary.h"
#include "halftone/base/error.h"
#include "halftone/base/memory.h"
#include "halftone/base/parallel.h"
#include "halftone/base/random.h"
#include "halftone/gradient/tape.h"
#include "halftone/ir/evaluate_graph.h"
#include "halftone/ir/symbolic_batch.h"
#include "halftone/lm/model/build.h"
#include "halftone/lm/quantize/logits.h"

namespace halftone::lm {
namespace {

/// Logits that a thread holds at most, unless a row has more; and rows of the head at most.
constexpr std::size_t kMaxLogits = std::size_t{1} << 22;
constexpr std::size_t kMaxHeadRows = 128;

/// Sums of squares of the gradients of each output, per product of a part.
using SquareSums = std::vector<std::vector<double>>;

/// A part of a model for one sample at a time. Its tapes share the constants, as float32.
class TapedPart {
 public:
  explicit TapedPart(SamplePart part) : part_(std::move(part)) {
    ir::fill_in_batch(part_.graph, 1);
    std::vector<ir::ValueId> ids;
    for (std::uint32_t i = 0; i < part_.graph.num_values(); ++i) {
      if (part_.graph.constant(ir::ValueId{i}) != nullptr) ids.push_back(ir::ValueId{i});
    }
    constants_.resize(ids.size());
    parallel_for(ids.size(), [&](std::size_t i) {
      constants_[i] = gradient::tape_elements(*part_.graph.constant(ids[i]));
    });
    for (std::size_t i = 0; i < ids.size(); ++i) shared_[ids[i]] = constants_[i];
    for (const ProductInput& input : part_.inputs) {
      matrices_.insert(matrices_.end(), input.matrices.begin(), input.matrices.end());
      products_.insert(products_.end(), input.products.begin(), input.products.end());
    }
  }

  [[nodiscard]] ir::ValueId input() const { return part_.graph.inputs()[0]; }
  [[nodiscard]] ir::ValueId output() const { return part_.graph.outputs()[0]; }
  /// The width of the rows of a value.
  [[nodiscard]] std::size_t width_of(ir::ValueId id) const {
    return static_cast<std::size_t>(part_.graph.value(id).type.shape.back());
  }
  /// The matrices of the part, in the order of SquareSums.
  [[nodiscard]] const std::vector<WeightId>& matrices() const { return matrices_; }
  [[nodiscard]] std::size_t num_outputs(std::size_t product) const {
    return static_cast<std::size_t>(part_.graph.value(products_[product]).type.shape.back());
  }
  /// Rows of a product that a row of the part has: several for experts.
  [[nodiscard]] std::size_t rows_per_row(std::size_t product) const {
    const auto rows = [&](ir::ValueId id) {
      const ir::Shape& shape = part_.graph.value(id).type.shape;
      return shape.element_count() / static_cast<std::size_t>(shape.back());
    };
    return rows(products_[product]) / rows(input());
  }

  /// Calls run(tape) with a tape that no other thread has. What it held before is undefined.
  template <typename Run>
  void with_tape(Run&& run) {
    std::unique_ptr<gradient::Tape> tape = take_tape();
    run(*tape);
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(tape));
  }
  [[nodiscard]] SquareSums zeros() const {
    SquareSums sums;
    for (std::size_t i = 0; i < products_.size(); ++i) sums.emplace_back(num_outputs(i), 0.0);
    return sums;
  }
  /// Adds the squares of a tape after backward().
  void add_squares(gradient::Tape& tape, SquareSums& sums) const {
    for (std::size_t i = 0; i < products_.size(); ++i) {
      const std::span<const float> gradient = tape.gradient(products_[i]);
      std::vector<double>& to = sums[i];
      for (std::size_t first = 0; first < gradient.size(); first += to.size()) {
        for (std::size_t o = 0; o < to.size(); ++o) {
          const auto g = static_cast<double>(gradient[first + o]);
          to[o] += g * g;
        }
      }
    }
  }

 private:
  std::unique_ptr<gradient::Tape> take_tape() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<gradient::Tape> tape = std::move(idle_.back());
        idle_.pop_back();
        return tape;
      }
    }
    return std::make_unique<gradient::Tape>(part_.graph, shared_, std::vector{input()},
                                            std::map<ir::ValueId, const numerics::LevelTable*>());
  }

  SamplePart part_;
  std::vector<std::vector<float>> constants_;
  std::map<ir::ValueId, std::span<const float>> shared_;
  std::vector<WeightId> matrices_;
  std::vector<ir::ValueId> products_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<gradient::Tape>> idle_;
};

/// Draws a token from p = softmax(logits) and computes the gradient of its log-likelihood.
/// @param draw     uniform in [0, 1): the token is the first whose cumulative probability is larger
/// @param weights  [vocabulary] memory
/// @return -log p of the token
double draw_token(std::span<const float> logits, double draw, std::span<double> weights,
                  std::span<float> gradient) {
  const double largest = largest_logit(logits);
  double sum = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    sum += weights[i] = elementary::exp(static_cast<double>(logits[i]) - largest);
  }
  std::size_t token = 0;
  double cumulative = 0;
  for (std::size_t i = 0; i < logits.size() && cumulative <= draw * sum; ++i) {
    cumulative += weights[i];
    if (weights[i] > 0) token = i;
  }
  for (std::size_t i = 0; i < logits.size(); ++i) {
    gradient[i] = static_cast<float>((i == token ? 1.0 : 0.0) - weights[i] / sum);
  }
  return elementary::log(sum) - (static_cast<double>(logits[token]) - largest);
}

/// Goes through a model forward and backward, all samples part by part.
class GradientWalk {
 public:
  GradientWalk(const Description& description, const Weights& weights,
               std::span<const std::vector<std::int32_t>> samples,
               const SquaredGradientOptions& options)
      : description_(description),
        weights_(weights),
        options_(options),
        samples_(samples.size()),
        tokens_(samples.empty() ? 0 : samples[0].size()) {
    if (samples_ == 0 || tokens_ == 0) {
      fail(ErrorKind::kUsage, "sensitivities: expected samples of tokens, found none");
    }
    for (const auto& sample : samples) {
      if (sample.size() == tokens_) continue;
      fail(ErrorKind::kUsage, "sensitivities: expected samples of " + std::to_string(tokens_) +
                                  " tokens, found one of " + std::to_string(sample.size()));
    }
    const std::size_t size = tokens_ * description.width;
    require_memory(sizeof(float) * samples_ * size * (description.blocks + 2), "sensitivities");
    result_.tokens = samples_ * tokens_;
    embed(samples);
  }

  SquaredGradients run() && {
    for (std::size_t b = 0; b < description_.blocks; ++b) run_block(b);
    run_head();
    for (std::size_t b = description_.blocks; b-- > 0;) run_block_back(b);
    sum_embedding();
    report(0, "sensitivities");
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::span<float> sample_of(std::vector<float>& rows, std::size_t sample) const {
    const std::size_t size = rows.size() / samples_;
    return std::span(rows).subspan(sample * size, size);
  }
  /// The numbers of a sample in a value of a part.
  [[nodiscard]] std::size_t size_of(const TapedPart& part, ir::ValueId value) const {
    return tokens_ * part.width_of(value);
  }

  void embed(std::span<const std::vector<std::int32_t>> samples) {
    std::vector<std::int32_t> ids;
    for (const auto& sample : samples) ids.insert(ids.end(), sample.begin(), sample.end());
    std::vector<ir::Tensor> inputs;
    inputs.push_back(ir::Tensor::from<std::int32_t>(
        {static_cast<ir::Dim>(samples_), static_cast<ir::Dim>(tokens_)}, ids));
    const ir::Graph graph = build_sample_embedding(description_, weights_, tokens_);
    const std::vector<ir::Tensor> outputs = ir::evaluate_graph(graph, inputs);
    const std::span<const float> rows = outputs[0].as<float>();
    borders_.emplace_back(rows.begin(), rows.end());
    const std::size_t all = rows.size() / result_.tokens;
    const std::size_t width = description_.width;
    if (all == width) return;
    embedded_.resize(result_.tokens * width);
    for (std::size_t i = 0; i < embedded_.size(); ++i) {
      embedded_[i] = rows[i / width * all + i % width];
    }
  }

  void run_block(std::size_t block) {
    report(1, "block " + std::to_string(block));
    TapedPart part(build_sample_block(description_, weights_, tokens_, block));
    std::vector<float> rows(samples_ * size_of(part, part.output()));
    parallel_for(samples_, [&](std::size_t n) {
      part.with_tape([&](gradient::Tape& tape) {
        std::ranges::copy(sample_of(borders_.back(), n), tape.data(part.input()).begin());
        tape.forward({});
        std::ranges::copy(tape.data(part.output()), sample_of(rows, n).begin());
      });
    });
    borders_.push_back(std::move(rows));
  }

  /// Draws tokens; gradients_ becomes that of what the last block gives.
  void run_head() {
    report(2, "head");
    const std::size_t most =
        std::clamp(kMaxLogits / description_.vocabulary, std::size_t{1}, kMaxHeadRows);
    const std::size_t pieces = (tokens_ + most - 1) / most;
    const std::size_t rows = (tokens_ + pieces - 1) / pieces;
    TapedPart part(build_sample_logits(description_, weights_, rows));
    gradients_.resize(borders_.back().size());
    Random random(options_.seed);
    std::vector<double> draws(result_.tokens);
    for (double& draw : draws) draw = random.uniform();
    std::vector<SquareSums> sums(samples_, part.zeros());
    std::vector<double> losses(samples_, 0);
    parallel_for(samples_, [&](std::size_t n) {
      part.with_tape([&](gradient::Tape& tape) {
        for (std::size_t first = 0; first < tokens_; first += rows) {
          const std::size_t count = std::min(rows, tokens_ - first);
          losses[n] += run_head_rows(part, tape, n, first,
                                     std::span(draws).subspan(n * tokens_ + first, count));
          part.add_squares(tape, sums[n]);
        }
      });
    });
    for (const double loss : losses) result_.loss += loss;
    result_.loss /= static_cast<double>(result_.tokens);
    add(part, sums);
    borders_.pop_back();
  }

  /// Some rows of a sample, from `first` on, one for each draw. The part may have more.
  /// @return the sum of -log p of their tokens
  double run_head_rows(const TapedPart& part, gradient::Tape& tape, std::size_t sample,
                       std::size_t first, std::span<const double> draws) {
    const std::size_t width = description_.width;
    const std::size_t vocabulary = description_.vocabulary;
    const auto rows_of = [&](std::vector<float>& all) {
      return sample_of(all, sample).subspan(first * width, draws.size() * width);
    };
    std::ranges::copy(rows_of(borders_.back()), tape.data(part.input()).begin());
    tape.forward({});
    const std::span<float> gradient = tape.gradient(part.output());
    std::ranges::fill(gradient, 0.0F);
    std::vector<double> weights(vocabulary);
    double loss = 0;
    for (std::size_t t = 0; t < draws.size(); ++t) {
      loss += draw_token(tape.data(part.output()).subspan(t * vocabulary, vocabulary), draws[t],
                         weights, gradient.subspan(t * vocabulary, vocabulary));
    }
    tape.backward(part.output());
    const std::span<float> to = rows_of(gradients_);
    std::ranges::copy(tape.gradient(part.input()).first(to.size()), to.begin());
    return loss;
  }

  void run_block_back(std::size_t block) {
    report(2, "block " + std::to_string(block));
    TapedPart part(build_sample_block(description_, weights_, tokens_, block));
    std::vector<SquareSums> sums(samples_, part.zeros());
    std::vector<float> before(borders_.back().size());
    parallel_for(samples_, [&](std::size_t n) {
      part.with_tape([&](gradient::Tape& tape) {
        std::ranges::copy(sample_of(borders_.back(), n), tape.data(part.input()).begin());
        tape.forward({});
        std::ranges::copy(sample_of(gradients_, n), tape.gradient(part.output()).begin());
        tape.backward(part.output());
        part.add_squares(tape, sums[n]);
        std::ranges::copy(tape.gradient(part.input()), sample_of(before, n).begin());
      });
    });
    gradients_ = std::move(before);
    add(part, sums);
    borders_.pop_back();
  }

  /// Adds the samples' sums in their order and stores the means.
  void add(const TapedPart& part, const std::vector<SquareSums>& sums) {
    for (std::size_t i = 0; i < part.matrices().size(); ++i) {
      std::vector<double>& means = result_.outputs[part.matrices()[i]];
      means.assign(part.num_outputs(i), 0);
      const auto rows = static_cast<double>(result_.tokens * part.rows_per_row(i));
      for (std::size_t o = 0; o < means.size(); ++o) {
        for (const SquareSums& sample : sums) means[o] += sample[i][o];
        means[o] /= rows;
      }
    }
  }

  /// Means of squares of the gradients in `count` columns from `begin` on, times a factor.
  [[nodiscard]] std::vector<double> column_squares(std::size_t begin, std::size_t count,
                                                   double factor) const {
    const std::size_t all = gradients_.size() / result_.tokens;
    std::vector<double> means(count);
    for (std::size_t i = 0; i < gradients_.size(); ++i) {
      if (i % all < begin || i % all >= begin + count) continue;
      const double g = factor * static_cast<double>(gradients_[i]);
      means[i % all - begin] += g * g;
    }
    for (double& mean : means) mean /= static_cast<double>(result_.tokens);
    return means;
  }

  /// Half of the inputs of blocks is the table's row times the root of their width.
  void sum_block_inputs() {
    const Description& d = description_;
    if (d.block_input_width == 0) return;
    result_.block_inputs = column_squares(d.streams * d.width, d.blocks * d.block_input_width,
                                          std::sqrt(static_cast<double>(d.block_input_width) / 2));
  }

  /// Streams and inputs of blocks follow from rows of the embedding: takes the gradient back to
  /// these.
  void run_start_back() {
    if (description_.streams == 1 && description_.block_input_width == 0) return;
    TapedPart part(build_sample_start(description_, weights_, tokens_));
    std::vector<float> before(embedded_.size());
    parallel_for(samples_, [&](std::size_t n) {
      part.with_tape([&](gradient::Tape& tape) {
        std::ranges::copy(sample_of(embedded_, n), tape.data(part.input()).begin());
        tape.forward({});
        std::ranges::copy(sample_of(gradients_, n), tape.gradient(part.output()).begin());
        tape.backward(part.output());
        std::ranges::copy(tape.gradient(part.input()), sample_of(before, n).begin());
      });
    });
    gradients_ = std::move(before);
  }

  /// The rows of the table are multiplied by a factor before all else.
  void sum_embedding() {
    sum_block_inputs();
    run_start_back();
    result_.embedding = column_squares(0, description_.width, description_.embedding_factor);
  }

  /// @param work  of the next step, about: that of a block forward is 1
  void report(std::size_t work, const std::string& activity) {
    const std::size_t all = 3 * description_.blocks + 2;
    if (options_.progress) {
      options_.progress(static_cast<double>(work_done_) / static_cast<double>(all), activity);
    }
    work_done_ += work;
  }

  const Description& description_;
  const Weights& weights_;
  const SquaredGradientOptions& options_;
  std::size_t samples_;
  std::size_t tokens_;                       ///< of a sample
  std::vector<std::vector<float>> borders_;  ///< rows of all samples before each block
  std::vector<float> gradients_;             ///< likewise, after the block that comes next
  std::vector<float> embedded_;              ///< rows of the embedding, unless borders are these
  std::size_t work_done_ = 0;
  SquaredGradients result_;
};

}  // namespace

SquaredGradients measure_squared_gradients(const Description& description, const Weights& weights,
                                           std::span<const std::vector<std::int32_t>> samples,
                                           const SquaredGradientOptions& options) {
  return GradientWalk(description, weights, samples, options).run();
}

}  // namespace halftone::lm
