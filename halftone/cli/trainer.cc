// SPDX-License-Identifier: Apache-2.0
#include "halftone/cli/trainer.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "halftone/base/error.h"
#include "halftone/cli/program.h"

namespace halftone::cli {
namespace {

/// In a child process: ends with 0 if the dynamic loader and the initialisers of the libraries
/// succeed.
[[noreturn]] void load(const char* trainer) {
  constexpr unsigned kMaxSeconds = 30;
  constexpr rlimit kNoCore{};
  setrlimit(RLIMIT_CORE, &kNoCore);
  alarm(kMaxSeconds);  // OpenBLAS tries for ever to map a buffer
  const int nothing = ::open("/dev/null", O_RDWR);
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, fd);
  execl(trainer, kTrainer, "--version", nullptr);
  _exit(EXIT_FAILURE);
}

bool can_load(const std::string& trainer) {
  const pid_t child = fork();
  if (child == 0) load(trainer.c_str());
  int status = 0;
  pid_t ended = child;
  do {
    ended = waitpid(child, &status, 0);
  } while (ended < 0 && errno == EINTR);
  return ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
}

/// Tries to load the libraries in a child process if the address space is limited: some of their
/// initialisers abort, or never return, where they cannot map what they need.
void check_address_space(const std::string& trainer) {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  if (can_load(trainer)) return;
  fail(ErrorKind::kMemory, "training: out of memory: the libraries of " + std::string(kTrainer) +
                               " cannot be loaded in " + std::to_string(limit.rlim_cur) +
                               " bytes of address space (ulimit -v); about 1 GB is needed");
}

}  // namespace

void start_trainer(char** argv) {
  std::error_code error;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const std::string trainer = (folder / kTrainer).string();
  if (error || access(trainer.c_str(), X_OK) != 0) return;
  // Otherwise the trainer would start itself again and load its libraries twice.
  let_idle_threads_sleep();
  // Training has BLAS compute on the calling thread; threads of its own would only take memory.
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  check_address_space(trainer);
  execv(trainer.c_str(), argv);
}

}  // namespace halftone::cli
