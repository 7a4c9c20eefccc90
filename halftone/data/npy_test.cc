// SPDX-License-Identifier: Apache-2.0
#include "halftone/data/npy.h"

#include "halftone/base/file.h"
#include "halftone/data/dataset_testing.h"

namespace halftone::data {
namespace {

/// A file of the given version with this dictionary and these element bytes.
std::vector<std::byte> make_file(int version, const std::string& dictionary,
                                 const std::string& elements) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    file += static_cast<char>(dictionary.size() >> (8 * i) & 0xff);
  }
  return bytes_of(file + dictionary + elements);
}

std::string dictionary(const std::string& descr, const std::string& shape,
                       const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

TEST(Npy, RoundTripForEveryTypeAndRank) {
  const std::vector<std::vector<std::size_t>> shapes = {{},     {1},       {7},
                                                        {2, 3}, {2, 0, 3}, {2, 1, 3, 2}};
  for (int type = 0; type <= static_cast<int>(Scalar::kBool); ++type) {
    for (const auto& shape : shapes) {
      NpyArray array{static_cast<Scalar>(type), shape, {}};
      std::size_t bytes = size_bytes(array.type);
      for (const std::size_t extent : shape) bytes *= extent;
      for (std::size_t i = 0; i < bytes; ++i) array.data.push_back(static_cast<std::byte>(i));
      const std::vector<std::byte> file = npy_bytes(array);
      const NpyArray back = parse_npy(file);
      EXPECT_EQ(back.type, array.type);
      EXPECT_EQ(back.shape, array.shape);
      EXPECT_EQ(back.data, array.data);
      EXPECT_EQ((file.size() - bytes) % 64, 0u) << "elements are not aligned";
    }
  }
}

TEST(Npy, WritesTheBytesNumPyWrites) {
  const std::vector<float> numbers = {1, 2, 3, 4, 5, 6};
  const std::vector<std::byte> file = npy_bytes(make_npy<float>(numbers, {2, 3}));
  const std::string text(reinterpret_cast<const char*>(file.data()), 128);
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  EXPECT_EQ(text.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(text.substr(10), header + std::string(117 - header.size(), ' ') + '\n');
  EXPECT_EQ(file.size(), 128u + 24u);
}

TEST(Npy, ReadsVersionsQuotesAndKeyOrders) {
  const std::string elements("\x01\x02", 2);
  for (const int version : {1, 2, 3}) {
    const NpyArray array = parse_npy(make_file(version, dictionary("|u1", "(2,)"), elements));
    EXPECT_THAT(array.integers(), testing::ElementsAre(1, 2));
  }
  const NpyArray array = parse_npy(
      make_file(1, "{\"shape\":(1,2),\"fortran_order\":False,\"descr\":\"u1\"}", elements));
  EXPECT_THAT(array.shape, testing::ElementsAre(1, 2));
}

TEST(Npy, SwapsTheOtherByteOrder) {
  const std::string big("\x3f\x80\x00\x00\xc0\x00\x00\x00", 8);
  EXPECT_THAT(parse_npy(make_file(1, dictionary(">f4", "(2,)"), big)).floats(),
              testing::ElementsAre(1.0F, -2.0F));
}

TEST(Npy, FortranOrderBecomesCOrder) {
  // Element (i, j, k) of [2, 3, 2] is 100 i + 10 j + k; i runs fastest in the file.
  std::string elements;
  for (int k = 0; k < 2; ++k) {
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 2; ++i) elements += static_cast<char>(100 * i + 10 * j + k);
    }
  }
  const NpyArray array = parse_npy(make_file(1, dictionary("|i1", "(2, 3, 2)", "True"), elements));
  EXPECT_THAT(array.integers(),
              testing::ElementsAre(0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121));
}

