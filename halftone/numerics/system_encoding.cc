// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/system_encoding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/half.h"
#include "halftone/numerics/minifloat.h"
#include "halftone/numerics/named_system.h"
#include "halftone/numerics/vector_codes.h"

namespace halftone::numerics {
namespace {

constexpr std::size_t kDefaultGroup = 32;
constexpr std::uint16_t kNoNumber = 0xFFFF;
constexpr int kHalfBits = 16;

std::size_t group_of(const NumberSystem& system) {
  return system.blocks.group_size != 0 ? system.blocks.group_size : kDefaultGroup;
}

std::string name_of(const NumberSystem& system, int bits, std::size_t group) {
  std::string name(system.name);
  if (system.min_bits != system.max_bits) name += std::to_string(bits);
  if (group != group_of(system)) name += "/" + std::to_string(group);
  return name;
}

void check_system(const NumberSystem& system, int bits) {
  const auto reject = [&](const std::string& expected) {
    fail(ErrorKind::kUsage, "number system '" + std::string(system.name) +
                                "': in blocks of weights, expected " + expected);
  };
  if (system.is_learned()) {
    reject("levels of a table; vector bases such as 2x6 are learned levels");
  }
  if (bits > kMaxBits) reject("up to 8 bits, found " + std::to_string(bits));
  if (system.rule == ScaleRule::kUnit) reject("numbers with scales");
  if (codebook_of(system, bits)->has_zero_points()) {
    reject("offsets of their own, as 'affine' has, found zero points");
  }
}

void check_group(const NumberSystem& system, std::size_t group) {
  constexpr std::array<std::size_t, 5> kGroups = {16, 32, 64, 128, 256};
  if (std::ranges::find(kGroups, group) != kGroups.end()) return;
  fail(ErrorKind::kUsage, "number system '" + std::string(system.name) +
                              "': expected groups of 16, 32, 64, 128 or 256 weights, found " +
                              std::to_string(group));
}

/// Whether all numbers times `times` are integers from `low` to 127.
bool are_integers(std::span<const float> numbers, float times, float low) {
  return std::ranges::all_of(numbers, [&](float number) {
    const float product = number * times;
    return product == std::nearbyint(product) && product >= low && product <= 127;
  });
}

/// The least power of two that makes integers of int8 of the numbers.
std::optional<float> unit_of(std::span<const float> numbers) {
  constexpr float kMost = 128;
  for (float times = 1; times <= kMost; times *= 2) {
    if (are_integers(numbers, times, -128)) return times;
  }
  return std::nullopt;
}

float largest_of(std::span<const float> numbers) {
  return std::max(std::abs(numbers.front()), std::abs(numbers.back()));
}

/// The numbers in units of 127 / largest, if rounding moves none by more than an eighth of the
/// distance to its neighbours.
std::optional<std::vector<float>> rounded(std::span<const float> numbers) {
  const float times = 127 / largest_of(numbers);
  std::vector<float> all;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const float product = numbers[i] * times;
    all.push_back(std::nearbyint(product));
    const float error = 8 * std::abs(all.back() - product);
    if (i > 0 && error > (numbers[i] - numbers[i - 1]) * times) return std::nullopt;
    if (i + 1 < numbers.size() && error > (numbers[i + 1] - numbers[i]) * times) {
      return std::nullopt;
    }
  }
  return all;
}

void scale_by(float times, std::vector<float>& numbers) {
  for (float& number : numbers) number *= times;
}

unsigned code_of_scale(GroupScales how, float scale) {
  switch (how) {
    case GroupScales::kHalf:
      return half_from_float(scale);
    case GroupScales::kPowerOfTwo: {
      int exponent = 0;
      std::frexp(scale, &exponent);
      return static_cast<unsigned>(exponent + 126);
    }
    case GroupScales::kE4m3:
      return numerics::encode(kE4M3, scale);
    case GroupScales::kHalfTimesByte:
      return static_cast<unsigned>(static_cast<int>(scale)) & 255U;
    case GroupScales::kE3m5:
    case GroupScales::kFloat:
      break;
  }
  fail(ErrorKind::kInternal, "scales of a number system: no such storage");
}

void unpack_levels(const BlockEncoding& encoding, const std::byte* bytes, const CodeBlock& block) {
  const auto& system = static_cast<const SystemEncoding&>(encoding);
  std::array<std::uint16_t, kMaxBlock> codes;
  const std::size_t groups = encoding.block / encoding.group;
  system.unpack_block(bytes, std::span(codes).first(encoding.block), {block.scales, groups},
                      {block.offsets, encoding.has_offsets ? groups : 0});
  for (std::size_t i = 0; i < encoding.block; ++i) block.codes[i] = system.level(codes[i]);
}

void decode_numbers(const BlockEncoding& encoding, const std::byte* bytes, float* values) {
  const auto& system = static_cast<const SystemEncoding&>(encoding);
  std::array<std::uint16_t, kMaxBlock> codes;
  std::array<float, kMaxBlock / 16> scales;
  std::array<float, kMaxBlock / 16> offsets;
  const std::size_t groups = encoding.block / encoding.group;
  system.unpack_block(bytes, std::span(codes).first(encoding.block),
                      std::span(scales).first(groups),
                      std::span(offsets).first(encoding.has_offsets ? groups : 0));
  for (std::size_t i = 0; i < encoding.block; ++i) {
    const std::size_t g = i / encoding.group;
    values[i] = scales[g] * encoding.numbers[codes[i]];
    if (encoding.has_offsets) values[i] += offsets[g];
  }
}

}  // namespace

