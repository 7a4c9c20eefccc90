// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/number_systems.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "halftone/base/error.h"
#include "halftone/compress/fit/table_fit.h"
#include "halftone/numerics/named_system.h"

namespace halftone {
namespace {

std::string computed(const numerics::NumberSystem& system, int bits) {
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

std::string scales_text(const numerics::NumberSystem& system) {
  if (system.rule == numerics::ScaleRule::kUnit) return "none";
  const numerics::ScaleStorage storage = scale_storage(system, system.blocks.granularity);
  std::string text(to_string(storage.type));
  if (storage.factor) text.append(" x ").append(to_string(*storage.factor));
  if (storage.share != 0) text += " of " + std::to_string(storage.share) + " groups";
  return text + (system.has_offset ? " with offset" : "");
}

/// The most bits up to 8.
int usual_bits(const numerics::NumberSystem& system) {
  return std::clamp(numerics::kMaxBits, system.min_bits, system.max_bits);
}

struct SystemAndBits {
  const numerics::NumberSystem& system;
  int bits = 0;
  std::size_t group_size = 0;  ///< 0: the name has none
};

/// @param bits  0: those that the name implies, else the most that the system has, up to 8
SystemAndBits system_and_bits(std::string_view name, int bits) {
  const numerics::NamedSystem named = numerics::named_system(name);
  if (named.system->vectors != nullptr) {
    fail(ErrorKind::kUsage, "number system '" + named.text +
                                "': expected one of single numbers; neighbouring weights share a "
                                "code of this one, which quantize fits");
  }
  if (bits != 0 && named.bits && bits != *named.bits) {
    fail(ErrorKind::kUsage, "number system '" + named.text + "': expected " +
                                std::to_string(*named.bits) + " bits, as its name says, found " +
                                std::to_string(bits));
  }
  if (bits == 0) bits = named.bits.value_or(usual_bits(*named.system));
  return {*named.system, bits, named.group_size.value_or(0)};
}

NumberSystemInfo info_of(const numerics::NumberSystem& system) {
  return {std::string(system.name),
          std::string(system.family),
          system.min_bits,
          system.max_bits,
          std::string(system.formula),
          std::string(system.source),
          blocks_text(system.blocks),
          scales_text(system),
          computed(system, usual_bits(system)),
          system.saturating == nullptr ? "saturate" : "nan"};
}

numerics::BlockShape blocks_of(const numerics::NumberSystem& system, const ArrayFormat& format) {
  constexpr std::size_t kUsualGroup = 32;
  numerics::BlockShape blocks = system.blocks;
  if (format.granularity == "tensor") {
    blocks = {numerics::Granularity::kTensor, 0};
  } else if (format.granularity == "channel") {
    blocks = {numerics::Granularity::kChannel, 0};
  } else if (format.granularity == "group") {
    blocks = {numerics::Granularity::kGroup,
              blocks.group_size != 0 ? blocks.group_size : kUsualGroup};
  } else if (!format.granularity.empty()) {
    fail(ErrorKind::kUsage,
         "granularity: expected tensor, channel or group, found '" + format.granularity + "'");
  }
  if (format.group_size == 0) return blocks;
  if (blocks.granularity != numerics::Granularity::kGroup) {
    fail(ErrorKind::kUsage, "group size: only granularity group has groups");
  }
  blocks.group_size = format.group_size;
  return blocks;
}

/// A format with the groups that the name of its system says.
/// @param size  0: none
ArrayFormat with_group(ArrayFormat format, std::size_t size) {
  if (size == 0) return format;
  if (format.group_size != 0 && format.group_size != size) {
    fail(ErrorKind::kUsage, "group size: expected " + std::to_string(size) + ", as " +
                                format.system + " says, found " +
                                std::to_string(format.group_size));
  }
  format.group_size = size;
  if (format.granularity.empty()) format.granularity = "group";
  return format;
}

/// An encoding for arrays of any extent: with one scale, or one for each row.
numerics::MatrixEncoding encoding_with(const numerics::NumberSystem& system, int bits,
                                       std::span<const float> scales) {
  if (!system.allows(bits)) {
    fail(ErrorKind::kUsage, "bits: expected " + std::to_string(system.min_bits) + " to " +
                                std::to_string(system.max_bits) + ", found " +
                                std::to_string(bits));
  }
  const auto granularity =
      scales.size() == 1 ? numerics::Granularity::kTensor : numerics::Granularity::kChannel;
  auto encoding = empty_encoding(system, bits, {granularity, 0}, scales.size(), 1);
  const float largest =
      std::max(-encoding.codebook->sorted().front(), encoding.codebook->sorted().back());
  for (std::size_t i = 0; i < scales.size(); ++i) {
    if (!(scales[i] > 0 && std::isfinite(scales[i] * largest))) {
      fail(ErrorKind::kUsage, "scale: expected a number above 0 whose levels are finite, found " +
                                  std::to_string(scales[i]));
    }
    encoding.set_scale(i, scales[i]);
  }
  return encoding;
}

/// A system, its bits and blocks as a format says.
compress::WeightFormat weight_format(const ArrayFormat& format) {
  const auto& [system, bits, named_size] = system_and_bits(format.system, format.bits);
  compress::WeightFormat how;
  how.system = &system;
  how.bits = bits;
  how.offset = format.offset;
  const numerics::BlockShape blocks = blocks_of(system, with_group(format, named_size));
  how.granularity = blocks.granularity;
  how.group_size = blocks.group_size;
  if (system.allows(bits)) return how;
  fail(ErrorKind::kUsage, format.system + ": expected " + std::to_string(system.min_bits) + " to " +
                              std::to_string(system.max_bits) + " bits, found " +
                              std::to_string(bits));
}

void check_finite(MatrixView<const float> values) {
  for (std::size_t row = 0; row < values.rows(); ++row) {
    for (std::size_t col = 0; col < values.cols(); ++col) {
      if (std::isfinite(values(row, col))) continue;
      fail(ErrorKind::kFormat, "expected finite numbers, found " +
                                   std::to_string(values(row, col)) + " at index " +
                                   std::to_string(row * values.cols() + col));
    }
  }
}

}  // namespace

std::vector<NumberSystemInfo> list_number_systems() {
  std::vector<NumberSystemInfo> all;
  for (const numerics::NumberSystem& system : numerics::number_systems())
    all.push_back(info_of(system));
  return all;
}

NumberSystemLevels number_system_levels(std::string_view name, int bits) {
  const auto& [system, own_bits, group_size] = system_and_bits(name, bits);
  NumberSystemLevels result;
  result.bits = own_bits;
  const auto codebook = codebook_of(system, result.bits);
  result.system = info_of(system);
  result.system.computed = computed(system, result.bits);
  if (codebook != nullptr) {
    for (const float level : codebook->levels()) {
      // The lowest code of narrow integers is one that no number gets.
      const bool is_used =
          !std::isfinite(level) || codebook->sorted()[codebook->index(level)] == level;
      result.levels.push_back(is_used ? level : std::numeric_limits<float>::quiet_NaN());
    }
  }
  return result;
}

numerics::MatrixEncoding fit_encoding(MatrixView<const float> values, const ArrayFormat& format) {
  const compress::WeightFormat how = weight_format(format);
  check_finite(values);
  return compress::fit_table(values, how, {}, {}).encoding;
}

numerics::MatrixEncoding rule_encoding(MatrixView<const float> values, const ArrayFormat& format) {
  const compress::WeightFormat how = weight_format(format);
  check_finite(values);
  return encoding_by_rule(*how.system, how.bits, {how.granularity, how.group_size}, values);
}

numerics::MatrixEncoding uniform_encoding(std::span<const float> scales,
                                          std::span<const std::int64_t> zero_points, int bits) {
  if (scales.empty() || scales.size() != zero_points.size()) {
    fail(ErrorKind::kUsage, "zero points: expected one for each scale, found " +
                                std::to_string(zero_points.size()) + " for " +
                                std::to_string(scales.size()));
  }
  auto encoding = encoding_with(numerics::find_system("asymmetric"), bits, scales);
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const std::int64_t zero = zero_points[i];
    if (zero < 0 || zero >> bits != 0) {
      fail(ErrorKind::kUsage, "zero point: expected 0 to " + std::to_string((1 << bits) - 1) +
                                  ", found " + std::to_string(zero));
    }
    encoding.set_scale(i, scales[i], -static_cast<double>(scales[i]) * static_cast<double>(zero));
  }
  return encoding;
}

numerics::MatrixEncoding fixed_point_encoding(int exponent, int bits) {
  constexpr int kLeast = -126;
  if (exponent < kLeast) {
    fail(ErrorKind::kUsage, "exponent: expected at least -126, found " + std::to_string(exponent));
  }
  const std::array scale = {std::ldexp(1.0F, exponent)};
  return encoding_with(numerics::find_system("fixed"), bits, scale);
}

numerics::MatrixEncoding minifloat_encoding(int exponent_bits, int mantissa_bits, float scale) {
  const std::string name =
      "e" + std::to_string(exponent_bits) + "m" + std::to_string(mantissa_bits);
  const auto format = numerics::minifloat_from(name);
  if (!format) {
    fail(ErrorKind::kUsage,
         "minifloat: expected 2 to 8 bits of exponent and at least 1 of mantissa, 4 to 16 bits "
         "with the sign, found " +
             name);
  }
  const std::array scales = {scale};
  return encoding_with(numerics::find_system(name), format->bits(), scales);
}

std::vector<float> levels_of_block(const numerics::MatrixEncoding& encoding, std::size_t block) {
  if (block >= encoding.num_blocks()) {
    fail(ErrorKind::kUsage, "block: expected less than " + std::to_string(encoding.num_blocks()) +
                                ", found " + std::to_string(block));
  }
  const numerics::Levels levels = encoding.levels(block);
  std::vector<float> values(levels.num_codes());
  for (std::size_t code = 0; code < values.size(); ++code) {
    values[code] = levels.value(static_cast<numerics::Code>(code));
  }
  return values;
}

std::vector<std::uint16_t> encode_array(MatrixView<const float> values,
                                        const numerics::MatrixEncoding& encoding) {
  const numerics::BitPlanes planes = numerics::encode(values, encoding);
  std::vector<std::uint16_t> codes;
  codes.reserve(values.size());
  for (std::size_t row = 0; row < values.rows(); ++row) {
    for (std::size_t col = 0; col < values.cols(); ++col) {
      codes.push_back(static_cast<std::uint16_t>(planes.code(row, col)));
    }
  }
  return codes;
}

std::vector<float> decode_array(MatrixView<const std::uint16_t> codes,
                                const numerics::MatrixEncoding& encoding) {
  numerics::BitPlanes planes(codes.rows(), codes.cols(), encoding.bits);
  for (std::size_t row = 0; row < codes.rows(); ++row) {
    for (std::size_t col = 0; col < codes.cols(); ++col) {
      const std::uint16_t code = codes(row, col);
      if (code >> encoding.bits != 0) {
        fail(ErrorKind::kUsage, "codes: expected numbers below " +
                                    std::to_string(1 << encoding.bits) + ", found " +
                                    std::to_string(code));
      }
      planes.set_code(row, col, static_cast<numerics::Code>(code));
    }
  }
  return numerics::decode(planes, encoding);
}

}  // namespace halftone
