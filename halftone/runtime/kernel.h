// SPDX-License-Identifier: Apache-2.0
// Kernels: the executable form of a plan's nodes, and what they compute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "halftone/ir/ops/arithmetic.h"

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

/// The arithmetic of a kernel: that of the layer (ir::arithmetic_of()), and the order of its sums
/// if it is float32. It follows from the graph and the options of the plan alone, never from the
/// processor. All kernels of one arithmetic give the same bits for a layer, except those of
/// kFastestFloat.
enum class KernelArithmetic {
  kOperator,      ///< fixed by the definition of the operator: every kernel has its bits
  kBits,          ///< inputs and weights bit by bit, exactly; then the bases
  kIntegers,      ///< inputs and levels of the weights as 8-bit integers; then scales
  kGroups,        ///< 8-bit inputs, the integers of groups of weights; then scales
  kFixedFloat,    ///< float32 in one order of sums
  kFastestFloat,  ///< float32 in the order of sums that is fastest on the processor
};

/// Whether a kernel computes a layer of this arithmetic: the only place where the two meet.
constexpr bool computes(KernelArithmetic kernel, ir::Arithmetic layer) {
  switch (kernel) {
    case KernelArithmetic::kBits:
      return layer == ir::Arithmetic::kBits;
    case KernelArithmetic::kIntegers:
      return layer == ir::Arithmetic::kIntegers;
    case KernelArithmetic::kGroups:
      return layer == ir::Arithmetic::kGroups;
    case KernelArithmetic::kOperator:
    case KernelArithmetic::kFixedFloat:
    case KernelArithmetic::kFastestFloat:
      return layer == ir::Arithmetic::kFloat;
  }
  return false;
}

/// "bits: inputs and weights bit by bit"; begins with the name of the layer's ir::Arithmetic.
constexpr std::string_view text_of(KernelArithmetic arithmetic) {
  switch (arithmetic) {
    case KernelArithmetic::kOperator:
      return "as the operator says";
    case KernelArithmetic::kBits:
      return "bits: inputs and weights bit by bit";
    case KernelArithmetic::kIntegers:
      return "integers: 8-bit inputs, 8-bit levels of the weights";
    case KernelArithmetic::kGroups:
      return "groups: 8-bit inputs, integers of groups of weights";
    case KernelArithmetic::kFixedFloat:
      return "float: one order of sums";
    case KernelArithmetic::kFastestFloat:
      return "float: the processor's order of sums";
  }
  return {};
}

/// All methods with integers and levels give the same bits.
enum class Product {
  kBits,     ///< bit planes of the input by bit planes of the weights
  kPlanes,   ///< 8-bit integers by levels of at most 6 bits, bit by bit
  kNibbles,  ///< 8-bit integers by looked-up levels of at most 4 bits
  kBytes,    ///< 8-bit integers by levels of the weights
  kFloat,    ///< float32
};

/// "planes", as in tuning files.
std::string_view to_string(Product product);
/// The method of this name; nothing if there is none.
std::optional<Product> product_named(std::string_view name);

}  // namespace halftone::runtime
