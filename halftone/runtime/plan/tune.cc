// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>

#include "halftone/base/buffer.h"
#include "halftone/base/random.h"
#include "halftone/runtime/plan/tuning.h"

namespace halftone::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// A sample takes at least so long, all samples of a way at most about so long.
constexpr double kSampleUs = 200;
constexpr double kWayUs = 100e3;
constexpr double kMinRounds = 3;
constexpr double kMaxRounds = 15;
/// A smaller gain is not worth another thread, or may be noise.
constexpr double kGain = 0.97;

/// Whether the implementation has kernels of one arithmetic, or divides its work among threads.
bool has_ways(KernelArithmetic arithmetic) {
  switch (arithmetic) {
    case KernelArithmetic::kBits:
    case KernelArithmetic::kIntegers:
    case KernelArithmetic::kFixedFloat:
      return true;
    case KernelArithmetic::kOperator:
    case KernelArithmetic::kGroups:
    case KernelArithmetic::kFastestFloat:
      return false;
  }
  return false;
}

/// Whether every computed input is float32 or codes, which random numbers can replace. Integers
/// may be lengths or positions.
bool takes_any_inputs(const NodeContext& context) {
  for (std::size_t i = 0; i < context.node.inputs.size(); ++i) {
    if (!context.has_input(i) || context.constant(i) != nullptr) continue;
    const ir::Encoding& encoding = context.input(i).encoding;
    if (encoding.is_dense() && encoding.element != ir::ElementType::kFloat32) return false;
  }
  return true;
}

/// Everything that the time of a node depends on, in a line.
std::string name_of(const Implementation& implementation, const NodeContext& context) {
  std::string name(implementation.name);
  const auto add = [&name](const ir::ValueType& type, CodeLayout layout) {
    name += ' ' + type.to_string();
    if (!type.encoding.is_dense() && layout == CodeLayout::kInt8) name += " int8";
  };
  for (std::size_t i = 0; i < context.node.inputs.size(); ++i) {
    if (context.has_input(i)) add(context.input(i), context.input_layout(i));
  }
  name += " ->";
  add(context.output(), context.output_layout());
  return name + ", " + std::to_string(context.threads) + " threads";
}

/// A kernel with memory of its own.
class Trial {
 public:
  Trial(const Implementation& implementation, const NodeContext& context, LayerMethod way)
      : way_(way), kernel_(implementation.create(with_method(context, way_))) {
    Buffers buffers;
    for (std::size_t i = 0; i < context.node.inputs.size(); ++i) {
      buffers.inputs.push_back(input(context, i));
    }
    scratch_ = AlignedBuffer(kernel_.scratch_bytes);
    output_ = AlignedBuffer(value_bytes(context.output(), context.output_layout()));
    buffers.scratch = scratch_.data();
    buffers.output = output_.data();
    call_ = kernel_.bind(buffers);
    call_();  // the first run may be slower
    const double us = run_us(1);
    repeats_ = static_cast<int>(std::clamp(std::ceil(kSampleUs / us), 1.0, 1e6));
    rounds_ = static_cast<int>(std::clamp(kWayUs / (us * repeats_), kMinRounds, kMaxRounds));
  }

  [[nodiscard]] const LayerMethod& way() const { return way_; }
  /// Samples that fit the time limit.
  [[nodiscard]] int num_rounds() const { return rounds_; }
  void sample() { samples_.push_back(run_us(repeats_)); }
  /// The median: the best of several threads is rare where other programs run.
  [[nodiscard]] double us() const {
    std::vector<double> sorted = samples_;
    std::ranges::sort(sorted);
    return sorted[sorted.size() / 2];
  }

 private:
  const std::byte* input(const NodeContext& context, std::size_t i) {
    const std::vector<std::size_t>& packed = kernel_.packed_inputs;
    if (!context.has_input(i) || std::ranges::find(packed, i) != packed.end()) return nullptr;
    if (const ir::Constant* constant = context.constant(i)) {
      const auto* dense = std::get_if<ir::Tensor>(constant);
      return dense == nullptr ? nullptr : dense->bytes().data();
    }
    const ir::ValueType& type = context.input(i);
    AlignedBuffer& memory = inputs_.emplace_back(value_bytes(type, context.input_layout(i)));
    if (type.encoding.is_dense()) {
      Random random(0);
      for (float& value : memory.as<float>()) value = static_cast<float>(random.uniform());
    }
    return memory.data();
  }

  /// The mean time of some runs.
  double run_us(int repeats) {
    const auto start = Clock::now();
    for (int i = 0; i < repeats; ++i) call_();
    const double us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    return std::max(us, 1e-3) / repeats;
  }

  LayerMethod way_;
  Kernel kernel_;
  std::vector<AlignedBuffer> inputs_;
  AlignedBuffer scratch_;
  AlignedBuffer output_;
  Call call_;
  int repeats_ = 1;
  int rounds_ = 1;
  std::vector<double> samples_;
};

/// Runs the ways in turn, so that a disturbance meets all of them.
MeasuredMethod measure(const Implementation& implementation, const NodeContext& context,
                       const std::vector<LayerMethod>& ways) {
  std::vector<Trial> trials;
  trials.reserve(ways.size());
  for (const LayerMethod& way : ways) trials.emplace_back(implementation, context, way);
  for (int round = 0, last = trials.front().num_rounds(); round < last; ++round) {
    for (Trial& trial : trials) trial.sample();
  }
  MeasuredMethod best{trials.front().way(), trials.front().us()};
  for (const Trial& trial : trials) {
    if (trial.us() < kGain * best.us) best = {trial.way(), trial.us()};
  }
  return best;
}

}  // namespace

NodeContext with_method(NodeContext context, const LayerMethod& way) {
  context.way = &way;
  context.threads = way.threads;
  return context;
}

std::vector<LayerMethod> methods_of(const Implementation& implementation,
                                    const NodeContext& context) {
  if (!has_ways(implementation.arithmetic) || !takes_any_inputs(context)) return {};
  if (context.output().shape.element_count() == 0) return {};
  std::vector<std::optional<Product>> products{std::nullopt};
  if (implementation.products != nullptr) {
    const std::vector<Product> all = implementation.products(context);
    products.assign(all.begin(), all.end());
  }
  std::vector<LayerMethod> ways;
  for (const auto product : products) ways.push_back({product, 1});
  if (context.threads > 1) {
    for (const auto product : products) ways.push_back({product, context.threads});
  }
  if (ways.size() == 1) ways.clear();
  return ways;
}

std::optional<MeasuredMethod> fastest_method(const Implementation& implementation,
                                             const NodeContext& context, Tuning& tuning) {
  const std::vector<LayerMethod> ways = methods_of(implementation, context);
  if (ways.empty()) return std::nullopt;
  const std::string name = name_of(implementation, context);
  std::optional<MeasuredMethod> known = tuning.find(name);
  if (known && std::ranges::find(ways, known->way) != ways.end()) return known;
  MeasuredMethod measured = measure(implementation, context, ways);
  tuning.record(name, measured);
  return measured;
}

}  // namespace halftone::runtime
