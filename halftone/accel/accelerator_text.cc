// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "halftone/accel/accelerator.h"
#include "halftone/base/toml/keys.h"

namespace halftone::accel {
namespace {

/// A line, left out where the value is what readers assume.
void add(std::string& text, const char* key, double value, double otherwise) {
  if (value != otherwise) text += fmt::format("{} = {}\n", key, value);
}

void add_count(std::string& text, const char* key, std::size_t value) {
  if (value != 1) text += fmt::format("{} = {}\n", key, value);
}

template <typename Names, typename ToText>
std::string list(const Names& names, const ToText& to_text) {
  std::string result;
  for (const auto& name : names) {
    result += (result.empty() ? "" : ", ") + keys::quoted(to_text(name));
  }
  return "[" + result + "]";
}

std::string unit_text(const ComputeUnit& unit) {
  std::string text = fmt::format("\n[[unit]]\nname = {}\nkind = \"{}\"\n", keys::quoted(unit.name),
                                 to_string(unit.kind));
  add_count(text, "count", unit.count);
  add(text, "clock_hz", unit.clock_hz, 0);
  if (unit.kind == UnitKind::kSystolic) {
    text += fmt::format("rows = {}\ncolumns = {}\ndataflow = \"{}\"\n", unit.rows, unit.columns,
                        to_string(unit.dataflow));
  }
  add_count(text, "tile_rows", unit.tile_rows);
  if (unit.least_tile_rows != 0)
    text += fmt::format("least_tile_rows = {}\n", unit.least_tile_rows);
  add_count(text, "tile_columns", unit.tile_columns);
  add_count(text, "tile_inner", unit.tile_inner);
  add_count(text, "tile_channels", unit.tile_channels);
  add(text, "operations_per_cycle", unit.operations_per_cycle, 0);
  add(text, "operations_per_function", unit.operations_per_function, 0);
  add(text, "efficiency", unit.efficiency, 1);
  add(text, "pj_per_product", unit.pj_per_product, 0);
  add(text, "pj_per_operation", unit.pj_per_operation, 0);
  if (unit.rates.empty()) return text;
  text += "rates = [\n";
  for (const Rate& rate : unit.rates) {
    text += fmt::format("  {{ weight_bits = {}, input_bits = {}, {}{}per_cycle = {} }},\n",
                        rate.weight_bits, rate.input_bits, rate.is_float ? "float = true, " : "",
                        rate.takes_codes ? "" : "codes = false, ", rate.per_cycle);
  }
  return text + "]\n";
}

std::string memory_text(const Memory& memory) {
  std::string text = fmt::format("\n[[memory]]\nname = {}\n", keys::quoted(memory.name));
  add_count(text, "count", memory.count);
  text += fmt::format("bytes = {}\nbytes_per_second = {}\n", memory.bytes, memory.bytes_per_second);
  add(text, "efficiency", memory.efficiency, 1);
  add(text, "latency_s", memory.latency_s, 0);
  add(text, "pj_per_byte", memory.pj_per_byte, 0);
  if (!memory.double_buffered) text += "double_buffered = false\n";
  if (!memory.holds.empty()) {
    text += "holds = " + list(memory.holds, [](TensorRole role) { return to_string(role); }) + "\n";
  }
  return text;
}

std::string rule_text(const OperatorRule& rule) {
  std::string text =
      "\n[[operator]]\noperators = " +
      list(rule.operators, [](const std::string& name) { return std::string_view(name); }) + "\n";
  if (rule.weight_bits) text += fmt::format("weight_bits = {}\n", *rule.weight_bits);
  if (rule.input_bits) text += fmt::format("input_bits = {}\n", *rule.input_bits);
  add(text, "overhead_s", rule.overhead_s, 0);
  add(text, "passes", rule.passes, 0);
  add(text, "efficiency", rule.efficiency, 1);
  add(text, "s_per_input_byte", rule.s_per_input_byte, 0);
  add(text, "s_per_weight_byte", rule.s_per_weight_byte, 0);
  add(text, "s_per_output", rule.s_per_output, 0);
  if (rule.s_per_operation) text += fmt::format("s_per_operation = {}\n", *rule.s_per_operation);
  return text;
}

std::string links_text(const Accelerator& accelerator) {
  std::string text;
  if (accelerator.link) {
    const ChipLink& link = *accelerator.link;
    text += fmt::format("\n[link]\ntopology = \"{}\"\nbytes_per_second = {}\n",
                        to_string(link.topology), link.bytes_per_second);
    add(text, "efficiency", link.efficiency, 1);
    add(text, "latency_s", link.latency_s, 0);
    add(text, "pj_per_byte", link.pj_per_byte, 0);
  }
  if (accelerator.host) {
    text += fmt::format("\n[host]\nbytes_per_second = {}\n", accelerator.host->bytes_per_second);
    add(text, "latency_s", accelerator.host->latency_s, 0);
  }
  return text;
}

}  // namespace

std::string to_toml(const Accelerator& accelerator) {
  std::string text = fmt::format("name = {}\n", keys::quoted(accelerator.name));
  if (!accelerator.source.empty()) text += "source = " + keys::quoted(accelerator.source) + "\n";
  if (!accelerator.comparison.empty()) {
    text += "comparison = " + keys::quoted(accelerator.comparison) + "\n";
  }
  add(text, "clock_hz", accelerator.clock_hz, 0);
  add(text, "area_mm2", accelerator.area_mm2, 0);
  add(text, "idle_w", accelerator.idle_w, 0);
  add(text, "active_w", accelerator.active_w, 0);
  for (const ComputeUnit& unit : accelerator.units) text += unit_text(unit);
  for (const Memory& memory : accelerator.memories) text += memory_text(memory);
  text += links_text(accelerator);
  for (const OperatorRule& rule : accelerator.rules) text += rule_text(rule);
  return text;
}

}  // namespace halftone::accel
