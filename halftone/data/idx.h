// SPDX-License-Identifier: Apache-2.0
// IDX, the format of MNIST: a big-endian header and unsigned bytes, plain or gzip.
//
//     00 00 08 r | extent 1 ... extent r, each uint32 big-endian | elements, last extent fastest
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "halftone/data/file_bytes.h"

namespace halftone::data {

/// An array of unsigned bytes.
struct IdxArray {
  std::vector<std::size_t> shape;  ///< as the header says
  FileBytes data;                  ///< the elements; only those of the first items if limited
};

/// Reads an IDX file of unsigned bytes. A plain file is not copied; of a gzip file only what the
/// header promises is unpacked.
/// @param rank   extents the header must have: 3 for images, 1 for labels
/// @param limit  how many items along the first extent to unpack; all where absent
/// @throws Error kFormat if magic, rank or size are not what they should be
IdxArray parse_idx(const FileBytes& file, std::size_t rank, std::optional<std::size_t> limit = {});

}  // namespace halftone::data
