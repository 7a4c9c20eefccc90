// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/reconstruct/reconstruct.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <numeric>
#include <tuple>

#include "halftone/base/elementary.h"
#include "halftone/base/error.h"
#include "halftone/compress/reconstruct/adaptive_rounding.h"
#include "halftone/compress/reconstruct/block.h"
#include "halftone/compress/reconstruct/learned_levels.h"
#include "halftone/gradient/tape.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/spmd/collectives.hpp"
#include "halftone/spmd/map.hpp"

namespace halftone::compress {
namespace {

/// Number of parts of a batch, each in its own lane.
constexpr std::size_t kParts = 4;
constexpr const char* kAxis = "part";

/// Encoded weights during learning.
struct Weights {
  ir::ValueId id;  ///< in the block
  ir::ValueId whole;
  std::unique_ptr<RoundedWeights> learned;
  std::vector<float> values;  ///< those of the fit, then those that are learned
};

struct Bias {
  ir::ValueId id;
  ir::ValueId whole;
  std::vector<float> values;
  Adam adam;
};

/// The encoding of activations, or of the states of a recurrent layer.
struct Encoding {
  ir::ValueId id;  ///< in the block: the output of the Encode, or of the Recurrent
  ir::ValueId whole;
  LearnedLevels learned;
};

/// Gradients of a part of a batch or of the whole batch, in the order of the learned values.
struct Gradients {
  std::vector<spmd::Array> weights;
  std::vector<spmd::Array> biases;
  std::vector<spmd::Array> levels;  ///< of the encodings

  static auto members(auto& self) { return std::tie(self.weights, self.biases, self.levels); }
};

/// Values in a tape's memory, valid until its next step.
template <typename T>
spmd::Array borrowed(std::span<const T> numbers) {
  return spmd::Array::wrap<T>({static_cast<std::int64_t>(numbers.size())}, numbers, nullptr);
}

/// A block during learning.
class Reconstruction {
 public:
  /// @throws Error kUnsupported if an operator of the block has no gradient
  Reconstruction(ir::Graph& graph, Block cut, const ReconstructBlock& block,
                 const ReconstructOptions& options, const ReconstructRun& run)
      : graph_(graph),
        block_(std::move(cut)),
        input_(block_.copies.at(block.from)),
        output_(block_.copies.at(block.to)),
        data_(block.data),
        options_(options),
        parts_{.axis_name = kAxis, .axis_size = kParts, .devices = devices_of(run)},
        random_(run.seed) {
    for (const ReconstructLayer& layer : block.layers) {
      // A layer in front of the first block belongs to none.
      if (block_.copies.contains(graph.node(layer.node).output)) add_layer(layer);
    }
    make_tapes();
  }

  [[nodiscard]] bool is_encoded() const { return has_codes_ || !encodings_.empty(); }

  ReconstructResult run(const ProgressSink& progress) {
    ReconstructResult result;
    result.error_before = mean_error();
    for (int step = 0; step < options_.steps; ++step) {
      show_learned();
      learn(step);
      if (progress) progress(static_cast<double>(step + 1) / options_.steps, "");
    }
    for (const Weights& weights : weights_) weights.learned->round();
    show_learned();
    result.error_after = mean_error();
    if (result.error_after < result.error_before) {
      store();
    } else {
      result.error_after = result.error_before;
    }
    return result;
  }

 private:
  static spmd::Devices devices_of(const ReconstructRun& run) {
    return run.devices.empty() ? spmd::Devices::for_threads() : run.devices;
  }

