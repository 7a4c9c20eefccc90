// SPDX-License-Identifier: Apache-2.0
#include <zlib.h>

#include <algorithm>
#include <string>

#include "halftone/base/error.h"
#include "halftone/data/hdf5_reader.h"

namespace halftone::data {
namespace {

/// How a data set is split into chunks, and how each chunk is packed.
struct ChunkPlan {
  std::vector<hsize_t> extents;       ///< of the data set
  std::vector<hsize_t> chunk;         ///< of one chunk
  std::vector<H5Z_filter_t> filters;  ///< in the order in which a writer applies them
  bool packs_edges = true;            ///< false: partial edge chunks are not packed
  std::size_t chunk_bytes = 0;
  std::size_t max_bytes = 0;  ///< upper bound of a packed chunk
};

ChunkPlan plan_chunks(const Hdf5Handle& table, const Hdf5Handle& properties,
                      const Hdf5Handle& space) {
  ChunkPlan plan;
  const int rank = ::H5Sget_simple_extent_ndims(space.get());
  plan.extents.resize(static_cast<std::size_t>(std::max(rank, 0)));
  plan.chunk.resize(plan.extents.size());
  ::H5Sget_simple_extent_dims(space.get(), plan.extents.data(), nullptr);
  if (rank < 1 || ::H5Pget_chunk(properties.get(), rank, plan.chunk.data()) != rank) {
    fail(ErrorKind::kFormat, "expected chunks of rank " + std::to_string(rank) + ", found others");
  }
  const Hdf5Handle type(::H5Dget_type(table.get()), ::H5Tclose, "an element type");
  plan.chunk_bytes = ::H5Tget_size(type.get());
  for (const hsize_t extent : plan.chunk) plan.chunk_bytes *= extent;
  plan.max_bytes = plan.chunk_bytes + plan.chunk_bytes / 8 + 1024;
  for (int i = 0; i < ::H5Pget_nfilters(properties.get()); ++i) {
    unsigned flags = 0;
    std::size_t num_values = 0;
    plan.filters.push_back(::H5Pget_filter2(properties.get(), static_cast<unsigned>(i), &flags,
                                            &num_values, nullptr, 0, nullptr, nullptr));
  }
  unsigned options = 0;
  ::H5Pget_chunk_opts(properties.get(), &options);
  plan.packs_edges = (options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) == 0;
  return plan;
}

bool is_packed(const ChunkPlan& plan, const std::vector<hsize_t>& offset) {
  if (plan.packs_edges) return true;
  for (std::size_t d = 0; d < offset.size(); ++d) {
    if (offset[d] + plan.chunk[d] > plan.extents[d]) return false;
  }
  return true;
}

std::vector<std::byte> inflate_chunk(const std::vector<std::byte>& bytes, std::size_t max_bytes) {
  std::vector<std::byte> result(max_bytes);
  uLongf size = result.size();
  if (::uncompress(reinterpret_cast<Bytef*>(result.data()), &size,
                   reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()) != Z_OK) {
    fail(ErrorKind::kFormat, "expected a deflated chunk, found a damaged one");
  }
  result.resize(size);
  return result;
}

/// Size of a stored chunk after its filters are undone in reverse order. Bit i of `skipped` is set
/// if filter i was not applied to this chunk. Shuffling keeps the size.
std::size_t unpacked_bytes(std::vector<std::byte> bytes, const ChunkPlan& plan,
                           std::uint32_t skipped) {
  constexpr std::size_t kChecksumBytes = 4;
  for (std::size_t i = plan.filters.size(); i-- > 0;) {
    if (i < 32 && (skipped >> i & 1) != 0) continue;
    if (plan.filters[i] == H5Z_FILTER_DEFLATE) {
      bytes = inflate_chunk(bytes, plan.max_bytes);
    } else if (plan.filters[i] == H5Z_FILTER_FLETCHER32) {
      bytes.resize(bytes.size() - std::min(bytes.size(), kChecksumBytes));
    }
  }
  return bytes.size();
}

void check_chunk(const Hdf5Handle& table, const ChunkPlan& plan,
                 const std::vector<hsize_t>& offset) {
  std::uint32_t skipped = 0;
  hsize_t stored = 0;
  if (::H5Dget_chunk_storage_size(table.get(), offset.data(), &stored) < 0 || stored == 0) {
    // The chunk is absent or damaged. The next call tells which, but it searches all chunks.
    haddr_t address = HADDR_UNDEF;
    if (::H5Dget_chunk_info_by_coord(table.get(), offset.data(), &skipped, &address, &stored) < 0) {
      fail(ErrorKind::kFormat, "the HDF5 library cannot find a chunk");
    }
    if (address == HADDR_UNDEF) return;  // never written: all its elements are the fill value
  }
  if (stored > plan.max_bytes) {
    fail(ErrorKind::kFormat, "expected a chunk of about " + std::to_string(plan.chunk_bytes) +
                                 " bytes, found " + std::to_string(stored));
  }
  std::vector<std::byte> bytes(std::max<hsize_t>(stored, 1));  // the library needs a valid address
  if (::H5Dread_chunk(table.get(), H5P_DEFAULT, offset.data(), &skipped, bytes.data()) < 0) {
    fail(ErrorKind::kFormat, "the HDF5 library cannot read a chunk");
  }
  bytes.resize(stored);
  const std::size_t found =
      is_packed(plan, offset) ? unpacked_bytes(std::move(bytes), plan, skipped) : stored;
  if (found != plan.chunk_bytes) {
    fail(ErrorKind::kFormat, "expected a chunk of " + std::to_string(plan.chunk_bytes) +
                                 " bytes, found " + std::to_string(found));
  }
}

}  // namespace

void check_stored_chunks(const Hdf5Handle& table, std::size_t first, std::size_t count) {
  const Hdf5Handle properties(::H5Dget_create_plist(table.get()), ::H5Pclose,
                              "data set properties");
  const Hdf5Handle space(::H5Dget_space(table.get()), ::H5Sclose, "a data space");
  if (::H5Pget_layout(properties.get()) != H5D_CHUNKED || count == 0) return;
  if (::H5Sget_simple_extent_npoints(space.get()) == 0) return;
  const ChunkPlan plan = plan_chunks(table, properties, space);
  // Walk the grid of chunks like an odometer, along the first extent only the requested rows.
  const hsize_t end = std::min<hsize_t>(plan.extents[0], first + count);
  std::vector<hsize_t> offset(plan.extents.size(), 0);
  offset[0] = first / plan.chunk[0] * plan.chunk[0];
  while (offset[0] < end) {
    check_chunk(table, plan, offset);
    for (std::size_t d = offset.size(); d-- > 0;) {
      offset[d] += plan.chunk[d];
      if (offset[d] < plan.extents[d] || d == 0) break;
      offset[d] = 0;
    }
  }
}

}  // namespace halftone::data
