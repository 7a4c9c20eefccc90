// SPDX-License-Identifier: Apache-2.0
// The program with little address space: it succeeds, or says in one line that memory is missing.
#include <sys/resource.h>

#include <array>
#include <fstream>
#include <span>

#include "tests/program.h"

namespace halftone {
namespace {

/// Megabytes. With less than the first, the dynamic loader cannot map the libraries.
constexpr std::array kLimits = {96, 102, 108, 114, 120, 130, 145, 180, 250, 1000};
/// Below, around and above what libtorch and the buffers of OpenBLAS take.
[[maybe_unused]] constexpr std::array kTrainingLimits = {96,  300, 550, 575, 590, 610,
                                                         680, 780, 860, 900, 2000};
constexpr int kNoMemory = 4;

class MemoryLimits : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers reserve terabytes of address space";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    GTEST_SKIP() << "sanitizers reserve terabytes of address space";
#endif
#endif
  }

  [[nodiscard]] Outcome run_within(int megabytes, const std::string& arguments) const {
    const std::string command = "ulimit -v " + std::to_string(megabytes * 1024) +
                                "; timeout 120 '" + HALFTONE_PROGRAM + "' " + arguments + " > '" +
                                path("stdout") + "' 2> '" + path("stderr") + "'";
    const int status = std::system(command.c_str());
    EXPECT_TRUE(WIFEXITED(status)) << command << " ended by signal";
    return {WEXITSTATUS(status), text_of(path("stdout")), text_of(path("stderr"))};
  }

  /// Runs a command with each limit. It must succeed with the largest.
  /// @param output  the file it writes, or empty
  void sweep(const std::string& arguments, const std::string& output = "",
             std::span<const int> limits = kLimits) const {
    Outcome outcome;
    for (const int megabytes : limits) {
      if (!output.empty()) std::filesystem::remove_all(output);
      outcome = run_within(megabytes, arguments);
      const std::string where = arguments + " in " + std::to_string(megabytes) + " MB: code " +
                                std::to_string(outcome.code) + ", " + outcome.err;
      if (outcome.code == 0) {
        EXPECT_EQ(outcome.err, "") << where;
        EXPECT_TRUE(output.empty() || std::filesystem::exists(output)) << where;
        continue;
      }
      EXPECT_EQ(outcome.code, kNoMemory) << where;
      EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << where;
      EXPECT_THAT(outcome.err, testing::AnyOf(testing::HasSubstr("out of memory"),
                                              testing::HasSubstr("of memory are needed"),
                                              testing::HasSubstr("of address space are not"),
                                              testing::HasSubstr("cannot start thread")))
          << where;
      EXPECT_EQ(outcome.out, "") << where;
      EXPECT_FALSE(!output.empty() && std::filesystem::exists(output)) << where;
    }
    EXPECT_EQ(outcome.code, 0);
  }
};

TEST_F(MemoryLimits, StopInspecting) { sweep("inspect " + kModel); }

TEST_F(MemoryLimits, StopConverting) {
  sweep("convert " + kModel + " " + path("converted.circle"), path("converted.circle"));
}

TEST_F(MemoryLimits, StopMeasuring) { sweep("bench " + kModel + " --seconds 0.01 --threads 2"); }

TEST_F(MemoryLimits, StopEvaluating) {
  sweep("eval " + kModel + " --data " + kExample + " --limit 300 --threads 2 -q");
}

TEST_F(MemoryLimits, StopQuantizing) {
  sweep("quantize " + kModel + " --data " + kExample +
            " --limit 64 --threads 2 --weight-bits 1 --activation-bits 2 -q -o " +
            path("fitted.circle"),
        path("fitted.circle"));
}

#ifdef HALFTONE_TRAINS
TEST_F(MemoryLimits, StopTraining) {
  sweep("train " + kModel + " --data " + kExample + " --limit 256 -q --threads 2 -o " +
            path("trained.onnx"),
        path("trained.onnx"), kTrainingLimits);
}
#endif

}  // namespace
}  // namespace halftone
