// SPDX-License-Identifier: Apache-2.0
// TensorFlow's converter writes a step of a TensorArray as three parts joined: the rows before the
// position, the new row, and the rows behind it. A graph replaces the row instead, so that no
// extent depends on the position.
#pragma once

#include <cstddef>
#include <map>
#include <set>

#include "halftone/formats/circle/file_model.h"

namespace halftone::formats::circle {

/// list[position] = row, by tensors; the row has an axis of extent 1 in front.
struct ListWrite {
  std::size_t list = 0;
  std::size_t position = 0;  ///< one integer
  std::size_t row = 0;
};

struct ListWrites {
  std::map<std::size_t, ListWrite> writes;  ///< by the CONCATENATION
  std::set<std::size_t> parts;              ///< the SLICEs before it, which nothing else reads
};

/// @throws Error kFormat if an index or a constant in the file is malformed
ListWrites find_list_writes(const FileModel& file);

}  // namespace halftone::formats::circle
