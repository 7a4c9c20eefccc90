// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/data/hdf5_chunks.h"

#include <algorithm>
#include <string>

#include "halftone/base/error.h"
#include "halftone/formats/data/gzip.h"

namespace halftone::formats {
namespace {

/// How a data set is cut into chunks, and how each is packed.
struct ChunkPlan {
  std::vector<hsize_t> extents;       ///< of the data set
  std::vector<hsize_t> chunk;         ///< of one chunk
  std::vector<H5Z_filter_t> filters;  ///< in the order of writing
  std::size_t chunk_bytes = 0;
};

ChunkPlan plan_chunks(const Hdf5Handle& table, const Hdf5Handle& properties,
                      const Hdf5Handle& space) {
  ChunkPlan plan;
  const int rank = ::H5Sget_simple_extent_ndims(space.get());
  plan.extents.resize(static_cast<std::size_t>(std::max(rank, 0)));
  plan.chunk.resize(plan.extents.size());
  ::H5Sget_simple_extent_dims(space.get(), plan.extents.data(), nullptr);
  if (::H5Pget_chunk(properties.get(), rank, plan.chunk.data()) != rank) {
    fail(ErrorKind::kFormat, "expected chunks of rank " + std::to_string(rank) + ", found others");
  }
  const Hdf5Handle type(::H5Dget_type(table.get()), ::H5Tclose, "element type");
  plan.chunk_bytes = ::H5Tget_size(type.get());
  for (const hsize_t extent : plan.chunk) plan.chunk_bytes *= extent;
  for (int i = 0; i < ::H5Pget_nfilters(properties.get()); ++i) {
    unsigned flags = 0;
    std::size_t num_values = 0;
    plan.filters.push_back(::H5Pget_filter2(properties.get(), static_cast<unsigned>(i), &flags,
                                            &num_values, nullptr, 0, nullptr, nullptr));
  }
  return plan;
}

/// The size of a stored chunk once its filters are undone, the last first. Bit i of `skipped` says
/// that filter i was left out for this chunk.
std::size_t unpacked_bytes(std::vector<std::byte> bytes, const ChunkPlan& plan,
                           std::uint32_t skipped) {
  constexpr std::size_t kCheckSumBytes = 4;
  for (std::size_t i = plan.filters.size(); i-- > 0;) {
    if (i < 32 && (skipped >> i & 1) != 0) continue;
    if (plan.filters[i] == H5Z_FILTER_DEFLATE) {
      bytes = inflate_zlib(bytes, plan.chunk_bytes + kCheckSumBytes + 1);
    } else if (plan.filters[i] == H5Z_FILTER_FLETCHER32) {
      bytes.resize(bytes.size() - std::min(bytes.size(), kCheckSumBytes));
    }
  }
  return bytes.size();
}

void check_chunk(const Hdf5Handle& table, const ChunkPlan& plan,
                 const std::vector<hsize_t>& offset) {
  unsigned skipped = 0;
  haddr_t address = HADDR_UNDEF;
  hsize_t stored = 0;
  if (::H5Dget_chunk_info_by_coord(table.get(), offset.data(), &skipped, &address, &stored) < 0) {
    fail(ErrorKind::kFormat, "the HDF5 library cannot find a chunk");
  }
  if (address == HADDR_UNDEF) return;  // never written: all its elements are the fill value
  // What packs worse than by an eighth is not data that a writer packed.
  if (stored > plan.chunk_bytes + plan.chunk_bytes / 8 + 1024) {
    fail(ErrorKind::kFormat, "expected a chunk of about " + std::to_string(plan.chunk_bytes) +
                                 " bytes, found " + std::to_string(stored));
  }
  std::vector<std::byte> bytes(stored);
  std::uint32_t mask = 0;
  if (::H5Dread_chunk(table.get(), H5P_DEFAULT, offset.data(), &mask, bytes.data()) < 0) {
    fail(ErrorKind::kFormat, "the HDF5 library cannot read a chunk");
  }
  const std::size_t found = unpacked_bytes(std::move(bytes), plan, mask);
  if (found != plan.chunk_bytes) {
    fail(ErrorKind::kFormat, "expected a chunk of " + std::to_string(plan.chunk_bytes) +
                                 " bytes, found " + std::to_string(found));
  }
}

}  // namespace

void check_stored_chunks(const Hdf5Handle& table, std::size_t first, std::size_t count) {
  const Hdf5Handle properties(::H5Dget_create_plist(table.get()), ::H5Pclose,
                              "data set properties");
  if (::H5Pget_layout(properties.get()) != H5D_CHUNKED || count == 0) return;
  const Hdf5Handle space(::H5Dget_space(table.get()), ::H5Sclose, "data space");
  ChunkPlan plan = plan_chunks(table, properties, space);
  if (plan.extents.empty()) return;
  // Walk the grid of chunks like an odometer; only rows that are wanted along the first extent.
  const hsize_t first_row = first / plan.chunk[0] * plan.chunk[0];
  plan.extents[0] = std::min<hsize_t>(plan.extents[0], first + count);
  std::vector<hsize_t> offset(plan.extents.size(), 0);
  offset[0] = first_row;
  while (offset[0] < plan.extents[0]) {
    check_chunk(table, plan, offset);
    for (std::size_t d = offset.size(); d-- > 0;) {
      offset[d] += plan.chunk[d];
      if (offset[d] < plan.extents[d] || d == 0) break;
      offset[d] = 0;
    }
  }
}

}  // namespace halftone::formats