SystemEncoding::SystemEncoding(const NumberSystem& system, int bits, std::size_t group_size,
                               float factor_in)
    : system_(system), bits_(bits), name_(name_of(system, bits, group_size)) {
  check_system(system, bits);
  check_group(system, group_size);
  if (!(factor_in > 0) || !std::isfinite(factor_in)) {
    fail(ErrorKind::kFormat, name_ +
                                 ": factor of the scales: expected a finite number above 0, "
                                 "found " +
                                 std::to_string(factor_in));
  }
  codebook_ = codebook_of(system, bits);
  name = name_;
  group = group_size;
  has_offsets = system.has_offset;
  factor = factor_in;
  choose_numbers();
  choose_levels();
  choose_layout();
}

void SystemEncoding::choose_numbers() {
  index_.assign(std::size_t{1} << bits_, kNoNumber);
  for (const float level : codebook_->sorted()) {
    const Code code = codebook_->encode(level);
    if (codebook_->levels()[code] != level) continue;  // none is rounded to it: int_narrow
    for (std::size_t same = 0; same < index_.size(); ++same) {
      if (codebook_->levels()[same] != level) continue;
      index_[same] = static_cast<std::uint16_t>(numbers_.size());
    }
    codes_.push_back(code);
    numbers_.push_back(level);
  }
  if (has_offsets && bits_ == kMaxBits && !is_integer(system_.scales.type)) {
    for (float& each : numbers_) each -= 128;
  }
  if (const auto times = unit_of(numbers_)) {
    scale_by(*times, numbers_);
  } else if (auto integers = bits_ <= 4 ? rounded(numbers_) : std::nullopt) {
    numbers_ = *std::move(integers);
  } else {
    scale_by(std::ldexp(1.0F, -std::ilogb(largest_of(numbers_))), numbers_);
    decode = decode_numbers;
  }
  numbers = numbers_;
  if (decode != nullptr) return;
  levels_.resize(numbers_.size());
  std::ranges::transform(numbers_, levels_.begin(),
                         [](float each) { return static_cast<std::int8_t>(each); });
  unpack = unpack_levels;
}

void SystemEncoding::choose_levels() {
  if (levels_.empty()) return;
  const CodeLevels even{bits_, levels_[0], {}};
  bool is_even = bits_ != 7 && levels_.size() <= std::size_t{1} << bits_;
  for (std::size_t i = 0; i < levels_.size(); ++i) is_even = is_even && even.level(i) == levels_[i];
  if (is_even) {
    levels = even;
  } else if (bits_ <= 4) {
    std::array<std::int8_t, 16> table;
    table.fill(levels_.back());
    std::ranges::copy(levels_, table.begin());
    levels = {4, 0, table};
  } else {
    levels = {kMaxBits, -128, {}};
  }
}

