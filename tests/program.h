// SPDX-License-Identifier: Apache-2.0
// Runs the program as a process, for the tests in this folder.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "halftone/base/testing.h"
#include "tests/example.h"

namespace halftone {

inline const std::string kModel = kExample + "/mnist_mlp_700.onnx";

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

inline std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class Program : public WithFolder {
 protected:
  /// Runs the program through the shell.
  /// @param wrapper  words before it: a command or assignments of the environment
  [[nodiscard]] Outcome run(const std::string& arguments, const std::string& wrapper = "") const {
    const std::string command = wrapper + " '" + HALFTONE_PROGRAM + "' " + arguments + " > '" +
                                path("stdout") + "' 2> '" + path("stderr") + "'";
    const int status = std::system(command.c_str());
    EXPECT_TRUE(WIFEXITED(status)) << command << " ended by signal";
    return {WEXITSTATUS(status), text_of(path("stdout")), text_of(path("stderr"))};
  }

  /// Writes the example network with weights of some bits and float32 activations; returns the
  /// file.
  [[nodiscard]] std::string quantize_weights(int bits) const {
    const std::string file = path("m.circle");
    const Outcome outcome =
        run("quantize " + kModel + " -o " + file + " --data " + kExample +
            " --limit 100 --activation-bits none --weight-bits " + std::to_string(bits));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return file;
  }

#ifdef HALFTONE_MPIRUN
  /// Runs it in several processes, each through `wrapper`.
  [[nodiscard]] Outcome run_ranks(int count, const std::string& arguments,
                                  const std::string& wrapper = "") const {
    const std::string command = "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 " +
                                mpi_folder() + " " HALFTONE_MPIRUN " --oversubscribe -n " +
                                std::to_string(count) + " " + wrapper + " '" + HALFTONE_PROGRAM +
                                "' " + arguments + " --devices 1 > '" + path("stdout") + "' 2> '" +
                                path("stderr") + "'";
    const int status = std::system(command.c_str());
    EXPECT_TRUE(WIFEXITED(status)) << command << " ended by signal";
    return {WEXITSTATUS(status), text_of(path("stdout")), text_of(path("stderr"))};
  }
#endif

  /// Runs the program until a file is there, then sends it a signal.
  [[nodiscard]] Outcome run_until_kept(const std::string& arguments, const std::string& file,
                                       int signal) const {
    const std::string command = std::string("exec '") + HALFTONE_PROGRAM + "' " + arguments +
                                " > '" + path("stdout") + "' 2> '" + path("stderr") + "'";
    const pid_t child = ::fork();
    if (child == 0) {
      std::signal(signal, SIG_DFL);  // a shell may have started this test without SIGINT
      ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      ::_exit(127);
    }
    int status = 0;
    bool has_ended = false;
    while (!has_ended && !std::filesystem::exists(file)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      has_ended = ::waitpid(child, &status, WNOHANG) == child;
    }
    if (!has_ended) {
      ::kill(child, signal);
      ::waitpid(child, &status, 0);
    }
    EXPECT_TRUE(WIFEXITED(status)) << command << " ended by signal";
    return {WEXITSTATUS(status), text_of(path("stdout")), text_of(path("stderr"))};
  }

  /// Runs a command that must fail with one line on stderr and nothing on stdout.
  void expect_failure(const std::string& arguments, int code, const std::string& message) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, code) << arguments << "\n" << outcome.err;
    EXPECT_THAT(outcome.err, testing::HasSubstr(message)) << arguments;
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }
};

}  // namespace halftone
