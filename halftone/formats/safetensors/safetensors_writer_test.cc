// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/safetensors/safetensors_writer.h"

#include <algorithm>
#include <cstring>

#include "halftone/base/file.h"
#include "halftone/base/testing.h"

namespace halftone::formats {
namespace {

using Type = SafetensorsType;

/// A tensor whose bytes are its name's first letter.
NewSafetensorsTensor lettered(const std::string& name, Type type,
                              const std::vector<std::size_t>& shape) {
  std::size_t bytes = size_bytes(type);
  for (const std::size_t extent : shape) bytes *= extent;
  const auto letter = static_cast<std::byte>(name[0]);
  return {name, type, shape, source_of(own_bytes(std::vector<std::byte>(bytes, letter)))};
}

std::vector<std::byte> bytes_of(const SafetensorsMetadata& metadata,
                                const std::vector<NewSafetensorsTensor>& tensors) {
  return collect([&](const ByteSink& sink) { write_safetensors(sink, metadata, tensors); });
}

std::vector<NewSafetensorsTensor> some_tensors() {
  return {lettered("odd", Type::kU8, {3}),       lettered("words", Type::kF32, {5}),
          lettered("big", Type::kBF16, {4, 16}), lettered("empty", Type::kI64, {0, 5}),
          lettered("half", Type::kF16, {7}),     lettered("a\"\xC3\xA4", Type::kI8, {64})};
}

TEST(SafetensorsWriter, WritesWhatIsRead) {
  const SafetensorsMetadata metadata = {{"format", "pt"}, {"note", "\"\n\xC3\xA4"}};
  const std::vector<std::byte> bytes = bytes_of(metadata, some_tensors());
  const SafetensorsFile file = SafetensorsFile::parse(own_bytes(bytes));
  EXPECT_EQ(file.metadata(), metadata);
  ASSERT_EQ(file.tensors().size(), some_tensors().size());
  for (const NewSafetensorsTensor& expected : some_tensors()) {
    const SafetensorsTensor* found = file.tensor(expected.name);
    ASSERT_NE(found, nullptr) << expected.name;
    EXPECT_EQ(found->type, expected.type);
    EXPECT_EQ(found->shape, expected.shape);
    const std::vector<std::byte> content = collect(expected.bytes);
    EXPECT_TRUE(std::ranges::equal(found->bytes.bytes, content)) << expected.name;
  }
}

TEST(SafetensorsWriter, AlignsTensorsWithoutGaps) {
  const std::vector<std::byte> bytes = bytes_of({}, some_tensors());
  std::uint64_t head = 0;
  std::memcpy(&head, bytes.data(), 8);
  EXPECT_EQ((8 + head) % 64, 0U);
  const SharedBytes shared = own_bytes(bytes);
  const SafetensorsFile file = SafetensorsFile::parse(shared);
  std::size_t sum = 8 + head;
  for (const SafetensorsTensor& tensor : file.tensors()) {
    const auto at = static_cast<std::size_t>(tensor.bytes.bytes.data() - shared.bytes.data());
    const std::size_t size = tensor.bytes.bytes.size();
    EXPECT_EQ(at % size_bytes(tensor.type), 0U) << tensor.name;
    EXPECT_EQ(size % 64 == 0 ? at % 64 : 0, 0U) << tensor.name;
    sum += size;
  }
  EXPECT_EQ(sum, bytes.size());
}

TEST(SafetensorsWriter, GivesTheSameBytesInAnyOrder) {
  std::vector<NewSafetensorsTensor> tensors = some_tensors();
  const std::vector<std::byte> bytes = bytes_of({{"k", "v"}}, tensors);
  std::ranges::reverse(tensors);
  EXPECT_EQ(bytes_of({{"k", "v"}}, tensors), bytes);
  const SafetensorsFile file = SafetensorsFile::parse(own_bytes(bytes));
  std::vector<NewSafetensorsTensor> again;
  for (const SafetensorsTensor& tensor : file.tensors()) {
    again.push_back({tensor.name, tensor.type, tensor.shape, source_of(tensor.bytes)});
  }
  EXPECT_EQ(bytes_of(file.metadata(), again), bytes);
  EXPECT_TRUE(SafetensorsFile::parse(own_bytes(bytes_of({}, {}))).tensors().empty());
}

TEST(SafetensorsWriter, RefusesWhatFilesDoNotHold) {
  const auto expect = [](ErrorKind kind, const std::string& text,
                         const std::vector<NewSafetensorsTensor>& tensors) {
    expect_error(kind, text, [&] { (void)bytes_of({}, tensors); });
  };
  const NewSafetensorsTensor byte = lettered("t", Type::kU8, {1});
  expect(ErrorKind::kUsage, "tensor 't': expected a name of its own, found it twice",
         {byte, lettered("t", Type::kU8, {64})});
  expect(ErrorKind::kUsage, "found that of the metadata",
         {lettered("__metadata__", Type::kU8, {})});
  expect(ErrorKind::kUsage, "expected names and metadata in UTF-8",
         {lettered("\xFF", Type::kU8, {})});
  expect(ErrorKind::kShape, "tensor 't': expected 2 bytes, found 1",
         {{"t", Type::kF16, {1}, byte.bytes}});
  expect(ErrorKind::kShape, "tensor 't': expected at most 2^48 bytes",
         {{"t", Type::kU8, {std::size_t{1} << 40, std::size_t{1} << 40}, byte.bytes}});
}

class SafetensorsWriterFiles : public WithFolder {};

TEST_F(SafetensorsWriterFiles, AreCompleteOrUnchanged) {
  write_file(path("m.safetensors"), "old");
  const NewSafetensorsTensor wrong = {"t", Type::kF16, {1}, [](const ByteSink&) {}};
  expect_error(ErrorKind::kShape, "expected 2 bytes, found 0", [&] {
    write_safetensors(path("m.safetensors"), {}, {&wrong, 1});
  });
  EXPECT_EQ(read_file(path("m.safetensors")).size(), 3U);
  write_safetensors(path("m.safetensors"), {}, some_tensors());
  EXPECT_EQ(SafetensorsFile::open(path("m.safetensors")).tensors().size(), 6U);
  expect_error(ErrorKind::kIo, path("none/m.safetensors"),
               [&] { write_safetensors(path("none/m.safetensors"), {}, {}); });
}

}  // namespace
}  // namespace halftone::formats
