// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/accelerator_checks.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>

#include "halftone/base/toml/keys.h"
#include "halftone/ir/operator.h"

namespace halftone::accel {
namespace {

/// Rejects keys that would say nothing.
void refuse_keys(const toml::table& table, std::initializer_list<const char*> names,
                 const std::string& reason) {
  for (const char* name : names) {
    if (const toml::node* node = table.get(name)) {
      keys::fail_at(*node, "'" + std::string(name) + "' " + reason);
    }
  }
}

/// Parts are told apart by their names.
template <typename Part>
void check_names(const toml::table& root, const std::vector<Part>& parts, const std::string& kind) {
  std::set<std::string> seen;
  for (const Part& part : parts) {
    if (part.name.empty()) keys::fail_at(root, "a [[" + kind + "]] has an empty name: name it");
    if (seen.insert(part.name).second) continue;
    keys::fail_at(root, "two [[" + kind + "]] have the name '" + part.name + "': rename one");
  }
}

void check_tiles(const toml::table& table, const ComputeUnit& unit) {
  if (unit.least_tile_rows == 0) return;
  std::size_t height = unit.least_tile_rows;
  while (height < unit.tile_rows) height *= 2;
  if (height == unit.tile_rows) return;
  keys::fail_at(table, "'least_tile_rows': expected " + std::to_string(unit.tile_rows) +
                           " (tile_rows) halved any number of times, found " +
                           std::to_string(unit.least_tile_rows));
}

void check_rates(const toml::table& table, const ComputeUnit& unit) {
  const std::string where = "unit '" + unit.name + "'";
  if (unit.rates.empty() && unit.operations_per_cycle == 0) {
    keys::fail_at(table, where + " computes nothing: give it rates or operations_per_cycle");
  }
  if (unit.rates.empty()) {
    refuse_keys(
        table,
        {"rates", "tile_rows", "least_tile_rows", "tile_columns", "tile_inner", "tile_channels",
         "pj_per_product"},
        "is of products, but " + where + " has no rate: add one to 'rates' or leave it out");
  }
  if (unit.operations_per_cycle == 0) {
    refuse_keys(table, {"operations_per_function", "pj_per_operation"},
                "is of operations, but " + where + " has no operations_per_cycle: add them");
  }
  for (std::size_t i = 0; i < unit.rates.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Rate& a = unit.rates[i];
      const Rate& b = unit.rates[j];
      if (a.weight_bits != b.weight_bits || a.input_bits != b.input_bits ||
          a.is_float != b.is_float || a.takes_codes != b.takes_codes) {
        continue;
      }
      keys::fail_at(table, where + " has two rates for " + std::to_string(a.weight_bits) + " x " +
                               std::to_string(a.input_bits) + " bits: leave one out");
    }
  }
}

/// Whether tensors pass from one memory to the other.
bool share_tensors(const Memory& a, const Memory& b) {
  for (std::size_t role = 0; role < kNumRoles; ++role) {
    if (a.may_hold(static_cast<TensorRole>(role)) && b.may_hold(static_cast<TensorRole>(role)))
      return true;
  }
  return false;
}

void check_nest(const toml::table& root, const Memory& outer, const Memory& inner) {
  if (inner.bytes > outer.bytes && share_tensors(inner, outer)) {
    keys::fail_at(root, "memory '" + inner.name + "' is larger than '" + outer.name +
                            "' outside it: list memories from the outermost inwards");
  }
  if (inner.count % outer.count != 0) {
    keys::fail_at(root, "memory '" + outer.name + "' has " + std::to_string(outer.count) +
                            " instances, over which " + std::to_string(inner.count) + " of '" +
                            inner.name + "' do not divide");
  }
}

bool is_operator(const std::string& name) {
  static const std::vector<std::string_view> known = ir::operator_names();
  return name == OperatorRule::kAll || name == "DepthwiseConv" || name == "Update" ||
         std::ranges::find(known, name) != known.end();
}

}  // namespace

void check_rate(const toml::table& table, const Rate& rate) {
  if (rate.is_float || rate.takes_codes) return;
  keys::fail_at(table, "a rate with codes = false needs float = true: it takes nothing");
}

void check_unit(const toml::table& table, const ComputeUnit& unit) {
  const std::string where = "unit '" + unit.name + "'";
  check_rates(table, unit);
  check_tiles(table, unit);
  if (unit.kind == UnitKind::kSystolic) {
    if (!table.contains("rows") || !table.contains("columns")) {
      keys::fail_at(table, "systolic " + where + " needs 'rows' and 'columns': add them");
    }
    refuse_keys(
        table, {"tile_rows", "least_tile_rows", "tile_columns", "tile_inner", "tile_channels"},
        "is not for kind = \"systolic\": the tiles of " + where + " are its rows and columns");
    return;
  }
  refuse_keys(
      table, {"rows", "columns", "dataflow"},
      "is for kind = \"systolic\" only: " + where + " is " + std::string(to_string(unit.kind)));
  const bool is_float = std::ranges::any_of(unit.rates, &Rate::is_float);
  if (is_float && unit.kind != UnitKind::kVector) {
    keys::fail_at(table, where + " is " + std::string(to_string(unit.kind)) +
                             " and takes no floats: leave 'float' out of its rates");
  }
}

void check_memory(const toml::table& table, const Memory& memory) {
  const toml::node* holds = table.get("holds");
  if (holds == nullptr) return;
  if (memory.holds.empty()) {
    keys::fail_at(*holds, "'holds' is empty: memory '" + memory.name +
                              "' would hold nothing; leave it out for all tensors");
  }
  const std::set<TensorRole> distinct(memory.holds.begin(), memory.holds.end());
  if (distinct.size() != memory.holds.size()) {
    keys::fail_at(*holds, "'holds' of memory '" + memory.name + "' names a tensor twice");
  }
}

void check_rule(const toml::table& table, const OperatorRule& rule) {
  if (rule.operators.empty()) keys::fail_at(table, "[[operator]] names no operators");
  std::set<std::string> seen;
  for (const std::string& name : rule.operators) {
    if (!is_operator(name)) {
      keys::fail_at(table, "'operators': no operator '" + name +
                               "'; `halftone inspect` shows their names, and \"*\" means all");
    }
    if (!seen.insert(name).second) {
      keys::fail_at(table, "'operators' names '" + name + "' twice");
    }
  }
  for (const auto& [key, node] : table) {
    if (key != "operators" && key != "weight_bits" && key != "input_bits") return;
  }
  keys::fail_at(table, "[[operator]] says nothing of its operators: add overhead_s or another key");
}

void check_accelerator(const toml::table& root, const Accelerator& accelerator) {
  if (accelerator.units.empty()) keys::fail_at(root, "the description has no [[unit]]");
  if (accelerator.memories.empty()) keys::fail_at(root, "the description has no [[memory]]");
  check_names(root, accelerator.units, "unit");
  check_names(root, accelerator.memories, "memory");
  for (const ComputeUnit& unit : accelerator.units) {
    if (unit.clock_hz > 0) continue;
    keys::fail_at(root, "unit '" + unit.name + "' has no clock: add clock_hz to it or on top");
  }
  for (std::size_t i = 1; i < accelerator.memories.size(); ++i) {
    check_nest(root, accelerator.memories[i - 1], accelerator.memories[i]);
  }
  const Memory& outermost = accelerator.memories.front();
  if (!outermost.holds.empty()) {
    keys::fail_at(root, "memory '" + outermost.name +
                            "' is the outermost one and must hold all tensors: leave 'holds' out");
  }
}

}  // namespace halftone::accel
