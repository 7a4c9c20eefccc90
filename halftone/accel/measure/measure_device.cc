// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/measure/measure_device.h"

#include <algorithm>
#include <map>
#include <utility>

#include "halftone/accel/measure/sample_fits.h"
#include "halftone/gpu/choose.h"
#include "halftone/gpu/network/step_device.h"
#include "halftone/gpu/speeds.h"

namespace halftone::accel {
namespace {

constexpr double kRatesPerSecond = 1e9;  ///< the clock: rates are products per nanosecond
constexpr int kInputBits = 8;            ///< of language models
constexpr double kCacheBytes = 8 << 20;
constexpr double kSecondsPerRun = 0.005;  ///< of a small network, at most
constexpr std::size_t kMinRuns = 10;

struct BitRange {
  int least = 1;
  int most = 32;
};

/// The measured layers of one operator and one width of factors, and what they say.
struct Kind {
  std::string op;
  int bits = 32;
  RelativeFit<4> fitted;
  /// Products per nanosecond; 0: the time does not grow with them.
  [[nodiscard]] double rate() const {
    return fitted.coefficients[1] > 0 ? 1 / (kRatesPerSecond * fitted.coefficients[1]) : 0;
  }
};

struct Kinds {
  std::vector<Kind> layers;
  std::vector<Kind> others;
};

/// Widest factors first: the last rule that fits counts.
Kinds kinds_of(const std::vector<Sample>& samples) {
  std::map<std::pair<int, std::string>, Samples> groups[2];
  for (const Sample& each : samples) {
    const Operation& operation = each.operation;
    groups[operation.has_product() ? 1 : 0][{-operation.product.w.bits, operation.op}].push_back(
        &each);
  }
  Kinds kinds;
  for (const auto& [key, group] : groups[0]) {
    kinds.others.push_back({key.second, -key.first, fit_samples(group, {})});
  }
  for (const auto& [key, group] : groups[1]) {
    kinds.layers.push_back({key.second, -key.first, fit_samples(group, {})});
  }
  return kinds;
}

/// The rates of the only unit: those of the fastest kernels, of which rules have a share.
struct Rates {
  double integers = 1e-3;
  double floats = 1e-3;
};

Rates rates_of(const gpu::DeviceSpeeds& speeds, const Kinds& kinds) {
  Rates rates;
  rates.integers = std::max(rates.integers, speeds.attention.per_second / kRatesPerSecond);
  for (const gpu::ProductSpeed& each : speeds.products) {
    rates.integers = std::max(rates.integers, each.per_second / kRatesPerSecond);
  }
  for (const Kind& each : kinds.layers) {
    double& rate = each.bits == 32 ? rates.floats : rates.integers;
    rate = std::max(rate, each.rate());
  }
  return rates;
}

void add_unit(Accelerator& chip, const gpu::DeviceSpeeds& speeds, const Rates& rates) {
  ComputeUnit unit;
  unit.name = "kernels";
  unit.clock_hz = kRatesPerSecond;
  unit.rates = {{kInputBits, kInputBits, false, true, rates.integers},
                {32, 32, true, true, rates.floats}};
  unit.operations_per_cycle = speeds.operations_per_second / kRatesPerSecond;
  unit.operations_per_function = gpu::kFunctionCost;
  chip.units = {unit};
}

/// Layers of networks with factors of these widths, the widest first: a rule also counts
/// for narrower factors, and the last one that fits counts.
void add_layer_rules(Accelerator& chip, const Kinds& kinds, const Rates& rates, BitRange range) {
  for (const Kind& each : kinds.layers) {
    if (each.bits < range.least || each.bits > range.most) continue;
    OperatorRule rule = rule_of(each.op, each.fitted);
    rule.weight_bits = rule.input_bits = each.bits;
    rule.s_per_operation = 0;
    rule.s_per_weight_byte = each.fitted.coefficients[3];
    const double fastest = each.bits == 32 ? rates.floats : rates.integers;
    if (each.rate() > 0) rule.efficiency = std::min(1.0, each.rate() / fastest);
    chip.rules.push_back(std::move(rule));
  }
}

/// Layers of language models, which have inputs of 8 bits whatever the weights have; widest first.
void add_language_rules(Accelerator& chip, const gpu::DeviceSpeeds& speeds, const Rates& rates) {
  for (auto each = speeds.products.rbegin(); each != speeds.products.rend(); ++each) {
    OperatorRule rule;
    rule.operators = {"FullyConnected"};
    rule.weight_bits = each->weight_bits;
    rule.input_bits = kInputBits;
    rule.overhead_s = speeds.launch_s;
    rule.efficiency = std::min(1.0, each->per_second / kRatesPerSecond / rates.integers);
    rule.s_per_weight_byte = each->s_per_weight_byte;
    chip.rules.push_back(std::move(rule));
  }
  OperatorRule attention;
  attention.operators = {"Attention"};
  attention.overhead_s = std::max(speeds.launch_s, speeds.attention.fixed_s);
  attention.efficiency =
      std::min(1.0, speeds.attention.per_second / kRatesPerSecond / rates.integers);
  // Exponentials are part of what was measured.
  attention.s_per_operation = 0;
  chip.rules.push_back(std::move(attention));
}

/// No more than leaves each sample the time of a launch: a busy machine waits longer now and then.
void subtract_wait(const gpu::DeviceSpeeds& speeds, std::vector<Sample>& samples) {
  double wait_s = speeds.round_trip_s - speeds.launch_s;
  for (const Sample& each : samples) wait_s = std::min(wait_s, each.seconds - speeds.launch_s);
  for (Sample& each : samples) each.seconds -= std::max(0.0, wait_s);
}

void add_memories(Accelerator& chip, const gpu::DeviceSpeeds& speeds) {
  Memory memory;
  memory.name = "device memory";
  memory.bytes = static_cast<double>(speeds.info.memory_bytes);
  memory.bytes_per_second = speeds.copy_bytes_per_second;
  chip.memories = {memory};
  // What kernels keep there was measured with them: it never limits. Drivers do not say its size.
  Memory caches;
  caches.name = "caches";
  caches.bytes = std::min(memory.bytes / 4, kCacheBytes);
  caches.bytes_per_second = 1e15;
  chip.memories.push_back(caches);
}

}  // namespace

Accelerator describe_device(const gpu::DeviceSpeeds& speeds, std::vector<Sample> samples) {
  subtract_wait(speeds, samples);
  Accelerator chip;
  chip.name = speeds.info.name;
  chip.source = "measured by halftone estimate --measure --device " + speeds.info.id();
  chip.clock_hz = kRatesPerSecond;
  add_memories(chip, speeds);
  chip.host = HostLink{speeds.host_bytes_per_second, speeds.host_s};
  const Kinds kinds = kinds_of(samples);
  const Rates rates = rates_of(speeds, kinds);
  add_unit(chip, speeds, rates);
  chip.rules.push_back({.operators = {std::string(OperatorRule::kAll)}});
  chip.rules.back().overhead_s = speeds.launch_s;
  // It is a part of another launch.
  chip.rules.push_back({.operators = {"Silu"}, .s_per_operation = 0.0});
  for (const Kind& each : kinds.others) {
    chip.rules.push_back(rule_of(each.op, each.fitted));
    if (each.bits < 32) chip.rules.back().weight_bits = each.bits;
  }
  add_layer_rules(chip, kinds, rates, {kInputBits, 32});
  add_language_rules(chip, speeds, rates);
  add_layer_rules(chip, kinds, rates, {1, kInputBits - 1});
  if (!samples.empty()) chip.comparison = comparison_of(chip, samples);
  return chip;
}

Accelerator measure_device(const std::string& name, const ProbeSettings& options) {
  constexpr double kSpeedShare = 0.2;  ///< of the time, about
  const std::string id = name == "auto" ? gpu::choose_device().id : name;
  if (id.empty() || id == "cpu") return measure_processor(options);
  gpu::SpeedOptions speed_options{.seconds = options.seconds_per_run};
  if (options.progress) {
    speed_options.progress = [&](double part) {
      options.progress(kSpeedShare * part, "measuring kernels");
    };
  }
  const gpu::DeviceSpeeds speeds = [&] {
    const std::unique_ptr<gpu::GpuDevice> device = gpu::open_device(id);
    gpu::Programs programs(*device);
    return gpu::measure_speeds(programs, speed_options);
  }();
  ProbeSettings layers = options;
  // Times on a card vary less than on a processor with other work, and cards are lent by the
  // minute.
  layers.seconds_per_run = std::min(layers.seconds_per_run, kSecondsPerRun);
  layers.min_runs = std::min(layers.min_runs, kMinRuns);
  layers.device = gpu::open_step_device(id);
  if (options.progress) {
    layers.progress = [&](double part, std::string_view) {
      options.progress(kSpeedShare + (1 - kSpeedShare) * part, "measuring layers");
    };
  }
  return describe_device(speeds, measure_samples(layers));
}

}  // namespace halftone::accel
