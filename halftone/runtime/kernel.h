// SPDX-License-Identifier: Apache-2.0
// What a plan hands over to be executed: a kernel for each node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace halftone::runtime {

/// The memory of a session that a kernel works on, in the layout of value.h.
struct Buffers {
  /// One per input; null where an input is absent or among Kernel::packed_inputs.
  std::vector<const std::byte*> inputs;
  std::byte* output = nullptr;
  std::byte* scratch = nullptr;  ///< Kernel::scratch_bytes of them
};

/// Numbers to read, compute or decode from which on a second thread is worth waking: some 50 us of
/// work.
inline constexpr std::size_t kParallelNumbers = std::size_t{1} << 17;

/// One execution of a kernel on the memory it was bound to.
using Call = std::function<void()>;

/// A node made ready to run: its weights are packed, its shapes are known. Immutable, so that any
/// number of sessions may run it at once; whatever a run writes lies in their buffers.
struct Kernel {
  /// Binds the kernel to memory; null for a step that has nothing to do.
  std::function<Call(const Buffers&)> bind;
  std::size_t scratch_bytes = 0;
  std::size_t packed_bytes = 0;  ///< memory the kernel holds: packed weights, decoded constants
  /// The inputs of its node that lie packed in this memory: constants it reads nowhere else.
  std::vector<std::size_t> packed_inputs;
};

/// The order in which float32 layers add their terms.
enum class FloatOrder : std::uint8_t {
  kFastest,  ///< the one that oneDNN finds fastest: the last bits depend on the processor
  kFixed,    ///< the one that our kernels define: the same bits on every processor
};

}  // namespace halftone::runtime
