// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/llama2c.h"

#include "halftone/base/testing.h"
#include "halftone/formats/gguf/testing.h"

namespace halftone::lm {
namespace {

using formats::GgufBytes;
using testing::ElementsAre;

/// 4 wide, 6 inside, 2 blocks, 2 heads, 1 of keys and values, 3 tokens, 5 positions.
GgufBytes small_checkpoint(std::int32_t vocabulary, std::size_t num_floats) {
  GgufBytes bytes;
  for (const std::int32_t number : {4, 6, 2, 2, 1, vocabulary, 5}) bytes.number(number);
  for (std::size_t i = 0; i < num_floats; ++i) bytes.number(static_cast<float>(i));
  return bytes;
}

/// Table 12; per block norms 8, q 16, k and v 8 each, output 16, three matrices 24 each; norm 4;
/// angles 2 * 5 * 1.
constexpr std::size_t kNumFloats = 12 + 2 * (8 + 16 + 2 * 8 + 16 + 3 * 24) + 4 + 10;

TEST(Llama2c, HasDescriptionAndTensors) {
  const Llama2cFile file = parse_llama2c(small_checkpoint(3, kNumFloats).file());
  const Description& d = file.description;
  EXPECT_EQ(d.architecture, "llama");
  EXPECT_EQ(d.blocks, 2U);
  EXPECT_EQ(d.head_width, 2U);
  EXPECT_EQ(d.kv_heads, 1U);
  EXPECT_EQ(d.vocabulary, 3U);
  EXPECT_EQ(d.context, 5U);
  EXPECT_EQ(d.norm_epsilon, 1e-5);
  EXPECT_EQ(d.pairing, Pairing::kInterleaved);
  EXPECT_TRUE(d.ties_embeddings);
  ASSERT_EQ(file.tensors.size(), 2 + 2 * 9U);
  EXPECT_EQ(file.tensors[1].name, "blk.0.attn_norm.weight");
  EXPECT_EQ(file.tensors[6].name, "blk.1.attn_k.weight");
  EXPECT_THAT(file.tensors[6].shape, ElementsAre(2, 4));
  float first = 0;
  std::memcpy(&first, file.tensors[6].bytes.bytes.data(), sizeof first);
  EXPECT_EQ(first, 12 + 2 * 4 + 2 * 16 + 8);
}

TEST(Llama2c, NegativeVocabularyHasAHeadOfItsOwn) {
  const Llama2cFile file = parse_llama2c(small_checkpoint(-3, kNumFloats + 12).file());
  EXPECT_FALSE(file.description.ties_embeddings);
  EXPECT_EQ(file.description.vocabulary, 3U);
  EXPECT_EQ(file.tensors.back().name, "output.weight");
}

TEST(Llama2c, NamesWhatIsWrong) {
  expect_error(ErrorKind::kFormat, "llama2.c checkpoint: expected a head of 28 bytes, found 4",
               [] { parse_llama2c(GgufBytes().number<std::int32_t>(4).file()); });
  expect_error(ErrorKind::kFormat, "number 5 of the head: expected one above 0, found 0",
               [] { parse_llama2c(small_checkpoint(0, 0).file()); });
  expect_error(ErrorKind::kFormat, "ends before its last tensor",
               [] { parse_llama2c(small_checkpoint(3, kNumFloats - 1).file()); });
  expect_error(ErrorKind::kFormat, "llama2.c checkpoint: expected 1156 bytes, found 1160",
               [] { parse_llama2c(small_checkpoint(3, kNumFloats + 1).file()); });
  GgufBytes odd;
  for (const std::int32_t number : {5, 6, 2, 2, 1, 3, 5}) odd.number(number);
  expect_error(ErrorKind::kFormat, "llama2.c checkpoint: 2 heads do not divide the width 5",
               [&] { parse_llama2c(odd.file()); });
}

}  // namespace
}  // namespace halftone::lm
