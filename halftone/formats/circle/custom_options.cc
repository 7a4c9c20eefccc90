// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/circle/custom_options.h"

#include <flatbuffers/flexbuffers.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "halftone/base/buffer.h"
#include "halftone/base/error.h"

namespace halftone::formats::circle {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::size_t kMostBytes = 4096;
constexpr std::int64_t kMostInputs = std::int64_t{1} << 40;
constexpr int kMostActivations = 5;

void check(bool holds, const std::string& message) {
  if (!holds) fail(ErrorKind::kFormat, "options: " + message);
}

std::int64_t integer(const flexbuffers::Map& map, const char* key, std::int64_t most) {
  const flexbuffers::Reference entry = map[key];
  check(entry.IsInt() || entry.IsUInt(), std::string(key) + ": expected an integer");
  const std::int64_t value = entry.AsInt64();
  check(value >= 0 && value <= most, std::string(key) + ": expected 0 to " + std::to_string(most) +
                                         ", found " + std::to_string(value));
  return value;
}

bool boolean(const flexbuffers::Map& map, const char* key) {
  const flexbuffers::Reference entry = map[key];
  check(entry.IsBool(), std::string(key) + ": expected true or false");
  return entry.AsBool();
}

numerics::Granularity granularity(const flexbuffers::Map& map) {
  const flexbuffers::Reference entry = map["granularity"];
  const std::string found = entry.IsString() ? entry.AsString().str() : "";
  for (const auto each : {numerics::Granularity::kTensor, numerics::Granularity::kChannel,
                          numerics::Granularity::kGroup}) {
    if (found == to_string(each)) return each;
  }
  fail(ErrorKind::kFormat, "options: granularity: expected tensor, channel or group");
}

}  // namespace

std::vector<std::byte> write_custom_options(const CustomOptions& options) {
  flexbuffers::Builder builder;
  builder.Map([&] {
    builder.Int("version", kVersion);
    builder.Int("inputs", static_cast<std::int64_t>(options.inputs));
    builder.Int("weight_bits", options.weight_bits);
    builder.Int("activation_bits", options.activation_bits);
    builder.Bool("weight_offset", options.weight_offset);
    builder.Bool("activation_offset", options.activation_offset);
    builder.String("granularity", std::string(to_string(options.granularity)));
    builder.Int("group_size", static_cast<std::int64_t>(options.group_size));
    builder.Int("activation", options.activation);
  });
  builder.Finish();
  const auto bytes = std::as_bytes(std::span(builder.GetBuffer()));
  return {bytes.begin(), bytes.end()};
}

CustomOptions read_custom_options(std::span<const std::byte> bytes) {
  check(!bytes.empty() && bytes.size() <= kMostBytes,
        "expected at most " + std::to_string(kMostBytes) + " bytes, found " +
            std::to_string(bytes.size()));
  AlignedBuffer aligned(bytes.size());
  std::ranges::copy(bytes, aligned.data());
  const auto* data = reinterpret_cast<const std::uint8_t*>(aligned.data());
  std::vector<std::uint8_t> reuse_tracker;
  check(flexbuffers::VerifyBuffer(data, bytes.size(), &reuse_tracker), "expected FlexBuffers");
  const flexbuffers::Reference root = flexbuffers::GetRoot(data, bytes.size());
  check(root.IsMap(), "expected a map");
  const flexbuffers::Map map = root.AsMap();
  const std::int64_t version = integer(map, "version", kMostInputs);
  if (version != kVersion) {
    fail(ErrorKind::kUnsupported, "options: expected version 1, found " + std::to_string(version));
  }
  CustomOptions options;
  options.inputs = static_cast<std::size_t>(integer(map, "inputs", kMostInputs));
  options.weight_bits = static_cast<int>(integer(map, "weight_bits", numerics::kMaxBits));
  options.activation_bits = static_cast<int>(integer(map, "activation_bits", numerics::kMaxBits));
  options.weight_offset = boolean(map, "weight_offset");
  options.activation_offset = boolean(map, "activation_offset");
  options.granularity = granularity(map);
  options.group_size = static_cast<std::size_t>(integer(map, "group_size", kMostInputs));
  options.activation = static_cast<int>(integer(map, "activation", kMostActivations));
  check((options.granularity == numerics::Granularity::kGroup) == (options.group_size != 0),
        "group_size " + std::to_string(options.group_size) + " does not go with granularity " +
            std::string(to_string(options.granularity)));
  return options;
}

}  // namespace halftone::formats::circle
