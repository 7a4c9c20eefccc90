// SPDX-License-Identifier: Apache-2.0
// How the processes of one run talk to each other. mpi.h has the one that crosses machines.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace halftone::spmd {

/// Bytes on their way to another rank, or the place for those that come from it.
template <typename Byte>
struct Parcel {
  std::size_t rank = 0;
  std::span<Byte> bytes;
};

/// Processes ("ranks") that all run the same program. The functions that move bytes are called by
/// all ranks, in the same order, by one thread at a time.
class Transport {
 public:
  virtual ~Transport() = default;
  [[nodiscard]] virtual std::size_t rank() const = 0;
  [[nodiscard]] virtual std::size_t num_ranks() const = 0;
  /// Gives every rank what all ranks brought, in the order of ranks.
  /// @pre mine is equally long on all ranks, and all.size() == num_ranks() * mine.size()
  virtual void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
  /// Sends and receives at once. Parcels from one rank to another arrive in the order in which they
  /// are listed; only ranks that have parcels for each other need call.
  /// @pre the parcels of sender and receiver are equally many and long
  virtual void exchange(std::span<const Parcel<const std::byte>> sent,
                        std::span<const Parcel<std::byte>> received) = 0;
  /// Ends all ranks at once, for failures in the midst of an exchange, where the others could only
  /// wait for ever; `message` reaches the user.
  virtual void end_all_ranks(const std::string& message) noexcept = 0;
};

}  // namespace halftone::spmd
