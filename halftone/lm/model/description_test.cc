// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/description.h"

#include <cmath>

#include "halftone/base/testing.h"
#include "halftone/lm/model/architectures.h"
#include "halftone/lm/model/testing.h"

namespace halftone::lm {
namespace {

Description small_llama() {
  const Architecture& architecture = architecture_of_gguf("llama");
  Description d = start_description(architecture);
  d.blocks = 2;
  d.width = 16;
  d.vocabulary = 10;
  d.context = 32;
  d.heads = 4;
  d.kv_heads = 2;
  d.head_width = 4;
  d.inner = 24;
  complete(d, architecture);
  return d;
}

TEST(Description, FollowsFromSizesAndTheArchitecture) {
  const Description d = small_llama();
  check(d);
  EXPECT_EQ(d.value_width, 4U);
  EXPECT_EQ(d.rotary_dims, 4U);
  EXPECT_EQ(d.score_scale, 0.5);
  EXPECT_EQ(d.embedding_factor, 1);
  EXPECT_FALSE(d.is_windowed(1));
}

TEST(Description, WindowsFollowThePeriodOfTheArchitecture) {
  const Architecture& architecture = architecture_of_gguf("gemma3");
  Description d = small_llama();
  d.blocks = 7;
  d.window = 8;
  complete(d, architecture);
  EXPECT_EQ(d.windowed, (std::vector<bool>{true, true, true, true, true, false, true}));
  EXPECT_EQ(d.embedding_factor, 4);
  d.windowed.clear();
  complete(d, architecture_of_hf("mistral"));
  EXPECT_EQ(d.windowed, std::vector<bool>(7, true));
}

TEST(Description, RejectsNumbersThatDoNotFit) {
  const auto expect = [](const std::string& text, void (*change)(Description&)) {
    Description d = small_llama();
    change(d);
    expect_error(ErrorKind::kFormat, "llama: " + text, [&] { check(d); });
  };
  expect("blocks: expected 1 to 4096, found 0", [](Description& d) { d.blocks = 0; });
  expect("vocabulary: expected 1 to", [](Description& d) { d.vocabulary = 1U << 25; });
  expect("heads of keys and values: expected 1 to 4, found 5",
         [](Description& d) { d.kv_heads = 5; });
  expect("heads of keys and values: 3 do not divide 4", [](Description& d) { d.kv_heads = 3; });
  expect("attention windows: expected one entry for each of 2 blocks, found 1", [](Description& d) {
    d.window = 4;
    d.windowed = {true};
  });
  expect("rotated elements of a head: expected 1 to 4, found 6",
         [](Description& d) { d.rotary_dims = 6; });
  expect("rotated elements of a head: expected an even number, found 3",
         [](Description& d) { d.rotary_dims = 3; });
  expect("factors of rotary positions: expected 2, found 1",
         [](Description& d) { d.rotary.divisors = {1}; });
  expect("rotary factor: expected a number above", [](Description& d) {
    d.window_rotary.long_divisors = {1, 0};
  });
  expect("base of rotary positions", [](Description& d) { d.rotary.base = NAN; });
  expect("epsilon of norms", [](Description& d) { d.norm_epsilon = 0; });
  expect("scale of scores", [](Description& d) { d.score_scale = -1; });
  expect("experts of all blocks: expected 1 to 131072, found 1048576", [](Description& d) {
    d.blocks = 1024;
    d.experts = 1024;
  });
  expect("experts per token: expected 1 to 4, found 5", [](Description& d) {
    d.experts = 4;
    d.active_experts = 5;
  });
}

TEST(Description, NamesArchitecturesThatAreKnown) {
  expect_error(ErrorKind::kUnsupported,
               "architecture 'mamba' (general.architecture): its blocks are not described here; "
               "known: llama, qwen2, ",
               [] { static_cast<void>(architecture_of_gguf("mamba")); });
  expect_error(ErrorKind::kUnsupported, "architecture 'bert' (model_type)",
               [] { static_cast<void>(architecture_of_hf("bert")); });
}

TEST(Description, CountsTheKeysThatBlocksKeep) {
  EXPECT_EQ(small_description("llama").cache_width(), 2U * 2 * (4 + 4));
  EXPECT_EQ(per_block_description().cache_width(), 2U * (4 + 4) + 1U * (8 + 8));
  EXPECT_EQ(stream_description().cache_width(), 2U * 2 * (4 + 4));
}

TEST(Description, NamesFunctions) {
  EXPECT_EQ(to_string(FeedForward::kSilu), "SiLU");
  EXPECT_EQ(to_string(FeedForward::kReluSquared), "ReLU squared");
}

}  // namespace
}  // namespace halftone::lm