  void add_layer(const ReconstructLayer& layer) {
    const ir::Node& node = graph_.node(layer.node);
    const ir::ValueId w = node.inputs[1];
    const ir::Constant* constant = graph_.constant(w);
    const auto* encoded = std::get_if<ir::EncodedTensor>(constant);
    has_codes_ = has_codes_ || encoded != nullptr;
    if (encoded != nullptr && !knows(weights_, w) && learns_weights()) {
      const auto& original = std::get<ir::Tensor>(*graph_.constant(layer.original));
      weights_.push_back({block_.copies.at(w), w, learned_weights(*encoded, original.as<float>()),
                          decode(encoded->codes, *encoded->encoding)});
    }
    const ir::ValueId b = node.inputs.size() > 2 ? node.inputs[2] : ir::kAbsent;
    const ir::Constant* bias = b == ir::kAbsent ? nullptr : graph_.constant(b);
    if (bias != nullptr && !knows(biases_, b)) {
      const auto numbers = std::get<ir::Tensor>(*bias).as<float>();
      biases_.push_back(
          {block_.copies.at(b), b, {numbers.begin(), numbers.end()}, Adam(numbers.size())});
    }
    if (const auto* states = ir::activation_encoding(node.op)) {
      add_encoding(node.output, states->get());
    } else if (const ir::ValueId x = node.inputs[0]; !is_read_elsewhere(x)) {
      // Layers that read these codes too were fitted to them as they are.
      add_encoding(x, graph_.value(x).type.encoding.codes.get());
    }
  }

  /// With fixed codes, straight-through weights still learn their levels.
  [[nodiscard]] bool learns_weights() const {
    return options_.rounding == ReconstructRounding::kStraightThrough || weight_rate() > 0;
  }

  [[nodiscard]] double weight_rate() const {
    const bool adaptive = options_.rounding == ReconstructRounding::kAdaptive;
    return options_.weight_rate.value_or(adaptive ? kAdaptiveRate : kStraightThroughRate);
  }

  [[nodiscard]] std::unique_ptr<RoundedWeights> learned_weights(
      const ir::EncodedTensor& encoded, std::span<const float> original) const {
    const numerics::BitPlanes& codes = encoded.codes;
    if (options_.rounding == ReconstructRounding::kStraightThrough) {
      return std::make_unique<LearnedWeights>(*encoded.encoding, codes, original);
    }
    return std::make_unique<AdaptiveRounding>(*encoded.encoding, codes.rows, codes.cols, original);
  }

  /// @param encoding  null if there is none
  void add_encoding(ir::ValueId output, const numerics::MatrixEncoding* encoding) {
    if (encoding == nullptr || knows(encodings_, output)) return;
    encodings_.push_back({block_.copies.at(output), output,
                          LearnedLevels(activation_space(*encoding), encoding->levels(0))});
  }

  /// Whether layers outside the block read a value.
  [[nodiscard]] bool is_read_elsewhere(ir::ValueId whole) const {
    return std::ranges::any_of(graph_.consumers(whole), [&](ir::NodeId reader) {
      return !block_.copies.contains(graph_.node(reader).output);
    });
  }

  template <typename Learned>
  static bool knows(const std::vector<Learned>& all, ir::ValueId whole) {
    return std::ranges::any_of(all, [&](const Learned& each) { return each.whole == whole; });
  }

  void make_tapes() {
    std::map<ir::ValueId, std::span<const float>> shared;
    std::vector<ir::ValueId> wanted;
    std::map<ir::ValueId, const numerics::LevelTable*> levels;
    for (const Weights& weights : weights_) {
      shared[weights.id] = weights.values;
      wanted.push_back(weights.id);
    }
    for (const Bias& bias : biases_) {
      shared[bias.id] = bias.values;
      wanted.push_back(bias.id);
    }
    for (const Encoding& encoding : encodings_) levels[encoding.id] = &encoding.learned.table();
    for (std::size_t part = 0; part < kParts; ++part) {
      tapes_.push_back(std::make_unique<gradient::Tape>(block_.graph, shared, wanted, levels));
    }
    part_samples_ = static_cast<std::size_t>(block_.graph.value(input_).type.shape[0]);
    input_elements_ = data_.input.size() / data_.samples;
    output_elements_ = data_.target.size() / data_.samples;
    double power = 0;
    for (const float y : data_.target) power += static_cast<double>(y) * static_cast<double>(y);
    output_rms_ = std::sqrt(power / static_cast<double>(data_.target.size()));
  }

  /// The penalty in the unit of the gradients that learn() sums: those of |block(x) - y|^2 / 2.
  [[nodiscard]] double penalty() const {
    const auto channels = static_cast<double>(block_.graph.value(output_).type.shape.back());
    const auto elements = static_cast<double>(kParts * part_samples_ * output_elements_);
    return options_.rounding_penalty * output_rms_ * output_rms_ * elements / (2 * channels);
  }

