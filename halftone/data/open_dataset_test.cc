// SPDX-License-Identifier: Apache-2.0
#include "halftone/data/open_dataset.h"

#include "halftone/base/file.h"
#include "halftone/base/gzip/gzip.h"
#include "halftone/data/dataset_testing.h"
#include "halftone/data/idx.h"
#include "halftone/data/npy.h"
#include "halftone/data/zip_testing.h"

namespace halftone::data {
namespace {

class OpenDataset : public WithFolder {
 protected:
  void write(const std::string& name, const std::vector<std::byte>& bytes) const {
    write_file(path(name), bytes);
  }
  template <typename T>
  void write_array(const std::string& name, const std::vector<T>& numbers,
                   std::vector<std::size_t> shape) const {
    write_npy(path(name), make_npy<T>(numbers, std::move(shape)));
  }
};

TEST_F(OpenDataset, ReadsAFolderOfIdxFilesInEverySpelling) {
  const std::vector<std::byte> images = make_idx({3, 2, 2}, 12);
  const std::vector<std::byte> labels = make_idx({3}, 3);
  for (const bool dotted : {false, true}) {
    for (const bool packed : {false, true}) {
      const std::string name = "set" + std::to_string(2 * dotted + packed);
      std::filesystem::create_directory(path(name));
      const std::string between = dotted ? "." : "-";
      const std::string ending = packed ? ".gz" : "";
      write(name + "/train-images" + between + "idx3-ubyte" + ending,
            packed ? gzip(images) : images);
      write(name + "/train-labels" + between + "idx1-ubyte" + ending,
            packed ? gzip(labels) : labels);
      DatasetOptions options;
      options.scale = 0.5;
      const Dataset dataset = open_dataset(path(name), options);
      EXPECT_EQ(dataset.size(), 3u);
      EXPECT_EQ(dataset.label(2), 2);
      EXPECT_THAT(dataset.inputs()[0].shape.extents, testing::ElementsAre(2, 2));
      EXPECT_THAT(read_samples(dataset, 0, 1, 1), testing::ElementsAre(2, 2.5, 3, 3.5));
    }
  }
}

TEST_F(OpenDataset, SplitAndLimitChooseSamples) {
  write("train-images-idx3-ubyte", make_idx({3, 2, 2}, 12));
  write("t10k-images-idx3-ubyte.gz", gzip(make_idx({5, 2, 2}, 20)));
  write("t10k-labels-idx1-ubyte", make_idx({5}, 5));
  EXPECT_FALSE(open_dataset(folder_.string()).has_labels());
  DatasetOptions options;
  options.split = "test";
  EXPECT_EQ(open_dataset(folder_.string(), options).size(), 5u);
  options.limit = 2;
  const Dataset dataset = open_dataset(folder_.string(), options);
  EXPECT_EQ(dataset.size(), 2u);
  EXPECT_EQ(read_samples(dataset, 0, 1, 1)[3], 7.0F / 255);
}

TEST_F(OpenDataset, RejectsIdxFilesThatDoNotMatch) {
  expect_error(ErrorKind::kIo, "expected the IDX file train-images-idx3-ubyte",
               [&] { open_dataset(folder_.string()); });
  write("train-images-idx3-ubyte", make_idx({3, 2, 2}, 12));
  write("train-labels-idx1-ubyte", make_idx({4}, 4));
  expect_error(ErrorKind::kFormat, "expected as many labels as samples (3), found 4",
               [&] { open_dataset(folder_.string()); });
  write("train-labels-idx1-ubyte", make_idx({0}, 0));
  expect_error(ErrorKind::kFormat, "labels: expected labels, found none",
               [&] { open_dataset(folder_.string()); });
  write("train-labels-idx1-ubyte", {});
  expect_error(ErrorKind::kFormat, "labels: truncated", [&] { open_dataset(folder_.string()); });
  write("train-images-idx3-ubyte", make_idx({0, 2, 2}, 0));
  write("train-labels-idx1-ubyte", make_idx({0}, 0));
  expect_error(ErrorKind::kFormat, "train-images-idx3-ubyte: expected samples, found none",
               [&] { open_dataset(folder_.string()); });
  std::filesystem::remove(path("train-labels-idx1-ubyte"));
  expect_error(ErrorKind::kFormat, "expected samples, found none",
               [&] { open_dataset(folder_.string()); });
}

TEST_F(OpenDataset, ReadsCifarRecords) {
  std::vector<std::byte> file(2 * kCifarRecordBytes);
  file[kCifarRecordBytes] = std::byte{7};
  file[kCifarRecordBytes + 1 + 2 * 1024 + 33] = std::byte{255};  // blue, row 1, column 1
  write("x.bin", file);
  const Dataset dataset = open_dataset(path("x.bin"));
  EXPECT_EQ(dataset.label(1), 7);
  std::vector<float> image(3072);
  dataset.read(0, 1, 1, {{1, 32, 32, 3}}, image);
  EXPECT_EQ(image[33 * 3 + 2], 1.0F);
  EXPECT_EQ(std::count(image.begin(), image.end(), 0.0F), 3071);
}

TEST_F(OpenDataset, ReadsNpyWithAndWithoutLabels) {
  write_array<float>("x.npy", {1, 2, 3, 4, 5, 6}, {3, 2});
  write_array<std::uint8_t>("y.npy", {9, 8, 7}, {3, 1});
  EXPECT_FALSE(open_dataset(path("x.npy")).has_labels());
  const Dataset dataset = open_dataset(path("x.npy") + "," + path("y.npy"));
  EXPECT_THAT(read_samples(dataset, 0, 1, 2), testing::ElementsAre(3, 4, 5, 6));
  EXPECT_EQ(dataset.label(0), 9);
}

TEST_F(OpenDataset, OnlyUnsignedBytesOfNpyAreScaled) {
  write_array<std::uint8_t>("bytes.npy", {0, 51, 255}, {3});
  write_array<std::int64_t>("integers.npy", {0, 51, 255}, {3});
  EXPECT_THAT(read_samples(open_dataset(path("bytes.npy")), 0, 0, 3),
              testing::ElementsAre(0.0F, 51.0F / 255, 1.0F));
  const Dataset integers = open_dataset(path("integers.npy"));
  EXPECT_THAT(read_samples(integers, 0, 0, 3), testing::ElementsAre(0, 51, 255));
  std::vector<std::int64_t> numbers(2);
  integers.read_integers(0, 1, 2, numbers);
  EXPECT_THAT(numbers, testing::ElementsAre(51, 255));
}

TEST_F(OpenDataset, ConvertsNpyOfUnusualOrder) {
  const std::string header = "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 2), }";
  write("x.npy",
        bytes_of("\x93NUMPY\x01" + std::string(1, '\0') + static_cast<char>(header.size()) +
                 std::string(1, '\0') + header + std::string("\0\1\0\3\0\2\0\4", 8)));
  EXPECT_THAT(read_samples(open_dataset(path("x.npy")), 0, 0, 2), testing::ElementsAre(1, 2, 3, 4));
}

/// The same numbers in memory and in a file.
SampleArray array_of(std::string input, const std::vector<float>& numbers,
                     std::vector<std::size_t> shape) {
  const auto bytes = std::as_bytes(std::span(numbers));
  return {std::move(input), Scalar::kFloat32, std::move(shape),
          own_bytes({bytes.begin(), bytes.end()})};
}

TEST_F(OpenDataset, TakesArraysInMemory) {
  std::vector<SampleArray> arrays;
  arrays.push_back(array_of("", {1, 2, 3, 4, 5, 6}, {3, 2}));
  const Dataset dataset = dataset_from_arrays("mine", std::move(arrays), {9, 8, 7}, {.limit = 2});
  EXPECT_EQ(dataset.size(), 2U);
  EXPECT_EQ(dataset.label(1), 8);
  EXPECT_FALSE(dataset.inputs()[0].is_named);
  EXPECT_THAT(read_samples(dataset, 0, 0, 2), testing::ElementsAre(1, 2, 3, 4));
  std::vector<SampleArray> named;
  named.push_back(array_of("a", {1, 2}, {2}));
  named.push_back(array_of("b", {3, 4}, {2, 1}));
  const Dataset both = dataset_from_arrays("mine", std::move(named), {});
  EXPECT_TRUE(both.inputs()[1].is_named);
  EXPECT_EQ(both.inputs()[1].name, "b");
}

TEST_F(OpenDataset, RejectsArraysThatAreNoSamples) {
  const auto open = [](std::vector<SampleArray> arrays, const DatasetOptions& options = {}) {
    dataset_from_arrays("mine", std::move(arrays), {}, options);
  };
  const auto list = [](SampleArray first, SampleArray second) {
    std::vector<SampleArray> arrays;
    arrays.push_back(std::move(first));
    arrays.push_back(std::move(second));
    return arrays;
  };
  expect_error(ErrorKind::kUsage, "mine: expected at least one array, found none",
               [&] { open({}); });
  expect_error(ErrorKind::kFormat, "mine: expected an array of samples [N, ...], found shape []",
               [&] { open({array_of("", {1}, {})}); });
  expect_error(ErrorKind::kFormat, "found shape [0, 3]", [&] { open({array_of("", {}, {0, 3})}); });
  expect_error(ErrorKind::kUsage, "mine: expected a name for every input or for none, found 1",
               [&] { open(list(array_of("a", {1}, {1}), array_of("", {1}, {1}))); });
  expect_error(ErrorKind::kFormat, "expected equally many samples of every input", [&] {
    open(list(array_of("", {1}, {1}), array_of("", {1, 2}, {2})));
  });
  expect_error(ErrorKind::kUsage, "scale: expected a finite number",
               [&] { open({array_of("", {1}, {1})}, {.limit = {}, .scale = kInfinity}); });
}

TEST_F(OpenDataset, RejectsNpyWithoutSamples) {
  write_array<float>("number.npy", {1}, {});
  write_array<float>("none.npy", {}, {0, 3});
  write_array<float>("x.npy", {1, 2}, {2});
  write_array<float>("y.npy", {1, 2}, {2});
  write_array<std::int64_t>("wide.npy", {1, 2, 3, 4}, {2, 2});
  write_array<std::int64_t>("short.npy", {1}, {1});
  const auto expect_format = [&](const std::string& name, const std::string& text) {
    expect_error(ErrorKind::kFormat, text, [&] { open_dataset(path(name)); });
  };
  expect_format("number.npy", "number.npy: expected an array of samples [N, ...], found shape []");
  expect_format("none.npy", "found shape [0, 3]");
  expect_format("x.npy," + path("y.npy"), "labels: expected integers, found float32");
  expect_format("x.npy," + path("wide.npy"), "labels: expected shape [N] or [N, 1], found [2, 2]");
  expect_format("x.npy," + path("none.npy"), "labels: expected shape");
  expect_format("x.npy," + path("short.npy"), "expected as many labels as samples (2), found 1");
  write_array<std::int64_t>("empty.npy", {}, {0});
  expect_format("x.npy," + path("empty.npy"), "labels: expected labels, found none");
}

template <typename T>
TestEntry array(const std::string& name, const std::vector<T>& numbers,
                std::vector<std::size_t> shape, bool is_deflated = false) {
  const std::vector<std::byte> bytes = npy_bytes(make_npy<T>(numbers, std::move(shape)));
  return {name + ".npy", {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, is_deflated};
}

std::vector<std::string> names(const Dataset& dataset) {
  std::vector<std::string> result;
  for (const DatasetInput& input : dataset.inputs()) {
    result.push_back((input.is_named ? "" : "not named ") + input.name);
  }
  return result;
}

TEST_F(OpenDataset, ReadsAnInputFromEachArrayOfAnArchive) {
  const TestEntry x = array<float>("x", {1, 2, 3, 4}, {2, 2}, true);
  const TestEntry state = array<float>("h.0", {5, 6}, {2, 1});
  write("x.npz", make_zip({x, state}));
  const Dataset dataset = open_dataset(path("x.npz"));
  EXPECT_THAT(names(dataset), testing::ElementsAre("x", "h.0"));
  EXPECT_FALSE(dataset.has_labels());
  EXPECT_THAT(read_samples(dataset, 0, 1, 1), testing::ElementsAre(3, 4));
  EXPECT_THAT(read_samples(dataset, 1, 0, 2), testing::ElementsAre(5, 6));
  EXPECT_EQ(open_dataset(path("x.npz"), {.limit = 1}).size(), 1u);
}

TEST_F(OpenDataset, FindsLabelsInAnArchiveOrBesideIt) {
  const TestEntry x = array<float>("x", {1, 2}, {2, 1});
  const TestEntry y = array<std::int64_t>("y", {7, 8}, {2});
  write("both.npz", make_zip({x, y}));
  const Dataset both = open_dataset(path("both.npz"));
  EXPECT_THAT(names(both), testing::ElementsAre("x"));
  EXPECT_EQ(both.label(1), 8);
  write_array<std::int64_t>("y.npy", {4, 5}, {2});
  const Dataset beside = open_dataset(path("both.npz") + "," + path("y.npy"));
  EXPECT_THAT(names(beside), testing::ElementsAre("x", "y"));
  EXPECT_EQ(beside.label(1), 5);
  write("float.npz", make_zip({x, array<float>("y", {1, 2}, {2})}));
  EXPECT_THAT(names(open_dataset(path("float.npz"))), testing::ElementsAre("x", "y"));
}

TEST_F(OpenDataset, ArraysWithoutNamesAreInOrder) {
  std::vector<TestEntry> entries;
  for (const int i : {10, 9, 0}) {
    entries.push_back(array<float>("arr_" + std::to_string(i), {static_cast<float>(i)}, {1}));
  }
  write("x.npz", make_zip(entries));
  EXPECT_THAT(names(open_dataset(path("x.npz"))),
              testing::ElementsAre("not named arr_0", "not named arr_9", "not named arr_10"));
}

TEST_F(OpenDataset, RejectsArchivesThatAreNoSamples) {
  const TestEntry x = array<float>("x", {1, 2}, {2, 1});
  const auto expect_refused = [&](const std::vector<TestEntry>& entries, const std::string& text) {
    write("x.npz", make_zip(entries));
    expect_error(ErrorKind::kFormat, text, [&] { open_dataset(path("x.npz")); });
  };
  expect_refused({}, "x.npz: expected samples, found none");
  expect_refused({x, array<float>("h", {1}, {1})},
                 "expected equally many samples of every input, found 2 of 'x' and 1 of 'h'");
  expect_refused({array<float>("sr", {1}, {})}, "array 'sr': expected an array of samples");
  expect_refused({{"readme.txt", "text"}}, "array 'readme': npy:");
  write("x.npz", bytes_of("text"));
  expect_error(ErrorKind::kFormat, "x.npz: zip: expected an archive",
               [&] { open_dataset(path("x.npz")); });
}

TEST_F(OpenDataset, ReadsAnInputFromEachFile) {
  write_array<float>("a.npy", {1, 2}, {2, 1});
  write_array<float>("b=c.npy", {3, 4}, {2});
  write_array<std::int64_t>("y.npy", {7, 8}, {2});
  const std::vector<std::string> in_order{path("a.npy"), path("b=c.npy") + "," + path("y.npy")};
  const Dataset dataset = open_dataset(in_order);
  EXPECT_THAT(names(dataset), testing::ElementsAre("not named x", "not named x"));
  EXPECT_THAT(read_samples(dataset, 1, 0, 2), testing::ElementsAre(3, 4));
  EXPECT_EQ(dataset.label(0), 7);
  const std::vector<std::string> named{"h=" + path("a.npy"),
                                       "x=" + path("b=c.npy") + "," + path("y.npy")};
  EXPECT_THAT(names(open_dataset(named)), testing::ElementsAre("h", "x"));
  EXPECT_THAT(names(open_dataset(named[0])), testing::ElementsAre("h"));
}

TEST_F(OpenDataset, RejectsFilesThatDoNotBelongTogether) {
  write_array<float>("a.npy", {1, 2}, {2, 1});
  write_array<float>("b.npy", {3}, {1});
  write_array<std::int64_t>("y.npy", {7, 8}, {2});
  const std::string a = path("a.npy");
  const std::string labelled = a + "," + path("y.npy");
  const auto expect_refused = [](const std::vector<std::string>& paths, ErrorKind kind,
                                 const std::string& text) {
    expect_error(kind, text, [&] { open_dataset(paths); });
  };
  expect_refused({}, ErrorKind::kUsage, "expected samples, found no path");
  expect_refused({a, path("x.h5")}, ErrorKind::kUsage, "x.h5: expected a .npy file, as there are");
  expect_refused({a, path("b.npy")}, ErrorKind::kFormat, "equally many samples of every input");
  expect_refused({labelled, labelled}, ErrorKind::kUsage, "expected labels once");
  expect_refused({"x=" + a, a}, ErrorKind::kUsage, "a name for every input or for none, found 1");
  expect_refused({"x=" + path("none.npy"), a}, ErrorKind::kIo, "none.npy: cannot open");
}

TEST_F(OpenDataset, RefusesOtherPathsAndOptions) {
  for (const char* name : {"x.npy", "x.bin", "x.h5", "x", "x.npy,y.npy"}) {
    expect_error(ErrorKind::kIo, ": cannot open: No such file or directory",
                 [&] { open_dataset(path(name)); });
  }
  write("x.txt", bytes_of("text"));
  expect_error(ErrorKind::kUnsupported, "text files are not supported",
               [&] { open_dataset(path("x.txt")); });
  write("x.jpg", {});
  expect_error(ErrorKind::kUnsupported, "expected a folder of IDX files, or .bin",
               [&] { open_dataset(path("x.jpg")); });
  std::filesystem::create_directory(path("folder.npy"));
  expect_error(ErrorKind::kIo, "expected the IDX file", [&] { open_dataset(path("folder.npy")); });
  expect_error(ErrorKind::kIo, "is not a regular file", [&] {
    write_array<float>("x.npy", {1}, {1});
    open_dataset(path("x.npy") + "," + path("folder.npy"));
  });
  DatasetOptions options;
  options.split = "validation";
  expect_error(ErrorKind::kUsage, "split: expected train or test, found 'validation'",
               [&] { open_dataset(path("x.npy"), options); });
  options = {};
  options.limit = 0;
  expect_error(ErrorKind::kUsage, "limit: expected at least 1",
               [&] { open_dataset(path("x.npy"), options); });
  options = {};
  options.scale = std::numeric_limits<double>::infinity();
  expect_error(ErrorKind::kUsage, "scale: expected a finite number",
               [&] { open_dataset(path("x.npy"), options); });
}

}  // namespace
}  // namespace halftone::data
