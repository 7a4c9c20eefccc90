// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/measure/measure.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "halftone/accel/estimate.h"
#include "halftone/accel/measure/sample_networks.h"
#include "halftone/base/processor.h"
#include "halftone/compress/rule_codes.h"
#include "halftone/runtime/execute/profile.h"
#include "halftone/spmd/cost.h"

namespace halftone::accel {
namespace {

constexpr std::size_t kCodesChannels = 8;  ///< to which the channels of a tap are rounded up
constexpr std::size_t kCodesInner = 64;    ///< to which the inner extent of codes is rounded up
constexpr std::size_t kNumProbes = 3;      ///< the first samples: memory, third and second level
constexpr double kClock = 1e9;             ///< rates are products per nanosecond

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

void measure_graph(ir::Graph graph, const MeasureOptions& options, std::vector<Sample>& samples) {
  runtime::PlanOptions plan_options;
  plan_options.threads = options.threads;
  const auto plan = runtime::make_plan(std::move(graph), plan_options);
  const runtime::Profile profile = runtime::profile(plan, {options.seconds_per_run, 30});
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
double probe_bytes(const std::vector<Cache>& list, std::size_t i) {
  if (i + 1 == list.size()) return list[i].bytes / 2;
  constexpr double kMost = 256e6;
  return std::min(kMost, 4 * list[i + 1].bytes);
}

/// Kinds of samples that share a rule: the operator and, of layers, the width of the factors.
using Kind = std::pair<std::string, int>;

Kind kind_of(const Operation& operation) {
  return {operation.op, operation.has_product() ? operation.product.w.bits : 0};
}

/// The unit that multiplies floats, or the one for codes.
ComputeUnit core(bool takes_floats) {
  ComputeUnit unit;
  unit.name = takes_floats ? "core, floats" : "core, codes";
  unit.clock_hz = kClock;
  if (!takes_floats) {
    unit.tile_inner = kCodesInner;
    unit.tile_channels = kCodesChannels;
  }
  return unit;
}

double rounded_products(const Product& product) {
  const std::size_t inner = core(product.w.is_float).rounded_inner(product);
  return static_cast<double>(product.count) * static_cast<double>(product.rows) *
         static_cast<double>(inner) * static_cast<double>(product.cols);
}

/// The terms of the model: once, products or operations, outputs.
spmd::CostPath terms(const Operation& operation) {
  const double work = operation.has_product() ? rounded_products(operation.product)
                                              : operation.operations + operation.functions;
  return {1, work, operation.outputs};
}

spmd::Link fit(const std::vector<const Sample*>& samples) {
  std::vector<spmd::CostSample> list;
  for (const Sample* each : samples) list.push_back({terms(each->operation), each->seconds});
  return spmd::fit_link(list);
}

/// Products per nanosecond: of the fastest kind of layer of a width.
std::map<int, double> rates_of(const std::map<Kind, spmd::Link>& fits) {
  std::map<int, double> rates;
  for (const auto& [kind, fitted] : fits) {
    if (kind.second == 0) continue;
    // Layers whose time does not grow with their products say nothing of the rate.
    constexpr double kFastest = 1e5;
    const double rate =
        fitted.per_byte_s > 0 ? std::min(kFastest, 1 / (kClock * fitted.per_byte_s)) : 1;
    rates[kind.second] = std::max(rates[kind.second], rate);
  }
  return rates;
}

OperatorRule rule_of(const Kind& kind, const spmd::Link& fitted,
                     const std::map<int, double>& rates) {
  OperatorRule rule;
  rule.operators = {kind.first};
  rule.overhead_s = fitted.latency_s;
  rule.s_per_output = fitted.per_added_byte_s;
  if (kind.second == 0) {
    rule.s_per_operation = fitted.per_byte_s;
    return rule;
  }
  rule.weight_bits = rule.input_bits = kind.second;
  rule.s_per_operation = 0;
  const double fastest = 1 / (kClock * rates.at(kind.second));
  rule.efficiency = fitted.per_byte_s > 0 ? std::min(1.0, fastest / fitted.per_byte_s) : 1;
  return rule;
}

void add_units(Accelerator& result, const std::map<int, double>& rates) {
  ComputeUnit floats = core(true);
  ComputeUnit codes = core(false);
  for (const auto& [bits, rate] : rates) {
    (bits == 32 ? floats : codes).rates.push_back({bits, bits, bits == 32, rate});
  }
  // Operators that were not measured.
  floats.operations_per_cycle = 4;
  floats.operations_per_function = 8;
  result.units = {std::move(floats), std::move(codes)};
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

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

std::string comparison_of(const Accelerator& chip, const std::vector<Sample>& samples) {
  std::vector<double> errors;
  for (std::size_t i = kNumProbes; i < samples.size(); ++i) {
    const Operation& operation = samples[i].operation;
    // Operands of a small network are in the caches: three operations in place of one alone.
    const Estimate result = estimate({"sample", 1, {operation, operation, operation}}, chip);
    errors.push_back(std::abs(result.operations[1].seconds / samples[i].seconds - 1));
  }
  const int percent = static_cast<int>(std::lround(100 * median(errors)));
  return "median error " + std::to_string(percent) + " % over the " +
         std::to_string(errors.size()) + " operations that the description was fitted to";
}

}  // namespace

std::vector<Sample> measure_samples(const MeasureOptions& options) {
  std::vector<std::pair<ir::Graph, int>> work;
  const std::vector<Cache> list = memories();
  for (std::size_t i = 0; i < list.size(); ++i) {
    work.emplace_back(row_layer(probe_bytes(list, i)), 32);
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
  std::map<Kind, std::vector<const Sample*>> kinds;
  for (std::size_t i = kNumProbes; i < samples.size(); ++i) {
    kinds[kind_of(samples[i].operation)].push_back(&samples[i]);
  }
  std::map<Kind, spmd::Link> fits;
  for (const auto& [kind, list] : kinds) fits[kind] = fit(list);
  const std::map<int, double> rates = rates_of(fits);
  add_units(result, rates);
  // The rule of the widest factors comes first: the last one that fits counts.
  for (auto each = fits.rbegin(); each != fits.rend(); ++each) {
    result.rules.push_back(rule_of(each->first, each->second, rates));
  }
  result.comparison = comparison_of(result, samples);
  return result;
}

Accelerator measure_processor(const MeasureOptions& options) {
  return describe(measure_samples(options), processor_name() + ", " +
                                                std::to_string(options.threads) + " thread" +
                                                (options.threads == 1 ? "" : "s"));
}

}  // namespace halftone::accel
