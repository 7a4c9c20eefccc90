// SPDX-License-Identifier: Apache-2.0
// Kernels: the executable form of a plan's nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace halftone::runtime {

/// The memory of a session that a kernel works on, in the layout of value.h.
struct Buffers {
  /// One per input; null if an input is absent or among Kernel::packed_inputs.
  std::vector<const std::byte*> inputs;
  std::byte* output = nullptr;
  std::byte* scratch = nullptr;  ///< Kernel::scratch_bytes bytes
};

/// Minimum number of elements to read, compute or decode that makes a second thread worthwhile:
/// about 50 us of work.
inline constexpr std::size_t kParallelNumbers = std::size_t{1} << 17;

/// One execution of a kernel on the memory it was bound to.
using Call = std::function<void()>;

/// A node prepared to run: its weights are packed and its shapes known. Immutable, so that any
/// number of sessions may run it concurrently; a run writes only to the buffers of its session.
struct Kernel {
  /// Binds the kernel to memory; null for a step that has nothing to do.
  std::function<Call(const Buffers&)> bind;
  /// Which of several kernels of one arithmetic it is: "planes", "bytes"; empty if there is one.
  std::string_view variant{};
  std::size_t scratch_bytes = 0;
  std::size_t packed_bytes = 0;  ///< memory the kernel holds: packed weights, decoded constants
  std::size_t idle_bytes = 0;    ///< of these, what no run reads: more experts than rows choose
  /// The node's inputs that are packed in this memory: constants that the kernel does not read
  /// otherwise.
  std::vector<std::size_t> packed_inputs;
};

/// The order in which float32 layers add terms.
enum class FloatOrder : std::uint8_t {
  kFastest,  ///< oneDNN's choice, where it is linked: the last bits depend on the processor
  kFixed,    ///< the order of our kernels: the same bits on every processor
};

}  // namespace halftone::runtime
