// SPDX-License-Identifier: Apache-2.0
// Implements mpi.h without MPI.
#include <cstdlib>
#include <string>

#include "halftone/base/error.h"
#include "halftone/spmd/mpi.h"

namespace halftone::spmd {

MpiSession::MpiSession() {
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (size != nullptr && std::string(size) != "1") {
    fail(ErrorKind::kUnsupported, "this program is built without MPI, but mpirun started " +
                                      std::string(size) + " processes");
  }
}

MpiSession::~MpiSession() = default;

void MpiSession::end(const std::string& /*error*/) noexcept {}

}  // namespace halftone::spmd
