// SPDX-License-Identifier: Apache-2.0
#include "halftone/data/hdf5.h"

#include <algorithm>
#include <array>

#include "halftone/base/file.h"
#include "halftone/base/parallel.h"
#include "halftone/data/dataset_testing.h"
#include "halftone/data/hdf5_reader.h"
#include "halftone/data/hdf5_testing.h"

namespace halftone::data {
namespace {

class Hdf5 : public WithFolder {
 protected:
  [[nodiscard]] std::string file() const { return path("data.h5"); }
  /// Expects that opening the file fails with this error.
  void expect_failure(ErrorKind kind, const std::string& text) const {
    expect_error(kind, text, [&] { open_hdf5(file(), {}); });
  }
};

TEST_F(Hdf5, ReadsRecordsWithAnInputPerGraphInput) {
  {
    const Hdf5Writer writer(file());
    const std::vector<std::int64_t> tokens = {1, 2, std::int64_t{1} << 40};
    for (int i = 0; i < 12; ++i) {
      const std::string record = "/value/" + std::to_string(i);
      writer.floats(record + "/0", {1, 2}, {static_cast<float>(i), 0.5F});
      writer.table(record + "/1", H5T_NATIVE_INT64, {3}, tokens.data());
    }
  }
  const Dataset dataset = open_hdf5(file(), {});
  EXPECT_EQ(dataset.size(), 12u);
  EXPECT_FALSE(dataset.has_labels());
  ASSERT_EQ(dataset.inputs().size(), 2u);
  EXPECT_THAT(dataset.inputs()[0].shape.extents, testing::ElementsAre(1, 2));
  EXPECT_EQ(dataset.inputs()[1].type, Scalar::kInt64);
  EXPECT_THAT(read_samples(dataset, 0, 9, 2), testing::ElementsAre(9, 0.5F, 10, 0.5F));
  std::vector<std::int64_t> integers(3);
  dataset.read_integers(1, 11, 1, integers);
  EXPECT_THAT(integers, testing::ElementsAre(1, 2, std::int64_t{1} << 40));
}

TEST_F(Hdf5, ReadsEveryElementType) {
  const hid_t truth = H5Tenum_create(H5T_NATIVE_INT8);  // as h5py writes bool
  const std::array<std::int8_t, 2> bits = {0, 1};
  H5Tenum_insert(truth, "FALSE", bits.data());
  H5Tenum_insert(truth, "TRUE", bits.data() + 1);
  const std::array<double, 2> doubles = {0.5, -3};
  const std::array<std::uint8_t, 2> pixels = {51, 255};
  const std::array<std::int32_t, 2> integers = {-7, 1 << 20};
  const std::array<std::uint16_t, 2> words = {1, 65535};
  {
    const Hdf5Writer writer(file());
    writer.table("/value/0/0", truth, {2}, bits.data());
    writer.table("/value/0/1", H5T_NATIVE_DOUBLE, {2}, doubles.data());
    writer.table("/value/0/2", H5T_NATIVE_UINT8, {2}, pixels.data());
    writer.table("/value/0/3", H5T_NATIVE_INT32, {2}, integers.data());
    writer.table("/value/0/4", H5T_STD_U16BE, {2}, words.data());
    writer.table("/value/0/5", H5T_NATIVE_UINT64, {1}, nullptr);
    writer.table("/value/0/6", H5T_NATIVE_UINT32, {1}, nullptr);
    writer.table("/value/0/7", H5T_NATIVE_INT16, {1}, nullptr);
  }
  H5Tclose(truth);
  const Dataset dataset = open_hdf5(file(), {});
  EXPECT_EQ(dataset.inputs()[0].type, Scalar::kBool);
  EXPECT_THAT(read_samples(dataset, 0, 0, 1), testing::ElementsAre(0, 1));
  EXPECT_THAT(read_samples(dataset, 1, 0, 1), testing::ElementsAre(0.5, -3));
  EXPECT_THAT(read_samples(dataset, 2, 0, 1), testing::ElementsAre(51, 255));
  EXPECT_THAT(read_samples(dataset, 3, 0, 1), testing::ElementsAre(-7, 1 << 20));
  EXPECT_THAT(read_samples(dataset, 4, 0, 1), testing::ElementsAre(256, 65535));
  for (const std::size_t unwritten : {5u, 6u, 7u}) {
    EXPECT_THAT(read_samples(dataset, unwritten, 0, 1), testing::ElementsAre(0));
  }
}

TEST_F(Hdf5, ReadsRawDataAsFloatsRegardlessOfTypeAndShape) {
  const std::array<float, 2> numbers = {1.5F, -2};
  const hid_t opaque = H5Tcreate(H5T_OPAQUE, 8);
  {
    const Hdf5Writer writer(file());
    writer.table("/value/0/0", H5T_NATIVE_UINT8, {8}, numbers.data());
    writer.table("/value/0/1", opaque, {1}, numbers.data());
    writer.floats("/value/0/2", {2, 1}, {3, 4});
    writer.mark_raw("/value");
  }
  H5Tclose(opaque);
  const Dataset dataset = open_hdf5(file(), {});
  for (const std::size_t input : {0u, 1u}) {
    EXPECT_THAT(dataset.inputs()[input].shape.extents, testing::ElementsAre(2));
    EXPECT_THAT(read_samples(dataset, input, 0, 1), testing::ElementsAre(1.5F, -2));
  }
  EXPECT_THAT(dataset.inputs()[2].shape.extents, testing::ElementsAre(2));
}

TEST_F(Hdf5, ReadsRowsOfXAndLabelsOfY) {
  std::vector<std::uint8_t> pixels(5 * 2 * 3 * 5);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i);
  const std::vector<std::int32_t> labels = {4, 3, 2, 1, 0};
  const hid_t properties = chunked({2, 2, 3, 1});
  H5Pset_shuffle(properties);
  H5Pset_deflate(properties, 9);
  H5Pset_fletcher32(properties);
  {
    const Hdf5Writer writer(file());
    writer.table("/x", H5T_NATIVE_UINT8, {5, 2, 3, 5}, pixels.data(), properties);
    writer.table("/y", H5T_NATIVE_INT32, {5, 1}, labels.data());
  }
  H5Pclose(properties);
  DatasetOptions options;
  options.scale = 2;
  options.limit = 4;
  const Dataset dataset = open_hdf5(file(), options);
  EXPECT_EQ(dataset.size(), 4u);
  EXPECT_EQ(dataset.label(1), 3);
  std::vector<float> numbers(60);
  dataset.read(0, 1, 2, {{3, 5, 2}}, numbers);
  EXPECT_THAT(std::span(numbers).first(4), testing::ElementsAre(60, 90, 62, 92));
  EXPECT_TRUE(read_samples(dataset, 0, 0, 0).empty());
  std::vector<std::int64_t> integers(30);
  dataset.read_integers(0, 3, 1, integers);
  EXPECT_EQ(integers[29], 119);
}

TEST_F(Hdf5, ReadsFromSeveralThreads) {
  {
    const Hdf5Writer writer(file());
    for (int i = 0; i < 64; ++i) {
      writer.floats("/value/" + std::to_string(i) + "/0", {1}, {static_cast<float>(i)});
    }
  }
  const Dataset dataset = open_hdf5(file(), {});
  std::vector<float> numbers(64);
  set_num_threads(4);
  parallel_for(64, [&](std::size_t i) { dataset.read(0, i, 1, std::span(numbers).subspan(i, 1)); });
  set_num_threads(0);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(numbers[i], static_cast<float>(i));
}

TEST_F(Hdf5, ReadsAnImageInMemory) {
  {
    const Hdf5Writer writer(file());
    writer.floats("/x", {3}, {1, 2, 3});
  }
  const std::vector<std::byte> image = read_file(file());
  EXPECT_THAT(read_samples(open_hdf5_image("image", image, {}), 0, 0, 3),
              testing::ElementsAre(1, 2, 3));
  expect_error(ErrorKind::kFormat, "image: expected an HDF5 file, found 0 bytes",
               [] { open_hdf5_image("image", {}, {}); });
}

TEST_F(Hdf5, RefusesFilesThatAreNotHdf5) {
  expect_failure(ErrorKind::kIo, "data.h5: cannot open");
  for (const std::size_t size : {0u, 8u, 5000u}) {
    write_file(file(), std::string(size, 'x'));
    expect_failure(ErrorKind::kFormat,
                   "data.h5: expected an HDF5 file, found what the HDF5 library");
  }
  Hdf5Writer(file()).floats("/x", {1000}, std::vector<float>(1000));
  std::filesystem::resize_file(file(), 3000);
  expect_failure(ErrorKind::kFormat, "data.h5: expected an HDF5 file, found what the HDF5 library");
}

TEST_F(Hdf5, RefusesMissingAndMisplacedObjects) {
  Hdf5Writer(file()).group("/other");
  expect_failure(ErrorKind::kFormat, "data.h5: expected a group 'value' or a data set 'x'");
  Hdf5Writer(file()).floats("/value", {1}, {1});
  expect_failure(ErrorKind::kFormat, "'value': expected a group, found another object");
  Hdf5Writer(file()).group("/value");
  expect_failure(ErrorKind::kFormat, "value: expected records, found none");
  Hdf5Writer(file()).group("/value/first");
  expect_failure(ErrorKind::kFormat, "'0': expected a group, found none");
  Hdf5Writer(file()).group("/value/0");
  expect_failure(ErrorKind::kFormat, "value/0: expected 1 to 1000 inputs, found 0");
  Hdf5Writer(file()).group("/value/0/0");
  expect_failure(ErrorKind::kFormat, "'0': expected a data set, found another object");
  Hdf5Writer(file()).floats("/value/0/input", {1}, {1});
  expect_failure(ErrorKind::kFormat, "'0': expected a data set, found none");
  Hdf5Writer(file()).group("/x");
  expect_failure(ErrorKind::kFormat, "x: 'x': expected a data set, found another object");
}

TEST_F(Hdf5, RejectsTypesThatAreNotNumeric) {
  const hid_t text = H5Tcopy(H5T_C_S1);
  const hid_t variable = H5Tcopy(H5T_C_S1);
  H5Tset_size(variable, H5T_VARIABLE);
  const hid_t wide = H5Tcopy(H5T_NATIVE_INT64);
  H5Tset_size(wide, 3);
  Hdf5Writer(file()).table("/value/0/0", text, {4}, "abcd");
  expect_failure(ErrorKind::kFormat, "value/0/0: expected float, integer or bool elements");
  Hdf5Writer(file()).table("/x", wide, {4}, nullptr);
  expect_failure(ErrorKind::kUnsupported, "expected integers of 1, 2, 4 or 8 bytes, found 3");
  {
    const Hdf5Writer writer(file());
    writer.table("/value/0/0", variable, {1}, nullptr);
    writer.mark_raw("/value");
  }
  expect_failure(ErrorKind::kFormat, "expected float, integer or bool elements");
  {
    const Hdf5Writer writer(file());
    writer.table("/value/0/0", text, {5}, "abcde");
    writer.mark_raw("/value");
  }
  expect_failure(ErrorKind::kFormat, "whole float32 numbers, found 5 elements of 1 bytes");
  const hid_t padded = H5Tcopy(H5T_NATIVE_FLOAT);
  H5Tset_size(padded, 5);
  Hdf5Writer(file()).table("/x", padded, {4}, nullptr);
  expect_failure(ErrorKind::kUnsupported, "expected floats of 2, 4, 8 or 16 bytes, found 5");
  H5Tclose(padded);
  const hid_t vast = H5Tcreate(H5T_OPAQUE, (std::size_t{1} << 23) + 1);
  Hdf5Writer(file()).table("/x", vast, {1}, nullptr);
  expect_failure(ErrorKind::kFormat, "expected elements of 1 byte to 8 MiB, found 8388609 bytes");
  for (const hid_t type : {text, variable, wide, vast}) H5Tclose(type);
}

TEST_F(Hdf5, RefusesRecordsThatDifferFromTheFirst) {
  {
    const Hdf5Writer writer(file());
    writer.floats("/value/0/0", {2}, {1, 2});
    writer.floats("/value/1/0", {3}, {1, 2, 3});
    writer.table("/value/2/0", H5T_NATIVE_INT32, {2}, nullptr);
    writer.floats("/value/three/0", {2}, {1, 2});
  }
  const Dataset dataset = open_hdf5(file(), {});
  EXPECT_EQ(read_samples(dataset, 0, 0, 1).size(), 2u);
  const auto expect_read = [&](std::size_t record, const std::string& text) {
    expect_error(ErrorKind::kFormat, text, [&] { read_samples(dataset, 0, record, 1); });
  };
  expect_read(1, "value/1/0: expected float32 [2] as in record 0, found float32 [3]");
  expect_read(2, "value/2/0: expected float32 [2] as in record 0, found int32 [2]");
  expect_read(3, "value/3/0: '3': expected a group, found none");
}

TEST_F(Hdf5, RejectsShapesWithoutSamples) {
  const hid_t properties = chunked({1, 1});
  constexpr hsize_t kHuge = hsize_t{1} << 40;
  const auto expect_x = [&](const std::vector<hsize_t>& extents, const std::string& text) {
    Hdf5Writer(file()).table("/x", H5T_NATIVE_FLOAT, extents, nullptr,
                             extents.size() == 2 ? properties : H5P_DEFAULT);
    expect_failure(ErrorKind::kFormat, text);
  };
  expect_x({}, "x: expected 1 to 10000000 samples [N, ...], found shape []");
  expect_x({0}, "found shape [0]");
  expect_x({10000001, 1}, "found shape [10000001, 1]");
  expect_x({kHuge, 2}, "expected at most 2^40 numbers");
  expect_x({1, kHuge}, "expected samples of 1 to 2^28 numbers");
  {
    const Hdf5Writer writer(file());
    const hid_t space = H5Screate(H5S_NULL);
    H5Dclose(H5Dcreate2(writer.file(), "/x", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, H5P_DEFAULT,
                        H5P_DEFAULT));
    H5Sclose(space);
  }
  expect_failure(ErrorKind::kFormat, "expected an array, found an empty data space");
  H5Pclose(properties);
}

TEST_F(Hdf5, RefusesLabelsThatDoNotFit) {
  const auto expect_y = [&](hid_t type, const std::vector<hsize_t>& extents,
                            const std::string& text) {
    const hid_t properties = chunked(std::vector<hsize_t>(extents.size(), 1));
    {
      const Hdf5Writer writer(file());
      writer.floats("/x", {2}, {1, 2});
      writer.table("/y", type, extents, nullptr, properties);
    }
    H5Pclose(properties);
    expect_failure(ErrorKind::kFormat, text);
  };
  expect_y(H5T_NATIVE_INT32, {3}, "expected as many labels as samples (2), found 3");
  expect_y(H5T_NATIVE_INT32, {2, 2}, "y: expected shape [N] or [N, 1], found [2, 2]");
  expect_y(H5T_NATIVE_INT32, {0}, "y: expected 1 to 10000000 labels, found [0]");
  expect_y(H5T_NATIVE_INT32, {20000000}, "y: expected 1 to 10000000 labels");
  expect_y(H5T_NATIVE_FLOAT, {2}, "y: expected integers, found float32");
}

TEST_F(Hdf5, RefusesStorageOutsideTheFileAndForeignFilters) {
  write_file(path("secret"), "secret content");
  const hid_t external = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_external(external, path("secret").c_str(), 0, 4);
  Hdf5Writer(file()).table("/x", H5T_NATIVE_FLOAT, {1}, nullptr, external);
  expect_failure(ErrorKind::kUnsupported, "expected data in this file, found external storage");
  H5Pclose(external);

  const hid_t mapped = H5Pcreate(H5P_DATASET_CREATE);
  const hsize_t one = 1;
  const hid_t space = H5Screate_simple(1, &one, nullptr);
  H5Pset_virtual(mapped, space, path("secret").c_str(), "/x", space);
  Hdf5Writer(file()).table("/x", H5T_NATIVE_FLOAT, {1}, nullptr, mapped);
  expect_failure(ErrorKind::kUnsupported, "expected data in this file, found virtual storage");
  H5Sclose(space);
  H5Pclose(mapped);

  const hid_t filtered = chunked({1});
  H5Pset_nbit(filtered);
  Hdf5Writer(file()).table("/x", H5T_NATIVE_FLOAT, {1}, nullptr, filtered);
  expect_failure(ErrorKind::kUnsupported, "expected filters deflate, shuffle or fletcher32");
  H5Pclose(filtered);

  const hid_t coarse = chunked({hsize_t{1} << 29});
  Hdf5Writer(file()).table("/x", H5T_NATIVE_FLOAT, {hsize_t{1} << 29}, nullptr, coarse);
  expect_failure(ErrorKind::kFormat, "expected chunks of 1 byte to 1 GiB");
  H5Pclose(coarse);
}

TEST_F(Hdf5, RefusesLinksToOtherFiles) {
  Hdf5Writer(path("other.h5")).floats("/x", {1}, {1});
  {
    const Hdf5Writer writer(file());
    H5Lcreate_external(path("other.h5").c_str(), "/x", writer.file(), "x", H5P_DEFAULT,
                       H5P_DEFAULT);
  }
  expect_failure(ErrorKind::kUnsupported, "'x': expected a hard link, found another kind");
}

TEST_F(Hdf5, RefusesTooManyRecords) {
  EXPECT_EQ(Hdf5Reader::kMaxRecords, 1'000'000u);
  {
    const Hdf5Writer writer(file());
    for (const char* record : {"0", "1", "2"}) {
      writer.floats(std::string("/value/") + record + "/0", {1}, {1});
    }
  }
  EXPECT_EQ(Hdf5Reader(open_hdf5_file(file()), 3).contents().num_samples, 3u);
  expect_error(ErrorKind::kFormat, "value: expected at most 2 records, found 3",
               [&] { Hdf5Reader(open_hdf5_file(file()), 2); });
}

// Found by the fuzzer: its local heap, which holds names, makes libhdf5 1.10.8 copy from an invalid
// address.
TEST(Hdf5Crash, OfTheLibraryIsAnError) {
  const std::string seed = std::string(HALFTONE_SOURCE_DIR) + "/fuzz/corpus/hdf5/local_heap";
  const std::vector<std::byte> image = read_file(seed);
  expect_error(ErrorKind::kFormat, "image: ", [&] { open_hdf5_image("image", image, {}); });
}

// Found by the fuzzer: the library would read past the end of the two numbers.
TEST_F(Hdf5, RefusesStorageSmallerThanTheExtents) {
  const hid_t compact = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_layout(compact, H5D_COMPACT);
  const std::array<float, 2> numbers = {1, 2};
  Hdf5Writer(file()).table("/x", H5T_NATIVE_FLOAT, {2, 1}, numbers.data(), compact);
  H5Pclose(compact);
  std::vector<std::byte> image = read_file(file());
  // The data space: extents 2 and 1, each of 8 bytes, little-endian.
  const std::array<std::uint64_t, 2> extents = {2, 1};
  const auto wanted = std::as_bytes(std::span(extents));
  const auto found = std::search(image.begin(), image.end(), wanted.begin(), wanted.end());
  ASSERT_NE(found, image.end());
  found[8] = std::byte{0x51};
  expect_error(ErrorKind::kFormat, "expected storage for 162 elements of 4 bytes, found 8 bytes",
               [&] { open_hdf5_image("image", image, {}); });
}

}  // namespace
}  // namespace halftone::data
