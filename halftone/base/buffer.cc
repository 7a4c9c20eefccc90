// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/buffer.h"

#include <cstring>
#include <limits>
#include <new>

#include "halftone/base/error.h"

namespace halftone {

AlignedBuffer::AlignedBuffer(std::size_t size_bytes) : size_bytes_(size_bytes) {
  if (size_bytes > std::numeric_limits<std::ptrdiff_t>::max() - 2 * kAlignment) {
    fail(ErrorKind::kShape, "a buffer of " + std::to_string(size_bytes) + " bytes is too large");
  }
  const std::size_t padded_bytes =
      (size_bytes + kAlignment - 1) / kAlignment * kAlignment + kAlignment;
  void* memory = ::operator new[](padded_bytes, std::align_val_t{kAlignment}, std::nothrow);
  if (memory == nullptr) {
    fail(ErrorKind::kShape,
         "out of memory: " + std::to_string(size_bytes) + " bytes are not to be had");
  }
  std::memset(memory, 0, padded_bytes);
  data_.reset(static_cast<std::byte*>(memory));
}

void AlignedBuffer::Free::operator()(std::byte* data) const noexcept {
  ::operator delete[](data, std::align_val_t{kAlignment});
}

}  // namespace halftone
