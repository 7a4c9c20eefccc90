// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/number_format.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "halftone/base/error.h"
#include "halftone/numerics/minifloat.h"
#include "halftone/numerics/named_system.h"

namespace halftone::numerics {
namespace {

constexpr std::string_view kFloat32 = "fp32";

bool has_one_size(const NumberSystem& system) { return system.min_bits == system.max_bits; }

/// "fp32, affine1 to affine16, ..., ternary, ...".
std::string known_formats() {
  std::string text(kFloat32);
  for (const NumberSystem& system : number_systems()) {
    if (system.is_learned()) continue;
    const std::string name(system.name);
    text += ", " + name;
    if (!has_one_size(system)) {
      text += std::to_string(system.min_bits) + " to " + name + std::to_string(system.max_bits);
    }
    if (name == "e8m0") text += " or another eXmY";
  }
  return text;
}

/// The system and the bits that a text names, if it does; no blocks.
NumberFormat named_format(std::string_view text) {
  const NamedSystem named = lookup_named_system(text);
  if (named.system == nullptr) return {};
  return {named.system,
          has_one_size(*named.system) ? named.system->max_bits : named.bits.value_or(0),
          {}};
}

/// Numbers of a block and of its codebook: value = fl(fl(scale level) + offset).
struct Scaling {
  explicit Scaling(const Levels& levels) : scale(levels.scale()), offset(levels.offset()) {}

  [[nodiscard]] float argument(float x) const { return (x - offset) / scale; }
  [[nodiscard]] float value(float level) const {
    const float scaled = scale * level;
    return offset == 0 ? scaled : scaled + offset;
  }
  [[nodiscard]] bool is_unit() const { return scale == 1 && offset == 0; }

