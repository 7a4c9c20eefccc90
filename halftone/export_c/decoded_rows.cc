// SPDX-License-Identifier: Apache-2.0
#include "halftone/export_c/decoded_rows.h"

#include <bit>
#include <vector>

#include "halftone/export_c/code_layers.h"
#include "halftone/export_c/write_layers.h"
#include "halftone/ir/ops/convolution.h"
#include "halftone/ir/ops/linear.h"
#include "halftone/numerics/codebook.h"

namespace halftone::export_c {
namespace {

/// Codes of 2^log_bits bits, whole bytes for each row.
std::vector<std::int8_t> bytes_of(const numerics::BitPlanes& codes, unsigned log_bits) {
  const std::size_t per_byte = std::size_t{8} >> log_bits;
  std::vector<std::int8_t> bytes;
  for (std::size_t o = 0; o < codes.rows; ++o) {
    for (std::size_t k = 0; k < codes.cols; k += per_byte) {
      unsigned byte = 0;
      for (std::size_t i = 0; i < per_byte && k + i < codes.cols; ++i) {
        byte |= unsigned{codes.code(o, k + i)} << (i << log_bits);
      }
      bytes.push_back(static_cast<std::int8_t>(byte));
    }
  }
  return bytes;
}

std::vector<float> bias_or_zeros(const Scope& scope) {
  const std::span<const float> given = bias_of(scope);
  std::vector<float> bias(given.begin(), given.end());
  bias.resize(static_cast<std::size_t>(scope.input(1).shape[0]), 0.0F);
  return bias;
}

void write_conv_rows(Scope& scope, const ir::Conv& op, const ir::EncodedTensor& weights) {
  if (scope.has_input(3) || op.codes != nullptr) scope.refuse("a residual or codes behind float32");
  scope.writes("y");
  const std::string bias = scope.array<float>("bias", bias_or_zeros(scope));
  add_window(scope, window_extents(scope, op.window, ir::kernel_extents(weights.shape)));
  const DecodedRows rows = add_decoded_rows(scope, weights);
  scope.call("conv_codes_f32",
             arguments("x", "&window", op.groups, rows.rows, bias, rows.levels, rows.decoded, "y"));
  add_activation(scope, op.activation, "y", scope.output().shape.element_count(), false);
}

void write_dense_rows(Scope& scope, const ir::FullyConnected& op,
                      const ir::EncodedTensor& weights) {
  const std::size_t rows = runtime::row_extent(scope.input(0).shape).rows;
  const std::size_t outputs = weights.codes.rows;
  const ir::Encode* encode = scope.what().encode;
  if (encode == nullptr) {
    scope.writes("y");
  } else {
    scope.writes("codes");
    scope.scratch("y", "float", rows * outputs);
  }
  const std::string bias = scope.array<float>("bias", bias_or_zeros(scope));
  const DecodedRows names = add_decoded_rows(scope, weights);
  scope.line("for (int32_t r = 0; r < " + std::to_string(rows) + "; ++r) {");
  scope.line("  memcpy(y + r * " + arguments(outputs, bias, outputs) + " * sizeof *y);");
  scope.line("}");
  scope.call("dense_codes_f32",
             arguments("x", rows, outputs, names.rows, names.levels, names.decoded, "y"));
  add_activation(scope, op.activation, "y", rows * outputs, false);
  if (encode != nullptr) add_encode(scope, *encode, "y");
}

}  // namespace

DecodedRows add_decoded_rows(Scope& scope, const ir::EncodedTensor& weights,
                             const std::string& suffix) {
  const numerics::MatrixEncoding& encoding = *weights.encoding;
  if (encoding.vectors != nullptr) scope.refuse("weights whose codes are of several numbers");
  const std::size_t inputs = weights.codes.cols;
  const auto planes = static_cast<unsigned>(encoding.bits);
  const auto log_bits = static_cast<unsigned>(std::bit_width(planes - 1));
  std::vector<float> scales;
  std::vector<float> offsets;
  for (std::size_t b = 0; b < encoding.num_blocks(); ++b) {
    const numerics::Levels levels = encoding.levels(b);
    if (levels.codebook() != nullptr) {
      scales.push_back(levels.scale());
    } else {
      const numerics::Basis basis = levels.basis();
      scales.insert(scales.end(), basis.a().begin(), basis.a().end());
    }
    offsets.push_back(levels.offset());
  }
  const bool is_grouped = encoding.granularity == numerics::Granularity::kGroup;
  const bool is_one = encoding.granularity == numerics::Granularity::kTensor;
  const std::string codes =
      scope.array<std::int8_t>("codes" + suffix, bytes_of(weights.codes, log_bits));
  const std::string a = scope.array<float>("scales" + suffix, scales);
  const std::string c = encoding.has_offset ? scope.array<float>("offsets" + suffix, offsets) : "0";
  const std::string book =
      encoding.codebook == nullptr
          ? "0"
          : scope.array<float>("book" + suffix, encoding.codebook->levels(), true);
  scope.line("static const ht_code_rows weights" + suffix + " = {" +
             arguments(inputs, planes, log_bits, is_grouped ? encoding.group_size : inputs,
                       is_one ? 0 : encoding.groups_per_row(inputs), codes, a, c, book) +
             "};");
  scope.scratch("levels" + suffix, "float", std::size_t{1} << planes);
  scope.scratch("decoded" + suffix, "float", inputs);
  return {"&weights" + suffix, "levels" + suffix, "decoded" + suffix};
}

void write_decoded_rows(Scope& scope, const ir::EncodedTensor& weights) {
  if (!scope.input(0).is_dense(ir::ElementType::kFloat32)) {
    scope.refuse("inputs of codes with the arithmetic of float32");
  }
  scope.reads("x", 0);
  if (const auto* conv = scope.op<ir::Conv>()) return write_conv_rows(scope, *conv, weights);
  write_dense_rows(scope, *scope.op<ir::FullyConnected>(), weights);
}

}  // namespace halftone::export_c
