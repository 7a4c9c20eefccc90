// SPDX-License-Identifier: Apache-2.0
#include "halftone/export_c/even_layer.h"

#include <algorithm>
#include <cmath>

#include "halftone/export_c/write_layers.h"

namespace halftone::export_c {
namespace {

constexpr int kMaxFactor = 16;
constexpr int kMaxShift = 16;

/// number / unit, if it is a small integer exactly.
std::optional<int> multiple_of(float number, float unit, int limit) {
  const float ratio = std::round(number / unit);
  if (!(std::abs(ratio) <= static_cast<float>(limit)) || ratio * unit != number) {
    return std::nullopt;
  }
  return static_cast<int>(ratio);
}

/// Weights a (2 v + shift) of an output.
struct EvenRow {
  float a = 0;
  int shift = 0;
  bool is_flipped = false;  ///< whether plane 1 of v is that of the codes the other way round
};

std::optional<EvenRow> even_row(const numerics::Basis& basis) {
  EvenRow row{.a = basis.a()[0]};
  if (row.a == 0) return std::nullopt;
  if (basis.bits == 2) {
    if (std::abs(basis.a()[1]) != std::abs(2 * row.a)) return std::nullopt;
    row.is_flipped = basis.a()[1] != 2 * row.a;
  }
  const auto offset = multiple_of(basis.offset, row.a, kMaxShift);
  if (!offset) return std::nullopt;
  row.shift = *offset - ((1 << basis.bits) - 1);
  return row;
}

std::optional<std::vector<EvenRow>> even_rows(const ir::EncodedTensor& weights) {
  std::vector<EvenRow> rows;
  for (std::size_t o = 0; o < weights.codes.rows; ++o) {
    const auto row = even_row(weights.encoding->basis(o, 0, weights.codes.cols));
    if (!row || (o > 0 && row->shift != rows.front().shift)) return std::nullopt;
    rows.push_back(*row);
  }
  return rows;
}

/// Fills digits, factors and scales of kernels.
bool set_digits(EvenLayer& layer, const numerics::Basis& x) {
  layer.digits = numerics::split_digits(x, layer.inputs);
  std::int64_t reach = 0;
  for (const numerics::Digit& digit : layer.digits) {
    const auto factor = multiple_of(digit.unit, layer.digits.front().unit, kMaxFactor);
    if (!factor) return false;
    layer.factors.push_back(*factor);
    reach += std::int64_t{std::abs(*factor)} * digit.reach();
  }
  const auto inputs = static_cast<std::int64_t>(layer.inputs);
  if (layer.w_bits == 1) {
    layer.largest = reach * inputs;
    return layer.digits.size() == 1 && layer.shift == -1;
  }
  layer.scale = 2;
  layer.largest = reach * inputs * std::max(std::abs(layer.shift), std::abs(6 + layer.shift));
  return true;
}

/// What does not depend on the inputs: reach sum_k (2 v_k + shift).
std::int32_t rest_of(const EvenLayer& layer, const numerics::BitPlanes& v, std::size_t output) {
  std::int64_t reach = 0;
  for (std::size_t d = 0; d < layer.digits.size(); ++d) {
    reach += std::int64_t{layer.factors[d]} * layer.digits[d].reach();
  }
  std::int64_t sum = std::int64_t{layer.shift} * static_cast<std::int64_t>(v.cols);
  for (int j = 0; j < v.bits; ++j) {
    sum += static_cast<std::int64_t>(v.planes.count(v.plane(output, j))) * (2 << j);
  }
  return static_cast<std::int32_t>(reach * sum);
}

numerics::BitPlanes flipped(const numerics::BitPlanes& codes, std::span<const EvenRow> rows) {
  numerics::BitPlanes v = codes;
  for (std::size_t o = 0; o < codes.rows; ++o) {
    if (!rows[o].is_flipped) continue;
    const std::size_t plane = v.plane(o, 1);
    for (std::size_t k = 0; k < codes.cols; ++k) {
      v.planes.set(plane, k, !codes.planes.test(plane, k));
    }
  }
  return v;
}

std::string columns_of(const EvenLayer& layer) {
  return std::to_string((layer.steps.size() + 3) / 4 * 4);
}

}  // namespace

std::optional<EvenLayer> even_layer(const ir::EncodedTensor& weights, const numerics::Basis& x) {
  const numerics::BitPlanes& codes = weights.codes;
  if (codes.bits > 2 || codes.rows == 0 || codes.cols > kMaxCountedInputs) return std::nullopt;
  const auto rows = even_rows(weights);
  if (!rows) return std::nullopt;
  EvenLayer layer;
  layer.shift = rows->front().shift;
  layer.inputs = codes.cols;
  layer.w_bits = codes.bits;
  if (!set_digits(layer, x)) return std::nullopt;
  const numerics::BitPlanes v = flipped(codes, *rows);
  for (std::size_t o = 0; o < codes.rows; ++o) {
    layer.steps.push_back(double{layer.digits.front().unit} * double{(*rows)[o].a});
    layer.rests.push_back(layer.scale == 2 ? rest_of(layer, v, o) : 0);
  }
  const bool is_signs = layer.digits.front().num_planes() == 1;
  layer.words = (codes.bits == 2 ? pack_digits_2(v)
                 : is_signs      ? pack_signs(v)
                                 : pack_planes(v))
                    .words;
  return layer;
}

EvenNames add_even_layer(Scope& scope, const EvenLayer& layer) {
  const std::size_t words = (layer.inputs + 31) / 32;
  if (layer.w_bits == 2 || layer.digits.front().num_planes() == 2) {
    scope.scratch("digits", "uint32_t", 8 * words);
  }
  const Kernel kernel = layer.w_bits == 2                        ? Kernel::kDigits2
                        : layer.digits.front().num_planes() == 2 ? Kernel::kPlanes
                                                                 : Kernel::kSigns;
  scope.multiplies(kernel, {.inputs = layer.inputs,
                            .outputs = layer.steps.size(),
                            .x_digits = layer.digits.size(),
                            .w_planes = static_cast<std::size_t>(layer.w_bits)});
  scope.scratch("sums", "int32_t", (layer.steps.size() + 3) / 4 * 4);
  std::vector<std::int8_t> multiples;
  for (const numerics::Digit& digit : layer.digits) {
    for (const int each : digit.multiples) multiples.push_back(static_cast<std::int8_t>(each));
  }
  return {scope.array<std::uint32_t>("weights", layer.words),
          scope.array<std::int8_t>("multiples", multiples)};
}

void add_even_sums(Scope& scope, const EvenLayer& layer, const EvenNames& names,
                   const std::string& window) {
  const std::size_t words = (layer.inputs + 31) / 32;
  const std::string n = std::to_string(words);
  const auto plane = [&](std::size_t i) { return window + " + " + std::to_string(i * words); };
  const auto digits = [&](std::size_t d) {
    const numerics::Digit& digit = layer.digits[d];
    return "ht_digits(" +
           arguments(plane(digit.planes[0]), plane(digit.planes[1]), n,
                     names.multiples + " + " + std::to_string(2 * d), "digits") +
           ")";
  };
  const std::string outputs = std::to_string(layer.steps.size());
  if (layer.w_bits == 2) {
    scope.line("  memset(sums, 0, " + outputs + " * sizeof *sums);");
    for (std::size_t d = 0; d < layer.digits.size(); ++d) {
      scope.call_within("digits_2",
                        arguments("digits", n, "(int32_t)" + digits(d), layer.shift, names.weights,
                                  outputs, layer.factors[d], "sums"),
                        true);
    }
  } else if (layer.digits.front().num_planes() == 2) {
    scope.call_within("planes",
                      arguments("digits", n, layer.digits.front().reach(), digits(0), names.weights,
                                columns_of(layer), "sums"),
                      true);
  } else {
    scope.needs("ones");
    const std::string bits = plane(layer.digits.front().planes[0]);
    scope.call_within("signs",
                      arguments(bits, n, "ht_ones(" + bits + ", " + n + ")", names.weights,
                                columns_of(layer), "sums"),
                      true);
  }
}

}  // namespace halftone::export_c
