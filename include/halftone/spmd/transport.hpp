// SPDX-License-Identifier: Apache-2.0
// Communication between the processes of one run, which programs implement.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace halftone::spmd {
inline namespace v0 {

/// Bytes to send to another rank, or the buffer for bytes from it.
template <typename Byte>
struct Parcel {
  std::size_t rank = 0;
  std::span<Byte> bytes;
};

/// Processes ("ranks") that all run the same program. All ranks call the functions that move bytes
/// in the same order, from one thread at a time.
class Transport {
 public:
  virtual ~Transport() = default;
  /// The index of this process.
  [[nodiscard]] virtual std::size_t rank() const = 0;
  /// The number of processes.
  [[nodiscard]] virtual std::size_t num_ranks() const = 0;
  /// Gives every rank the bytes of all ranks, in the order of ranks.
  /// @pre mine has the same size on all ranks, and all.size() == num_ranks() * mine.size()
  virtual void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
  /// Sends and receives at the same time. Parcels from one rank to another arrive in the listed
  /// order. Only ranks that have parcels for each other need to call it.
  /// @pre the parcels of sender and receiver agree in number and sizes
  virtual void exchange(std::span<const Parcel<const std::byte>> sent,
                        std::span<const Parcel<std::byte>> received) = 0;
  /// Ends all ranks at once, for failures during an exchange, in which the others would otherwise
  /// wait forever. `message` reaches the user.
  virtual void end_all_ranks(const std::string& message) noexcept = 0;
};

}  // namespace v0
}  // namespace halftone::spmd
