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

std::string add_encoder(Scope& scope, const numerics::MatrixEncoding& encoding,
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
  if (!to.is_planes()) return to.is_bytes() ? "encode_i8" : "encode_packed";
  const bool are_levels = is_plain && codes.front() == 0 && keys.size() == 3 && to.bits == 2;
  return are_levels ? "encode_bits_2" : "encode_bits";
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

namespace {

/// The distances of thresholds, if there are three of each row and they fit a byte.
std::vector<std::uint8_t> steps_of(const SumCodes& codes, std::size_t levels) {
  constexpr std::size_t kLevels = 3;
  std::vector<std::uint8_t> steps;
  for (std::size_t i = 0; levels == kLevels && i + 1 < codes.thresholds.size(); ++i) {
    if (i % kLevels == kLevels - 1) continue;
    const int step = codes.thresholds[i + 1] - codes.thresholds[i];
    if (step > std::numeric_limits<std::uint8_t>::max()) return {};
    steps.push_back(static_cast<std::uint8_t>(step));
  }
  return steps;
}

std::string add_falling(Scope& scope, const SumCodes& codes, std::size_t outputs) {
  std::vector<std::uint32_t> words((outputs + 31) / 32);
  for (std::size_t o = 0; o < outputs; ++o)
    words[o / 32] |= std::uint32_t{codes.falls[o]} << o % 32;
  const bool any = std::ranges::any_of(words, [](std::uint32_t word) { return word != 0; });
  return any ? scope.array<std::uint32_t>("falling", words) : "0";
}

}  // namespace

SumThresholds add_thresholds(Scope& scope, const SumCodes& codes, const SumEncoder& encoder) {
  const std::size_t levels = encoder.counter.levels();
  const std::string falling = add_falling(scope, codes, encoder.to.cols);
  const std::vector<std::uint8_t> steps =
      encoder.to.is_bytes() ? std::vector<std::uint8_t>{} : steps_of(codes, levels);
  if (steps.empty()) {
    return {scope.array<std::int16_t>("sum_thresholds", codes.thresholds), "", falling};
  }
  std::vector<std::int16_t> firsts;
  for (std::size_t i = 0; i < codes.thresholds.size(); i += levels) {
    firsts.push_back(codes.thresholds[i]);
  }
  return {scope.array<std::int16_t>("first_thresholds", firsts),
          scope.array<std::uint8_t>("threshold_steps", steps), falling};
}

void add_sum_encoder(Scope& scope, const SumEncoder& encoder, const SumThresholds& thresholds,
                     const std::string& pattern, const std::string& y) {
  const std::size_t outputs = encoder.to.cols;
  const std::size_t levels = encoder.counter.levels();
  const auto row = [&](const std::string& name, std::size_t numbers) {
    return pattern.empty() ? name : name + " + " + pattern + " * " + std::to_string(numbers);
  };
  const bool is_near = !thresholds.steps.empty();
  const std::string start =
      is_near ? arguments("sums", row(thresholds.thresholds, outputs),
                          row(thresholds.steps, 2 * outputs), thresholds.falling, outputs)
              : arguments("sums", row(thresholds.thresholds, levels * outputs), thresholds.falling,
                          outputs);
  const std::string kernel = is_near ? "encode_near_" : "encode_sums_";
  if (encoder.to.is_planes()) {
    return scope.call_within(kernel + std::to_string(encoder.to.bits), arguments(start, y));
  }
  const std::string codes = scope.array<std::int8_t>("level_codes", encoder.codes, true);
  const std::string middle = is_near ? start : arguments(start, levels);
  if (encoder.to.is_bytes()) {
    return scope.call_within("encode_sums_i8", arguments(middle, codes, y));
  }
  scope.call_within(kernel + "packed", arguments(middle, codes, encoder.to.bits, y));
}

void add_unsure_code(Scope& scope, const SumEncoder& encoder, std::size_t output,
                     std::size_t outputs, const std::string& y) {
  scope.set_rare(true);
  add_activation(scope, encoder.limited, "&number", 1, true);
  const std::string o = std::to_string(output);
  const std::string code = "(uint32_t)(int32_t)ht_code_of(number, &encoder)";
  scope.needs("code_of_f32");
  if (encoder.to.is_planes()) {
    scope.call_within("put_code", arguments(y, outputs, encoder.to.bits, o, code));
  } else if (encoder.to.is_bytes()) {
    scope.line("  (" + y + ")[" + o + "] = ht_code_of(number, &encoder);");
  } else {
    scope.call_within("put_packed", arguments(y, encoder.to.bits, o, code));
  }
  scope.line("  }");
  scope.set_rare(false);
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

void add_row_codes(Scope& scope, const CodeRows& to, const std::string& kernel,
                   const std::string& numbers, const std::string& row) {
  const std::string y = begin_codes(scope, to, row);
  const std::string start = arguments(numbers, to.cols, "&encoder");
  const bool names_bits = kernel == "encode_bits" || kernel == "encode_packed";
  scope.call_within(kernel, names_bits ? arguments(start, to.bits, y) : arguments(start, y));
  end_codes(scope, to, row);
}

void add_encode(Scope& scope, const ir::Encode& encode, const std::string& x) {
  const CodeRows to = scope.output_codes();
  const std::string kernel = add_encoder(scope, *encode.encoding, encode.activation, to);
  if (scope.op<ir::Encode>() != nullptr) scope.named_for(kernel);
  if (to.is_bytes()) {
    return scope.call_after("encode_i8",
                            arguments(x, to.rows * to.cols, "&encoder", scope.output_name()));
  }
  scope.line("for (int32_t r = 0; r < " + std::to_string(to.rows) + "; ++r) {");
  add_row_codes(scope, to, kernel, x + " + r * " + std::to_string(to.cols), "r");
  scope.line("}");
}

namespace {

void write_encode_by_pixel(Scope& scope, const ir::Encode& encode) {
  const CodeRows to = scope.output_codes();
  const std::string kernel = add_encoder(scope, *encode.encoding, encode.activation, to);
  scope.named_for(kernel);
  scope.scratch("pixel", "float", to.cols);
  scope.line("for (int32_t p = 0; p < " + std::to_string(to.rows) + "; ++p) {");
  scope.compute_pixel(0, "p", "pixel");
  add_row_codes(scope, to, kernel, "pixel", "p");
  scope.line("}");
}

}  // namespace

bool write_encode(Scope& scope) {
  const auto* encode = scope.op<ir::Encode>();
  if (encode == nullptr) return false;
  scope.require_input(0, ir::ElementType::kFloat32, "the input");
  scope.writes("y");
  if (scope.is_by_pixel(scope.what().inputs[0])) {
    write_encode_by_pixel(scope, *encode);
    return true;
  }
  scope.reads("x", 0);
  add_encode(scope, *encode, "x");
  return true;
}

}  // namespace halftone::export_c
