// SPDX-License-Identifier: Apache-2.0
#include "bench/onnx_runtime.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "halftone/base/error.h"

namespace halftone::bench {
namespace {

std::string python() {
  const char* named = std::getenv("HALFTONE_PYTHON");
  return named == nullptr ? "python3" : named;
}

/// A process whose standard input and output are pipes.
class Process {
 public:
  /// @throws Error kIo if it cannot be started
  explicit Process(std::vector<std::string> arguments) {
    std::array<int, 2> input{};
    std::array<int, 2> output{};
    if (pipe2(input.data(), O_CLOEXEC) != 0 || pipe2(output.data(), O_CLOEXEC) != 0) {
      fail(ErrorKind::kIo, "no pipe to " + arguments[0]);
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    const int error = posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(input[0]);
    close(output[1]);
    to_ = fdopen(input[1], "w");
    from_ = fdopen(output[0], "r");
    if (error != 0) pid_ = 0;
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    std::fclose(to_);
    std::fclose(from_);
    if (pid_ != 0) waitpid(pid_, nullptr, 0);
  }

  void send(const std::string& line) {
    std::fputs((line + "\n").c_str(), to_);
    std::fflush(to_);
  }
  /// The next line that it prints.
  /// @throws Error kUnsupported if it has ended
  std::string receive() {
    std::array<char, 256> line{};
    if (std::fgets(line.data(), line.size(), from_) == nullptr) {
      fail(ErrorKind::kUnsupported, "ONNX Runtime's process ended; see its messages above");
    }
    std::string text = line.data();
    if (text.ends_with('\n')) text.pop_back();
    return text;
  }

 private:
  pid_t pid_ = 0;
  FILE* to_ = nullptr;
  FILE* from_ = nullptr;
};

}  // namespace

std::string to_string(OnnxRuntimeFormat format) {
  return format == OnnxRuntimeFormat::kFloat32 ? "ORT f32" : "ORT int8";
}

bool has_onnx_runtime() {
  const std::string command = python() + " -c 'import onnx, onnxruntime' > /dev/null 2>&1";
  static const bool found = std::system(command.c_str()) == 0;
  return found;
}

Prepared prepare_onnx_runtime(const std::filesystem::path& model, OnnxRuntimeFormat format,
                              std::size_t batch, int threads) {
  const auto process = std::make_shared<Process>(
      std::vector<std::string>{python(), HALFTONE_BENCH_FOLDER "/onnx_runtime.py", model.string(),
                               format == OnnxRuntimeFormat::kInt8 ? "int8" : "float32",
                               std::to_string(batch), std::to_string(threads)});
  Prepared prepared;
  prepared.kernel = process->receive();
  prepared.seconds = [process](std::size_t runs) {
    process->send(std::to_string(runs));
    return std::stod(process->receive());
  };
  return prepared;
}

}  // namespace halftone::bench
