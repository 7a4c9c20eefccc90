// SPDX-License-Identifier: Apache-2.0
#include "halftone/spmd/array.hpp"

#include <array>
#include <cstring>
#include <map>
#include <mutex>

#include "halftone/base/memory.h"
#include "halftone/spmd/errors.h"
#include "halftone/spmd/leaves.h"

namespace halftone::spmd {
namespace {

constexpr std::size_t kAlignment = 64;

struct alignas(kAlignment) Block {
  std::array<std::byte, kAlignment> bytes;
};

/// Keeps the memory of freed large arrays for new arrays of the same size. Repeated collectives
/// would otherwise get fresh pages from the system each time, at several times the cost of a sum.
class SparePool : public std::enable_shared_from_this<SparePool> {
 public:
  static constexpr std::size_t kLeastBlocks = (std::size_t{128} << 10) / kAlignment;

  static SparePool& shared() {
    static const auto pool = std::make_shared<SparePool>();
    return *pool;
  }

  std::shared_ptr<Block[]> take(std::size_t num_blocks) {
    std::unique_ptr<Block[]> blocks;
    {
      const std::lock_guard lock(mutex_);
      if (const auto spare = spares_.find(num_blocks); spare != spares_.end()) {
        blocks = std::move(spare->second);
        spares_.erase(spare);
        num_spare_ -= num_blocks;
      }
    }
    if (blocks == nullptr) blocks = std::make_unique_for_overwrite<Block[]>(num_blocks);
    // Arrays may outlive the static pool, so they keep it alive.
    return {blocks.release(), [pool = shared_from_this(), num_blocks](Block* memory) {
              pool->put(std::unique_ptr<Block[]>(memory), num_blocks);
            }};
  }

 private:
  static constexpr std::size_t kMaxBlocks = (std::size_t{32} << 20) / kAlignment;

  void put(std::unique_ptr<Block[]> blocks, std::size_t num_blocks) {
    const std::lock_guard lock(mutex_);
    if (num_spare_ + num_blocks > kMaxBlocks) return;
    spares_.emplace(num_blocks, std::move(blocks));
    num_spare_ += num_blocks;
  }

  std::mutex mutex_;
  std::multimap<std::size_t, std::unique_ptr<Block[]>> spares_;  ///< by their number of blocks
  std::size_t num_spare_ = 0;
};

std::size_t element_count(const Shape& shape) {
  constexpr std::int64_t kMax = std::int64_t{1} << 40;
  std::int64_t nonzero = 1;
  bool empty = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || extent > kMax || (extent != 0 && nonzero > kMax / extent)) {
      fail(ErrorKind::kShape, "shape " + to_string(shape) +
                                  ": expected extents of at least 0 and at most 2^40 elements");
    }
    if (extent == 0) empty = true;
    nonzero *= std::max<std::int64_t>(extent, 1);
  }
  return empty ? 0 : static_cast<std::size_t>(nonzero);
}

/// Product of the extents [begin, end).
std::size_t product(const Shape& shape, std::size_t begin, std::size_t end) {
  std::size_t result = 1;
  for (std::size_t a = begin; a < end; ++a) result *= static_cast<std::size_t>(shape[a]);
  return result;
}

void require_axis(const Array& array, std::size_t axis) {
  if (axis >= array.rank()) {
    fail(ErrorKind::kShape, array.type() + " has no axis " + std::to_string(axis));
  }
}

void require_some(std::span<const Array> arrays, const char* what) {
  if (arrays.empty())
    fail(ErrorKind::kShape, std::string(what) + ": expected at least one array, found none");
}

Shape without_axis(Shape shape, std::size_t axis) {
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  return shape;
}

Shape with_axis(Shape shape, std::size_t axis, std::int64_t extent) {
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), extent);
  return shape;
}

}  // namespace

inline namespace v0 {

std::string_view to_string(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return "float32";
    case ElementType::kFloat64:
      return "float64";
    case ElementType::kInt32:
      return "int32";
    case ElementType::kInt64:
      return "int64";
  }
  return "unknown";
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (std::size_t a = 0; a < shape.size(); ++a) {
    text += (a == 0 ? "" : ", ") + std::to_string(shape[a]);
  }
  return text + "]";
}

ArrayDraft draft(ElementType element, Shape shape) {
  Array array;
  array.size_ = element_count(shape);
  array.element_ = element;
  array.shape_ = std::move(shape);
  const std::size_t num_bytes =
      array.size_ * internal::with_element(element, [](auto zero) { return sizeof(zero); });
  require_memory(num_bytes, "an array");
  const std::size_t num_blocks = (num_bytes + kAlignment - 1) / kAlignment;
  std::shared_ptr<Block[]> blocks = num_blocks < SparePool::kLeastBlocks
                                        ? std::make_shared_for_overwrite<Block[]>(num_blocks)
                                        : SparePool::shared().take(num_blocks);
  auto* bytes = reinterpret_cast<std::byte*>(blocks.get());
  array.data_ = std::shared_ptr<const std::byte>(std::move(blocks), bytes);
  return {std::move(array), {bytes, num_bytes}};
}

