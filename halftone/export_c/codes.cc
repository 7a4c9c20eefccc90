// SPDX-License-Identifier: Apache-2.0
// Numbers as codes of few bits.
#include <algorithm>
#include <bit>
#include <vector>

#include "halftone/export_c/write_layers.h"
#include "halftone/kernels/encode/encode.h"
#include "halftone/kernels/int8_matmul/int8_weights.h"
#include "halftone/runtime/elementwise/elementwise.h"

namespace halftone::export_c {
namespace {

/// An integer that is larger for larger numbers, as text/level_f32.c computes it: x > t if key(x) >
/// key_of(t). That of -0 is the key of 0, above which no zero is.
std::int32_t key_of(float threshold) {
  const auto bits = std::bit_cast<std::int32_t>(threshold == 0 ? 0.0F : threshold);
  return bits < 0 ? bits ^ 0x7FFFFFFF : bits;
}

}  // namespace

void add_encoder(Scope& scope, const numerics::MatrixEncoding& encoding,
                 const ir::Activation& activation, runtime::CodeLayout layout) {
  const kernels::EncodeTable table = runtime::encode_table(encoding.levels(0), activation);
  if (table.beyond()) scope.refuse("codes of infinity and NaN");
  const kernels::Int8Levels levels(encoding.levels(0));
  std::vector<std::int8_t> codes;
  for (const numerics::Code code : table.codes()) {
    codes.push_back(layout == runtime::CodeLayout::kInt8 ? levels.q[code]
                                                         : static_cast<std::int8_t>(code));
  }
  std::vector<std::int32_t> keys;
  for (const float threshold : table.thresholds()) keys.push_back(key_of(threshold));
  const std::string thresholds = scope.array<std::int32_t>("thresholds", keys, true);
  const bool is_plain =
      std::ranges::adjacent_find(codes, [](int a, int b) { return b != a + 1; }) == codes.end();
  const std::string names = is_plain ? "0" : scope.array<std::int8_t>("codes", codes, true);
  scope.line("static const ht_encoder encoder = {" +
             arguments(thresholds, names, static_cast<int>(is_plain ? codes.front() : 0),
                       table.thresholds().size()) +
             "};");
}

bool write_encode(Scope& scope) {
  const auto* encode = scope.op<ir::Encode>();
  if (encode == nullptr) return false;
  scope.require_input(0, ir::ElementType::kFloat32, "the input");
  const runtime::CodeLayout layout = scope.layout(scope.what().output);
  scope.reads("x", 0);
  scope.writes("y");
  add_encoder(scope, *encode->encoding, encode->activation, layout);
  const ir::MatrixExtent rows = runtime::row_extent(scope.output().shape);
  if (layout == runtime::CodeLayout::kInt8) {
    scope.call("encode_i8", arguments("x", rows.rows * rows.cols, "&encoder", "y"));
    return true;
  }
  const int planes = encode->encoding->bits;
  const std::size_t words = static_cast<std::size_t>(planes) * ((rows.cols + 31) / 32);
  const std::string cols = std::to_string(rows.cols);
  scope.line("for (int32_t r = 0; r < " + std::to_string(rows.rows) + "; ++r) {");
  scope.call_within(
      "encode_bits",
      arguments("x + r * " + cols, cols, "&encoder", planes, "y + r * " + std::to_string(words)),
      true);
  scope.line("}");
  return true;
}

}  // namespace halftone::export_c
