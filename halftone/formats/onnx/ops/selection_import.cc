// SPDX-License-Identifier: Apache-2.0
// Operators whose number of results depends on the elements of their input: the input must be a
// constant.
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/formats/onnx/tensors.h"
#include "halftone/ir/element.h"

namespace halftone::formats::onnx {
namespace {

using Numbers = std::vector<std::int64_t>;
using ir::Dim;
using ir::ElementType;
using ir::ValueId;

/// What Unique finds among slices, in the order of its output.
struct UniqueSlices {
  Numbers first;    ///< the first slice with a value
  Numbers inverse;  ///< for each slice the index of its value
  Numbers counts;
};

/// @param slices  [count, size]
template <typename T>
UniqueSlices unique_slices(std::span<const T> slices, std::size_t count, bool is_sorted) {
  const std::size_t size = count == 0 ? 0 : slices.size() / count;
  const auto slice = [&](std::int64_t i) {
    return slices.subspan(static_cast<std::size_t>(i) * size, size);
  };
  const auto before = [&](std::int64_t a, std::int64_t b) {
    return std::ranges::lexicographical_compare(slice(a), slice(b));
  };
  Numbers order(count);
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::ranges::stable_sort(order, before);
  UniqueSlices result;
  result.inverse.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (i == 0 || before(order[i - 1], order[i])) result.first.push_back(order[i]);
    result.inverse[static_cast<std::size_t>(order[i])] = std::ssize(result.first) - 1;
  }
  if (!is_sorted) {
    const Numbers found = result.first;
    std::ranges::sort(result.first);
    for (std::int64_t& at : result.inverse) {
      at = std::ranges::lower_bound(result.first, found[static_cast<std::size_t>(at)]) -
           result.first.begin();
    }
  }
  result.counts.resize(result.first.size());
  for (const std::int64_t at : result.inverse) ++result.counts[static_cast<std::size_t>(at)];
  return result;
}

UniqueSlices unique_slices(const ir::Tensor& slices, std::size_t count, bool is_sorted) {
  if (slices.element() == ElementType::kFloat32) {
    return unique_slices(slices.as<float>(), count, is_sorted);
  }
  if (slices.element() == ElementType::kUint64) {
    return unique_slices(slices.as<std::uint64_t>(), count, is_sorted);
  }
  const ir::Tensor wide = slices.cast(ElementType::kInt64);
  return unique_slices(std::as_const(wide).as<std::int64_t>(), count, is_sorted);
}

ValueId vector_of(NodeBuilder& node, const Numbers& numbers) {
  node.state().charge(numbers.size() * sizeof(std::int64_t));
  return node.add_constant(ir::Tensor::from<std::int64_t>({std::ssize(numbers)}, numbers));
}

void build_unique(NodeBuilder& node) {
  static_cast<void>(node.constant_input(0));
  ValueId x = node.input(0);
  std::size_t axis = 0;
  if (node.has_attribute("axis")) {
    axis = ir::normalized_axis(node.int_attribute("axis", 0), node.type(x).shape.rank());
  } else {
    x = node.reshape(x, {product_of(node.type(x).shape.dims())});
  }
  std::vector<std::size_t> order = all_axes(node.type(x).shape.rank());
  std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(axis),
              order.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
  const ir::Tensor* slices = node.constant(emit_transpose(node, order, x));
  if (slices == nullptr) NodeBuilder::unsupported("a constant of this size");
  const auto count = static_cast<std::size_t>(node.type(x).shape[axis]);
  const UniqueSlices found = unique_slices(*slices, count, node.int_attribute("sorted", 1) != 0);
  const ValueId first = vector_of(node, found.first);
  node.set_output(0, node.emit(ir::Gather{axis}, {x, first}));
  node.set_output(1, first);
  node.set_output(2, vector_of(node, found.inverse));
  node.set_output(3, vector_of(node, found.counts));
}

/// The indices [rank, count] of the elements that are not zero.
void build_non_zero(NodeBuilder& node) {
  const ir::Tensor& x = node.constant_input(0);
  const ir::Shape shape = x.shape();
  if (shape.rank() == 0) NodeBuilder::unsupported("a scalar");
  const ir::Tensor flags = x.cast(ElementType::kBool);
  const auto is_set = flags.as<std::uint8_t>();
  const auto count = static_cast<std::size_t>(std::ranges::count(is_set, std::uint8_t{1}));
  ir::Tensor indices =
      node.allocate(ElementType::kInt64, {static_cast<Dim>(shape.rank()), static_cast<Dim>(count)});
  const auto values = indices.as<std::int64_t>();
  std::size_t found = 0;
  for (std::size_t i = 0; i < is_set.size(); ++i) {
    if (is_set[i] == 0) continue;
    auto rest = static_cast<Dim>(i);
    for (std::size_t axis = shape.rank(); axis-- > 0; rest /= shape[axis]) {
      values[axis * count + found] = rest % shape[axis];
    }
    ++found;
  }
  node.set_output(0, node.add_constant(std::move(indices)));
}

constexpr ReaderEntry kSelectionReaders[] = {
    {"", "Unique", build_unique},
    {"", "NonZero", build_non_zero},
};

}  // namespace

std::span<const ReaderEntry> selection_readers() { return kSelectionReaders; }

}  // namespace halftone::formats::onnx
