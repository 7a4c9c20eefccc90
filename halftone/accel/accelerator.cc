// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/accelerator.h"

#include <algorithm>

#include "halftone/accel/presets.h"
#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/near_names.h"

namespace halftone::accel {
namespace {

bool takes(const Rate& rate, const Number& weights, const Number& inputs) {
  const bool needs_float = weights.is_float || inputs.is_float;
  if (!needs_float && !rate.takes_codes) return false;
  return weights.bits <= rate.weight_bits && inputs.bits <= rate.input_bits &&
         (rate.is_float || !needs_float);
}

bool names(const OperatorRule& rule, const Operation& operation) {
  const auto fits = [](const std::optional<int>& wanted, int bits) {
    return !wanted || bits <= *wanted;
  };
  const auto is_named = [&](const std::string& name) {
    return name == operation.op || name == OperatorRule::kAll;
  };
  return std::ranges::any_of(rule.operators, is_named) &&
         fits(rule.weight_bits, operation.product.w.bits) &&
         fits(rule.input_bits, operation.product.x.bits);
}

}  // namespace

std::string_view to_string(UnitKind kind) {
  switch (kind) {
    case UnitKind::kSystolic:
      return "systolic";
    case UnitKind::kVector:
      return "vector";
    case UnitKind::kBitSerial:
      return "bit-serial";
    case UnitKind::kLookup:
      return "lookup";
  }
  return "";
}

std::string_view to_string(Dataflow dataflow) {
  switch (dataflow) {
    case Dataflow::kOutputStationary:
      return "output-stationary";
    case Dataflow::kWeightStationary:
      return "weight-stationary";
    case Dataflow::kInputStationary:
      return "input-stationary";
  }
  return "";
}

std::string_view to_string(Topology topology) {
  return topology == Topology::kRing ? "ring" : "fully-connected";
}

const Rate* ComputeUnit::rate(const Number& weights, const Number& inputs) const {
  const Rate* best = nullptr;
  for (const Rate& each : rates) {
    if (!takes(each, weights, inputs)) continue;
    if (best == nullptr || each.per_cycle > best->per_cycle) best = &each;
  }
  return best;
}

double ComputeUnit::products_per_cycle(const Number& weights, const Number& inputs) const {
  const Rate* row = rate(weights, inputs);
  if (row == nullptr) return 0;
  switch (kind) {
    case UnitKind::kSystolic:
      return row->per_cycle * static_cast<double>(rows * columns);
    case UnitKind::kBitSerial:
      return row->per_cycle / (weights.bits * inputs.bits);
    case UnitKind::kLookup:
      return row->per_cycle / weights.bits;
    case UnitKind::kVector:
      break;
  }
  return row->per_cycle;
}

std::size_t ComputeUnit::tile_height(std::size_t product_rows) const {
  std::size_t height = least_tile_rows == 0 ? tile_rows : least_tile_rows;
  while (height < product_rows && height < tile_rows) height *= 2;
  return std::min(height, tile_rows);
}

bool ComputeUnit::shares_inner(std::size_t product_rows) const {
  return least_tile_rows == 0 || product_rows <= least_tile_rows;
}

std::size_t ComputeUnit::rounded_inner(const Product& product) const {
  const auto round_up = [](std::size_t value, std::size_t step) {
    return (value + step - 1) / step * step;
  };
  const std::size_t channels = product.inner / product.taps;
  return round_up(product.taps * round_up(channels, tile_channels), tile_inner);
}

double ComputeUnit::product_pj(const Number& weights, const Number& inputs) const {
  return pj_per_product * weights.bits * inputs.bits / 64;
}

bool Memory::may_hold(TensorRole role) const {
  return holds.empty() || std::ranges::find(holds, role) != holds.end();
}

OperatorRule Accelerator::rule(const Operation& operation) const {
  for (auto each = rules.rbegin(); each != rules.rend(); ++each) {
    if (names(*each, operation)) return *each;
  }
  return {};
}

std::vector<std::string> shipped_accelerators() {
  std::vector<std::string> list;
  for (const EmbeddedText& preset : presets()) list.emplace_back(preset.name);
  return list;
}

std::string accelerator_text(const std::string& name_or_path) {
  if (const EmbeddedText* preset = find_text(presets(), name_or_path))
    return std::string(preset->text);
  const bool is_path = name_or_path.find_first_of("./") != std::string::npos;
  if (!is_path) {
    fail(ErrorKind::kUsage, "no accelerator '" + name_or_path + "': known are " +
                                names_of(presets()) + "; or give a TOML file" +
                                meant_name(name_or_path, shipped_accelerators()));
  }
  const std::vector<std::byte> bytes = read_file(name_or_path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Accelerator load_accelerator(const std::string& name_or_path) {
  return parse_accelerator(accelerator_text(name_or_path), name_or_path);
}

}  // namespace halftone::accel
