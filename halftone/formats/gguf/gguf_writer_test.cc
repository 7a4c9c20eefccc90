// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/gguf/gguf_writer.h"

#include <algorithm>

#include "halftone/base/file.h"
#include "halftone/base/testing.h"
#include "halftone/formats/gguf/testing.h"

namespace halftone::formats {
namespace {

using testing::ElementsAre;

const GgufType* type_of(std::string_view name) {
  const auto types = gguf_types();
  return &*std::ranges::find(types, name, &GgufType::name);
}

/// A tensor whose bytes are 0, 1, 2, ... from `first` on.
NewGgufTensor counting_tensor(const std::string& name, const std::vector<std::size_t>& shape,
                              std::string_view type, std::uint8_t first = 0) {
  NewGgufTensor tensor{name, shape, type_of(type), {}};
  std::size_t elements = 1;
  for (const std::size_t extent : shape) elements *= extent;
  std::vector<std::byte> bytes(tensor.type->bytes_of(elements));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(first++);
  tensor.bytes = source_of(own_bytes(bytes));
  return tensor;
}

/// Keys of every type.
GgufKeys all_keys() {
  GgufKeys keys;
  keys.set("general.architecture", "llama").set("u8", std::uint8_t{200});
  keys.set("i8", std::int8_t{-3}).set("u16", std::uint16_t{60000});
  keys.set("i16", std::int16_t{-30000}).set("u32", 4000000000U).set("i32", -5);
  keys.set("f32", 1.5F).set("yes", true).set("u64", ~std::uint64_t{0});
  keys.set("i64", std::int64_t{-6}).set("f64", 0.1);
  keys.set("texts", std::vector<std::string>{"", "two"})
      .set("flags", std::vector<bool>{true, false});
  keys.set("numbers", std::vector<float>{0.5F, -2}).set("none", std::vector<std::int32_t>());
  return keys;
}

std::vector<NewGgufTensor> some_tensors() {
  return {counting_tensor("b", {2, 3}, "F32"), counting_tensor("a", {3, 64}, "Q8_0", 7),
          counting_tensor("c", {256}, "IQ2_XXS", 1), counting_tensor("number", {}, "I16", 3)};
}

/// The tensors of a file, for another.
std::vector<NewGgufTensor> tensors_of(const GgufFile& file) {
  std::vector<NewGgufTensor> tensors;
  for (const GgufTensor& tensor : file.tensors()) {
    tensors.push_back({tensor.name, tensor.shape, tensor.type, source_of(tensor.bytes)});
  }
  return tensors;
}

TEST(GgufWriter, WritesWhatIsRead) {
  const GgufFile file = gguf_of(all_keys(), some_tensors());
  EXPECT_EQ(file.keys().size(), 16U);
  EXPECT_EQ(file.text("general.architecture"), "llama");
  EXPECT_EQ(file.integer("u8"), 200);
  EXPECT_EQ(file.integer("i16"), -30000);
  EXPECT_EQ(file.integer("u32"), 4000000000);
  EXPECT_EQ(std::get<std::uint64_t>(*file.find("u64")), ~std::uint64_t{0});
  EXPECT_EQ(std::get<double>(*file.find("f64")), 0.1);
  EXPECT_EQ(std::get<bool>(*file.find("yes")), true);
  EXPECT_THAT(std::get<GgufArray>(*file.find("texts")).texts, ElementsAre("", "two"));
  EXPECT_THAT(std::get<GgufArray>(*file.find("flags")).integers, ElementsAre(1, 0));
  EXPECT_THAT(std::get<GgufArray>(*file.find("numbers")).numbers, ElementsAre(0.5, -2));
  EXPECT_EQ(std::get<GgufArray>(*file.find("none")).size(), 0U);
  ASSERT_EQ(file.tensors().size(), 4U);
  EXPECT_EQ(file.tensors()[1].name, "a");
  EXPECT_EQ(file.tensors()[1].type->name, "Q8_0");
  EXPECT_THAT(file.tensors()[1].shape, ElementsAre(3, 64));
  EXPECT_EQ(file.tensors()[1].bytes.bytes.size(), 3U * 68);
  EXPECT_EQ(file.tensors()[1].bytes.bytes[203], std::byte{(7 + 203) & 255});
  EXPECT_EQ(file.tensors()[3].bytes.bytes[0], std::byte{3});
  EXPECT_EQ(file.file_bytes() % 32, 0U);
}

TEST(GgufWriter, KeepsTheBytesOfAFile) {
  GgufKeys keys = all_keys();
  for (const std::uint32_t alignment : {32U, 8U, 4096U}) {
    keys.set("general.alignment", alignment);
    const std::vector<std::byte> bytes = gguf_bytes(keys, some_tensors());
    EXPECT_EQ(bytes.size() % alignment, 0U);
    const GgufFile file = GgufFile::parse(own_bytes(bytes));
    EXPECT_EQ(gguf_bytes(GgufKeys(file), tensors_of(file)), bytes) << alignment;
  }
  const std::vector<std::byte> empty = gguf_bytes({});
  EXPECT_EQ(gguf_bytes(GgufKeys(GgufFile::parse(own_bytes(empty)))), empty);
}

TEST(GgufWriter, ReplacesKeysWhereTheyAre) {
  GgufKeys keys;
  keys.set("a", 1).set("b", "old").set("c", 3);
  const GgufFile old = gguf_of(keys);
  GgufKeys changed(old);
  changed.set("b", 2.5F).set("d", 4);
  changed.erase("a");
  changed.erase("nothing");
  const GgufFile file = gguf_of(changed);
  std::vector<std::string_view> names;
  for (const GgufStoredKey& key : file.stored_keys()) names.push_back(key.name);
  EXPECT_THAT(names, ElementsAre("b", "c", "d"));
  EXPECT_EQ(std::get<double>(*file.find("b")), 2.5);
}

class GgufWriterFiles : public WithFolder {};

TEST_F(GgufWriterFiles, AreTheTensorsOfAllParts) {
  for (std::uint16_t part = 0; part < 2; ++part) {
    GgufKeys keys;
    keys.set("split.no", part).set("split.count", std::uint16_t{2});
    if (part == 0) keys.set("name", "whole");
    const NewGgufTensor tensor = counting_tensor(part == 0 ? "x" : "y", {4}, "F32");
    write_gguf(path("m-0000" + std::to_string(part + 1) + "-of-00002.gguf"), keys, {&tensor, 1});
  }
  const GgufFile parts = GgufFile::open(path("m-00001-of-00002.gguf"));
  EXPECT_EQ(parts.stored_keys().size(), 3U);
  write_gguf(path("m.gguf"), GgufKeys(parts), tensors_of(parts));
  const GgufFile whole = GgufFile::open(path("m.gguf"));
  EXPECT_EQ(whole.keys().size(), 1U);
  EXPECT_EQ(whole.tensors().size(), 2U);
}

TEST_F(GgufWriterFiles, AreCompleteOrUnchanged) {
  const auto files = [&] {
    return std::distance(std::filesystem::directory_iterator(folder_),
                         std::filesystem::directory_iterator());
  };
  NewGgufTensor tensor = counting_tensor("t", {4}, "F32");
  tensor.bytes = [](const ByteSink& sink) {
    sink(std::vector<std::byte>(8));
    fail(ErrorKind::kIo, "no more");
  };
  expect_error(ErrorKind::kIo, "tensor 't': no more", [&] {
    write_gguf(path("m.gguf"), {}, {&tensor, 1});
  });
  EXPECT_EQ(files(), 0);
  tensor.bytes = [](const ByteSink& sink) {
    for (int i = 0; i < 3; ++i) sink(std::vector<std::byte>(4));
  };
  expect_error(ErrorKind::kShape, "tensor 't': expected 16 bytes, found 12", [&] {
    write_gguf(path("m.gguf"), {}, {&tensor, 1});
  });
  EXPECT_EQ(files(), 0);
  expect_error(ErrorKind::kIo, path("none/m.gguf"),
               [&] { write_gguf(path("none/m.gguf"), {}, {}); });
}

TEST(GgufWriter, RefusesWhatFilesDoNotHold) {
  const auto expect = [](ErrorKind kind, const std::string& text,
                         const std::vector<NewGgufTensor>& tensors) {
    expect_error(kind, text, [&] { (void)gguf_bytes({}, tensors); });
  };
  const NewGgufTensor twice = counting_tensor("t", {1}, "F32");
  expect(ErrorKind::kUsage, "tensor 't': expected it once, found it twice", {twice, twice});
  expect(ErrorKind::kUsage, "a name of at most 64 bytes, found 65",
         {counting_tensor(std::string(65, 'n'), {1}, "F32")});
  expect(ErrorKind::kShape, "at most 4 axes, found shape [1, 1, 1, 1, 1]",
         {counting_tensor("t", {1, 1, 1, 1, 1}, "F32")});
  expect(ErrorKind::kShape, "tensor 't': expected rows of a multiple of the 256 elements",
         {counting_tensor("t", {2, 128}, "Q6_K")});
  expect(ErrorKind::kShape, "expected 1 to 2^40 elements, found shape [0, 32]",
         {counting_tensor("t", {0, 32}, "Q8_0")});
  GgufKeys keys;
  keys.set("general.alignment", std::uint32_t{24});
  expect_error(ErrorKind::kFormat, "a power of two up to 2^20, found 24",
               [&] { (void)gguf_bytes(keys); });
  keys.set("general.alignment", 32);
  expect_error(ErrorKind::kFormat, "an unsigned integer of 32 bits (type 4), found type 5",
               [&] { (void)gguf_bytes(keys); });
}

}  // namespace
}  // namespace halftone::formats
