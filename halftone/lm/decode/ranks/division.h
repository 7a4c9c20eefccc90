// SPDX-License-Identifier: Apache-2.0
// Which elements of a value each rank has.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "halftone/ir/ops/sequence.h"
#include "halftone/ir/tensor.h"

namespace halftone::lm {

/// Elements of an axis.
struct Range {
  std::size_t begin = 0;
  std::size_t count = 0;
  bool operator==(const Range&) const = default;
};

/// Elements of one axis of a value, by rank. All elements are in a range, some may be in several.
struct Division {
  std::size_t axis = 0;  ///< counted from the last, which is 0
  std::vector<Range> ranges{};
  bool operator==(const Division&) const = default;

  /// The axis as shapes count it. @pre axis < rank
  [[nodiscard]] std::size_t axis_of(const ir::Shape& shape) const {
    return shape.rank() - 1 - axis;
  }
};

/// Each element of the axis as `width` elements.
Division scaled(Division division, std::size_t width);
/// Each `width` elements of the axis as one; nothing if a range begins or ends inside.
std::optional<Division> divided_by(Division division, std::size_t width);

/// Rows of a matrix as equal as whole strips of kernels allow. @pre rows >= ranks
std::vector<Range> ranges_of_rows(std::size_t rows, std::size_t ranks);

/// Heads of an attention. Ranks have whole heads of keys with their heads of queries; more ranks
/// than heads of keys share these, and more ranks than heads compute some twice.
struct HeadRanges {
  std::vector<Range> heads;
  std::vector<Range> kv_heads;
};
HeadRanges ranges_of_heads(const ir::Attention& op, std::size_t ranks);

/// The elements of a rank as a constant of their own: a view where they follow each other, which
/// keeps the whole alive, otherwise a copy.
/// @pre not encoded; blocks are divided along another axis than the last
ir::Constant part_of(const std::shared_ptr<const ir::Constant>& whole, const Division& division,
                     std::size_t rank);

/// Shape of the part of a rank.
ir::Shape part_of(ir::Shape shape, const Division& division, std::size_t rank);

}  // namespace halftone::lm
