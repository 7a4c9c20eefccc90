// SPDX-License-Identifier: Apache-2.0
// Numbers as codes of few bits.
#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
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
                 const ir::Activation& activation, const CodeRows& to) {
  const kernels::EncodeTable table = runtime::encode_table(encoding.levels(0), activation);
  if (table.beyond()) scope.refuse("codes of infinity and NaN");
  const kernels::Int8Levels levels(encoding.levels(0));
  std::vector<std::int8_t> codes;
  for (const numerics::Code code : table.codes()) {
    codes.push_back(to.is_bytes() ? levels.q[code] : static_cast<std::int8_t>(code));
  }
  std::vector<std::int32_t> keys;
  for (const float threshold : table.thresholds()) keys.push_back(key_of(threshold));
  keys.resize(std::bit_ceil(keys.size() + 1) - 1, std::numeric_limits<std::int32_t>::max());
  const std::string thresholds = scope.array<std::int32_t>("thresholds", keys, true);
  const bool is_plain =
      std::ranges::adjacent_find(codes, [](int a, int b) { return b != a + 1; }) == codes.end();
  const std::string names = is_plain ? "0" : scope.array<std::int8_t>("codes", codes, true);
  scope.line(
      "static const ht_encoder encoder = {" +
      arguments(thresholds, names, static_cast<int>(is_plain ? codes.front() : 0), keys.size()) +
      "};");
}

std::optional<SumEncoder> sum_encoder(const numerics::MatrixEncoding& encoding,
                                      const ir::Activation& activation,
                                      const ir::Activation& limited, const CodeRows& to) {
  const kernels::EncodeTable table = runtime::encode_table(encoding.levels(0), activation);
  const std::size_t levels = table.thresholds().size();
  const auto limits = ir::limits_of(limited);
  if (table.beyond() || !limits || levels > SumEncoder::kMaxLevels) return std::nullopt;
  SumEncoder encoder{LevelCounter(table, *limits), limited, to, {}};
  const kernels::Int8Levels integers(encoding.levels(0));
  for (std::size_t level = 0; level < table.codes().size(); ++level) {
    const numerics::Code code = table.codes()[level];
    if (!to.is_planes()) {
      encoder.codes.push_back(to.is_bytes() ? integers.q[code] : static_cast<std::int8_t>(code));
    } else if (code != level || levels + 1 != std::size_t{1} << encoding.bits) {
      return std::nullopt;
    }
  }
  return encoder;
}

std::string add_falling(Scope& scope, const SumCodes& codes, std::size_t outputs) {
  std::vector<std::uint32_t> words((outputs + 31) / 32);
  for (std::size_t o = 0; o < outputs; ++o)
    words[o / 32] |= std::uint32_t{codes.falls[o]} << o % 32;
  const bool any = std::ranges::any_of(words, [](std::uint32_t word) { return word != 0; });
  return any ? scope.array<std::uint32_t>("falling", words) : "0";
}

void add_sum_encoder(Scope& scope, const SumEncoder& encoder, const std::string& thresholds,
                     std::size_t outputs, const std::string& y) {
  if (encoder.to.is_planes()) {
    return scope.call_within("encode_sums_" + std::to_string(encoder.to.bits),
                             arguments("sums", thresholds, outputs, y));
  }
  const std::string codes = scope.array<std::int8_t>("level_codes", encoder.codes, true);
  const std::string start = arguments("sums", thresholds, outputs, encoder.counter.levels(), codes);
  if (encoder.to.is_bytes()) return scope.call_within("encode_sums_i8", arguments(start, y));
  scope.call_within("encode_sums_packed", arguments(start, encoder.to.bits, y));
}

void add_unsure_code(Scope& scope, const SumEncoder& encoder, std::size_t output,
                     std::size_t outputs, const std::string& y) {
  add_activation(scope, encoder.limited, "&number", 1, true);
  const std::string o = std::to_string(output);
  const std::string code = "(uint32_t)(int32_t)ht_code_of(number, &encoder)";
  scope.needs("level_f32");
  if (encoder.to.is_planes()) {
    scope.call_within("put_code", arguments(y, outputs, encoder.to.bits, o, code));
  } else if (encoder.to.is_bytes()) {
    scope.line("  (" + y + ")[" + o + "] = ht_code_of(number, &encoder);");
  } else {
    scope.call_within("put_packed", arguments(y, encoder.to.bits, o, code));
  }
  scope.line("  }");
}

std::string begin_codes(Scope& scope, const CodeRows& to, const std::string& row) {
  if (to.memory != CodeMemory::kSharedPlanes) return to.at(scope.output_name(), row);
  scope.scratch("planes_of_p", "uint32_t", static_cast<std::size_t>(to.bits));
  return "planes_of_p";
}

void end_codes(Scope& scope, const CodeRows& to, const std::string& row) {
  if (to.memory != CodeMemory::kSharedPlanes) return;
  scope.call_within("share_planes", arguments("planes_of_p", to.bits, to.cols, "(uint32_t)" + row,
                                              scope.output_name()));
}

void add_row_codes(Scope& scope, const CodeRows& to, const std::string& numbers,
                   const std::string& row) {
  const std::string y = begin_codes(scope, to, row);
  const std::string start = arguments(numbers, to.cols, "&encoder");
  if (to.is_bytes()) {
    scope.call_within("encode_i8", arguments(start, y));
  } else {
    scope.call_within(to.is_planes() ? "encode_bits" : "encode_packed",
                      arguments(start, to.bits, y));
  }
  end_codes(scope, to, row);
}

void add_encode(Scope& scope, const ir::Encode& encode, const std::string& x) {
  const CodeRows to = scope.output_codes();
  add_encoder(scope, *encode.encoding, encode.activation, to);
  if (to.is_bytes()) {
    return scope.call_after("encode_i8",
                            arguments(x, to.rows * to.cols, "&encoder", scope.output_name()));
  }
  scope.line("for (int32_t r = 0; r < " + std::to_string(to.rows) + "; ++r) {");
  add_row_codes(scope, to, x + " + r * " + std::to_string(to.cols), "r");
  scope.line("}");
}

namespace {

void write_encode_by_pixel(Scope& scope, const ir::Encode& encode) {
  const CodeRows to = scope.output_codes();
  add_encoder(scope, *encode.encoding, encode.activation, to);
  scope.scratch("pixel", "float", to.cols);
  scope.line("for (int32_t p = 0; p < " + std::to_string(to.rows) + "; ++p) {");
  scope.compute_pixel(0, "p", "pixel");
  add_row_codes(scope, to, "pixel", "p");
  scope.line("}");
}

}  // namespace

bool write_encode(Scope& scope) {
  const auto* encode = scope.op<ir::Encode>();
  if (encode == nullptr) return false;
  scope.require_input(0, ir::ElementType::kFloat32, "the input");
  const CodeRows to = scope.output_codes();
  scope.writes("y");
  scope.named_for(to.is_bytes() ? "encode_i8" : to.is_planes() ? "encode_bits" : "encode_packed");
  if (scope.is_by_pixel(scope.what().inputs[0])) {
    write_encode_by_pixel(scope, *encode);
    return true;
  }
  scope.reads("x", 0);
  add_encode(scope, *encode, "x");
  return true;
}

}  // namespace halftone::export_c