  /// Makes the block compute with the weights that are learned.
  void show_learned() {
    for (Weights& weights : weights_) {
      std::ranges::copy(weights.learned->values(), weights.values.begin());
    }
  }

  /// Runs one part on samples; the difference from the target replaces the output gradient.
  /// @return its sum of squares
  double run_part(std::size_t part, std::span<const std::size_t> samples,
                  const gradient::DropOptions& drop, bool with_gradient) {
    gradient::Tape& tape = *tapes_[part];
    const std::span<float> x = tape.data(input_);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      std::copy_n(data_.input.begin() + static_cast<std::ptrdiff_t>(samples[i] * input_elements_),
                  input_elements_, x.begin() + static_cast<std::ptrdiff_t>(i * input_elements_));
    }
    tape.forward(drop);
    const std::span<const float> y = tape.data(output_);
    const std::span<float> gradient = tape.gradient(output_);
    double error = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::size_t sample = samples[i / output_elements_];
      gradient[i] = y[i] - data_.target[sample * output_elements_ + i % output_elements_];
      error += static_cast<double>(gradient[i]) * static_cast<double>(gradient[i]);
    }
    if (with_gradient) tape.backward(output_);
    return error;
  }

  /// The error over all samples that fill a part, with nothing dropped.
  double mean_error() {
    const std::size_t groups = data_.samples / part_samples_;
    const std::size_t rounds = (groups + kParts - 1) / kParts;
    const auto lane = [&] {
      return spmd::Array::make<double>(
          {static_cast<std::int64_t>(rounds)}, [&](std::span<double> errors) {
            std::ranges::fill(errors, 0);
            const std::size_t part = spmd::axis_index(kAxis);
            std::vector<std::size_t> samples(part_samples_);
            for (std::size_t r = 0; r < rounds && part * rounds + r < groups; ++r) {
              std::iota(samples.begin(), samples.end(), (part * rounds + r) * part_samples_);
              errors[r] = run_part(part, samples, {}, false);
            }
          });
    };
    const spmd::Array errors = spmd::gather(spmd::spread(lane, parts_)());
    const auto of_groups = errors.as<double>();
    const double error = std::accumulate(of_groups.begin(), of_groups.end(), 0.0);
    double power = 0;
    for (const float y : std::span(data_.target).first(groups * part_samples_ * output_elements_)) {
      power += static_cast<double>(y) * static_cast<double>(y);
    }
    return power > 0 ? error / power : error;
  }

