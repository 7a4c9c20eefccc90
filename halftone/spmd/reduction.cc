// SPDX-License-Identifier: Apache-2.0
#include "halftone/spmd/reduction.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "halftone/base/buffer.h"
#include "halftone/spmd/errors.h"
#include "halftone/spmd/leaves.h"

namespace halftone::spmd::internal {
namespace {

/// Partial sums of a block fit the first-level cache.
constexpr std::size_t kBlockBytes = 8192;

template <typename T>
T sum_of(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Bits = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Bits>(a) + static_cast<Bits>(b));
  } else {
    return a + b;
  }
}

template <typename T>
bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(x);
  return false;
}

template <typename T, typename Operation>
void apply(std::span<std::byte> dst, std::span<const std::byte> a, std::span<const std::byte> b,
           Operation operation) {
  auto* out = reinterpret_cast<T*>(dst.data());
  const auto* lhs = reinterpret_cast<const T*>(a.data());
  const auto* rhs = reinterpret_cast<const T*>(b.data());
  const std::size_t n = dst.size() / sizeof(T);
  for (std::size_t i = 0; i < n; ++i) out[i] = operation(lhs[i], rhs[i]);
}

/// One block of the tree; the memory of node (level, *) is scratch + level * kBlockBytes.
class BlockTree {
 public:
  BlockTree(Reduction reduction, ElementType element,
            std::span<const std::span<const std::byte>> sources)
      : reduction_(reduction),
        element_(element),
        sources_(sources),
        levels_(static_cast<std::size_t>(std::bit_width(sources.size() - 1))),
        scratch_((levels_ + 1) * kBlockBytes) {}

  void run(std::size_t begin, std::span<std::byte> dst) {
    begin_ = begin;
    const std::span<const std::byte> result = node({levels_, 0}, dst);
    if (result.data() != dst.data()) std::memcpy(dst.data(), result.data(), dst.size());
  }

 private:
  std::span<const std::byte> node(TreeNode at, std::span<std::byte> dst) {
    if (at.level == 0) return sources_[at.index].subspan(begin_, dst.size());
    const TreeNode left{at.level - 1, 2 * at.index};
    const TreeNode right{at.level - 1, 2 * at.index + 1};
    const std::span<const std::byte> a = node(left, dst);
    if (right.index << right.level >= sources_.size()) return a;
    const std::span<const std::byte> b =
        node(right, scratch_.bytes().subspan(at.level * kBlockBytes, dst.size()));
    combine(reduction_, element_, dst, a, b);
    return dst;
  }

  Reduction reduction_;
  ElementType element_;
  std::span<const std::span<const std::byte>> sources_;
  std::size_t levels_;
  AlignedBuffer scratch_;
  std::size_t begin_ = 0;
};

}  // namespace

void combine(Reduction reduction, ElementType element, std::span<std::byte> dst,
             std::span<const std::byte> a, std::span<const std::byte> b) {
  with_element(element, [&](auto zero) {
    using T = decltype(zero);
    switch (reduction) {
      case Reduction::kSum:
        return apply<T>(dst, a, b, [](T x, T y) { return sum_of(x, y); });
      case Reduction::kMax:
        return apply<T>(dst, a, b, [](T x, T y) { return x > y || is_nan(x) ? x : y; });
      case Reduction::kMin:
        return apply<T>(dst, a, b, [](T x, T y) { return x < y || is_nan(x) ? x : y; });
    }
  });
}

void divide(ElementType element, std::span<std::byte> x, std::size_t divisor) {
  with_element(element, [&](auto zero) {
    using T = decltype(zero);
    auto* values = reinterpret_cast<T*>(x.data());
    for (std::size_t i = 0; i < x.size() / sizeof(T); ++i) values[i] /= static_cast<T>(divisor);
  });
}

void reduce(Reduction reduction, ElementType element, std::span<std::byte> dst,
            std::span<const std::span<const std::byte>> sources) {
  BlockTree tree(reduction, element, sources);
  for (std::size_t begin = 0; begin < dst.size(); begin += kBlockBytes) {
    tree.run(begin, dst.subspan(begin, std::min(kBlockBytes, dst.size() - begin)));
  }
}

void TreeReduction::add(TreeNode node, std::vector<ArrayDraft> arrays) {
  Entry entry;
  for (ArrayDraft& memory : arrays) {
    entry.arrays.push_back(std::move(memory.array));
    entry.own.push_back(memory.bytes);
  }
  add(node, std::move(entry));
}

void TreeReduction::add(TreeNode node, Entry entry) {
  for (;;) {
    // A node over all lanes is the root. One whose sibling lies beyond the last lane moves up.
    const bool is_left = node.index % 2 == 0;
    const std::size_t sibling = is_left ? node.index + 1 : node.index - 1;
    std::unique_lock lock(mutex_);
    if (node.index == 0 && num_lanes_ <= std::size_t{1} << node.level) {
      entries_.emplace(node, std::move(entry));
      return;
    }
    if (sibling << node.level < num_lanes_) {
      const auto other = entries_.find({node.level, sibling});
      if (other == entries_.end()) {
        entries_.emplace(node, std::move(entry));
        return;
      }
      Entry partner = std::move(other->second);
      entries_.erase(other);
      lock.unlock();
      entry = is_left ? combined(std::move(entry), std::move(partner))
                      : combined(std::move(partner), std::move(entry));
    }
    node = {node.level + 1, node.index / 2};
  }
}

TreeReduction::Entry TreeReduction::combined(Entry left, Entry right) const {
  const std::size_t num_leaves = left.arrays.size();
  if (right.arrays.size() != num_leaves)
    fail(ErrorKind::kShape, "results differ in their number of arrays");
  for (std::size_t l = 0; l < num_leaves; ++l) {
    if (!left.arrays[l].same_type(right.arrays[l])) {
      fail(ErrorKind::kShape,
           "results differ in type: " + left.arrays[l].type() + " and " + right.arrays[l].type());
    }
  }
  Entry result;
  if (!left.own.empty() || !right.own.empty()) {
    result = left.own.empty() ? right : left;
  } else {
    for (const Array& array : left.arrays) {
      ArrayDraft memory = draft(array.element(), array.shape());
      result.arrays.push_back(std::move(memory.array));
      result.own.push_back(memory.bytes);
    }
  }
  for (std::size_t l = 0; l < num_leaves; ++l) {
    combine(reduction_, left.arrays[l].element(), result.own[l], left.arrays[l].bytes(),
            right.arrays[l].bytes());
  }
  return result;
}

std::map<TreeNode, std::vector<Array>> TreeReduction::nodes() const {
  const std::lock_guard lock(mutex_);
  std::map<TreeNode, std::vector<Array>> result;
  for (const auto& [node, entry] : entries_) result.emplace(node, entry.arrays);
  return result;
}

std::vector<Array> TreeReduction::result() const {
  const std::lock_guard lock(mutex_);
  HALFTONE_ASSERT(entries_.size() == 1);
  return entries_.begin()->second.arrays;
}

}  // namespace halftone::spmd::internal
