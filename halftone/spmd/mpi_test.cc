// SPDX-License-Identifier: Apache-2.0
// Real processes, under mpirun: collectives over ranks, and ranks that fail or die.
#include "halftone/spmd/mpi.h"

#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>

#include "halftone/base/testing.h"

namespace halftone::spmd {
namespace {

using testing::HasSubstr;

struct Outcome {
  int code = 0;
  std::string output;
  double seconds = 0;
};

class Mpi : public WithFolder {
 protected:
  /// Runs a scene of mpi_test_program.cc on num_ranks ranks.
  Outcome run(int num_ranks, const std::string& scene) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    std::ostringstream command;
    command << "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 " << mpi_folder() << ' '
            << HALFTONE_MPIRUN << " --oversubscribe -n " << num_ranks << ' ' << HALFTONE_RANK_SCENES
            << ' ' << scene << ' ' << path("result") << " 2>&1";
    Outcome outcome;
    std::FILE* pipe = ::popen(command.str().c_str(), "r");
    if (pipe == nullptr) {
      ADD_FAILURE() << "cannot run " << command.str();
      return outcome;
    }
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
      outcome.output += static_cast<char>(c);
    }
    const int status = ::pclose(pipe);
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    outcome.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return outcome;
  }

  /// Checks that all ranks end soon, with a message and without a result.
  void expect_failure(const std::string& scene, const std::string& text) {
    const Outcome outcome = run(3, scene);
    EXPECT_NE(outcome.code, 0) << scene;
    EXPECT_THAT(outcome.output, HasSubstr(text)) << scene;
    EXPECT_LT(outcome.seconds, 10) << scene;
    EXPECT_TRUE(std::filesystem::is_empty(folder_)) << scene;
  }
};

TEST_F(Mpi, CollectivesHaveTheSameBitsForAnyRanks) {
  const Outcome one = run(1, "collectives");
  ASSERT_EQ(one.code, 0) << one.output;
  EXPECT_GT(one.output.size(), 100u);
  for (const int num_ranks : {2, 3, 4}) {
    const Outcome outcome = run(num_ranks, "collectives");
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_EQ(outcome.output, one.output) << num_ranks;
  }
}

TEST_F(Mpi, ARankThatIsKilledEndsTheOthers) { expect_failure("kill", "signal 9"); }

TEST_F(Mpi, ALaneThatThrowsEndsAllRanksWithItsError) {
  const std::string line = "on device 2 of 3 (rank 1): no such sample\n";
  expect_failure("throw", line + line + line);
}

TEST_F(Mpi, ALaneThatReturnsWithoutTheCollectiveIsNamedByAllRanks) {
  expect_failure("return",
                 "psum over 'i' of float32[]: i=0 waits for i=1, which ended without it\npsum");
}

TEST_F(Mpi, ARankThatLeavesIsNamedByTheOthers) {
  expect_failure("leave",
                 "ranks do not run the same: rank 0 in pmap 'i' of 3, rank 1 in the end of the "
                 "program: x.npy is missing");
}

TEST_F(Mpi, AProcessThatMpirunDidNotStartIsAlone) { EXPECT_EQ(MpiSession().transport(), nullptr); }

}  // namespace
}  // namespace halftone::spmd
