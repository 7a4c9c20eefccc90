// SPDX-License-Identifier: Apache-2.0
// The processes and devices that a program runs on.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "halftone/spmd/devices.hpp"
#include "halftone/spmd/mpi.h"

namespace halftone {

/// One process, or the ranks of mpirun. All ranks do the same work. A program has one machine,
/// created first and destroyed last.
class Machine {
 public:
  /// @throws Error as spmd::MpiSession
  Machine() = default;

  [[nodiscard]] bool is_first() const { return rank() == 0; }
  /// `count` devices in each process; 0: one per thread that the process may use.
  [[nodiscard]] spmd::Devices devices(int count = 0) const;
  /// All processes; null if there is one.
  [[nodiscard]] std::shared_ptr<spmd::Transport> ranks() const;
  /// See spmd::MpiSession::end().
  void end(const std::string& error) noexcept { session_.end(error); }

 private:
  [[nodiscard]] std::size_t rank() const;

  spmd::MpiSession session_;
};

}  // namespace halftone
