// SPDX-License-Identifier: Apache-2.0
// IDX, the format of MNIST: a big-endian header and unsigned bytes, plain or gzip.
//
//     00 00 08 r | extent 1 ... extent r, each uint32 big-endian | elements, last extent fastest
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "halftone/base/shared_bytes.h"

namespace halftone::data {

/// An array of unsigned bytes.
struct IdxArray {
  std::vector<std::size_t> shape;  ///< as stated in the header
  SharedBytes data;                ///< the elements; only the first items if limited
};

/// Reads an IDX file of unsigned bytes. A plain file is not copied. Of a gzip file, only as many
/// bytes as the header states are unpacked.
/// @param rank   required number of extents: 3 for images, 1 for labels
/// @param limit  maximal number of items to unpack along the first extent; absent: all
/// @throws Error kFormat if magic, rank or size are wrong
IdxArray parse_idx(const SharedBytes& file, std::size_t rank,
                   std::optional<std::size_t> limit = {});

}  // namespace halftone::data
