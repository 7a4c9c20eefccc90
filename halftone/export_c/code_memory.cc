// SPDX-License-Identifier: Apache-2.0
#include "halftone/export_c/code_memory.h"

#include <algorithm>
#include <bit>
#include <variant>

namespace halftone::export_c {
namespace {

constexpr std::size_t kWordBits = 32;
constexpr int kMaxPackedBits = 4;

/// Whether convolutions alone read and write an image, or encoders.
bool is_image(const ir::Graph& graph, ir::ValueId id) {
  const auto producer = graph.producer(id);
  if (!producer || graph.value(id).type.shape.rank() < 3) return false;
  const ir::Operator& writer = graph.node(*producer).op;
  if (!std::holds_alternative<ir::Conv>(writer) && !std::holds_alternative<ir::Encode>(writer)) {
    return false;
  }
  return std::ranges::all_of(graph.consumers(id), [&](ir::NodeId reader) {
    const ir::Node& node = graph.node(reader);
    return std::holds_alternative<ir::Conv>(node.op) && node.inputs[0] == id;
  });
}

}  // namespace

std::size_t CodeRows::plane_bits() const {
  return memory == CodeMemory::kSharedPlanes ? cols
                                             : (cols + kWordBits - 1) / kWordBits * kWordBits;
}

std::size_t CodeRows::row_bits() const {
  const auto width = static_cast<std::size_t>(bits);
  if (is_bytes()) return 8 * cols;
  if (memory == CodeMemory::kPacked) return (width * cols + 7) / 8 * 8;
  return width * plane_bits();
}

std::size_t CodeRows::size_bytes() const {
  const std::size_t bytes = (rows * row_bits() + 7) / 8;
  return is_planes() ? (bytes + 3) / 4 * 4 : bytes;
}

std::string CodeRows::at(const std::string& name, const std::string& row) const {
  return name + " + " + row + " * " + std::to_string(row_bits() / (is_planes() ? kWordBits : 8));
}

CodeRows code_rows(const ir::Graph& graph, ir::ValueId id, runtime::CodeLayout layout) {
  const ir::ValueType& type = graph.value(id).type;
  const ir::MatrixExtent extent = runtime::row_extent(type.shape);
  CodeRows rows{CodeMemory::kBytes, extent.rows, extent.cols, type.encoding.codes->bits};
  const bool is_small = is_image(graph, id);
  if (layout == runtime::CodeLayout::kPlanes) {
    const bool shares = is_small && rows.cols < kWordBits && std::has_single_bit(rows.cols);
    rows.memory = shares ? CodeMemory::kSharedPlanes : CodeMemory::kPlanes;
  } else if (is_small && rows.bits <= kMaxPackedBits) {
    rows.memory = CodeMemory::kPacked;
    rows.bits = static_cast<int>(std::bit_ceil(static_cast<unsigned>(rows.bits)));
  }
  return rows;
}

}  // namespace halftone::export_c