void SystemEncoding::choose_layout() {
  const ScaleStorage storage = scale_storage(system_, Granularity::kGroup);
  block = group;
  scale_bits_ = 8;
  if (storage.type == NumberType::kE8m0) {
    scales = GroupScales::kPowerOfTwo;
  } else if (storage.type == NumberType::kE4m3) {
    scales = GroupScales::kE4m3;
  } else if (is_integer(storage.type)) {
    scales = GroupScales::kHalfTimesByte;
    scale_bits_ = stored_bits(storage.type);
    share = block = kMaxBlock;
    min_scale = has_sign(storage.type) ? -(1 << (scale_bits_ - 1)) : 0;
    max_scale = static_cast<int>(largest(storage.type));
    if (has_offsets) max_offset = max_scale;
  } else {
    scales = GroupScales::kHalf;
    scale_bits_ = kHalfBits;
  }
  const std::size_t kinds = has_offsets ? 2 : 1;
  std::size_t all = block * static_cast<std::size_t>(bits_);
  all += kinds * (block / group) * static_cast<std::size_t>(scale_bits_);
  if (scales == GroupScales::kHalfTimesByte) all += kinds * kHalfBits;
  block_bytes = (all + 7) / 8;
}

SharedBlockEncoding SystemEncoding::with_factor(float other) const {
  return std::make_shared<const SystemEncoding>(system_, bits_, group, other);
}

void SystemEncoding::pack_codes(const CodedBlock& from, std::byte* bytes) const {
  BitWriter writer(bytes);
  if (scales == GroupScales::kHalfTimesByte) {
    writer.put(half_from_float(from.scale_factor), kHalfBits);
    if (has_offsets) writer.put(half_from_float(from.offset_factor), kHalfBits);
  }
  const unsigned mask = (1U << scale_bits_) - 1;
  for (const float scale : from.scales)
    writer.put(code_of_scale(scales, scale) & mask, scale_bits_);
  for (const float each : from.offsets) writer.put(code_of_scale(scales, each) & mask, scale_bits_);
  for (const std::uint16_t code : from.codes) writer.put(codes_[code], bits_);
  writer.finish();
}

void SystemEncoding::unpack_block(const std::byte* bytes, std::span<std::uint16_t> codes,
                                  std::span<float> to_scales, std::span<float> to_offsets) const {
  BitReader reader(bytes);
  const auto take_half = [&] {
    return float_from_half(static_cast<std::uint16_t>(reader.take(kHalfBits)));
  };
  const bool has_factors = scales == GroupScales::kHalfTimesByte;
  const float scale_factor = has_factors ? take_half() : factor;
  const float offset_factor = has_factors && has_offsets ? take_half() : 1;
  const auto take_scale = [&](float times) -> float {
    const unsigned code = reader.take(scale_bits_);
    if (scales == GroupScales::kPowerOfTwo) {
      return std::ldexp(1.0F, static_cast<int>(code) - 127);
    }
    if (scales == GroupScales::kE4m3) return times * numerics::decode(kE4M3, code);
    if (!has_factors) return float_from_half(static_cast<std::uint16_t>(code));
    const bool is_negative = min_scale < 0 && code > static_cast<unsigned>(max_scale);
    return times *
           static_cast<float>(static_cast<int>(code) - (is_negative ? 1 << scale_bits_ : 0));
  };
  for (float& scale : to_scales) scale = take_scale(scale_factor);
  for (float& each : to_offsets) each = take_scale(offset_factor);
  for (std::uint16_t& code : codes) {
    code = index_[reader.take(bits_)];
    if (code == kNoNumber) fail(ErrorKind::kFormat, name_ + ": expected codes of numbers");
  }
}

const SystemEncoding* system_encoding(std::string_view text) {
  const NamedSystem named = lookup_named_system(text);
  if (named.system == nullptr || named.system->vectors != nullptr) return nullptr;
  const NumberSystem& system = *named.system;
  const bool has_bits = named.bits.has_value() || system.min_bits == system.max_bits;
  if (!has_bits && !system.is_learned()) {
    fail(ErrorKind::kUsage, "number system '" + named.text +
                                "': expected the number of bits behind the name, as in " +
                                std::string(system.name) + "4");
  }
  const std::size_t group = named.group_size.value_or(group_of(system));
  const int bits = named.bits.value_or(system.min_bits);
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<const SystemEncoding>> made;
  const std::lock_guard lock(mutex);
  auto& encoding = made[name_of(system, bits, group)];
  if (encoding == nullptr) encoding = std::make_unique<const SystemEncoding>(system, bits, group);
  return encoding.get();
}

}  // namespace halftone::numerics
