// SPDX-License-Identifier: Apache-2.0
// Decoders on a device give the logits of the processor, bit for bit.
#include "halftone/lm/decode/device_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "halftone/base/half.h"
#include "halftone/base/random.h"
#include "halftone/base/testing.h"
#include "halftone/gpu/testing.h"
#include "halftone/lm/model/build.h"
#include "halftone/lm/model/testing.h"

namespace halftone::lm {
namespace {

using formats::GgufType;

constexpr std::size_t kDeviceContext = 40;
constexpr std::size_t kVocabulary = 70;

/// Random codes and scales in blocks of a type.
std::vector<std::byte> random_blocks(const GgufType& type, std::size_t elements, Random& random) {
  std::vector<std::byte> bytes(type.bytes_of(elements));
  std::array<std::int8_t, numerics::kMaxBlock> codes{};
  std::array<float, numerics::kMaxBlock / 16> scales{};
  std::array<float, numerics::kMaxBlock / 16> offsets{};
  const bool has_factors = type.scales == numerics::GroupScales::kHalfTimesByte;
  for (std::size_t b = 0; b < elements / type.block; ++b) {
    for (std::size_t i = 0; i < type.block; ++i) {
      codes[i] = static_cast<std::int8_t>(
          type.levels.level(random.below(std::uint64_t{1} << type.levels.bits)));
    }
    for (std::size_t g = 0; g < type.block / type.group; ++g) {
      const auto among = [&](int low, int high) {
        return static_cast<float>(low) +
               static_cast<float>(random.below(static_cast<std::uint64_t>(high - low + 1)));
      };
      scales[g] = has_factors ? among(type.min_scale, type.max_scale) : among(1, 64) / 2048;
      offsets[g] = has_factors ? among(0, type.max_offset) : -among(0, 64) / 128;
    }
    type.pack(type,
              {codes.data(), scales.data(), offsets.data(), has_factors ? 0x1p-10F : 1.0F,
               has_factors ? -0x1p-8F : 1.0F},
              bytes.data() + b * type.block_bytes);
  }
  return bytes;
}

using Types = std::vector<const char*>;

const Types kMixed = {"Q4_0", "Q4_K", "Q6_K", "Q2_K", "Q8_0", "Q3_K", "Q5_K", "IQ4_NL", "Q5_1"};

/// Small tensors; matrices in one type after another.
Weights weights_of(const Description& d, const Types& types) {
  GgufModel model(d.architecture);
  Random random(3);
  std::size_t next = 0;
  for (const NamedTensor& tensor : small_tensors(d)) {
    const GgufType& type = *formats::gguf_type(types[next % types.size()]);
    const bool is_matrix = tensor.shape.size() >= 2 && tensor.shape.back() % type.block == 0;
    if (!is_matrix) {
      model.tensor(tensor);
      continue;
    }
    ++next;
    model.stored(tensor.name, tensor.shape, type,
                 random_blocks(type, tensor.values.size(), random));
  }
  return {d, model.file()};
}

Description description_of(const std::string& architecture) {
  const std::size_t experts = architecture.ends_with("moe") ? 4 : 0;
  Description d = small_description(architecture, {.width = 256,
                                                   .inner = 512,
                                                   .heads = 4,
                                                   .kv_heads = 2,
                                                   .head_width = 64,
                                                   .vocabulary = kVocabulary,
                                                   .experts = experts});
  d.context = kDeviceContext;
  return d;
}

Decoder decoder_of(const Description& d, const std::string& device, std::size_t rows,
                   ir::CacheNumbers cache = ir::CacheNumbers::kFloat32,
                   const Types& types = kMixed) {
  return {build_decoder(d, weights_of(d, types),
                        {.sequences = 8, .context = kDeviceContext, .cache = cache}),
          {.rows = rows, .device = device}};
}

std::vector<TokenId> prompt_of(std::size_t count, std::size_t first = 1) {
  std::vector<TokenId> tokens;
  for (std::size_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<TokenId>((first + i * 13) % kVocabulary));
  }
  return tokens;
}

class DecoderOnDevice : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string why = gpu::why_no_device();
    if (!why.empty()) GTEST_SKIP() << "no device: " << why;
  }
};

void expect_same_in_chunks(const Description& d, const Types& types) {
  constexpr auto kCache = ir::CacheNumbers::kFloat32;
  const std::vector<TokenId> tokens = prompt_of(13);
  const std::vector<float> want = decoder_of(d, "", 8, kCache, types).append(0, tokens, true);
  EXPECT_TRUE(std::ranges::all_of(want, [](float logit) { return std::isfinite(logit); }));
  EXPECT_GT(std::set<float>(want.begin(), want.end()).size(), want.size() / 2);
  for (const std::size_t chunk : std::initializer_list<std::size_t>{1, 5, 13}) {
    Decoder model = decoder_of(d, gpu::test_device_name(), 8, kCache, types);
    std::vector<float> found;
    for (std::size_t first = 0; first < tokens.size(); first += chunk) {
      const auto part = std::span(tokens).subspan(first, std::min(chunk, tokens.size() - first));
      const std::vector<float> logits = model.append(0, part, true);
      found.insert(found.end(), logits.begin(), logits.end());
    }
    EXPECT_EQ(gpu::differing_bits(found, want), 0U) << chunk;
  }
}

