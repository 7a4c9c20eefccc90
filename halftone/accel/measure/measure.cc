// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/measure/measure.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "halftone/accel/measure/sample_fits.h"
#include "halftone/accel/measure/sample_networks.h"
#include "halftone/base/processor.h"
#include "halftone/compress/rule_codes.h"
#include "halftone/runtime/execute/profile.h"

namespace halftone::accel {
namespace {

constexpr std::size_t kNumProbes = 3;  ///< the first samples: memory, third and second level
constexpr double kClock = 1e9;         ///< rates are products per nanosecond

/// The widths of weights and inputs; 32: float32.
constexpr int kWidths[] = {32, 8, 4, 3, 2, 1};

ir::Graph with_codes(const ir::Graph& graph, int bits) {
  if (bits == 32) return graph;
  compress::Recipe recipe;
  recipe.defaults.weight_bits = recipe.defaults.activation_bits = bits;
  recipe.defaults.weight_system = recipe.defaults.activation_system =
      &numerics::find_system(bits == 8 ? "affine" : "basis");
  return compress::with_rule_codes(graph, recipe);
}

void measure_graph(ir::Graph graph, const ProbeSettings& options, std::vector<Sample>& samples) {
  runtime::PlanSettings plan_options;
  plan_options.threads = options.threads;
  plan_options.execution.device = options.device;
  // Devices have float layers in this order.
  if (options.device != nullptr) plan_options.execution.float_order = runtime::FloatOrder::kFixed;
  const auto plan = runtime::make_plan(std::move(graph), plan_options);
  const runtime::Profile profile =
      runtime::profile(plan, {options.seconds_per_run, options.min_runs});
  for (std::size_t i = 0; i < plan->steps().size(); ++i) {
    const ir::Node& node = plan->graph().node(plan->steps()[i].node);
    if (std::holds_alternative<ir::Reshape>(node.op)) continue;
    // Below what a clock can tell, time is noise.
    const double seconds = std::max(1e-8, 1e-6 * profile.step_median_us[i]);
    samples.push_back({operation_of(plan->graph(), node), seconds});
  }
}

double cache_bytes(int name, double otherwise) {
  const long found = ::sysconf(name);
  return found > 0 ? static_cast<double>(found) : otherwise;
}

struct Cache {
  std::string name;
  double bytes;
};

/// The memories of the processor, outermost first.
std::vector<Cache> memories() {
  const double l2 = cache_bytes(_SC_LEVEL2_CACHE_SIZE, 1 << 20);
  const double l3 = cache_bytes(_SC_LEVEL3_CACHE_SIZE, 16 << 20);
  const double pages = static_cast<double>(::sysconf(_SC_PHYS_PAGES));
  const double dram = pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
  return {{"DRAM", std::max(dram, 2 * l3)}, {"L3", std::max(l3, 2 * l2)}, {"L2", l2}};
}

/// Weights that lie in a memory and not in the ones inside it.
double probe_bytes(const std::vector<Cache>& list, std::size_t i, double most) {
  const double bytes = i + 1 == list.size() ? list[i].bytes / 2 : 4 * list[i + 1].bytes;
  return std::min(most, bytes);
}

/// The unit for factors of a width.
ComputeUnit core(int bits, const Rounding& rounding) {
  ComputeUnit unit;
  unit.name = bits == 32 ? "core, floats" : "core, " + std::to_string(bits) + " bits";
  unit.clock_hz = kClock;
  unit.tile_channels = rounding.channels;
  unit.tile_inner = rounding.inner;
  return unit;
}

/// The rules of the kinds of layers of one width, with the rounding that describes them best.
struct Width {
  Rounding rounding;
  std::map<std::string, RelativeFit<4>> fits;  ///< by operator
  double rate = 1;                             ///< products per nanosecond of the fastest kind
};

Width fit_width(const std::map<std::string, Samples>& kinds) {
  Width best;
  double least = std::numeric_limits<double>::infinity();
  for (const std::size_t channels : {1U, 2U, 4U, 8U, 16U, 32U}) {
    for (const std::size_t inner : {1U, 16U, 32U, 64U, 128U}) {
      Width width{{channels, inner}, {}, 1};
      double error = 0;
      for (const auto& [op, samples] : kinds) {
        const RelativeFit<4>& fitted = width.fits[op] = fit_samples(samples, width.rounding);
        // Rounding hardly changes layers of other kinds: those with windows of many channels say.
        if (op == "Conv" || !kinds.contains("Conv")) error += fitted.error;
      }
      if (error >= least) continue;
      least = error;
      best = std::move(width);
    }
  }
  for (const auto& [op, fitted] : best.fits) {
    // Layers whose time does not grow with their products say nothing of the rate.
    constexpr double kFastest = 1e5;
    const double per_product = fitted.coefficients[1];
    if (per_product > 0) {
      best.rate = std::max(best.rate, std::min(kFastest, 1 / (kClock * per_product)));
    }
  }
  return best;
}

OperatorRule layer_rule(const std::string& op, int bits, const Width& width) {
  const RelativeFit<4>& fitted = width.fits.at(op);
  OperatorRule rule = rule_of(op, fitted);
  rule.weight_bits = rule.input_bits = bits;
  rule.s_per_operation = 0;
  rule.s_per_weight_byte = fitted.coefficients[3];
  const double fastest = 1 / (kClock * width.rate);
  const double per_product = fitted.coefficients[1];
  rule.efficiency = per_product > 0 ? std::min(1.0, fastest / per_product) : 1;
  return rule;
}

void add_unit(Accelerator& result, int bits, const Width& width) {
  ComputeUnit unit = core(bits, width.rounding);
  const bool is_float = bits == 32;
  unit.rates = {{bits, bits, is_float, !is_float, width.rate}};
  if (is_float) {
    // Operators that were not measured.
    unit.operations_per_cycle = 4;
    unit.operations_per_function = 8;
  }
  result.units.push_back(std::move(unit));
}

/// Layers with one row, largest weights first, say how fast each memory is.
void add_memories(Accelerator& result, const std::vector<Sample>& samples) {
  const std::vector<Cache> list = memories();
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Sample& probe = samples[i];
    const double bytes = probe.operation.bytes_read();
    Memory memory;
    memory.name = list[i].name;
    memory.bytes = list[i].bytes;
    memory.bytes_per_second = bytes / probe.seconds;
    result.memories.push_back(std::move(memory));
  }
  // The rates of products were measured with operands in the first level: it never limits.
  Memory first;
  first.name = "L1";
  first.bytes = cache_bytes(_SC_LEVEL1_DCACHE_SIZE, 32 << 10);
  first.bytes_per_second = 1e15;
  result.memories.push_back(std::move(first));
}

}  // namespace

