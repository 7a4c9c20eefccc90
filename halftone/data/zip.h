// SPDX-License-Identifier: Apache-2.0
// Entries of ZIP archives, as NumPy writes them into .npz files.
#pragma once

#include <string>
#include <vector>

#include "halftone/base/shared_bytes.h"

namespace halftone::data {

struct ZipEntry {
  std::string name;
  SharedBytes bytes;  ///< unpacked
};

/// Reads all entries of an archive, in the order of its directory. Entries that are not compressed
/// are views of the file, and their checksum is not verified. Entries do not overlap, so memory is
/// bounded by the most that deflate can unpack from a file of this size.
/// @throws Error kFormat if the archive is malformed, an entry is damaged or a name occurs twice;
///         kUnsupported for encryption, several volumes, and compression other than deflate
/// Source: PKWARE, APPNOTE.TXT 6.3.10, sections 4.3 to 4.5.
std::vector<ZipEntry> read_zip(const SharedBytes& file);

}  // namespace halftone::data