Array Array::wrap_bytes(ElementType element, Shape shape, std::span<const std::byte> bytes,
                        std::shared_ptr<const void> owner) {
  Array array;
  array.size_ = element_count(shape);
  array.element_ = element;
  array.shape_ = std::move(shape);
  if (array.size_ * spmd::size_bytes(element) != bytes.size()) {
    fail(ErrorKind::kShape, array.type() + ": expected " + std::to_string(array.size_) +
                                " values, found " +
                                std::to_string(bytes.size() / spmd::size_bytes(element)));
  }
  array.data_ = std::shared_ptr<const std::byte>(std::move(owner), bytes.data());
  return array;
}

std::string Array::type() const {
  return std::string(spmd::to_string(element_)) + spmd::to_string(shape_);
}

void Array::check_element(ElementType wanted) const {
  if (element_ != wanted) {
    fail(ErrorKind::kUsage,
         type() + ": expected " + std::string(spmd::to_string(wanted)) + " elements");
  }
}

void Array::check_single() const {
  if (size_ != 1) fail(ErrorKind::kUsage, type() + ": expected exactly one element");
}

Array Array::reshaped(Shape shape) const {
  Array result = *this;
  if (element_count(shape) != size_) {
    fail(ErrorKind::kShape, "cannot reshape " + type() + " to " + spmd::to_string(shape));
  }
  result.shape_ = std::move(shape);
  return result;
}

Array Array::part(std::size_t axis, std::int64_t begin, std::int64_t count) const {
  require_axis(*this, axis);
  if (begin < 0 || count < 0 || begin > shape_[axis] - count) {
    fail(ErrorKind::kShape, "entries " + std::to_string(begin) + " to " +
                                std::to_string(begin + count) + " along axis " +
                                std::to_string(axis) + " are out of range for " + type());
  }
  Shape shape = shape_;
  shape[axis] = count;
  const std::size_t inner_bytes = product(shape_, axis + 1, rank()) * spmd::size_bytes(element_);
  const std::size_t offset = static_cast<std::size_t>(begin) * inner_bytes;
  const std::size_t outer = product(shape_, 0, axis);
  if (outer == 1) {
    Array result = *this;
    result.size_ = element_count(shape);
    result.shape_ = std::move(shape);
    result.data_ = std::shared_ptr<const std::byte>(data_, data_.get() + offset);
    return result;
  }
  const ArrayDraft result = draft(element_, std::move(shape));
  const std::size_t src_stride = static_cast<std::size_t>(shape_[axis]) * inner_bytes;
  const std::size_t block = static_cast<std::size_t>(count) * inner_bytes;
  for (std::size_t o = 0; block != 0 && o < outer; ++o) {
    std::memcpy(result.bytes.data() + o * block, data_.get() + o * src_stride + offset, block);
  }
  return result.array;
}

Array Array::slice(std::size_t axis, std::int64_t index) const {
  return part(axis, index, 1).reshaped(without_axis(shape_, axis));
}

}  // namespace v0

namespace internal {

void write_part(std::span<std::byte> dst, const Shape& shape, std::size_t axis, std::int64_t begin,
                const Array& src) {
  const std::size_t outer = product(shape, 0, axis);
  const std::size_t inner_bytes =
      product(shape, axis + 1, shape.size()) * size_bytes(src.element());
  const std::size_t stride = static_cast<std::size_t>(shape[axis]) * inner_bytes;
  const std::size_t block = outer == 0 ? 0 : src.bytes().size() / outer;
  for (std::size_t o = 0; block != 0 && o < outer; ++o) {
    std::memcpy(dst.data() + o * stride + static_cast<std::size_t>(begin) * inner_bytes,
                src.bytes().data() + o * block, block);
  }
}

}  // namespace internal

inline namespace v0 {

Array stack(std::span<const Array> arrays, std::size_t axis) {
  require_some(arrays, "stack");
  const Array& first = arrays.front();
  if (axis > first.rank()) {
    fail(ErrorKind::kShape,
         "stack: axis " + std::to_string(axis) + " is out of range for " + first.type());
  }
  const Shape shape = with_axis(first.shape(), axis, static_cast<std::int64_t>(arrays.size()));
  const ArrayDraft result = draft(first.element(), shape);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (!arrays[i].same_type(first)) {
      fail(ErrorKind::kShape, "stack: " + first.type() + " and " + arrays[i].type() + " differ");
    }
    internal::write_part(result.bytes, shape, axis, static_cast<std::int64_t>(i), arrays[i]);
  }
  return result.array;
}

Array concatenate(std::span<const Array> arrays, std::size_t axis) {
  require_some(arrays, "concatenation");
  const Array& first = arrays.front();
  require_axis(first, axis);
  Shape shape = first.shape();
  shape[axis] = 0;
  for (const Array& array : arrays) {
    if (array.element() != first.element() || array.rank() != first.rank() ||
        without_axis(array.shape(), axis) != without_axis(shape, axis)) {
      fail(ErrorKind::kShape, "concatenation: " + first.type() + " and " + array.type() +
                                  " do not fit along axis " + std::to_string(axis));
    }
    shape[axis] += array.shape()[axis];
  }
  const ArrayDraft result = draft(first.element(), shape);
  std::int64_t begin = 0;
  for (const Array& array : arrays) {
    internal::write_part(result.bytes, shape, axis, begin, array);
    begin += array.shape()[axis];
  }
  return result.array;
}

}  // namespace v0
}  // namespace halftone::spmd
