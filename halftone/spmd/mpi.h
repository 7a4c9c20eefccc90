// SPDX-License-Identifier: Apache-2.0
// Communication between ranks started by mpirun, on one machine or several.
#pragma once

#include <memory>
#include <string>

#include "halftone/spmd/transport.hpp"

namespace halftone::spmd {

/// A process's membership in an MPI run. A program has one session, created first and ended last.
///
/// If a rank dies, mpirun ends the others. If a rank ends while others wait for it in a map or
/// gather, these fail with an error that gives the reason.
class MpiSession {
 public:
  /// Joins the other processes if mpirun started this one; otherwise does nothing.
  /// @throws Error kUnsupported if mpirun started several processes, but this program is built
  ///         without MPI; kDevice if MPI fails or allows calls from the first thread only
  MpiSession();
  /// Calls end().
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  /// Null if this process is alone. For Devices::over().
  [[nodiscard]] const std::shared_ptr<Transport>& transport() const { return transport_; }
  /// Leaves the run, and waits until the other ranks end too.
  /// @param error  the reason if the work is not complete; ranks that wait for this one report it
  void end(const std::string& error = {}) noexcept;

 private:
  std::shared_ptr<Transport> transport_;  // shared with devices
};

}  // namespace halftone::spmd
