// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <system_error>

#include "halftone/base/error.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX wants it declared

namespace halftone {
namespace {

std::string text_of(int error) { return std::generic_category().message(error); }

/// What is open in the program: nothing to read, and the log.
class Files {
 public:
  explicit Files(const std::filesystem::path& log) {
    constexpr int kForOwner = 0600;
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, log.c_str(),
                                       O_WRONLY | O_CREAT | O_TRUNC, kForOwner);
    ::posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO);
  }
  ~Files() { ::posix_spawn_file_actions_destroy(&actions_); }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  [[nodiscard]] const posix_spawn_file_actions_t* actions() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

}  // namespace

bool has_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (!folder.empty() && ::access((folder + "/" + name).c_str(), X_OK) == 0) return true;
  }
  return false;
}

int run_program(const std::vector<std::string>& words, const std::filesystem::path& log) {
  std::vector<std::string> copies = words;
  std::vector<char*> arguments;
  for (std::string& each : copies) arguments.push_back(each.data());
  arguments.push_back(nullptr);
  const Files files(log);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, arguments.front(), files.actions(), nullptr,
                                   arguments.data(), environ);
  if (error != 0) fail(ErrorKind::kIo, words.front() + ": cannot be started: " + text_of(error));
  int status = 0;
  pid_t ended = -1;
  do {
    ended = ::waitpid(child, &status, 0);
  } while (ended < 0 && errno == EINTR);
  constexpr int kBySignal = 128;
  if (ended != child) return kBySignal;
  return WIFEXITED(status) ? WEXITSTATUS(status) : kBySignal + WTERMSIG(status);
}

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  std::string name = (folder / "halftone.XXXXXX").string();
  if (error || ::mkdtemp(name.data()) == nullptr) {
    fail(ErrorKind::kIo, name + ": cannot create: " + text_of(errno));
  }
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

}  // namespace halftone