std::vector<Sample> measure_samples(const ProbeSettings& options) {
  std::vector<std::pair<ir::Graph, int>> work;
  const std::vector<Cache> list = options.device == nullptr ? memories() : std::vector<Cache>{};
  for (std::size_t i = 0; i < list.size(); ++i) {
    work.emplace_back(row_layer(probe_bytes(list, i, options.max_probe_bytes)), 32);
  }
  for (const ir::Graph& graph : sample_layers()) {
    for (const int bits : kWidths) work.emplace_back(graph, bits);
  }
  for (ir::Graph& graph : sample_operators()) work.emplace_back(std::move(graph), 32);
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < work.size(); ++i) {
    if (options.progress) {
      options.progress(static_cast<double>(i) / static_cast<double>(work.size()), "measuring");
    }
    measure_graph(with_codes(work[i].first, work[i].second), options, samples);
  }
  return samples;
}

Accelerator describe(const std::vector<Sample>& samples, const std::string& name) {
  Accelerator result;
  result.name = name;
  result.source = "measured by halftone estimate --measure";
  result.clock_hz = kClock;
  add_memories(result, samples);
  std::map<std::pair<std::string, int>, Samples> others;  // by operator and bits of codes
  std::map<int, std::map<std::string, Samples>> layers;
  for (std::size_t i = kNumProbes; i < samples.size(); ++i) {
    const Operation& operation = samples[i].operation;
    const int bits = operation.product.w.bits;
    Samples& kind =
        operation.has_product() ? layers[bits][operation.op] : others[{operation.op, bits}];
    kind.push_back(&samples[i]);
  }
  // The last rule that fits counts: the widest codes come first.
  for (auto each = others.rbegin(); each != others.rend(); ++each) {
    const auto& [op, bits] = each->first;
    result.rules.push_back(rule_of(op, fit_samples(each->second, {})));
    if (bits < 32) result.rules.back().weight_bits = bits;
  }
  // The rule of the widest factors comes first: the last one that fits counts.
  for (auto each = layers.rbegin(); each != layers.rend(); ++each) {
    const Width width = fit_width(each->second);
    add_unit(result, each->first, width);
    for (const auto& [op, list] : each->second) {
      result.rules.push_back(layer_rule(op, each->first, width));
    }
  }
  result.comparison = comparison_of(result, std::span(samples).subspan(kNumProbes));
  return result;
}

Accelerator measure_processor(const ProbeSettings& options) {
  return describe(measure_samples(options), processor_name() + ", " +
                                                std::to_string(options.threads) + " thread" +
                                                (options.threads == 1 ? "" : "s"));
}

}  // namespace halftone::accel
