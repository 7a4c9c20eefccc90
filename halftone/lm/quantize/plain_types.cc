// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/plain_types.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>

#include "halftone/base/half.h"
#include "halftone/base/parallel.h"

namespace halftone::lm {
namespace {

WeightType plain_type_of(const char* name) {
  const formats::GgufType& type = *formats::gguf_type(name);
  return {std::string(type.name), &type, numerics::without_owner(type)};
}

template <typename Bits>
std::vector<std::byte> rounded_bytes(std::span<const float> values, Bits (*rounded)(float)) {
  std::vector<std::byte> bytes(values.size() * sizeof(Bits));
  parallel_for(values.size(), [&](std::size_t i) {
    const auto number = std::bit_cast<std::array<std::byte, sizeof(Bits)>>(rounded(values[i]));
    std::ranges::copy(number, bytes.begin() + static_cast<std::ptrdiff_t>(i * sizeof(Bits)));
  });
  return bytes;
}

}  // namespace

const WeightType* plain_type(std::string_view name) {
  static const std::array types = {plain_type_of("F32"), plain_type_of("F16"),
                                   plain_type_of("BF16")};
  const auto found = std::ranges::find(types, name, &WeightType::name);
  return found == types.end() ? nullptr : &*found;
}

std::vector<std::byte> plain_bytes(std::span<const float> values, const WeightType& type) {
  if (type.name == "F16") return rounded_bytes(values, half_from_float);
  if (type.name == "BF16") return rounded_bytes(values, bfloat16_from_float);
  return {std::as_bytes(values).begin(), std::as_bytes(values).end()};
}

}  // namespace halftone::lm
