// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/accelerator_toml.h"

#include <algorithm>
#include <limits>
#include <string>

#include "halftone/accel/accelerator_checks.h"
#include "halftone/base/error.h"
#include "halftone/base/toml/keys.h"

namespace halftone::accel {
namespace {

using keys::choice;
using keys::Key;
using keys::real;
using keys::required;
using keys::whole;
using keys::word;

constexpr double kMax = 1e30;
constexpr double kTiny = 1e-30;  ///< rates and sizes must be above zero
constexpr std::int64_t kMaxCount = std::int64_t{1} << 40;

Key positive(std::string_view key, double& store) {
  return real(key, kTiny, kMax, [&store](double value) { store = value; });
}

Key at_least_zero(std::string_view key, double& store) {
  return real(key, 0, kMax, [&store](double value) { store = value; });
}

/// A part of a whole, above zero.
Key share(std::string_view key, double& store) {
  return real(key, 1e-6, 1, [&store](double value) { store = value; });
}

Key count(std::string_view key, std::size_t& store) {
  return whole(key, 1, kMaxCount,
               [&store](std::int64_t value) { store = static_cast<std::size_t>(value); });
}

Key bits(std::string_view key, std::int64_t high, std::function<void(int)> store) {
  return whole(key, 1, high,
               [store = std::move(store)](std::int64_t value) { store(static_cast<int>(value)); });
}

Key text(std::string_view key, std::string& store) {
  return word(key, [&store](const std::string& value) { store = value; });
}

Rate read_rate(const toml::table& table) {
  Rate rate;
  keys::read_table(table,
                   {required(bits("weight_bits", 64, [&](int value) { rate.weight_bits = value; })),
                    required(bits("input_bits", 64, [&](int value) { rate.input_bits = value; })),
                    keys::flag("float", [&](bool value) { rate.is_float = value; }),
                    keys::flag("codes", [&](bool value) { rate.takes_codes = value; }),
                    required(positive("per_cycle", rate.per_cycle))},
                   "rates");
  check_rate(table, rate);
  return rate;
}

std::vector<Key> shape_keys(ComputeUnit& unit) {
  return {
      count("count", unit.count),
      count("rows", unit.rows),
      count("columns", unit.columns),
      word("dataflow",
           [&](const std::string& name) {
             unit.dataflow =
                 choice<Dataflow>(name, {{"output-stationary", Dataflow::kOutputStationary},
                                         {"weight-stationary", Dataflow::kWeightStationary},
                                         {"input-stationary", Dataflow::kInputStationary}});
           }),
      count("tile_rows", unit.tile_rows),
      count("least_tile_rows", unit.least_tile_rows),
      count("tile_columns", unit.tile_columns),
      count("tile_inner", unit.tile_inner),
      count("tile_channels", unit.tile_channels),
  };
}

ComputeUnit read_unit(const toml::table& table, double clock_hz) {
  ComputeUnit unit;
  unit.clock_hz = clock_hz;
  std::vector<Key> list = shape_keys(unit);
  const std::vector<Key> own = {
      required(text("name", unit.name)),
      required(word("kind",
                    [&](const std::string& name) {
                      unit.kind = choice<UnitKind>(name, {{"systolic", UnitKind::kSystolic},
                                                          {"vector", UnitKind::kVector},
                                                          {"bit-serial", UnitKind::kBitSerial},
                                                          {"lookup", UnitKind::kLookup}});
                    })),
      positive("clock_hz", unit.clock_hz),
      keys::sections("rates",
                     [&](const toml::table& rate) { unit.rates.push_back(read_rate(rate)); }),
      at_least_zero("operations_per_cycle", unit.operations_per_cycle),
      at_least_zero("operations_per_function", unit.operations_per_function),
      share("efficiency", unit.efficiency),
      at_least_zero("pj_per_product", unit.pj_per_product),
      at_least_zero("pj_per_operation", unit.pj_per_operation),
  };
  list.insert(list.end(), own.begin(), own.end());
  keys::read_table(table, list, "[[unit]]");
  check_unit(table, unit);
  return unit;
}

Memory read_memory(const toml::table& table) {
  Memory memory;
  const auto hold = [&](const std::string& name) {
    memory.holds.push_back(choice<TensorRole>(name, {{"weights", TensorRole::kWeights},
                                                     {"inputs", TensorRole::kInputs},
                                                     {"outputs", TensorRole::kOutputs},
                                                     {"states", TensorRole::kStates},
                                                     {"gradients", TensorRole::kGradients},
                                                     {"optimizer", TensorRole::kOptimizer}}));
  };
  keys::read_table(
      table,
      {required(text("name", memory.name)), count("count", memory.count),
       required(positive("bytes", memory.bytes)),
       required(positive("bytes_per_second", memory.bytes_per_second)),
       share("efficiency", memory.efficiency), at_least_zero("latency_s", memory.latency_s),
       at_least_zero("pj_per_byte", memory.pj_per_byte),
       keys::flag("double_buffered", [&](bool value) { memory.double_buffered = value; }),
       keys::words("holds", hold)},
      "[[memory]]");
  check_memory(table, memory);
  return memory;
}

ChipLink read_link(const toml::table& table) {
  ChipLink link;
  keys::read_table(
      table,
      {word("topology",
            [&](const std::string& name) {
              link.topology = choice<Topology>(
                  name,
                  {{"ring", Topology::kRing}, {"fully-connected", Topology::kFullyConnected}});
            }),
       required(positive("bytes_per_second", link.bytes_per_second)),
       share("efficiency", link.efficiency), at_least_zero("latency_s", link.latency_s),
       at_least_zero("pj_per_byte", link.pj_per_byte)},
      "[link]");
  return link;
}

HostLink read_host(const toml::table& table) {
  HostLink host;
  keys::read_table(table,
                   {required(positive("bytes_per_second", host.bytes_per_second)),
                    at_least_zero("latency_s", host.latency_s)},
                   "[host]");
  return host;
}

OperatorRule read_rule(const toml::table& table) {
  OperatorRule rule;
  keys::read_table(
      table,
      {required(keys::words("operators",
                            [&](const std::string& name) { rule.operators.push_back(name); })),
       bits("weight_bits", 64, [&](int value) { rule.weight_bits = value; }),
       bits("input_bits", 64, [&](int value) { rule.input_bits = value; }),
       at_least_zero("overhead_s", rule.overhead_s), at_least_zero("passes", rule.passes),
       share("efficiency", rule.efficiency),
       at_least_zero("s_per_input_byte", rule.s_per_input_byte),
       at_least_zero("s_per_weight_byte", rule.s_per_weight_byte),
       at_least_zero("s_per_output", rule.s_per_output),
       real("s_per_operation", 0, kMax, [&](double value) { rule.s_per_operation = value; })},
      "[[operator]]");
  check_rule(table, rule);
  return rule;
}

/// The clock comes first: units without one of their own take it.
double clock_of(const toml::table& root) {
  double clock_hz = 0;
  if (const toml::node* node = root.get("clock_hz")) positive("clock_hz", clock_hz).read(*node);
  return clock_hz;
}

}  // namespace

Accelerator read_accelerator(const toml::table& root) {
  Accelerator result;
  const double clock_hz = clock_of(root);
  const std::vector<Key> list = {
      required(text("name", result.name)),
      text("source", result.source),
      text("comparison", result.comparison),
      positive("clock_hz", result.clock_hz),
      at_least_zero("area_mm2", result.area_mm2),
      at_least_zero("idle_w", result.idle_w),
      at_least_zero("active_w", result.active_w),
      required(keys::sections(
          "unit",
          [&](const toml::table& table) { result.units.push_back(read_unit(table, clock_hz)); })),
      required(keys::sections(
          "memory",
          [&](const toml::table& table) { result.memories.push_back(read_memory(table)); })),
      keys::section("link", [&](const toml::table& table) { result.link = read_link(table); }),
      keys::section("host", [&](const toml::table& table) { result.host = read_host(table); }),
      keys::sections("operator",
                     [&](const toml::table& table) { result.rules.push_back(read_rule(table)); }),
  };
  keys::read_table(root, list, "the description");
  check_accelerator(root, result);
  return result;
}

Accelerator parse_accelerator(std::string_view toml_text, const std::string& name) {
  Accelerator result;
  keys::read_document(toml_text, name, [&](const toml::table& root) {
    const bool has_base = root.contains("base");  // which loses the lines
    result = has_base ? read_accelerator(with_base(root)) : read_accelerator(root);
  });
  return result;
}

}  // namespace halftone::accel
