// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/number_systems.h"

#include <algorithm>

namespace halftone {
namespace {

using numerics::NumberSystem;

std::string computed(const NumberSystem& system, int bits) {
  numerics::MatrixEncoding encoding;
  encoding.bits = bits;
  encoding.codebook = codebook_of(system, bits);
  if (!encoding.fits_integers()) return "float32";
  return encoding.is_summed() ? "bits or 8-bit integers" : "8-bit integers";
}

std::string blocks_text(const numerics::BlockShape& blocks) {
  if (blocks.granularity != numerics::Granularity::kGroup) {
    return std::string(to_string(blocks.granularity));
  }
  return "groups of " + std::to_string(blocks.group_size);
}

std::string scales_text(const NumberSystem& system) {
  if (system.rule == numerics::ScaleRule::kUnit) return "none";
  const numerics::ScaleStorage storage = scale_storage(system, system.blocks.granularity);
  std::string text(to_string(storage.type));
  if (storage.factor) text.append(" x ").append(to_string(*storage.factor));
  if (storage.share != 0) text += " of " + std::to_string(storage.share) + " groups";
  return text + (system.has_offset ? " with offset" : "");
}

/// The most bits up to 8.
int usual_bits(const NumberSystem& system) {
  return std::clamp(numerics::kMaxBits, system.min_bits, system.max_bits);
}

NumberSystemInfo info_of(const NumberSystem& system) {
  return {std::string(system.name),
          std::string(system.family),
          system.min_bits,
          system.max_bits,
          blocks_text(system.blocks),
          scales_text(system),
          computed(system, usual_bits(system)),
          system.saturating == nullptr ? "saturate" : "nan",
          std::string(system.formula),
          std::string(system.source)};
}

}  // namespace

std::vector<NumberSystemInfo> list_number_systems() {
  std::vector<NumberSystemInfo> all;
  for (const NumberSystem& system : numerics::number_systems()) all.push_back(info_of(system));
  return all;
}

NumberSystemLevels number_system_levels(std::string_view name, int bits) {
  const NumberSystem& system = numerics::find_system(name);
  NumberSystemLevels result;
  result.bits = bits != 0 ? bits : usual_bits(system);
  const auto codebook = codebook_of(system, result.bits);
  result.system = info_of(system);
  result.system.computed = computed(system, result.bits);
  if (codebook != nullptr) {
    result.levels.assign(codebook->levels().begin(), codebook->levels().end());
  }
  return result;
}

}  // namespace halftone
