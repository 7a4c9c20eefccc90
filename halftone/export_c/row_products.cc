// SPDX-License-Identifier: Apache-2.0
#include "halftone/export_c/row_products.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "halftone/export_c/pack/pack.h"
#include "halftone/export_c/write_layers.h"
#include "halftone/kernels/bit_matmul/bit_matmul.h"
#include "halftone/kernels/int8_matmul/level_matmul.h"

namespace halftone::export_c {
namespace {

/// What level_matmul() reads of weights besides the levels.
struct LevelFloats {
  std::vector<float> half_steps;  ///< [groups, outputs]
  std::vector<float> centers;     ///< the same, or empty
  std::vector<float> totals;      ///< [outputs]
};

LevelFloats level_floats(const ir::EncodedTensor& weights) {
  const kernels::LevelMatmulWeights packed(weights.codes, *weights.encoding, {},
                                           kernels::LevelLayout::kBytes);
  LevelFloats floats;
  constexpr std::size_t kBlock = kernels::Int8Weights::kBlock;
  for (std::size_t g = 0; g < packed.num_groups(); ++g) {
    for (std::size_t o = 0; o < weights.codes.rows; ++o) {
      const float* block = packed.floats(o / kBlock, g);
      floats.half_steps.push_back(block[o % kBlock]);
      if (packed.has_offset()) floats.centers.push_back(block[kBlock + o % kBlock]);
    }
  }
  for (std::size_t o = 0; o < weights.codes.rows; ++o) {
    floats.totals.push_back(packed.totals(o / kBlock)[o % kBlock]);
  }
  return floats;
}

/// Weights that are steps of their outputs times integers, see text/dense_even_f32.c.
struct EvenFloats {
  std::vector<float> steps;
  std::vector<std::int8_t> factors;  ///< of planes
  int shift = 0;
};

/// ratio of two numbers, if it is a small integer
std::optional<int> small_ratio(float number, float step) {
  const float ratio = std::round(number / step);
  if (!(std::abs(ratio) <= 127) || ratio * step != number) return std::nullopt;
  return static_cast<int>(ratio);
}

/// Whether output o follows from its first scale.
bool follows(const EvenFloats& even, const BitFloats& floats, std::size_t o) {
  const float step = even.steps[o];
  for (std::size_t j = 0; j < even.factors.size(); ++j) {
    if (floats.scales[o * even.factors.size() + j] != step * static_cast<float>(even.factors[j])) {
      return false;
    }
  }
  const float offset = floats.offsets.empty() ? 0 : floats.offsets[o];
  return offset == step * static_cast<float>(even.shift);
}

std::optional<EvenFloats> even_floats(const BitFloats& floats, const numerics::BitPlanes& codes) {
  EvenFloats even;
  const auto planes = static_cast<std::size_t>(codes.bits);
  for (std::size_t j = 0; j < planes; ++j) {
    const auto factor = small_ratio(floats.scales[j], floats.scales[0]);
    if (!factor) return std::nullopt;
    even.factors.push_back(static_cast<std::int8_t>(*factor));
  }
  const auto shift = small_ratio(floats.offsets.empty() ? 0 : floats.offsets[0], floats.scales[0]);
  if (!shift) return std::nullopt;
  even.shift = *shift;
  for (std::size_t o = 0; o < codes.rows; ++o) {
    even.steps.push_back(floats.scales[o * planes]);
    if (!follows(even, floats, o)) return std::nullopt;
  }
  return even;
}

/// What a layer on bits takes besides its weights.
struct BitOperands {
  const numerics::Basis& x;
  std::span<const float> bias;
  const std::string& suffix;
};

/// Adds the arrays of a layer on bits. @return the line of it
std::string bit_layer_line(Scope& scope, const numerics::BitPlanes& codes, const BitFloats& floats,
                           const EvenFloats* even, const BitOperands& of) {
  const auto named = [&](const std::string& name, std::span<const float> numbers) {
    return scope.array<float>(name + of.suffix, numbers);
  };
  const std::string x_scales = named("x_scales", of.x.a());
  const std::string start =
      arguments(codes.cols, of.x.bits, codes.bits, codes.rows, x_scales, exact(of.x.offset));
  const std::string type = even != nullptr ? "ht_even_layer" : "ht_bit_layer";
  const std::string line = "static const " + type + " layer" + of.suffix + " = {";
  if (even != nullptr) {
    const std::string steps = named("steps", even->steps);
    const std::string factors = scope.array<std::int8_t>("factors" + of.suffix, even->factors);
    const std::string b = of.bias.empty() ? "0" : named("bias", of.bias);
    return line + arguments(start, steps, factors, even->shift, b) + "};";
  }
  const std::string w_scales = named("scales", floats.scales);
  const std::string c = floats.offsets.empty() ? "0" : named("offsets", floats.offsets);
  const std::string t = of.x.offset != 0 ? named("sums", floats.sums) : "0";
  const std::string b = of.bias.empty() ? "0" : named("bias", of.bias);
  return line + arguments(start, w_scales, c, t, b) + "};";
}

}  // namespace

BitFloats bit_floats(const ir::EncodedTensor& weights, std::span<const float> bias) {
  const kernels::BitMatmulWeights packed(weights.codes, *weights.encoding, bias,
                                         kernels::BitLayout::kWords);
  BitFloats all;
  for (std::size_t o = 0; o < packed.outputs(); ++o) {
    const std::size_t block = packed.block_outputs();
    const float* floats = packed.floats(o / block) + o % block;
    for (std::size_t j = 0; j < packed.bits(); ++j) all.scales.push_back(floats[j * block]);
    if (packed.has_offset()) all.offsets.push_back(floats[packed.bits() * block]);
    all.sums.push_back(floats[(packed.bits() + 1) * block]);
  }
  return all;
}

BitRows::BitRows(Scope& scope, const ir::EncodedTensor& weights, const numerics::Basis& x,
                 std::span<const float> bias, const std::string& suffix)
    : scope_(scope),
      words_(static_cast<std::size_t>(x.bits) * ((weights.codes.cols + 31) / 32)),
      suffix_(suffix) {
  const numerics::BitPlanes& codes = weights.codes;
  const BitFloats floats = bit_floats(weights, bias);
  const auto planes = static_cast<std::size_t>(x.bits);
  const std::vector<numerics::Digit> digits(planes);  // each plane alone
  const PackedWeights packed = pack_digits(codes, digits, planes, scope.what().core);
  scope.multiplies(packed.kernel,
                   {codes.cols, codes.rows, planes, planes, static_cast<std::size_t>(codes.bits)});
  is_signs_ = packed.kernel == Kernel::kSigns;
  constexpr std::size_t kManyOutputs = 64;  // which pay for the code of a kernel of their own
  const bool has_fours = is_signs_ && codes.rows >= kManyOutputs && codes.rows % 4 == 0;
  const auto even = has_fours ? even_floats(floats, codes) : std::nullopt;
  constexpr std::size_t kOutputsAtATime = 16;
  if (is_signs_) {
    scope.scratch("products" + suffix, "int32_t",
                  static_cast<std::size_t>(codes.bits) *
                      (even ? 4 * planes : std::min(kOutputsAtATime, (codes.rows + 3) / 4 * 4)));
  }
  kernel_ = even ? "dense_even_f32" : is_signs_ ? "dense_signs_f32" : "dense_bits_f32";
  scope.takes_steps(kernel_,
                    scope.rows() * codes.rows * planes * static_cast<std::size_t>(codes.bits));
  weights_ = scope.array<std::uint32_t>("weights" + suffix, packed.words);
  scope.line(bit_layer_line(scope, codes, floats, even ? &*even : nullptr, {x, bias, suffix}));
}

void BitRows::multiply(const std::string& x, const std::string& y) const {
  scope_.call_within(kernel_,
                     arguments(x, weights_, "&layer" + suffix_) +
                         (is_signs_ ? ", products" + suffix_ : "") + ", " + y,
                     true);
}

LevelRows::LevelRows(Scope& scope, const ir::EncodedTensor& weights, float offset,
                     std::span<const float> bias, const std::string& suffix)
    : scope_(scope),
      products_(add_level_products(scope, weights.codes, *weights.encoding, suffix)),
      inputs_(weights.codes.cols),
      outputs_(weights.codes.rows),
      suffix_(suffix),
      offset_(exact(offset)) {
  const LevelFloats floats = level_floats(weights);
  const auto named = [&](const std::string& name, std::span<const float> numbers, bool is_used) {
    return is_used ? scope.array<float>(name + suffix, numbers) : "0";
  };
  scope.scratch("sums" + suffix, "int32_t", outputs_);
  if (products_.groups > 1) scope.scratch("folded" + suffix, "float", outputs_);
  half_steps_ = named("half_steps", floats.half_steps, true);
  centers_ = named("centers", floats.centers, !floats.centers.empty());
  totals_ = named("totals", floats.totals, offset != 0);
  bias_ = named("bias", bias, !bias.empty());
  if (products_.groups > 1) return;
  scope.line("static const ht_level_layer layer" + suffix + " = {" +
             arguments(inputs_, outputs_, half_steps_, centers_, totals_, bias_, offset_) + "};");
}

void LevelRows::multiply(const std::string& q, const std::string& scale,
                         const std::string& y) const {
  const std::string sums = "sums" + suffix_;
  if (products_.groups > 1) {
    const std::string folded = "folded" + suffix_;
    scope_.line("  memset(" + arguments(folded, 0, outputs_) + " * sizeof *" + folded + ");");
    add_group_sums(scope_, products_, {q, inputs_, outputs_, half_steps_, centers_}, sums, folded);
    return scope_.call_within("finish_levels_f32",
                              arguments(folded, scale, outputs_, offset_, totals_, bias_, y));
  }
  scope_.call_within(
      products_.text,
      arguments(q, products_.weights, inputs_, outputs_) + products_.last + ", " + sums, true);
  scope_.needs("sum_i8");
  scope_.call_within("dense_levels_f32", arguments(sums, "ht_sum_i8(" + arguments(q, inputs_) + ")",
                                                   scale, "&layer" + suffix_, y));
}

std::string add_rounded_row(Scope& scope, const std::string& x, std::size_t inputs,
                            const std::string& q) {
  scope.needs("quantize_row_f32");
  scope.takes_steps("quantize_row_f32", scope.rows() * inputs);
  scope.line("  const float scale = ht_quantize_row_f32(" + arguments(x, inputs, q) + ");");
  return "scale";
}

}  // namespace halftone::export_c
