// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/systems.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/near_names.h"
#include "halftone/numerics/codebooks.h"
#include "halftone/numerics/minifloat.h"
#include "halftone/numerics/vector_basis.h"

namespace halftone::numerics {
namespace {

constexpr std::string_view kLearned = "learned";
constexpr std::string_view kIntegers = "integers";
constexpr std::string_view kPowers = "powers of two";
constexpr std::string_view kTables = "tables";
constexpr std::string_view kFloats = "floats";
constexpr std::string_view kBlocks = "blocks";
constexpr std::string_view kVectors = "vectors";

constexpr std::string_view kFloatFormula = "+-s (1 + m / 2^M) 2^(e - bias), subnormal if e = 0";
constexpr std::string_view kOverflowFormula =
    "+-s (1 + m / 2^M) 2^(e - bias), subnormal if e = 0; beyond the largest: infinity or NaN";
constexpr std::string_view kOfp8 = "OCP 8-bit Floating Point Specification 1.0, 2023";
constexpr std::string_view kMx = "OCP Microscaling Formats Specification 1.0, 2023";

constexpr Minifloat kE6M9 = minifloat(6, 9, Specials::kInfinityAndNan);

template <const Minifloat& kFormat>
Codebook codes_of(std::string name, int /*bits*/) {
  return Codebook(std::move(name), kFormat);
}
/// The format that the name says.
Codebook named_floats(std::string name, int /*bits*/) {
  const Minifloat format = *minifloat_from(name);
  return Codebook(std::move(name), format);
}
/// A codebook of one number of bits.
template <Codebook (*kMake)(std::string)>
Codebook of_one_size(std::string name, int /*bits*/) {
  return kMake(std::move(name));
}

constexpr BlockShape kTensor = {Granularity::kTensor, 0};
constexpr BlockShape kGroups16 = {Granularity::kGroup, 16};
constexpr BlockShape kGroups32 = {Granularity::kGroup, 32};
constexpr BlockShape kGroups64 = {Granularity::kGroup, 64};
constexpr ScaleStorage kE8m0 = {NumberType::kE8m0, std::nullopt};
constexpr ScaleStorage kE4m3TimesFloat32 = {NumberType::kE4m3, NumberType::kFloat32};
constexpr ScaleStorage kE3m5TimesFloat32 = {NumberType::kE3m5, NumberType::kFloat32};
constexpr ScaleStorage kInt8TimesFloat16 = {NumberType::kInt8, NumberType::kFloat16, 16};
constexpr ScaleStorage kUint6TimesFloat16 = {NumberType::kUint6, NumberType::kFloat16, 8};

/// Floats of up to 8 bits have scales. Those of groups need the range of float32, because the
/// largest level may be as large as 57,344.
constexpr NumberSystem scaled_float(std::string_view name, int bits, std::string_view source) {
  return {.name = name,
          .family = kFloats,
          .min_bits = bits,
          .max_bits = bits,
          .make = named_floats,
          .group_type = NumberType::kBfloat16,
          .formula = kFloatFormula,
          .source = source};
}

/// Floats of 16 bits are a way to store numbers as they are.
constexpr NumberSystem plain_float(std::string_view name, std::string_view alias, int bits,
                                   Codebook (*make)(std::string, int), std::string_view source) {
  return {.name = name,
          .alias = alias,
          .family = kFloats,
          .min_bits = bits,
          .max_bits = bits,
          .make = make,
          .rule = ScaleRule::kUnit,
          .blocks = kTensor,
          .formula = kFloatFormula,
          .source = source};
}

/// The block formats of MX: 32 numbers share a power of two.
constexpr NumberSystem mx(std::string_view name, int bits, Codebook (*make)(std::string, int),
                          std::string_view formula) {
  return {.name = name,
          .family = kBlocks,
          .min_bits = bits,
          .max_bits = bits,
          .make = make,
          .rule = ScaleRule::kPowerOfTwo,
          .blocks = kGroups32,
          .scales = kE8m0,
          .formula = formula,
          .source = kMx};
}

constexpr NumberSystem kSystems[] = {
    {.name = "basis",
     .family = kLearned,
     .min_bits = 1,
     .max_bits = kMaxBits,
     .has_offset = true,
     .formula = "c + a_1 b_1 + ... + a_K b_K, b_i = +-1",
     .source = "Zhang et al., LQ-Nets, ECCV 2018 (arXiv:1807.10029)"},
    {.name = "affine",
     .family = kIntegers,
     .min_bits = 1,
     .max_bits = kMaxCodeBits,
     .make = unsigned_integers,
     .has_offset = true,
     .rule = ScaleRule::kRange,
     .formula = "s q + c, q = 0 ... 2^K - 1",
     .source = "Jacob et al., CVPR 2018 (arXiv:1712.05877)"},
    {.name = "asymmetric",
     .family = kIntegers,
     .min_bits = 1,
     .max_bits = kMaxCodeBits,
     .make = zero_point_integers,
     .has_offset = true,
     .rule = ScaleRule::kRangeWithZero,
     .group_type = NumberType::kFloat32,
     .formula = "s (q - z), q = 0 ... 2^K - 1, z one of them",
     .source = "Jacob et al., CVPR 2018 (arXiv:1712.05877), eq. 1; ONNX, TFLite: zero points"},
    {.name = "symmetric",
     .family = kIntegers,
     .min_bits = 1,
     .max_bits = kMaxCodeBits,
     .make = half_integers,
     .formula = "s (q - (2^K - 1) / 2), q = 0 ... 2^K - 1",
     .source = "Choi et al., PACT, 2018 (arXiv:1805.06085): levels about zero, without zero"},
    {.name = "int",
     .family = kIntegers,
     .min_bits = 2,
     .max_bits = kMaxCodeBits,
     .make = signed_integers,
     .formula = "s q, q = -2^(K-1) ... 2^(K-1) - 1",
     .source = "two's complement"},
    {.name = "int_narrow",
     .family = kIntegers,
     .min_bits = 2,
     .max_bits = kMaxCodeBits,
     .make = narrow_integers,
     .formula = "s q, q = -(2^(K-1) - 1) ... 2^(K-1) - 1",
     .source = "TensorFlow Lite 8-bit quantization specification: weights"},
    {.name = "fixed",
     .family = kIntegers,
     .min_bits = 1,
     .max_bits = kMaxCodeBits,
     .make = signed_integers,
     .rule = ScaleRule::kPowerOfTwo,
     .scales = kE8m0,
     .formula = "2^e q, q = -2^(K-1) ... 2^(K-1) - 1",
     .source = "Courbariaux, Bengio, David, 2015 (arXiv:1412.7024), section 5"},
    {.name = "ternary",
     .family = kIntegers,
     .min_bits = 2,
     .max_bits = 2,
     .make = of_one_size<ternary>,
     .formula = "s q, q = -1, 0, 1; stored in 2 bits",
     .source = "Li, Liu, Ternary Weight Networks, 2016 (arXiv:1605.04711)"},
    {.name = "pot",
     .family = kPowers,
     .min_bits = 2,
     .max_bits = 8,
     .make = powers_of_two,
     .formula = "0 or +-s 2^-n, n = 0 ... 2^(K-1) - 2",
     .source = "Li et al., APoT, ICLR 2020 (arXiv:1909.13144), eq. 2"},
    {.name = "apot",
     .family = kPowers,
     .min_bits = 2,
     .max_bits = 8,
     .make = additive_powers_of_two,
     .formula = "+-s sum_j p_j, p_j = 0 or one of three powers of two",
     .source = "Li et al., APoT, ICLR 2020 (arXiv:1909.13144), eq. 5"},
    {.name = "log",
     .family = kPowers,
     .min_bits = 2,
     .max_bits = 8,
     .make = logarithmic,
     .formula = "0 or +-s 2^(-n/2), n = 0 ... 2^(K-1) - 2; the logarithm is rounded",
     .source = "Miyashita, Lee, Murmann, 2016 (arXiv:1603.01025)"},
    {.name = "nf4",
     .family = kTables,
     .min_bits = 4,
     .max_bits = 4,
     .make = of_one_size<normal_floats>,
     .blocks = kGroups64,
     .formula = "s times 16 quantiles of the normal distribution",
     .source = "Dettmers et al., QLoRA, 2023 (arXiv:2305.14314)"},
    {.name = "posit",
     .family = kTables,
     .min_bits = 3,
     .max_bits = kMaxCodeBits,
     .make = posits,
     .largest = 2,  // most digits of a posit are around 1; 2 is best for normal numbers
     .formula = "+-s (1 + f) 2^(4 k + e), k by the length of a run of equal bits",
     .source = "Standard for Posit Arithmetic (2022)"},
    scaled_float("e4m3", 8, kOfp8),
    scaled_float("e5m2", 8, kOfp8),
    scaled_float("e4m3fnuz", 8, "Noune et al., 2022 (arXiv:2206.02915)"),
    scaled_float("e5m2fnuz", 8, "Noune et al., 2022 (arXiv:2206.02915)"),
    scaled_float("e3m2", 6, kMx),
    scaled_float("e2m3", 6, kMx),
    scaled_float("e2m1", 4, kMx),
    plain_float("fp16", "e5m10", 16, codes_of<kBinary16>, "IEEE 754-2019, binary16"),
    plain_float("fp16_e6m9", "e6m9", 16, codes_of<kE6M9>, "IEEE 754 with 6 bits of exponent"),
    plain_float("bf16", "e8m7", 16, codes_of<kE8M7>, "the upper half of a float32"),
    {.name = "e8m0",
     .family = kFloats,
     .min_bits = 8,
     .max_bits = 8,
     .make = of_one_size<exponents>,
     .rule = ScaleRule::kUnit,
     .blocks = kTensor,
     .formula = "2^(q - 127), q = 0 ... 254: only numbers above zero",
     .source = kMx},
    {.name = "bfp",
     .family = kBlocks,
     .min_bits = 2,
     .max_bits = kMaxCodeBits,
     .make = signed_integers,
     .rule = ScaleRule::kPowerOfTwo,
     .blocks = kGroups32,
     .scales = kE8m0,
     .formula = "2^e q, q = -2^(K-1) ... 2^(K-1) - 1; a block shares e",
     .source = "block floating point: Drumond et al., NeurIPS 2018 (arXiv:1804.01526)"},
    mx("mxfp8_e4m3", 8, codes_of<kE4M3>, "2^e times e4m3"),
    mx("mxfp8_e5m2", 8, codes_of<kE5M2>, "2^e times e5m2"),
    mx("mxfp6_e3m2", 6, codes_of<kE3M2>, "2^e times e3m2"),
    mx("mxfp6_e2m3", 6, codes_of<kE2M3>, "2^e times e2m3"),
    mx("mxfp4", 4, codes_of<kE2M1>, "2^e times e2m1"),
    mx("mxint8", 8, signed_fractions, "2^e q / 64, q = -128 ... 127"),
    {.name = "nvfp4",
     .family = kBlocks,
     .min_bits = 4,
     .max_bits = 4,
     .make = codes_of<kE2M1>,
     .blocks = kGroups16,
     .scales = kE4m3TimesFloat32,
     .formula = "f s times e2m1; a block shares s in e4m3, the tensor f",
     .source = "NVIDIA, Pretraining Large Language Models with NVFP4, 2025 (arXiv:2509.25149)"},
    {.name = "int_k",
     .family = kBlocks,
     .min_bits = 2,
     .max_bits = kMaxBits,
     .make = signed_integers,
     .blocks = kGroups16,
     .scales = kInt8TimesFloat16,
     .formula = "f s q, q = -2^(K-1) ... 2^(K-1) - 1; a block shares s, 16 blocks f",
     .source = "K-quants of llama.cpp, ggml-common.h: block_q6_K"},
    {.name = "affine_k",
     .family = kBlocks,
     .min_bits = 1,
     .max_bits = kMaxBits,
     .make = unsigned_integers,
     .has_offset = true,
     .rule = ScaleRule::kRangeFromZero,
     .blocks = kGroups32,
     .scales = kUint6TimesFloat16,
     .formula = "f s q - g m, q = 0 ... 2^K - 1; a block shares s and m, 8 blocks f and g",
     .source = "K-quants of llama.cpp, ggml-common.h: block_q4_K, block_q5_K"},
};

/// All names, for the error of a name that is none.
std::string names_by_family() {
  std::string text;
  std::string_view family;
  for (const NumberSystem& system : kSystems) {
    text += system.family != family ? (text.empty() ? "" : "; ") + std::string(system.family) + ": "
                                    : ", ";
    text += system.name;
    family = system.family;
    if (system.name == "e8m0") text += " or another eXmY of up to 16 bits, some also with _nan";
  }
  text += "; vectors, for weights alone: ";
  for (const std::string_view rate : vector_rates()) {
    text.append(rate == vector_rates().front() ? "" : ", ").append(rate);
  }
  return text;
}

/// A row that the table does not have, which is made once.
/// @param make  make(name) makes it; the name stays where it is
template <typename Make>
const NumberSystem& made_system(std::string_view name, const Make& make) {
  static std::mutex mutex;
  static std::map<std::string, NumberSystem, std::less<>> made;
  const std::lock_guard lock(mutex);
  const auto found = made.find(name);
  if (found != made.end()) return found->second;
  const auto added = made.emplace(name, NumberSystem{}).first;
  added->second = make(std::string_view(added->first));
  return added->second;
}

/// The row of a floating point format that the table does not name.
const NumberSystem& float_system(std::string_view name, const Minifloat& format) {
  return made_system(name, [&](std::string_view kept) {
    const int bits = format.bits();
    constexpr std::string_view kSource = "IEEE 754 with other numbers of bits";
    return bits <= kMaxBits ? scaled_float(kept, bits, kSource)
                            : plain_float(kept, {}, bits, named_floats, kSource);
  });
}

/// The row of a basis that is shipped.
const NumberSystem& vector_system(const VectorBasis& basis) {
  return made_system(basis.rate(), [&](std::string_view kept) {
    return NumberSystem{.name = kept,
                        .family = kVectors,
                        .min_bits = kMaxBits,
                        .max_bits = kMaxBits,
                        .make = signed_integers,
                        .blocks = {Granularity::kGroup, VectorEncoding::kBlock},
                        .scales = kE3m5TimesFloat32,
                        .vectors = &basis,
                        .formula =
                            "f s P b, d numbers share the signs b; a block shares s in "
                            "e3m5, the tensor f",
                        .source = "docs/number_systems.md"};
  });
}

/// The row or nothing, of a name without kOverflowSuffix.
const NumberSystem* system_of(std::string_view name) {
  const auto* const found = std::ranges::find_if(kSystems, [&](const NumberSystem& system) {
    return system.name == name || (!system.alias.empty() && system.alias == name);
  });
  if (found != std::end(kSystems)) return found;
  if (const auto basis = shipped_vector_basis(name)) return &vector_system(*basis);
  const auto format = minifloat_from(name);
  return format ? &float_system(name, *format) : nullptr;
}

/// The format of a row of floats, which its name or its alias says.
std::optional<Minifloat> format_of(const NumberSystem& system) {
  const auto format = minifloat_from(system.name);
  return format ? format : minifloat_from(system.alias);
}

Codebook overflowing_floats(std::string name, int /*bits*/) {
  std::string_view own = name;
  own.remove_suffix(kOverflowSuffix.size());
  const Minifloat format = *format_of(*system_of(own));
  return Codebook(std::move(name), format, Overflow::kSpecial);
}

/// The row of a name with kOverflowSuffix.
const NumberSystem& overflowing_system(std::string_view name) {
  const NumberSystem* own = system_of(name.substr(0, name.size() - kOverflowSuffix.size()));
  const auto format = own == nullptr ? std::nullopt : format_of(*own);
  const auto reject = [&](const std::string& reason) {
    fail(ErrorKind::kUsage,
         "number system '" + std::string(name) + "': expected " + std::string(kOverflowSuffix) +
             " behind a float with infinity or NaN, as in e4m3_nan, found " + reason);
  };
  if (own == nullptr) reject("an unknown name");
  if (!format) reject("'" + std::string(own->name) + "'");
  if (format->specials == Specials::kNone) {
    reject("'" + std::string(own->name) + "', whose codes are all numbers");
  }
  return made_system(std::string(own->name) + std::string(kOverflowSuffix),
                     [&](std::string_view kept) {
                       NumberSystem system = *own;
                       system.name = kept;
                       system.alias = {};
                       system.make = overflowing_floats;
                       system.saturating = own;
                       system.formula = kOverflowFormula;
                       return system;
                     });
}

void require_bits(const NumberSystem& system, int bits) {
  if (system.allows(bits)) return;
  const std::string least = std::to_string(system.min_bits);
  const std::string range =
      system.min_bits == system.max_bits ? least : least + " to " + std::to_string(system.max_bits);
  fail(ErrorKind::kUsage, "number system '" + std::string(system.name) + "': expected " + range +
                              " bits, found " + std::to_string(bits));
}

}  // namespace

std::span<const NumberSystem> number_systems() { return kSystems; }

const NumberSystem* lookup_system(std::string_view name) {
  return name.ends_with(kOverflowSuffix) ? &overflowing_system(name) : system_of(name);
}

const NumberSystem& find_system(std::string_view name) {
  if (const NumberSystem* system = lookup_system(name)) return *system;
  std::vector<std::string> names;
  for (const NumberSystem& system : kSystems) names.emplace_back(system.name);
  fail(ErrorKind::kUsage, "number system '" + std::string(name) + "': expected one of " +
                              names_by_family() + meant_name(name, names));
}

std::shared_ptr<const Codebook> codebook_of(const NumberSystem& system, int bits) {
  require_bits(system, bits);
  if (system.is_learned()) return nullptr;
  if (system.vectors != nullptr) return codebook_of(find_system("int"), bits);
  static std::mutex mutex;
  static std::map<std::pair<std::string_view, int>, std::shared_ptr<const Codebook>> made;
  const std::lock_guard lock(mutex);
  auto& codebook = made[{system.name, bits}];
  if (codebook == nullptr) {
    codebook = std::make_shared<const Codebook>(system.make(std::string(system.name), bits));
  }
  return codebook;
}

ScaleStorage scale_storage(const NumberSystem& system, Granularity granularity) {
  if (granularity != Granularity::kGroup && system.scales.share != 0) return {};
  const bool are_many = granularity == Granularity::kGroup && !system.is_learned();
  if (!are_many || system.scales.type != NumberType::kFloat32) return system.scales;
  return {system.group_type, std::nullopt};
}

MatrixEncoding empty_encoding(const NumberSystem& system, int bits, BlockShape blocks,
                              std::size_t rows, std::size_t cols) {
  MatrixEncoding encoding;
  encoding.bits = bits;
  encoding.codebook = codebook_of(system, bits);
  encoding.has_offset = system.has_offset;
  if (system.vectors != nullptr) encoding.vectors = system.vectors->shared_from_this();
  encoding.granularity = blocks.granularity;
  encoding.group_size = blocks.group_size;
  const std::size_t count = encoding.num_blocks(rows, cols);
  const std::size_t scales = count * encoding.scales_per_block();
  const ScaleStorage storage = scale_storage(system, blocks.granularity);
  const FactorSharing sharing = {storage.share,
                                 storage.share == 0 ? 0 : encoding.groups_per_row(cols)};
  const auto numbers = [&](std::size_t size) {
    return storage.factor ? StoredNumbers(storage.type, size, *storage.factor, sharing)
                          : StoredNumbers(storage.type, size);
  };
  encoding.scales = numbers(scales);
  if (system.has_offset) encoding.offsets = numbers(count);
  return encoding;
}

MatrixEncoding encoding_by_rule(const NumberSystem& system, int bits, BlockShape blocks,
                                MatrixView<const float> values) {
  MatrixEncoding encoding = empty_encoding(system, bits, blocks, values.rows(), values.cols());
  if (system.is_learned() || system.vectors != nullptr) {
    fail(ErrorKind::kUsage, "number system '" + std::string(system.name) + "': no rule gives its " +
                                (system.is_learned() ? "levels" : "vectors") + ", they are fitted");
  }
  std::vector<ValueRange> ranges(encoding.num_blocks());
  if (system.rule != ScaleRule::kUnit) {
    for_each_block(encoding, values.rows(), values.cols(),
                   [&](std::size_t block, std::size_t row, std::size_t first, std::size_t count) {
                     ranges[block].add(values.row(row).subspan(first, count));
                   });
  }
  std::vector<BlockScale> parameters;
  std::vector<double> scales;
  std::vector<double> offsets;
  for (const ValueRange& range : ranges) {
    parameters.push_back(block_scale(*encoding.codebook, system.rule, range, system.largest));
    scales.push_back(parameters.back().scale);
    offsets.push_back(parameters.back().offset);
  }
  if (encoding.scales.has_factors()) encoding.scales.set_factors_for(scales);
  if (encoding.offsets.has_factors()) encoding.offsets.set_factors_for(offsets);
  for (std::size_t b = 0; b < ranges.size(); ++b) {
    encoding.set_scale(b, parameters[b].scale, parameters[b].offset);
  }
  return encoding;
}

}  // namespace halftone::numerics
