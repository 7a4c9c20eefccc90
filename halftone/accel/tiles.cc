// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/tiles.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "halftone/accel/operation_model.h"
#include "halftone/base/error.h"

namespace halftone::accel {
namespace {

/// Data spaces of a matrix product, in the order of mapping::matrix_product().
constexpr std::size_t kX = 0;
constexpr std::size_t kW = 1;
constexpr std::size_t kY = 2;
constexpr std::array kRoles = {TensorRole::kInputs, TensorRole::kWeights, TensorRole::kOutputs};

/// Sums that are not finished have this many bits.
constexpr double kSumBits = 32;
/// Sizes are counted in sixteenths of a bit: shared scales make weights of 2.25 bits.
constexpr double kParts = 16;

double real_of(std::size_t value) { return static_cast<double>(value); }

/// Bits of an element as stored: with scales, without what windows read twice.
double stored_bits(double bytes, double elements, double otherwise) {
  return bytes > 0 && elements > 0 ? 8 * bytes / elements : otherwise;
}

std::uint64_t parts(double bits) {
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(kParts * bits)));
}

/// Builds the problem and the hierarchy that mapping::find_mapping() takes.
class Mapped {
 public:
  Mapped(const Operation& operation, const Accelerator& accelerator, const ComputeUnit& unit,
         const Homes& homes)
      : product_(operation.product),
        accelerator_(accelerator),
        unit_(unit),
        homes_(homes),
        tile_(unit_tile(unit, operation.product)),
        first_(std::min({homes.weights, homes.inputs, homes.outputs})) {
    const double m = real_of(product_.count) * real_of(product_.rows);
    const double x = m * real_of(product_.inner);
    const double w = real_of(product_.count) * real_of(product_.inner) * real_of(product_.cols);
    bits_[kX] = stored_bits(operation.reads[0].bytes, x, product_.x.bits);
    bits_[kW] = stored_bits(operation.reads[1].bytes, w, product_.w.bits);
    bits_[kY] = product_.y_bits;
  }

  [[nodiscard]] mapping::Problem problem() const {
    return mapping::matrix_product(divide_up(product_.rows, tile_.rows),
                                   divide_up(product_.cols, tile_.cols),
                                   divide_up(product_.inner, tile_.inner), words(first_));
  }

  [[nodiscard]] mapping::Hierarchy hierarchy() const {
    mapping::Hierarchy hierarchy;
    for (std::size_t i = first_; i < accelerator_.memories.size(); ++i) {
      hierarchy.levels.push_back(level(i));
    }
    if (unit_.kind == UnitKind::kSystolic) hierarchy.levels.push_back(cells());
    return hierarchy;
  }

  [[nodiscard]] std::size_t first() const { return first_; }

  /// The bytes of a word of each data space in a memory.
  [[nodiscard]] std::array<double, 3> word_bytes(std::size_t memory) const {
    const std::array<std::uint64_t, 3> bits = words(memory);
    std::array<double, 3> bytes{};
    for (std::size_t space = 0; space < bytes.size(); ++space) {
      if (memory < homes_.of(kRoles[space])) continue;
      bytes[space] = static_cast<double>(bits[space]) / kParts / 8;
    }
    return bytes;
  }

 private:
  /// The size of a unit's tile of each data space, in parts of a bit.
  [[nodiscard]] std::array<std::uint64_t, 3> words(std::size_t memory) const {
    const double y = memory == first_ ? bits_[kY] : std::max(bits_[kY], kSumBits);
    std::array<std::uint64_t, 3> words = {parts(bits_[kX] * real_of(tile_.rows * tile_.inner)),
                                          parts(bits_[kW] * real_of(tile_.inner * tile_.cols)),
                                          parts(y * real_of(tile_.rows * tile_.cols))};
    // Outside its home an operand moves nothing.
    for (std::size_t space = 0; space < words.size(); ++space) {
      if (memory < homes_.of(kRoles[space])) words[space] = 1;
    }
    return words;
  }

  /// The seconds that a unit needs for a tile.
  [[nodiscard]] double tile_seconds() const {
    const double products = real_of(tile_.rows * tile_.inner) * real_of(tile_.cols);
    return products * real_of(unit_.count) / product_rate(unit_, product_);
  }

  /// The cells of a systolic array, which hold one tile of the operand that stays.
  [[nodiscard]] mapping::Level cells() const {
    const std::size_t stays = unit_.dataflow == Dataflow::kOutputStationary   ? kY
                              : unit_.dataflow == Dataflow::kWeightStationary ? kW
                                                                              : kX;
    mapping::Level level;
    level.name = unit_.name;
    level.keeps.assign(kRoles.size(), false);
    level.keeps[stays] = true;
    const std::array<std::uint64_t, 3> bits = words(accelerator_.memories.size());
    level.word_bits.assign(bits.begin(), bits.end());
    level.capacity_bits = bits[stays];
    level.fan_out = {{1, {}}};
    return level;
  }