  float scale;
  float offset;
};

/// Ties to even: from 2^52 on, a float64 has no fraction bits.
struct Nearest {
  double operator()(double x) const { return (x + 0x1p52) - 0x1p52; }
};

/// One of 2^32 numbers evenly spaced in (0, 1), the middles of equal parts: adding it to a whole
/// number never gives the next one, whatever rounding errors the number has.
double draw(Random& random) {
  return (static_cast<double>(static_cast<std::uint32_t>(random.next() >> 32)) + 0.5) * 0x1p-32;
}

/// floor(x + u), u uniform in (0, 1).
struct Stochastic {
  Random& random;
  double operator()(double x) const { return static_cast<std::int32_t>(x + draw(random)); }
};

/// @param round  rounds a number in [0, 2^16) to one of the integers around it
template <typename Round>
void round_even(const Codebook& codebook, Scaling scaling, std::span<float> numbers, Round round) {
  const double low = codebook.levels().front();
  const double step = codebook.step();
  const double per_step = 1 / step;  // exact: steps of codebooks are powers of two
  // Thresholds of -infinity are those of levels that no number takes.
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const double first = codebook.thresholds().front() == -kInfinity ? 1 : 0;
  const auto last = static_cast<double>(codebook.levels().size() - 1);
  for (float& x : numbers) {
    double at = (double{scaling.argument(x)} - low) * per_step;
    at = at > first ? at : first;  // also if it is NaN
    at = at < last ? at : last;
    const float y = scaling.value(static_cast<float>(low + round(at) * step));
    x = std::isnan(x) ? x : y;
  }
}

void round_floats(const Codebook& codebook, Scaling scaling, std::span<float> numbers,
                  Random* random) {
  const Overflow overflow = codebook.beyond() ? Overflow::kSpecial : Overflow::kSaturate;
  if (!scaling.is_unit()) {
    for (float& x : numbers) x = scaling.argument(x);
  }
  if (random != nullptr) {
    round_stochastically(*codebook.format(), numbers, *random, overflow);
  } else {
    round_to_nearest(*codebook.format(), numbers, overflow);
  }
  if (!scaling.is_unit()) {
    for (float& x : numbers) x = scaling.value(x);
  }
}

/// One of the two levels around x.
/// @param u  in (0, 1)
float level_around(const Codebook& codebook, float x, double u) {
  const std::span<const float> levels = codebook.sorted();
  const auto above = std::ranges::lower_bound(levels, x);
  if (above == levels.begin()) return levels.front();
  if (above == levels.end()) return levels.back();
  const double low = *(above - 1);
  const double share = (double{x} - low) / (double{*above} - low);
  return share + u >= 1 ? *above : *(above - 1);
}

/// Any levels.
void round_to_table(const Levels& levels, std::span<float> numbers, Random* random) {
  const Scaling scaling(levels);
  for (float& x : numbers) {
    const double u = random != nullptr ? draw(*random) : 0;
    if (std::isnan(x)) continue;
    x = random == nullptr ? levels.value(levels.encode(x))
                          : scaling.value(level_around(*levels.codebook(), scaling.argument(x), u));
  }
}

/// Rounds numbers of one block.
/// @param random  null: to the nearest
void round_block(const Levels& levels, std::span<float> numbers, Random* random) {
  const Codebook& codebook = *levels.codebook();
  if (codebook.format()) return round_floats(codebook, Scaling(levels), numbers, random);
  if (!codebook.is_even()) return round_to_table(levels, numbers, random);
  if (random != nullptr) return round_even(codebook, Scaling(levels), numbers, Stochastic{*random});
  round_even(codebook, Scaling(levels), numbers, Nearest{});
}

void round_all(const NumberFormat& format, MatrixView<const float> x, MatrixView<float> y,
               Random* random) {
  HALFTONE_ASSERT(y.rows() == x.rows() && y.cols() == x.cols());
  const bool is_dense = x.stride() == x.cols() && y.stride() == y.cols();
  if (is_dense && format.blocks.granularity == Granularity::kTensor && x.rows() > 1) {
    const std::size_t n = x.size();
    return round_all(format, {x.data_handle(), 1, n, n}, {y.data_handle(), 1, n, n}, random);
  }
  for (std::size_t r = 0; r < x.rows() && x.data_handle() != y.data_handle(); ++r) {
    std::ranges::copy(x.row(r), y.row(r).begin());
  }
  if (format.is_float32()) return;
  const MatrixEncoding encoding = encoding_by_rule(*format.system, format.bits, format.blocks, y);
  for_each_block(encoding, y.rows(), y.cols(),
                 [&](std::size_t block, std::size_t row, std::size_t first, std::size_t count) {
                   round_block(encoding.levels(block), y.row(row).subspan(first, count), random);
                 });
}

}  // namespace

NumberFormat parse_number_format(std::string_view text) {
  if (text == kFloat32) return {};
  NumberFormat format = named_format(text);
  if (format.system != nullptr && format.system->is_learned()) {
    fail(ErrorKind::kUsage, "number format: expected a system whose levels a rule gives, found '" +
                                std::string(text) + "', whose levels are learned");
  }
  if (format.system != nullptr && format.system->vectors != nullptr) {
    fail(ErrorKind::kUsage, "number format: expected a system of single numbers, found '" +
                                std::string(text) + "', whose vectors are for weights alone");
  }
  if (format.system == nullptr || !format.system->allows(format.bits)) {
    fail(ErrorKind::kUsage, "number format: expected one of " + known_formats() + "; found '" +
                                std::string(text) + "'");
  }
  const bool has_groups = format.system->blocks.granularity == Granularity::kGroup;
  format.blocks = has_groups ? format.system->blocks : BlockShape{Granularity::kTensor, 0};
  return format;
}

std::string to_string(const NumberFormat& format) {
  if (format.is_float32()) return std::string(kFloat32);
  std::string text(format.system->name);
  return has_one_size(*format.system) ? text : text + std::to_string(format.bits);
}

void round_by_rule(const NumberFormat& format, MatrixView<const float> x, MatrixView<float> y) {
  round_all(format, x, y, nullptr);
}

void round_by_rule_stochastically(const NumberFormat& format, MatrixView<const float> x,
                                  MatrixView<float> y, Random& random) {
  round_all(format, x, y, &random);
}

}  // namespace halftone::numerics
