// SPDX-License-Identifier: Apache-2.0
// Ranks that mpirun has started, on one machine or several.
#pragma once

#include <memory>
#include <string>

#include "halftone/spmd/transport.h"

namespace halftone::spmd {

/// The part that a process has in a run of several; one in a program, made first and ended last.
///
/// If a rank dies, mpirun ends the others. If one ends while others wait for it in a map or gather,
/// they learn that, and why, as an error, instead of waiting for ever.
class MpiSession {
 public:
  /// Joins the other processes if mpirun started this one; else it is alone, at no cost.
  /// @throws Error kUnsupported if mpirun started several, but this program is built without MPI;
  ///         kDevice if MPI does not work or lets no thread but the first use it
  MpiSession();
  /// As end().
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  /// Null if this process is alone. For Devices::over().
  [[nodiscard]] const std::shared_ptr<Transport>& transport() const { return transport_; }
  /// Takes part in nothing any more, and waits until the others end too.
  /// @param error  why, if not because all is done; the ranks that wait for this one are told
  void end(const std::string& error = {}) noexcept;

 private:
  std::shared_ptr<Transport> transport_;  // shared with devices
};

}  // namespace halftone::spmd
