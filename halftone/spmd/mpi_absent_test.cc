// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "halftone/base/testing.h"
#include "halftone/spmd/mpi.h"

namespace halftone::spmd {
namespace {

TEST(MpiAbsent, AProcessIsAlone) {
  MpiSession session;
  EXPECT_EQ(session.transport(), nullptr);
  session.end();
}

TEST(MpiAbsent, OneOfSeveralProcessesIsRefused) {
  ASSERT_EQ(::setenv("OMPI_COMM_WORLD_SIZE", "3", 1), 0);
  expect_error(ErrorKind::kUnsupported, "built without MPI, but mpirun started 3 processes",
               [] { const MpiSession session; });
  ASSERT_EQ(::setenv("OMPI_COMM_WORLD_SIZE", "1", 1), 0);
  EXPECT_EQ(MpiSession().transport(), nullptr);
  ASSERT_EQ(::unsetenv("OMPI_COMM_WORLD_SIZE"), 0);
}

}  // namespace
}  // namespace halftone::spmd
