// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/gguf/gguf_file.h"

#include "halftone/base/file.h"
#include "halftone/base/testing.h"
#include "halftone/formats/gguf/testing.h"

namespace halftone::formats {
namespace {

using testing::ElementsAre;

/// Two tensors: a [2, 3] of float32 and one block of Q8_0.
GgufBytes small_file() {
  GgufBytes file;
  file.head(2, 3).int_key("llama.block_count", 7);
  file.text("general.architecture").number<std::uint32_t>(8).text("llama");
  file.text("list").number<std::uint32_t>(9).number<std::uint32_t>(8).number<std::uint64_t>(2);
  file.text("one").text("two");
  file.tensor("a", {3, 2}, 0, 0).tensor("b", {32}, 8, 32).align(32);
  for (int i = 0; i < 6; ++i) file.number(static_cast<float>(i));
  file.align(32).number<std::uint16_t>(0x3C00);  // 1 as binary16
  for (int i = 0; i < 32; ++i) file.number(static_cast<std::int8_t>(i - 16));
  return file;
}

TEST(Gguf, HasKeysAndTensors) {
  const GgufFile file = GgufFile::parse(small_file().file());
  EXPECT_EQ(file.text("general.architecture"), "llama");
  EXPECT_EQ(file.integer("llama.block_count"), 7);
  EXPECT_FALSE(file.integer("nothing").has_value());
  EXPECT_THAT(std::get<GgufArray>(*file.find("list")).texts, ElementsAre("one", "two"));
  ASSERT_EQ(file.tensors().size(), 2U);
  const GgufTensor* a = file.tensor("a");
  ASSERT_NE(a, nullptr);
  EXPECT_THAT(a->shape, ElementsAre(2, 3));
  std::vector<float> values(6);
  numerics::decode_blocks(*a->type, a->bytes.bytes, values);
  EXPECT_THAT(values, ElementsAre(0, 1, 2, 3, 4, 5));
  const GgufTensor* b = file.tensor("b");
  values.resize(32);
  numerics::decode_blocks(*b->type, b->bytes.bytes, values);
  EXPECT_EQ(values[0], -16);
  EXPECT_EQ(values[31], 15);
  EXPECT_EQ(file.tensor("c"), nullptr);
}

TEST(Gguf, GivesTensorsBytesOfTheirOwn) {
  GgufBytes file;
  file.head(2, 0).tensor("a", {16}, 0, 0).tensor("b", {8}, 0, 32).align(32);
  for (int i = 0; i < 16; ++i) file.number(static_cast<float>(i));
  expect_error(ErrorKind::kFormat, "tensor 'b': expected bytes of its own, found some of 'a'",
               [&] { GgufFile::parse(file.file()); });
}

TEST(Gguf, ReadsValuesOfEveryType) {
  GgufBytes bytes;
  bytes.head(0, 13);
  const auto key = [&](std::uint32_t type) -> GgufBytes& {
    return bytes.text("k" + std::to_string(type)).number(type);
  };
  key(0).number<std::uint8_t>(200);
  key(1).number<std::int8_t>(-3);
  key(2).number<std::uint16_t>(60000);
  key(3).number<std::int16_t>(-30000);
  key(4).number<std::uint32_t>(4000000000U);
  key(5).number<std::int32_t>(-5);
  key(6).number(1.5F);
  key(7).number<std::uint8_t>(1);
  key(8).text("text");
  key(9).number<std::uint32_t>(6).number<std::uint64_t>(2).number(0.5F).number(2.0F);
  key(10).number(std::uint64_t{1} << 63);
  key(11).number<std::int64_t>(-6);
  key(12).number(2.25);
  const GgufFile file = GgufFile::parse(bytes.file());
  EXPECT_EQ(file.integer("k0"), 200);
  EXPECT_EQ(file.integer("k1"), -3);
  EXPECT_EQ(file.integer("k2"), 60000);
  EXPECT_EQ(file.integer("k3"), -30000);
  EXPECT_EQ(file.integer("k4"), 4000000000);
  EXPECT_EQ(file.integer("k5"), -5);
  EXPECT_EQ(std::get<double>(*file.find("k6")), 1.5);
  EXPECT_EQ(std::get<bool>(*file.find("k7")), true);
  EXPECT_EQ(file.text("k8"), "text");
  EXPECT_THAT(std::get<GgufArray>(*file.find("k9")).numbers, ElementsAre(0.5, 2.0));
  EXPECT_EQ(std::get<std::uint64_t>(*file.find("k10")), std::uint64_t{1} << 63);
  EXPECT_EQ(file.integer("k11"), -6);
  EXPECT_EQ(std::get<double>(*file.find("k12")), 2.25);
  expect_error(ErrorKind::kFormat, "key 'k8': expected an integer",
               [&] { (void)file.integer("k8"); });
  expect_error(ErrorKind::kFormat, "key 'k5': expected a text", [&] { (void)file.text("k5"); });
}

/// Parses bytes that are wrong in one way.
void expect_refusal(ErrorKind kind, const std::string& text, const GgufBytes& bytes) {
  expect_error(kind, text, [&] { GgufFile::parse(bytes.file()); });
}

TEST(Gguf, RefusesHeadsThatLie) {
  expect_refusal(ErrorKind::kFormat, "expected a GGUF file", GgufBytes().raw("GGML0000"));
  expect_refusal(ErrorKind::kUnsupported, "version 1", GgufBytes().head(0, 0, 1));
  expect_refusal(ErrorKind::kUnsupported, "big-endian", GgufBytes().head(0, 0, 0x03000000));
  expect_refusal(ErrorKind::kFormat, "tensors, found", GgufBytes().head(std::uint64_t{1} << 60, 0));
  expect_refusal(ErrorKind::kFormat, "keys, found 1", GgufBytes().head(0, 1));
  GgufBytes text;
  text.head(0, 1).text("key").number<std::uint32_t>(8).number(std::uint64_t{1} << 62);
  expect_refusal(ErrorKind::kFormat, "bytes of text, found", text);
  GgufBytes list;
  list.head(0, 1).text("key").number<std::uint32_t>(9).number<std::uint32_t>(12);
  list.number(std::uint64_t{1} << 61);
  expect_refusal(ErrorKind::kFormat, "key 'key': expected at most 0 values of a list", list);
  GgufBytes nested;
  nested.head(0, 1).text("key").number<std::uint32_t>(9).number<std::uint32_t>(9);
  expect_refusal(ErrorKind::kUnsupported, "a list of lists", nested);
  GgufBytes type;
  type.head(0, 1).text("key").number<std::uint32_t>(13).raw("        ");
  expect_refusal(ErrorKind::kFormat, "a type of values from 0 to 12, found 13", type);
  GgufBytes twice;
  twice.head(0, 2).int_key("key", 1).int_key("key", 2);
  expect_refusal(ErrorKind::kFormat, "key 'key': expected it once", twice);
}

TEST(Gguf, RefusesTensorsThatLie) {
  const auto with_tensor = [](const std::vector<std::uint64_t>& sizes, std::uint32_t type,
                              std::uint64_t offset) {
    GgufBytes bytes;
    bytes.head(1, 0).tensor("t", sizes, type, offset).align(32);
    return bytes.raw(std::string(64, ' '));
  };
  EXPECT_EQ(GgufFile::parse(with_tensor({16}, 0, 0).file()).tensors().size(), 1U);
  EXPECT_EQ(GgufFile::parse(with_tensor({}, 0, 32).file()).tensors().size(), 1U);
  expect_refusal(ErrorKind::kFormat, "tensor 't': expected its 64 bytes", with_tensor({16}, 0, 32));
  expect_refusal(ErrorKind::kFormat, "multiple of 32", with_tensor({1}, 0, 4));
  expect_refusal(ErrorKind::kFormat, "is the file whole?", with_tensor({1}, 0, ~std::uint64_t{31}));
  expect_refusal(ErrorKind::kFormat, "expected 1 to 2^40 elements",
                 with_tensor({std::uint64_t{1} << 33, std::uint64_t{1} << 33}, 0, 0));
  expect_refusal(ErrorKind::kFormat, "expected 1 to 2^40 elements", with_tensor({0}, 0, 0));
  expect_refusal(ErrorKind::kFormat, "at most 4 axes", with_tensor({1, 1, 1, 1, 1}, 0, 0));
  expect_refusal(ErrorKind::kUnsupported, "found type 99", with_tensor({32}, 99, 0));
  expect_refusal(
      ErrorKind::kUnsupported,
      "found type 31, Q4_0_4_4, which llama.cpp has given up: convert the model anew, to "
      "Q4_0",
      with_tensor({32}, 31, 0));
  expect_refusal(ErrorKind::kUnsupported, "found type 38, IQ4_NL_8_8, which",
                 with_tensor({32}, 38, 0));
  expect_refusal(ErrorKind::kFormat, "the 32 elements of a block of Q8_0, found shape [2, 48]",
                 with_tensor({48, 2}, 8, 0));
  GgufBytes twice;
  twice.head(2, 0).tensor("t", {1}, 0, 0).tensor("t", {1}, 0, 0);
  expect_refusal(ErrorKind::kFormat, "tensor 't': expected it once", twice);
  GgufBytes alignment;
  alignment.head(0, 1).int_key("general.alignment", 24);
  expect_refusal(ErrorKind::kFormat, "a power of two up to 2^20, found 24", alignment);
}

TEST(Gguf, RefusesEveryShorterFile) {
  const std::vector<std::byte> whole = small_file().bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(GgufFile::parse(
                     own_bytes({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)})),
                 Error)
        << size;
  }
}

