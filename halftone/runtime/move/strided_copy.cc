// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "halftone/base/parallel.h"
#include "halftone/ir/strides.h"
#include "halftone/kernels/dense/matmul.h"
#include "halftone/runtime/move/layout.h"

namespace halftone::runtime {
namespace {

/// Minimum chunk for which a call of memcpy is worthwhile.
constexpr std::size_t kLeastChunkBytes = 32;
/// A tile of a transposition reads this many lines of the source while they are in the cache.
constexpr std::size_t kTile = 16;

template <typename T>
void copy_line(const std::byte* src, std::byte* dst, const CopyAxis& axis) {
  if (axis.src_bytes == 0 && axis.dst_bytes == sizeof(T)) {
    T value;
    std::memcpy(&value, src, sizeof(T));
    std::fill_n(reinterpret_cast<T*>(dst), axis.count, value);
    return;
  }
  for (std::size_t i = 0; i < axis.count; ++i) {
    const auto k = static_cast<std::ptrdiff_t>(i);
    std::memcpy(dst + k * axis.dst_bytes, src + k * axis.src_bytes, sizeof(T));
  }
}

CopyAxis part_of(const CopyAxis& axis, std::size_t first, std::size_t max_count) {
  return {std::min(max_count, axis.count - first), axis.src_bytes, axis.dst_bytes};
}

/// Whether a plane is a transposed matrix of elements that a kernel copies.
template <typename T>
bool is_turned(const CopyAxis& outer, const CopyAxis& inner) {
  constexpr std::ptrdiff_t kElementBytes = sizeof(T);
  return outer.src_bytes == kElementBytes && inner.dst_bytes == kElementBytes &&
         inner.src_bytes > kElementBytes && outer.dst_bytes > kElementBytes &&
         inner.src_bytes % kElementBytes == 0 && outer.dst_bytes % kElementBytes == 0;
}

template <typename T>
void turn(const std::byte* src, std::byte* dst, const CopyAxis& outer, const CopyAxis& inner) {
  kernels::transpose(MatrixView<const T>(reinterpret_cast<const T*>(src), inner.count, outer.count,
                                         static_cast<std::size_t>(inner.src_bytes) / sizeof(T)),
                     MatrixView<T>(reinterpret_cast<T*>(dst), outer.count, inner.count,
                                   static_cast<std::size_t>(outer.dst_bytes) / sizeof(T)));
}

/// Copies the two innermost axes in tiles if the lines of source and destination cross.
template <typename T>
void copy_plane(const std::byte* src, std::byte* dst, const CopyAxis& outer,
                const CopyAxis& inner) {
  const bool crosses = std::abs(outer.src_bytes) < std::abs(inner.src_bytes);
  const std::size_t tile = crosses ? kTile : inner.count;
  for (std::size_t o = 0; o < outer.count; o += kTile) {
    const CopyAxis rows = part_of(outer, o, kTile);
    for (std::size_t i = 0; i < inner.count; i += tile) {
      const CopyAxis cols = part_of(inner, i, tile);
      const auto at_o = static_cast<std::ptrdiff_t>(o);
      const auto at_i = static_cast<std::ptrdiff_t>(i);
      const std::byte* from = src + at_o * outer.src_bytes + at_i * inner.src_bytes;
      std::byte* to = dst + at_o * outer.dst_bytes + at_i * inner.dst_bytes;
      for (std::size_t row = 0; row < rows.count; ++row) {
        const auto r = static_cast<std::ptrdiff_t>(row);
        copy_line<T>(from + r * rows.src_bytes, to + r * rows.dst_bytes, cols);
      }
    }
  }
}

void copy_chunks(const std::byte* src, std::byte* dst, const CopyAxis& axis, std::size_t bytes) {
  for (std::size_t i = 0; i < axis.count; ++i) {
    const auto k = static_cast<std::ptrdiff_t>(i);
    std::memcpy(dst + k * axis.dst_bytes, src + k * axis.src_bytes, bytes);
  }
}

void copy_innermost(const StridedCopy& copy, const std::byte* src, std::byte* dst,
                    const CopyAxis& outer, const CopyAxis& inner) {
  switch (copy.chunk_bytes) {
    case 1:
      if (is_turned<std::uint8_t>(outer, inner)) return turn<std::uint8_t>(src, dst, outer, inner);
      return copy_plane<std::uint8_t>(src, dst, outer, inner);
    case 2:
      return copy_plane<std::uint16_t>(src, dst, outer, inner);
    case 4:
      if (is_turned<std::uint32_t>(outer, inner)) {
        return turn<std::uint32_t>(src, dst, outer, inner);
      }
      return copy_plane<std::uint32_t>(src, dst, outer, inner);
    case 8:
      return copy_plane<std::uint64_t>(src, dst, outer, inner);
    default:
      for (std::size_t o = 0; o < outer.count; ++o) {
        const auto k = static_cast<std::ptrdiff_t>(o);
        copy_chunks(src + k * outer.src_bytes, dst + k * outer.dst_bytes, inner, copy.chunk_bytes);
      }
  }
}

/// Copies the axes from `first` on.
void copy_from(const StridedCopy& copy, std::size_t first, const std::byte* src, std::byte* dst) {
  const std::size_t left = copy.axes.size() - first;
  if (left <= 2) {
    const CopyAxis outer = left == 2 ? copy.axes[first] : CopyAxis{};
    const CopyAxis inner = left == 0 ? CopyAxis{} : copy.axes.back();
    return copy_innermost(copy, src, dst, outer, inner);
  }
  const CopyAxis& axis = copy.axes[first];
  for (std::size_t i = 0; i < axis.count; ++i) {
    const auto k = static_cast<std::ptrdiff_t>(i);
    copy_from(copy, first + 1, src + k * axis.src_bytes, dst + k * axis.dst_bytes);
  }
}

/// Merges axes that are contiguous in both source and destination.
std::vector<CopyAxis> merged(const std::vector<CopyAxis>& axes) {
  std::vector<CopyAxis> result;
  for (const CopyAxis& axis : axes) {
    if (axis.count == 1) continue;
    const auto count = static_cast<std::ptrdiff_t>(axis.count);
    if (!result.empty() && result.back().src_bytes == axis.src_bytes * count &&
        result.back().dst_bytes == axis.dst_bytes * count) {
      result.back() = {result.back().count * axis.count, axis.src_bytes, axis.dst_bytes};
    } else {
      result.push_back(axis);
    }
  }
  return result;
}

}  // namespace

StridedCopy copy_to_rows(const ir::Shape& shape, const std::vector<std::ptrdiff_t>& src_strides,
                         std::size_t element_bytes) {
  const std::vector<std::size_t> dst_strides = ir::row_major_strides(shape);
  const auto bytes = static_cast<std::ptrdiff_t>(element_bytes);
  StridedCopy copy;
  copy.chunk_bytes = element_bytes;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    copy.axes.push_back({static_cast<std::size_t>(shape[i]), src_strides[i] * bytes,
                         static_cast<std::ptrdiff_t>(dst_strides[i]) * bytes});
  }
  return copy;
}

