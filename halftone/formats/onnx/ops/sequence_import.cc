// SPDX-License-Identifier: Apache-2.0
// Sequences of tensors with as many elements as the file says: each element is a value.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/formats/onnx/slicing.h"
#include "halftone/ir/extent.h"

namespace halftone::formats::onnx {
namespace {

using ir::ValueId;

const Sequence& sequence_input(NodeBuilder& node, std::size_t i) {
  const auto* sequence = node.input_as<Sequence>(i);
  if (sequence == nullptr) NodeBuilder::unsupported("sequences of unknown length");
  return *sequence;
}

/// The position that input i names; the end if it is absent.
/// @param size  of the elements that may be named
std::size_t insert_position(NodeBuilder& node, std::size_t i, std::size_t size) {
  if (!node.has_input(i)) return size;
  const std::int64_t stated = number_input(node, i);
  const std::int64_t at = stated < 0 ? stated + static_cast<std::int64_t>(size) : stated;
  if (at < 0 || at > static_cast<std::int64_t>(size)) {
    fail(ErrorKind::kShape, "position " + std::to_string(stated) + " in a sequence of " +
                                std::to_string(size) + " elements");
  }
  return static_cast<std::size_t>(at);
}

/// The position of an element; the last if the input is absent.
std::size_t element_position(NodeBuilder& node, std::size_t i, const Sequence& sequence) {
  if (sequence.empty()) fail(ErrorKind::kShape, "expected a sequence with elements");
  const std::size_t at = insert_position(node, i, sequence.size());
  if (at < sequence.size()) return at;
  if (!node.has_input(i)) return sequence.size() - 1;
  fail(ErrorKind::kShape, "position " + std::to_string(at) + " in a sequence of " +
                              std::to_string(sequence.size()) + " elements");
}

void build_construct(NodeBuilder& node) { node.bind_output(0, Sequence(node.inputs())); }

void build_empty(NodeBuilder& node) { node.bind_output(0, Sequence()); }

void build_insert(NodeBuilder& node) {
  Sequence sequence = sequence_input(node, 0);
  const std::size_t at = insert_position(node, 2, sequence.size());
  sequence.insert(sequence.begin() + static_cast<std::ptrdiff_t>(at), node.input(1));
  node.bind_output(0, std::move(sequence));
}

void build_erase(NodeBuilder& node) {
  Sequence sequence = sequence_input(node, 0);
  const std::size_t at = element_position(node, 1, sequence);
  sequence.erase(sequence.begin() + static_cast<std::ptrdiff_t>(at));
  node.bind_output(0, std::move(sequence));
}

void build_at(NodeBuilder& node) {
  const Sequence& sequence = sequence_input(node, 0);
  node.bind_output(0, sequence[element_position(node, 1, sequence)]);
}

void build_length(NodeBuilder& node) {
  const auto count = static_cast<std::int64_t>(sequence_input(node, 0).size());
  node.set_output(Integers{true, ir::ElementType::kInt64, {count}});
}

/// Sizes of the parts of an axis: as stated, one number for all but the last, or ones.
std::vector<Extent> part_sizes(NodeBuilder& node, const Extent& extent) {
  const auto stated =
      node.has_input(1) ? node.extents(1) : Integers{true, ir::ElementType::kInt64, {1}};
  if (!stated) NodeBuilder::unsupported("input 1: expected integers");
  if (!stated->is_scalar) return stated->values;
  const auto size = stated->values[0].number();
  const auto whole = extent.number();
  if (!size || !whole || *size < 1) {
    NodeBuilder::unsupported("parts of " + stated->values[0].text() + " of an extent of " +
                             extent.text());
  }
  std::vector<Extent> sizes;
  for (std::int64_t at = 0; at < *whole; at += *size) {
    sizes.emplace_back(std::min(*size, *whole - at));
  }
  return sizes;
}

void build_split_to_sequence(NodeBuilder& node) {
  const ValueId x = node.input(0);
  const ir::Shape shape = node.type(x).shape;
  const std::size_t axis = ir::normalized_axis(node.int_attribute("axis", 0), shape.rank());
  const bool keeps_axis = node.has_input(1) || node.int_attribute("keepdims", 1) != 0;
  Sequence parts = split_parts(node, x, axis, part_sizes(node, ir::extent_of(shape[axis])));
  for (ValueId& part : parts) {
    if (!keeps_axis) part = squeezed(node, part, axis);
  }
  node.bind_output(0, std::move(parts));
}

void build_concat_from_sequence(NodeBuilder& node) {
  Sequence parts = sequence_input(node, 0);
  if (parts.empty()) fail(ErrorKind::kShape, "expected a sequence with elements");
  const bool stacks = node.int_attribute("new_axis", 0) != 0;
  const std::size_t rank = node.type(parts[0]).shape.rank() + (stacks ? 1 : 0);
  const std::size_t axis = ir::normalized_axis(node.int_attribute("axis", 0), rank);
  for (ValueId& part : parts) {
    if (stacks) part = unsqueezed(node, part, axis);
  }
  node.set_output(0, parts.size() == 1 ? parts[0] : node.emit(ir::Concat{axis}, std::move(parts)));
}

constexpr ReaderEntry kSequenceReaders[] = {
    {"", "ConcatFromSequence", build_concat_from_sequence},
    {"", "SequenceAt", build_at},
    {"", "SequenceConstruct", build_construct},
    {"", "SequenceEmpty", build_empty},
    {"", "SequenceErase", build_erase},
    {"", "SequenceInsert", build_insert},
    {"", "SequenceLength", build_length},
    {"", "SplitToSequence", build_split_to_sequence},
};

}  // namespace

std::span<const ReaderEntry> sequence_readers() { return kSequenceReaders; }

}  // namespace halftone::formats::onnx