class GgufParts : public WithFolder {
 protected:
  /// Writes part `number` of two, which has a tensor t0 or t1.
  void write_part(std::uint32_t number, std::uint32_t says, std::uint32_t tensors) const {
    GgufBytes bytes;
    bytes.head(1, 3).int_key("split.no", says).int_key("split.count", 2);
    bytes.int_key("split.tensors.count", tensors);
    bytes.tensor("t" + std::to_string(number), {1}, 0, 0).align(32);
    bytes.number(static_cast<float>(number));
    write_file(path("m-0000" + std::to_string(number + 1) + "-of-00002.gguf"), bytes.bytes());
  }
};

TEST_F(GgufParts, AreOneModel) {
  write_part(0, 0, 2);
  write_part(1, 1, 2);
  const GgufFile file = GgufFile::open(path("m-00002-of-00002.gguf"));
  ASSERT_EQ(file.tensors().size(), 2U);
  float value = 0;
  numerics::decode_blocks(*file.tensor("t1")->type, file.tensor("t1")->bytes.bytes, {&value, 1});
  EXPECT_EQ(value, 1);
  expect_error(ErrorKind::kUnsupported, "one of 2 parts",
               [&] { GgufFile::parse(map_file(path("m-00001-of-00002.gguf"))); });
}

TEST_F(GgufParts, AreAllNeeded) {
  write_part(0, 0, 2);
  expect_error(ErrorKind::kIo, "m-00002-of-00002.gguf",
               [&] { GgufFile::open(path("m-00001-of-00002.gguf")); });
  write_part(1, 0, 2);
  expect_error(ErrorKind::kFormat, "expected part 1 of a split file, found part 0",
               [&] { GgufFile::open(path("m-00001-of-00002.gguf")); });
  write_part(0, 0, 3);
  write_part(1, 1, 3);
  expect_error(ErrorKind::kFormat, "expected 3 tensors in all parts, found 2",
               [&] { GgufFile::open(path("m-00001-of-00002.gguf")); });
}

}  // namespace
}  // namespace halftone::formats
