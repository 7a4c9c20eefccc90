// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/safetensors/safetensors_file.h"

#include <cmath>
#include <cstring>

#include "halftone/base/file.h"
#include "halftone/base/testing.h"

namespace halftone::formats {
namespace {

using testing::ElementsAre;

/// A file with this head and data.
std::vector<std::byte> file_of(const std::string& head, const std::string& data) {
  std::vector<std::byte> bytes(8 + head.size() + data.size());
  const std::uint64_t size = head.size();
  std::memcpy(bytes.data(), &size, 8);
  std::memcpy(bytes.data() + 8, head.data(), head.size());
  std::memcpy(bytes.data() + 8 + head.size(), data.data(), data.size());
  return bytes;
}

/// An entry of the head.
std::string entry(const std::string& name, const std::string& type, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + R"(":{"dtype":")" + type + R"(","shape":)" + shape + R"(,"data_offsets":)" +
         offsets + "}";
}

std::vector<float> decoded(const SafetensorsFile& file, const std::string& name) {
  const SafetensorsTensor* tensor = file.tensor(name);
  EXPECT_NE(tensor, nullptr) << name;
  std::vector<float> values(tensor->num_elements());
  decode_safetensors(*tensor, values);
  return values;
}

TEST(Safetensors, HaveElementsOfEveryType) {
  const std::string head =
      R"({"__metadata__":{"format":"pt"},)" + entry("f32", "F32", "[1,1]", "[0,4]") + "," +
      entry("f16", "F16", "[1]", "[4,6]") + "," + entry("bf16", "BF16", "[1]", "[6,8]") + "," +
      entry("e4m3", "F8_E4M3", "[3]", "[8,11]") + "," + entry("e5m2", "F8_E5M2", "[2]", "[11,13]") +
      "," + entry("i8", "I8", "[2]", "[13,15]") + "," + entry("u8", "U8", "[1]", "[15,16]") + "," +
      entry("i16", "I16", "[]", "[16,18]") + "," + entry("none", "I64", "[0, 5]", "[18,18]") + "}";
  const char data[] = {0,          0,          char(0xC0), 0x3F,  // 1.5
                       0x00,       char(0xC0),                    // -2
                       char(0x80), 0x3F,                          // 1
                       0x38,       char(0xFE), 0x01,              // 1, -448, 2^-9
                       0x3C,       char(0xC0),                    // 1, -2
                       char(0xFF), 0x02,       char(0xFF), 0x02, 0x01};
  const SafetensorsFile file =
      SafetensorsFile::parse(own_bytes(file_of(head, std::string(data, sizeof data))));
  EXPECT_EQ(file.metadata().at("format"), "pt");
  EXPECT_EQ(file.tensors().size(), 9U);
  EXPECT_THAT(file.tensor("f32")->shape, ElementsAre(1, 1));
  EXPECT_THAT(decoded(file, "f32"), ElementsAre(1.5));
  EXPECT_THAT(decoded(file, "f16"), ElementsAre(-2));
  EXPECT_THAT(decoded(file, "bf16"), ElementsAre(1));
  EXPECT_THAT(decoded(file, "e4m3"), ElementsAre(1, -448, std::ldexp(1.0F, -9)));
  EXPECT_THAT(decoded(file, "e5m2"), ElementsAre(1, -2));
  EXPECT_THAT(decoded(file, "i8"), ElementsAre(-1, 2));
  EXPECT_THAT(decoded(file, "u8"), ElementsAre(255));
  EXPECT_THAT(decoded(file, "i16"), ElementsAre(258));
  EXPECT_TRUE(decoded(file, "none").empty());
  EXPECT_EQ(to_string(file.tensor("e4m3")->type), "F8_E4M3");
  std::vector<float> few(1);
  expect_error(ErrorKind::kShape, "expected room for 2 elements, found 1",
               [&] { decode_safetensors(*file.tensor("i8"), few); });
}

TEST(Safetensors, RefuseHeadsThatLie) {
  const auto expect = [](ErrorKind kind, const std::string& text, const std::string& head) {
    const std::vector<std::byte> bytes = file_of(head, "12345678");
    expect_error(kind, text, [&] { SafetensorsFile::parse(own_bytes(bytes)); });
  };
  expect(ErrorKind::kFormat, "expected an object in JSON", "[]");
  expect(ErrorKind::kFormat, "expected JSON, found other text at byte 2", "{");
  expect(ErrorKind::kFormat, "tensor 't': expected an object", R"({"t":1})");
  expect(ErrorKind::kFormat, "'dtype': expected a text", R"({"t":{}})");
  expect(ErrorKind::kUnsupported, "found 'F4'", "{" + entry("t", "F4", "[1]", "[0,1]") + "}");
  expect(ErrorKind::kFormat, "'shape': expected whole numbers",
         "{" + entry("t", "U8", "[-1]", "[0,1]") + "}");
  expect(ErrorKind::kFormat, "'data_offsets': expected whole numbers",
         "{" + entry("t", "U8", "[1]", "\"x\"") + "}");
  for (const char* offsets : {"[0,2]", "[8,9]", "[1,0]", "[0]", "[0,1,2]"}) {
    expect(ErrorKind::kFormat, "expected 1 bytes within the 8 of the file",
           "{" + entry("t", "U8", "[1]", offsets) + "}");
  }
  expect(ErrorKind::kFormat, "expected at most 2^50 bytes",
         "{" + entry("t", "U8", "[281474976710655,281474976710655]", "[0,1]") + "}");
  expect(ErrorKind::kFormat, "found 't' twice",
         "{" + entry("t", "U8", "[1]", "[0,1]") + "," + entry("t", "U8", "[1]", "[0,1]") + "}");
  expect(ErrorKind::kFormat, "tensor 'u': expected bytes of its own, found some of 't'",
         "{" + entry("u", "U8", "[2]", "[3,5]") + "," + entry("t", "U8", "[4]", "[0,4]") + "}");
  expect_error(ErrorKind::kFormat, "expected a head of at most 0 bytes, found 7", [] {
    SafetensorsFile::parse(own_bytes({std::byte{7}, {}, {}, {}, {}, {}, {}, {}}));
  });
  expect_error(ErrorKind::kFormat, "truncated", [] { SafetensorsFile::parse(own_bytes({})); });
}

class SafetensorsParts : public WithFolder {
 protected:
  void write_part(const std::string& name, const std::string& tensor) const {
    write_file(path(name), file_of("{" + entry(tensor, "U8", "[1]", "[0,1]") + "}", "a"));
  }
  [[nodiscard]] std::string write_index(const std::string& map) const {
    write_file(path("model.safetensors.index.json"), R"({"weight_map":{)" + map + "}}");
    return path("model.safetensors.index.json");
  }
};

TEST_F(SafetensorsParts, AreOneModel) {
  write_part("1.safetensors", "a");
  write_part("2.safetensors", "b");
  const SafetensorsFile file =
      SafetensorsFile::open(write_index(R"("a":"1.safetensors","b":"2.safetensors")"));
  EXPECT_THAT(decoded(file, "b"), ElementsAre('a'));
  EXPECT_EQ(file.tensors().size(), 2U);
  EXPECT_EQ(file.file_bytes(), std::filesystem::file_size(path("1.safetensors")) * 2);
}

TEST_F(SafetensorsParts, AreWhereTheIndexSays) {
  write_part("1.safetensors", "a");
  expect_error(ErrorKind::kIo, "2.safetensors", [&] {
    SafetensorsFile::open(write_index(R"("a":"1.safetensors","b":"2.safetensors")"));
  });
  expect_error(ErrorKind::kFormat, "tensor 'b': expected in 1.safetensors, found in no file", [&] {
    SafetensorsFile::open(write_index(R"("a":"1.safetensors","b":"1.safetensors")"));
  });
  expect_error(ErrorKind::kFormat, "expected file names, found another value for 'a'",
               [&] { SafetensorsFile::open(write_index(R"("a":"../1.safetensors")")); });
  write_part("2.safetensors", "a");
  expect_error(ErrorKind::kFormat, "expected in one file, found in two", [&] {
    SafetensorsFile::open(write_index(R"("a":"1.safetensors","b":"2.safetensors")"));
  });
}

}  // namespace
}  // namespace halftone::formats