  void learn(int step) {
    std::vector<std::size_t> samples(kParts * part_samples_);
    for (std::size_t& sample : samples) sample = random_.below(data_.samples);
    std::vector<std::uint64_t> seeds(kParts);
    for (std::uint64_t& seed : seeds) seed = random_.next();
    const auto lane = [&] {
      const std::size_t part = spmd::axis_index(kAxis);
      run_part(part, std::span(samples).subspan(part * part_samples_, part_samples_),
               {options_.drop, Random(seeds[part])}, true);
      return gradients(*tapes_[part]);
    };
    const Gradients sum = spmd::spread_sum(lane, parts_)();
    const double progress = static_cast<double>(step) / options_.steps;
    const double falling = (1 + elementary::cos(std::numbers::pi * progress)) / 2;
    const WeightStep weight_step{weight_rate() * falling, options_.level_rate * falling, penalty(),
                                 progress};
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      weights_[i].learned->step(sum.weights[i].as<float>(), weight_step);
    }
    for (std::size_t i = 0; i < biases_.size(); ++i) {
      biases_[i].adam.step(biases_[i].values, sum.biases[i].as<float>(),
                           options_.bias_rate * output_rms_ * falling);
    }
    for (std::size_t i = 0; i < encodings_.size(); ++i) {
      encodings_[i].learned.step(sum.levels[i].as<double>(), options_.level_rate * falling);
    }
  }

  [[nodiscard]] Gradients gradients(gradient::Tape& tape) const {
    Gradients result;
    for (const Weights& weights : weights_) {
      result.weights.push_back(borrowed<float>(tape.gradient(weights.id)));
    }
    for (const Bias& bias : biases_) {
      result.biases.push_back(borrowed<float>(tape.gradient(bias.id)));
    }
    for (const Encoding& encoding : encodings_) {
      result.levels.push_back(borrowed<double>(tape.level_gradient(encoding.id)));
    }
    return result;
  }

  /// Writes the learned values into the whole network.
  void store() {
    for (const Weights& weights : weights_) {
      const ir::Value& value = graph_.value(weights.whole);
      auto encoding = std::make_shared<const numerics::MatrixEncoding>(weights.learned->encoding());
      const ir::ValueId constant = graph_.add_constant(
          value.name,
          ir::EncodedTensor{value.type.shape, std::move(encoding), weights.learned->codes()});
      graph_.replace_uses(weights.whole, constant);
    }
    for (const Bias& bias : biases_) {
      const ir::Value& value = graph_.value(bias.whole);
      const ir::ValueId constant = graph_.add_constant(
          value.name, ir::Tensor::from<float>(value.type.shape, std::span(bias.values)));
      // The float network may share this bias.
      for (const ir::NodeId reader : layers_reading(bias.whole)) {
        ir::Node node = graph_.node(reader);
        node.inputs[2] = constant;
        graph_.replace_node(reader, node.op, node.inputs);
      }
    }
    for (const Encoding& encoding : encodings_) {
      const ir::NodeId id = *graph_.producer(encoding.whole);
      ir::Operator op = graph_.node(id).op;
      auto& shared = *ir::activation_encoding(op);
      const numerics::Levels& levels = encoding.learned.levels();
      shared = std::make_shared<const numerics::MatrixEncoding>(shared->with_levels({&levels, 1}));
      graph_.replace_node(id, std::move(op), graph_.node(id).inputs);
    }
  }

  [[nodiscard]] std::vector<ir::NodeId> layers_reading(ir::ValueId bias) const {
    std::vector<ir::NodeId> readers;
    for (const ir::NodeId reader : graph_.consumers(bias)) {
      if (block_.copies.contains(graph_.node(reader).output)) readers.push_back(reader);
    }
    return readers;
  }

  ir::Graph& graph_;
  Block block_;
  ir::ValueId input_;
  ir::ValueId output_;
  const ReconstructData& data_;
  const ReconstructOptions& options_;
  spmd::MapOptions parts_;
  Random random_;
  bool has_codes_ = false;  ///< whether weights are encoded, learned or not
  std::vector<Weights> weights_;
  std::vector<Bias> biases_;
  std::vector<Encoding> encodings_;
  std::vector<std::unique_ptr<gradient::Tape>> tapes_;
  std::size_t part_samples_ = 0;
  std::size_t input_elements_ = 0;
  std::size_t output_elements_ = 0;
  double output_rms_ = 0;
};

ReconstructOutcome skipped(std::string reason) { return {std::nullopt, std::move(reason)}; }

}  // namespace

ReconstructOutcome reconstruct(ir::Graph& graph, const ReconstructBlock& block,
                               const ReconstructOptions& options, const ReconstructRun& run) {
  const std::size_t samples = block.data.samples;
  const std::size_t part_samples =
      std::min(options.batch / kParts, std::max<std::size_t>(samples / kParts, 1));
  if (samples < part_samples || options.steps == 0)
    return skipped("there is nothing to learn from");
  const auto cut = extract_block(graph, block.from, block.to, part_samples);
  if (!cut) return skipped("it depends on more than the value where it begins");
  std::optional<Reconstruction> all;
  try {
    all.emplace(graph, *cut, block, options, run);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUnsupported) throw;
    return skipped(error.what());
  }
  if (!all->is_encoded()) return skipped("none of its layers is encoded");
  const ReconstructResult result = all->run(run.progress);
  if (result.error_after < result.error_before) return {result, {}};
  if (options.level_rate == 0 && options.bias_rate == 0) return {result, {}};
  // Descent on the codes gains nothing; the levels may still improve.
  ReconstructOptions without_weights = options;
  without_weights.weight_rate = 0;
  all.reset();
  return {Reconstruction(graph, *cut, block, without_weights, run).run({}), {}};
}

}  // namespace halftone::compress