  [[nodiscard]] mapping::Level level(std::size_t i) const {
    const Memory& memory = accelerator_.memories[i];
    mapping::Level level;
    level.name = memory.name;
    for (const TensorRole role : kRoles) {
      level.keeps.push_back(i == first_ || (memory.may_hold(role) && i >= homes_.of(role)));
    }
    const bool is_last = i + 1 == accelerator_.memories.size();
    const std::size_t below = is_last ? unit_.count : accelerator_.memories[i + 1].count;
    level.fan_out = {{std::max<std::uint64_t>(1, below / memory.count), {}}};
    // The outermost memory is known to hold everything.
    if (i > first_) level.capacity_bits = static_cast<std::uint64_t>(8 * kParts * memory.bytes);
    level.copies = memory.double_buffered ? 2 : 1;
    const std::array<std::uint64_t, 3> bits = words(i);
    level.word_bits.assign(bits.begin(), bits.end());
    const double per_instance = memory.bandwidth() / real_of(memory.count);
    level.bits_per_cycle = 8 * kParts * per_instance * tile_seconds();
    // Where no energies are given, bytes decide between mappings of equal time.
    const double pj_per_byte = memory.pj_per_byte > 0 ? memory.pj_per_byte : 1;
    level.read_pj = level.write_pj = level.update_pj = pj_per_byte / 8 / kParts;
    return level;
  }

  const Product& product_;
  const Accelerator& accelerator_;
  const ComputeUnit& unit_;
  const Homes& homes_;
  UnitTile tile_;
  std::size_t first_;
  std::array<double, 3> bits_{};
};

/// Reads beside those of the product: biases, scales.
void add_others(const Operation& operation, const Homes& homes, Traffic& traffic) {
  for (std::size_t i = 0; i < traffic.memories.size(); ++i) {
    for (std::size_t r = 2; r < operation.reads.size(); ++r) {
      const Transfer& each = operation.reads[r];
      if (homes.of(each.role) <= i) traffic.memories[i].read += each.bytes;
    }
    for (std::size_t w = 1; w < operation.writes.size(); ++w) {
      const Transfer& each = operation.writes[w];
      if (homes.of(each.role) <= i) traffic.memories[i].written += each.bytes;
    }
  }
}

}  // namespace

std::size_t Homes::of(TensorRole role) const {
  switch (role) {
    case TensorRole::kWeights:
      return weights;
    case TensorRole::kInputs:
      return inputs;
    case TensorRole::kOutputs:
      return outputs;
    case TensorRole::kStates:
    case TensorRole::kGradients:
    case TensorRole::kOptimizer:
      break;
  }
  return 0;
}

Traffic compulsory_traffic(const Operation& operation, const Accelerator& accelerator,
                           const Homes& homes, double passes) {
  Traffic traffic;
  traffic.memories.resize(accelerator.memories.size());
  // Reads beyond the first: all passes but the one that writes.
  const double read_passes = passes > 0 ? passes - 1 : 1;
  for (std::size_t i = 0; i < traffic.memories.size(); ++i) {
    for (const Transfer& each : operation.reads) {
      const double times = each.role == TensorRole::kInputs ? read_passes : 1;
      if (homes.of(each.role) <= i) traffic.memories[i].read += times * each.bytes;
    }
    for (const Transfer& each : operation.writes) {
      if (homes.of(each.role) <= i) traffic.memories[i].written += each.bytes;
    }
  }
  return traffic;
}

UnitTile unit_tile(const ComputeUnit& unit, const Product& product) {
  if (unit.kind != UnitKind::kSystolic) {
    return {unit.tile_height(product.rows), unit.tile_inner, unit.tile_columns};
  }
  switch (unit.dataflow) {
    case Dataflow::kOutputStationary:
      return {unit.rows, std::min(product.inner, unit.rows), unit.columns};
    case Dataflow::kWeightStationary:
      return {std::min(product.rows, unit.rows), unit.rows, unit.columns};
    case Dataflow::kInputStationary:
      break;
  }
  return {unit.columns, unit.rows, std::min(product.cols, unit.rows)};
}

TiledProduct tile_product(const Operation& operation, const Accelerator& accelerator,
                          const ComputeUnit& unit, const Homes& homes) {
  const Mapped mapped(operation, accelerator, unit, homes);
  TiledProduct result{
      mapping::find_mapping(mapped.problem(), mapped.hierarchy()), mapped.first(), {}};
  for (std::size_t l = 0; l < result.found.mapping.levels.size(); ++l) {
    result.word_bytes.push_back(mapped.word_bytes(mapped.first() + l));
  }
  return result;
}

Traffic tiled_traffic(const Operation& operation, const Accelerator& accelerator,
                      const ComputeUnit& unit, const Homes& homes) {
  Traffic traffic;
  traffic.memories.resize(accelerator.memories.size());
  const TiledProduct tiled = tile_product(operation, accelerator, unit, homes);
  const auto count = static_cast<double>(operation.product.count);
  for (std::size_t i = tiled.first; i < traffic.memories.size(); ++i) {
    const std::size_t l = i - tiled.first;
    const mapping::LevelAccesses& level = tiled.found.evaluation.levels[l];
    for (std::size_t space = 0; space < kRoles.size(); ++space) {
      const double bytes = count * tiled.word_bytes[l][space];
      traffic.memories[i].read += bytes * static_cast<double>(level.total_reads(space));
      traffic.memories[i].written += bytes * static_cast<double>(level.total_updates(space));
    }
  }
  for (const mapping::TemporalLoop& loop : tiled.found.mapping.levels.front().temporal) {
    traffic.tiles *= loop.bound;
  }
  traffic.tiles *= operation.product.count;
  add_others(operation, homes, traffic);
  return traffic;
}

}  // namespace halftone::accel