StridedCopy simplified(StridedCopy copy) {
  const bool is_empty =
      std::ranges::any_of(copy.axes, [](const CopyAxis& a) { return a.count == 0; });
  if (is_empty) {
    copy.axes = {CopyAxis{0, 0, 0}};
    return copy;
  }
  copy.axes = merged(copy.axes);
  if (!copy.axes.empty()) {
    const CopyAxis inner = copy.axes.back();
    const auto chunk = static_cast<std::ptrdiff_t>(copy.chunk_bytes);
    const bool is_line = inner.src_bytes == chunk && inner.dst_bytes == chunk;
    if (is_line && inner.count * copy.chunk_bytes >= kLeastChunkBytes) {
      copy.chunk_bytes *= inner.count;
      copy.axes.pop_back();
    }
  }
  // In the two innermost axes, the lines of the source cross those of the destination.
  if (copy.axes.size() > 2) {
    const auto last = copy.axes.end() - 1;
    const auto step = [](const CopyAxis& axis) {
      return axis.src_bytes == 0 ? PTRDIFF_MAX : std::abs(axis.src_bytes);
    };
    const auto finest = std::min_element(
        copy.axes.begin(), last, [&](const auto& l, const auto& r) { return step(l) < step(r); });
    if (step(*finest) < step(*last)) std::rotate(finest, finest + 1, last);
  }
  return copy;
}

void run_copy(const StridedCopy& copy, const std::byte* src, std::byte* dst, std::size_t shares) {
  src += copy.src_offset;
  dst += copy.dst_offset;
  const std::size_t rows = copy.axes.empty() ? 1 : copy.axes[0].count;
  if (rows == 0) return;
  if (shares <= 1 || rows < shares) return copy_from(copy, 0, src, dst);
  const auto body = [&](std::size_t share) {
    StridedCopy part = copy;
    const std::size_t first = rows * share / shares;
    part.axes[0].count = rows * (share + 1) / shares - first;
    const auto k = static_cast<std::ptrdiff_t>(first);
    copy_from(part, 0, src + k * copy.axes[0].src_bytes, dst + k * copy.axes[0].dst_bytes);
  };
  parallel_for(shares, std::ref(body));
}

std::size_t copy_shares(std::size_t bytes, int threads) {
  constexpr std::size_t kParallelBytes = std::size_t{1} << 20;
  return bytes < kParallelBytes ? 1 : static_cast<std::size_t>(threads);
}

}  // namespace halftone::runtime