TEST(Npy, RefusesMalformedHeaders) {
  struct Case {
    std::string dictionary, text;
  };
  for (const Case& c : {
           Case{"", "expected '{'"},
           Case{"{'descr': '<f4'", "expected '}'"},
           Case{"{'descr': '<f4'}", "expected descr, fortran_order and shape"},
           Case{"{'descr': <f4}", "expected a string"},
           Case{"{'descr", "expected a string"},
           Case{"{'other': 1}", "found another key"},
           Case{"{'descr' '<f4'}", "expected ':'"},
           Case{"{'fortran_order': Maybe}", "expected True or False"},
           Case{"{'shape': 3}", "expected '('"},
           Case{"{'shape': (-1,)}", "expected an extent"},
           Case{"{'shape': (1 2)}", "expected ')'"},
           Case{"{'shape': (99999999999999999999,)}", "overflows"},
           Case{dictionary("<f4", "(4294967296, 4294967296)"), "overflows"},
           Case{dictionary("<f4", "(2,)") + "x", "found more text"},
           Case{dictionary("<f4", "(2,)"), "expected 2 elements of type float32, found 0 bytes"},
       }) {
    expect_error(ErrorKind::kFormat, "npy: ", [&] { parse_npy(make_file(1, c.dictionary, "")); });
    expect_error(ErrorKind::kFormat, c.text, [&] { parse_npy(make_file(1, c.dictionary, "")); });
  }
  std::string many = "(";
  for (int i = 0; i < 33; ++i) many += "1,";
  expect_error(ErrorKind::kFormat, "at most 32 extents",
               [&] { parse_npy(make_file(1, dictionary("<f4", many + ")"), "")); });
}

TEST(Npy, RefusesForeignElementTypes) {
  for (const char* descr : {"<c8", "|O", "<U4", "|S3", "<f16", "", "<", "<M8[ns]"}) {
    expect_error(ErrorKind::kUnsupported, "expected float, integer or bool elements",
                 [&] { parse_npy(make_file(1, dictionary(descr, "(2,)"), "")); });
  }
  expect_error(ErrorKind::kUnsupported, "structures are not supported",
               [&] { parse_npy(make_file(1, "{'descr': [('a', '<f4')]}", "")); });
}

TEST(Npy, RefusesEveryTruncation) {
  const std::vector<float> numbers = {1, 2, 3};
  const std::vector<std::byte> file = npy_bytes(make_npy<float>(numbers, {3}));
  for (std::size_t size = 0; size < file.size(); ++size) {
    expect_error(ErrorKind::kFormat, "npy: ", [&] { parse_npy(std::span(file).first(size)); });
  }
  std::vector<std::byte> version9 = file;
  version9[6] = std::byte{9};
  expect_error(ErrorKind::kFormat, "expected version 1 to 3, found 9",
               [&] { parse_npy(version9); });
  expect_error(ErrorKind::kFormat, "expected the magic", [] { parse_npy(bytes_of("PK\3\4....")); });
}

TEST(Npy, RefusesToWriteDataThatDoNotFitTheShape) {
  const std::vector<std::int64_t> numbers = {1, 2, 3};
  expect_error(ErrorKind::kShape, "does not fit 24 bytes",
               [&] { npy_bytes(make_npy<std::int64_t>(numbers, {2})); });
  expect_error(ErrorKind::kShape, "does not fit", [&] {
    npy_bytes(make_npy<std::int64_t>(numbers, {std::size_t{1} << 32, std::size_t{1} << 32}));
  });
}

using NpyFile = WithFolder;

TEST_F(NpyFile, RoundTripThroughAFile) {
  const std::vector<std::int64_t> numbers = {1, -2, 3};
  write_npy(path("x.npy"), make_npy<std::int64_t>(numbers, {3}));
  EXPECT_EQ(read_npy(path("x.npy")).integers(), numbers);
}

TEST_F(NpyFile, ErrorsNameTheFile) {
  expect_error(ErrorKind::kIo, "x.npy: cannot open", [&] { read_npy(path("x.npy")); });
  write_file(path("x.npy"), "no array");
  expect_error(ErrorKind::kFormat, "x.npy: npy: expected the magic",
               [&] { read_npy(path("x.npy")); });
  expect_error(ErrorKind::kShape, "y.npy: npy: shape", [&] {
    write_npy(path("y.npy"), {Scalar::kFloat32, {2}, {}});
  });
  EXPECT_FALSE(std::filesystem::exists(path("y.npy")));
}

}  // namespace
}  // namespace halftone::data
