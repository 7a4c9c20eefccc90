// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/circle/sparse_tensor.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "halftone/formats/circle/check.h"
#include "halftone/formats/circle/constant_tensor.h"
#include "halftone/formats/circle/file_model.h"

namespace halftone::formats::circle {
namespace {

using Indices = std::vector<std::size_t>;

/// The indices in a union of vectors of different widths.
Indices indices_of(schema::SparseIndexVector kind, const void* vector) {
  const auto widened = [](const auto* table) {
    const auto values = elements(table->values());
    Indices result;
    for (const auto value : values) {
      if constexpr (std::is_signed_v<std::remove_cvref_t<decltype(value)>>) {
        check(value >= 0, "sparse indices: expected numbers of at least 0");
      }
      result.push_back(static_cast<std::size_t>(value));
    }
    return result;
  };
  check(vector != nullptr, "sparse indices are missing");
  switch (kind) {
    case schema::SparseIndexVector::Int32Vector:
      return widened(static_cast<const schema::Int32Vector*>(vector));
    case schema::SparseIndexVector::Uint16Vector:
      return widened(static_cast<const schema::Uint16Vector*>(vector));
    case schema::SparseIndexVector::Uint8Vector:
      return widened(static_cast<const schema::Uint8Vector*>(vector));
    case schema::SparseIndexVector::NONE:
      break;
  }
  fail(ErrorKind::kFormat, "sparse indices of an unknown kind");
}

/// One level of the tree of stored elements.
struct Level {
  std::size_t axis = 0;    ///< of the tensor
  std::size_t factor = 1;  ///< of an index in the element's index along the axis
  std::size_t extent = 0;  ///< exclusive bound of an index
  bool is_dense = true;
  Indices segments =
      {};  ///< of a sparse level: those of parent p are [segments[p], segments[p + 1])
  Indices indices = {};
};

Level level_of(const schema::DimensionMetadata& stored) {
  Level level;
  level.is_dense = stored.format() == schema::DimensionType::DENSE;
  if (level.is_dense) {
    check(stored.dense_size() > 0, "a dense level of a sparse tensor is empty");
    level.extent = static_cast<std::size_t>(stored.dense_size());
    return level;
  }
  level.segments = indices_of(stored.array_segments_type(), stored.array_segments());
  level.indices = indices_of(stored.array_indices_type(), stored.array_indices());
  // So every index has one parent, and a walk takes no more steps than there are indices.
  check(!level.segments.empty() && level.segments.front() == 0 &&
            std::ranges::is_sorted(level.segments) && level.segments.back() == level.indices.size(),
        "the segments of a sparse level do not divide its indices");
  return level;
}

/// Copies the stored elements to their positions.
class Scatter {
 public:
  Scatter(std::vector<Level> levels, const ir::Tensor& stored, ir::Tensor& dense)
      : levels_(std::move(levels)), stored_(stored), dense_(dense), index_(dense.shape().rank()) {}

  /// Visits the children of a node.
  /// @param depth   of the level of the children
  /// @param parent  index of the node among those of its level
  void visit(std::size_t depth, std::size_t parent) {
    if (depth == levels_.size()) return copy(parent);
    const Level& level = levels_[depth];
    if (level.is_dense) {
      for (std::size_t i = 0; i < level.extent; ++i) {
        descend(depth, i, parent * level.extent + i);
      }
      return;
    }
    check(parent + 1 < level.segments.size(), "a sparse level has too few segments");
    for (std::size_t i = level.segments[parent]; i < level.segments[parent + 1]; ++i) {
      check(level.indices[i] < level.extent, "a sparse index is out of range");
      descend(depth, level.indices[i], i);
    }
  }

 private:
  void descend(std::size_t depth, std::size_t index, std::size_t node) {
    const Level& level = levels_[depth];
    index_[level.axis] += index * level.factor;
    visit(depth + 1, node);
    index_[level.axis] -= index * level.factor;
  }

  void copy(std::size_t from) {
    check(from < stored_.size(), "a sparse tensor has too few elements");
    std::size_t to = 0;
    for (std::size_t axis = 0; axis < index_.size(); ++axis) {
      to = to * static_cast<std::size_t>(dense_.shape()[axis]) + index_[axis];
    }
    const std::size_t width = ir::size_bytes(dense_.element());
    std::memcpy(dense_.bytes().data() + to * width, stored_.bytes().data() + from * width, width);
  }

  std::vector<Level> levels_;
  const ir::Tensor& stored_;
  ir::Tensor& dense_;
  Indices index_;  ///< of the element that is being visited
};

/// The levels with the axes that they index. Level `order[i] >= rank` is within the blocks of axis
/// block_map[order[i] - rank].
std::vector<Level> levels_of(const ir::Shape& shape, const schema::SparsityParameters& sparsity) {
  const auto order = elements(sparsity.traversal_order());
  const auto blocks = elements(sparsity.block_map());
  const std::size_t rank = shape.rank();
  const std::size_t count = rank + blocks.size();
  check(rank > 0 && blocks.size() <= rank && order.size() == count &&
            sparsity.dim_metadata() != nullptr && sparsity.dim_metadata()->size() == count,
        "expected a level for each axis and block of " + shape.to_string());
  std::vector<Level> levels(count);
  std::vector<std::size_t> block_sizes(rank, 1);
  std::vector<bool> seen(count, false);
  for (std::size_t i = 0; i < count; ++i) {
    const auto axis = static_cast<std::size_t>(order[i]);
    check(order[i] >= 0 && axis < count && !seen[axis], "the order of the levels is invalid");
    seen[axis] = true;
    levels[i] = level_of(*sparsity.dim_metadata()->Get(static_cast<flatbuffers::uoffset_t>(i)));
    levels[i].axis = axis;
    if (axis < rank) continue;
    const std::int32_t of = blocks[axis - rank];
    check(of >= 0 && static_cast<std::size_t>(of) < rank && levels[i].is_dense &&
              block_sizes[static_cast<std::size_t>(of)] == 1,
          "the blocks of a sparse tensor are invalid");
    levels[i].axis = static_cast<std::size_t>(of);
    block_sizes[levels[i].axis] = levels[i].extent;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (static_cast<std::size_t>(order[i]) >= rank) continue;
    const auto extent = static_cast<std::size_t>(shape[levels[i].axis]);
    levels[i].factor = block_sizes[levels[i].axis];
    const std::size_t num_blocks = extent / levels[i].factor;
    check(extent % levels[i].factor == 0 && (!levels[i].is_dense || levels[i].extent == num_blocks),
          "the levels of a sparse tensor do not fit " + shape.to_string());
    levels[i].extent = num_blocks;
  }
  return levels;
}

}  // namespace

ir::Tensor read_sparse(schema::TensorType type, const ir::Shape& shape,
                       const schema::SparsityParameters& sparsity,
                       std::span<const std::byte> bytes) {
  const std::size_t width = ir::size_bytes(stored_type(type));
  check(bytes.size() % width == 0, "the elements of a sparse tensor are incomplete");
  const auto count = static_cast<ir::Dim>(bytes.size() / width);
  const ir::Tensor stored = read_tensor(type, {count}, SharedBytes{nullptr, bytes, 0});
  ir::Tensor dense(stored.element(), shape);
  Scatter(levels_of(shape, sparsity), stored, dense).visit(0, 0);
  return dense;
}

}  // namespace halftone::formats::circle
