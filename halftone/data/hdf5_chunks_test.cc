// SPDX-License-Identifier: Apache-2.0
#include <zlib.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "halftone/base/file.h"
#include "halftone/data/dataset_testing.h"
#include "halftone/data/hdf5.h"
#include "halftone/data/hdf5_reader.h"
#include "halftone/data/hdf5_testing.h"

namespace halftone::data {
namespace {

class Hdf5Chunks : public WithFolder {
 protected:
  [[nodiscard]] std::string file() const { return path("data.h5"); }
};

TEST_F(Hdf5Chunks, RejectsDamagedData) {
  const std::vector<float> numbers(1000, 1.0F);
  const hid_t properties = chunked({1000});
  H5Pset_deflate(properties, 9);
  Hdf5Writer(file()).table("/x", H5T_NATIVE_FLOAT, {1000}, numbers.data(), properties);
  H5Pclose(properties);
  std::vector<std::byte> image = read_file(file());
  // The chunk is the one zlib stream of the file: at level 9 it starts with 78 da.
  for (std::size_t i = 0; i + 2 < image.size(); ++i) {
    if (image[i] == std::byte{0x78} && image[i + 1] == std::byte{0xda}) image[i] = std::byte{0};
  }
  const Dataset dataset = open_hdf5_image("image", image, {});
  expect_error(ErrorKind::kFormat, "image: expected a deflated chunk, found a damaged one",
               [&] { read_samples(dataset, 0, 0, 1000); });
}

// Found by the fuzzer: the library would return the memory beyond a short chunk.
TEST_F(Hdf5Chunks, RejectsChunksThatAreTooSmall) {
  const std::vector<std::byte> twelve(12);
  std::vector<Bytef> packed(compressBound(12));
  uLongf packed_bytes = packed.size();
  compress(packed.data(), &packed_bytes, reinterpret_cast<const Bytef*>(twelve.data()), 12);
  const hid_t properties = chunked({500});
  H5Pset_deflate(properties, 9);
  {
    const Hdf5Writer writer(file());
    writer.table("/x", H5T_NATIVE_FLOAT, {1000}, nullptr, properties);
    const hid_t dataset = H5Dopen2(writer.file(), "/x", H5P_DEFAULT);
    const hsize_t second = 500;
    H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, &second, packed_bytes, packed.data());
    H5Dclose(dataset);
  }
  const Dataset dataset = open_hdf5(file(), {});
  EXPECT_EQ(read_samples(dataset, 0, 0, 500), std::vector<float>(500));
  expect_error(ErrorKind::kFormat, "expected a chunk of 2000 bytes, found 12",
               [&] { read_samples(dataset, 0, 499, 2); });
  {
    const Hdf5Writer writer(path("large.h5"));
    writer.table("/x", H5T_NATIVE_FLOAT, {1000}, nullptr, properties);
    const hid_t dataset_id = H5Dopen2(writer.file(), "/x", H5P_DEFAULT);
    const hsize_t first = 0;
    const std::vector<std::byte> large(5000);
    H5Dwrite_chunk(dataset_id, H5P_DEFAULT, 0, &first, large.size(), large.data());
    H5Dclose(dataset_id);
  }
  H5Pclose(properties);
  expect_error(ErrorKind::kFormat, "expected a chunk of about 2000 bytes, found 5000",
               [&] { read_samples(open_hdf5(path("large.h5"), {}), 0, 0, 1); });
}

// Short chunks of every allowed packing, one row each; the first chunk is complete.
TEST_F(Hdf5Chunks, RejectsShortChunksWithoutDeflate) {
  const std::vector<std::byte> bytes(20);
  for (const std::size_t short_bytes : {3u, 12u, 15u}) {
    for (const bool sums : {false, true}) {
      const hid_t properties = chunked({1, 4});
      H5Pset_shuffle(properties);
      if (sums) H5Pset_fletcher32(properties);
      {
        const Hdf5Writer writer(file());
        writer.table("/x", H5T_NATIVE_FLOAT, {2, 4}, nullptr, properties);
        const hid_t dataset = H5Dopen2(writer.file(), "/x", H5P_DEFAULT);
        const std::array<hsize_t, 2> first = {0, 0};
        const std::array<hsize_t, 2> second = {1, 0};
        H5Dwrite_chunk(dataset, H5P_DEFAULT, 3, first.data(), 16, bytes.data());
        H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, second.data(), short_bytes, bytes.data());
        H5Dclose(dataset);
      }
      H5Pclose(properties);
      const Dataset dataset = open_hdf5(file(), {});
      EXPECT_EQ(read_samples(dataset, 0, 0, 1), std::vector<float>(4));
      const std::size_t found = sums ? std::max<std::size_t>(short_bytes, 4) - 4 : short_bytes;
      expect_error(ErrorKind::kFormat,
                   "expected a chunk of 16 bytes, found " + std::to_string(found),
                   [&] { read_samples(dataset, 0, 1, 1); });
    }
  }
}

TEST_F(Hdf5Chunks, RejectsAnEmptyChunk) {
  const hid_t properties = chunked({4});
  H5Pset_shuffle(properties);
  const std::vector<float> numbers(8, 1.0F);
  Hdf5Writer(file()).table("/x", H5T_NATIVE_FLOAT, {8}, numbers.data(), properties);
  H5Pclose(properties);
  std::vector<std::byte> image = read_file(file());
  // The second chunk's key in the tree: size and mask, 32 bits each; offset, 64 bits.
  const std::array<std::uint32_t, 4> key = {16, 0, 4, 0};
  const auto wanted = std::as_bytes(std::span(key));
  const auto found = std::search(image.begin(), image.end(), wanted.begin(), wanted.end());
  ASSERT_NE(found, image.end());
  *found = std::byte{0};
  const Dataset dataset = open_hdf5_image("image", image, {});
  EXPECT_EQ(read_samples(dataset, 0, 0, 4), std::vector<float>(4, 1.0F));
  expect_error(ErrorKind::kFormat, "image: expected a chunk of 16 bytes, found 0",
               [&] { read_samples(dataset, 0, 3, 2); });
}

TEST_F(Hdf5Chunks, ReadsUnpackedEdgeChunks) {
  const hid_t properties = chunked({2, 3});
  H5Pset_deflate(properties, 9);
  H5Pset_chunk_opts(properties, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
  std::vector<float> numbers(35);
  std::iota(numbers.begin(), numbers.end(), 1.0F);
  Hdf5Writer(file()).table("/x", H5T_NATIVE_FLOAT, {5, 7}, numbers.data(), properties);
  H5Pclose(properties);
  EXPECT_EQ(read_samples(open_hdf5(file(), {}), 0, 0, 5), numbers);
}

}  // namespace
}  // namespace halftone::data