TEST_P(DecoderOnDevice, HasTheLogitsOfTheProcessorForPromptsInAnyChunks) {
  expect_same_in_chunks(description_of(GetParam()), kMixed);
}

/// Matrices with the same input are joined.
TEST_P(DecoderOnDevice, HasThemWithOneTypeOfWeights) {
  expect_same_in_chunks(description_of(GetParam()), {"Q4_K"});
}

/// Caches of fewer bits than 32.
void expect_same_for_sequences(const Description& d, ir::CacheNumbers cache) {
  Decoder processor = decoder_of(d, "", 16, cache);
  Decoder device = decoder_of(d, gpu::test_device_name(), 16, cache);
  std::vector<TokenId> tokens = {0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<SequencePart> next;
  for (std::size_t s = 0; s < 8; ++s) {
    const auto prompt = prompt_of(3 + s, s);
    EXPECT_EQ(
        gpu::differing_bits(device.append(s, prompt, false), processor.append(s, prompt, false)),
        0U);
    next.push_back({s, std::span(tokens).subspan(s, 1)});
  }
  for (int step = 0; step < 3; ++step) {
    EXPECT_EQ(gpu::differing_bits(device.append_each(next), processor.append_each(next)), 0U);
  }
  device.truncate(2, 1);
  processor.truncate(2, 1);
  const auto more = prompt_of(4, 5);
  EXPECT_EQ(gpu::differing_bits(device.append(2, more, true), processor.append(2, more, true)), 0U);
  EXPECT_EQ(device.state_bytes(), processor.state_bytes());
}

TEST_P(DecoderOnDevice, HasThemForEightSequencesInFloat16) {
  expect_same_for_sequences(description_of(GetParam()), ir::CacheNumbers::kFloat16);
}

TEST_P(DecoderOnDevice, HasThemForEightSequencesInIntegers) {
  expect_same_for_sequences(description_of(GetParam()), ir::CacheNumbers::kInt8);
  expect_same_for_sequences(description_of(GetParam()), ir::CacheNumbers::kInt6);
  expect_same_for_sequences(description_of(GetParam()), ir::CacheNumbers::kInt4);
}

INSTANTIATE_TEST_SUITE_P(Architectures, DecoderOnDevice,
                         testing::Values("llama", "qwen3", "gemma3", "phi3", "gpt2", "bitnet",
                                         "qwen3moe", "qwen2moe"));

/// Norm and encoding; q, k and v; norms of heads, angles and caches; attention; output and sum;
/// norm and encoding; gate and up; down and sum.
TEST_P(DecoderOnDevice, RunsFewLaunchesForATokenOfOneTypeOfWeights) {
  struct Launches {
    std::size_t of_block = 8;
    std::size_t of_embedding = 1;
  };
  // Norms behind branches, and within them, are launches of their own.
  const std::map<std::string, Launches> launches = {{"llama", {}},       {"qwen3", {}},
                                                    {"phi3", {}},        {"gpt2", {8, 3}},
                                                    {"gemma3", {10, 2}}, {"bitnet", {10, 1}}};
  const auto wanted = launches.find(GetParam());
  if (wanted == launches.end()) GTEST_SKIP() << "experts";
  const Description d = description_of(GetParam());
  const auto launches_of = [&](const Description& one) {
    const DecoderGraphs graphs =
        build_decoder(one, weights_of(one, {"Q4_K"}),
                      {.context = kDeviceContext, .cache = ir::CacheNumbers::kFloat16});
    return DeviceRows(graphs, {.device = gpu::test_device_name()}).num_launches(1);
  };
  const std::size_t found = launches_of(d);
  EXPECT_EQ(found, wanted->second.of_embedding + d.blocks * wanted->second.of_block);
}

TEST(DeviceRows, NamesWhatADeviceHasNoKernelsFor) {
  expect_error(ErrorKind::kUnsupported, "no kernels yet for ",
               [] { decoder_of(stream_description(), "opencl", 8); });
}

TEST(DeviceRows, RoundActivations) {
  const Description d = description_of("llama");
  DecoderOptions options{.device = "opencl"};
  options.execution.int8_activations = false;
  expect_error(ErrorKind::kUnsupported, "a device rounds activations", [&] {
    const Decoder model(build_decoder(d, weights_of(d, kMixed), {.context = kDeviceContext}),
                        options);
  });
}

TEST(DeviceRows, SayHowManyTokensFit) {
  const std::string why = gpu::why_no_device();
  if (!why.empty()) GTEST_SKIP() << "no device: " << why;
  const Description d = description_of("llama");
  expect_error(ErrorKind::kDevice, "do not fit its ", [&] {
    const Decoder model(
        build_decoder(d, weights_of(d, kMixed),
                      {.sequences = std::size_t{1} << 24, .context = kDeviceContext}),
        {.device = gpu::test_device_name()});
  });
}

TEST(DeviceRows, RefuseDevicesThatAreNotThere) {
  const Description d = description_of("llama");
  expect_error(ErrorKind::kDevice, "no device opencl:99", [&] { decoder_of(d, "opencl:99", 8); });
}

}  // namespace
}  // namespace halftone::lm
