// SPDX-License-Identifier: Apache-2.0
#include "halftone/export_c/row_products.h"

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
  packed_ = pack_digits(codes, digits, planes, scope.what().core);
  if (packed_.kernel == Kernel::kSigns) {
    scope.scratch("products" + suffix, "int32_t", padded_columns(codes));
  }
  const auto floats_named = [&](const std::string& name, std::span<const float> numbers) {
    return scope.array<float>(name + suffix, numbers);
  };
  weights_ = scope.array<std::uint32_t>("weights" + suffix, packed_.words);
  const std::string x_scales = floats_named("x_scales", x.a());
  const std::string w_scales = floats_named("scales", floats.scales);
  const std::string c = floats.offsets.empty() ? "0" : floats_named("offsets", floats.offsets);
  const std::string t = x.offset != 0 ? floats_named("sums", floats.sums) : "0";
  const std::string b = bias.empty() ? "0" : floats_named("bias", bias);
  scope.line("static const ht_bit_layer layer" + suffix + " = {");
  scope.line("    " +
             arguments(codes.cols, x.bits, codes.bits, codes.rows, x_scales, exact(x.offset)) +
             ",");
  scope.line("    " + arguments(w_scales, c, t, b) + "};");
}

void BitRows::multiply(const std::string& x, const std::string& y) const {
  const bool is_signs = packed_.kernel == Kernel::kSigns;
  scope_.call_within(is_signs ? "dense_signs_f32" : "dense_bits_f32",
                     arguments(x, weights_, "&layer" + suffix_) +
                         (is_signs ? ", products" + suffix_ : "") + ", " + y,
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
  scope.line("  const float scale = ht_quantize_row_f32(" + arguments(x, inputs, q) + ");");
  return "scale";
}

}  // namespace halftone::export_c
