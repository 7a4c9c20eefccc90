// SPDX-License-Identifier: Apache-2.0
#include "halftone/cli/program.h"

#include <sys/resource.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <new>
#include <optional>
#include <streambuf>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/printable.h"
#include "halftone/cli/option_names.h"
#include "halftone/cli/unknown_options.h"
#include "halftone/cli/verb_texts.h"

namespace halftone::cli {
namespace {

constexpr int kUsageExit = 2;
constexpr int kInternalExit = 70;
constexpr int kNoMemoryExit = 4;
/// Longer messages are cut in the middle.
constexpr std::size_t kMaxMessageBytes = 2000;

/// 0, or the exit code of the error if writing to standard output failed.
int finish_output() {
  std::cout << std::flush;
  return std::cout ? 0 : report_error("cannot write the result to standard output", 3);
}

/// The error message and the exit code. @pre an exception is being handled
std::pair<std::string, int> describe_exception() {
  try {
    throw;
  } catch (const Error& error) {
    return {message_with_option(error), exit_code(error.kind())};
  } catch (const std::bad_alloc&) {
    return {"out of memory", exit_code(ErrorKind::kMemory)};
  } catch (const std::system_error& error) {
    // std::thread throws this if the system has no memory or no thread left.
    const bool lacks_memory = error.code() == std::errc::resource_unavailable_try_again ||
                              error.code() == std::errc::not_enough_memory;
    if (lacks_memory)
      return {std::string("out of memory or threads: ") + error.what(),
              exit_code(ErrorKind::kMemory)};
    return {std::string("internal error: ") + error.what(), kInternalExit};
  } catch (const std::exception& error) {
    return {std::string("internal error: ") + error.what(), kInternalExit};
  }
}

/// Discards all output.
class NoOutput : public std::streambuf {
 protected:
  int_type overflow(int_type c) override { return traits_type::not_eof(c); }
  std::streamsize xsputn(const char* /*text*/, std::streamsize count) override { return count; }
};

/// All ranks do the work; the first one reports the result.
int run_on(Machine& machine, const Action& action) {
  NoOutput nothing;
  std::streambuf* const output = std::cout.rdbuf();
  if (!machine.is_first()) std::cout.rdbuf(&nothing);
  int code = 0;
  try {
    action(machine);
    code = finish_output();
  } catch (...) {
    const auto [message, found] = describe_exception();
    code = found;
    if (machine.is_first()) report_error(message, code);
    machine.end(message);
  }
  std::cout.rdbuf(output);
  return code;
}

int run_action(const Action& action) {
  std::optional<Machine> machine;
  try {
    machine.emplace();
  } catch (...) {
    const auto [message, code] = describe_exception();
    return report_error(message, code);
  }
  return run_on(*machine, action);
}

/// Help and version are results; everything else is a usage error of one line.
int report_parse_error(const CLI::App& app, const CLI::ParseError& error,
                       std::span<const std::string> arguments) {
  if (error.get_exit_code() == 0) {
    app.exit(error);
    return finish_output();
  }
  const auto chosen = app.get_subcommands();
  const bool is_left_over = !app.remaining(true).empty();
  const std::string message = is_left_over ? unknown_message(app, arguments) : error.what();
  const std::string verb = chosen.empty() ? "" : chosen.front()->get_name() + " ";
  return report_error(message + "; see halftone " + verb + "--help", kUsageExit);
}

/// Has the program start itself again, once, with the environment that it wants. It starts from its
/// own path, not from /proc/self/exe, because the kernel names a process after the last component
/// of the path: `ps` and `top` show "halftone". If this fails, the program continues as it is.
void restart_with_environment([[maybe_unused]] char** argv) {
#ifdef __linux__
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error && let_idle_threads_sleep()) execv(self.c_str(), argv);
#endif
}

/// Lets all threads share one heap where the address space is limited. The C library otherwise asks
/// for 128 MiB for the heap of each thread and, where it cannot have them, maps and unmaps memory
/// for each allocation.
void share_heap_if_limited() {
#ifdef __GLIBC__
  constexpr rlim_t kEnough = rlim_t{4} << 30;
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < kEnough) mallopt(M_ARENA_MAX, 1);
#endif
}

int parse_and_run(int argc, char** argv, std::span<const AddVerb> verbs) {
  // Makes a file over the size limit an error like a full disk instead of ending the process.
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App app("Halftone: neural networks in a few bits per weight and activation", "halftone");
  shorten_value_names(app);
  app.set_version_flag("--version", HALFTONE_VERSION);
  app.require_subcommand(1);
  app.footer("\nStart with: halftone quantize --help");
  Action action;
  for (const AddVerb add : verbs) add(app, action);
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    for (CLI::App* verb : app.get_subcommands()) check_option_files(*verb);
  } catch (const CLI::ParseError& error) {
    return report_parse_error(app, error, arguments);
  } catch (const Error& error) {  // of an option that writes files
    return report_error(message_with_option(error), exit_code(error.kind()));
  }
  return run_action(action);
}

}  // namespace

bool let_idle_threads_sleep() {
  constexpr const char* kSpins = "GOMP_SPINCOUNT";
  if (std::getenv(kSpins) != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return false;
  // Some tens of microseconds, the time to wake a thread on a virtual machine.
  return setenv(kSpins, "3000", 1) == 0;
}

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
      return kUsageExit;
    case ErrorKind::kIo:
    case ErrorKind::kFormat:
      return 3;
    case ErrorKind::kUnsupported:
    case ErrorKind::kShape:
    case ErrorKind::kMemory:
      return 4;
    case ErrorKind::kDevice:
      return 5;
    case ErrorKind::kInterrupted:
      return 130;  // as in a shell after SIGINT
    case ErrorKind::kInternal:
      break;
  }
  return kInternalExit;
}

int report_error(std::string message, int code) {
  std::ranges::replace(message, '\n', ' ');
  std::cerr << "halftone: " << shortened(printable(message), kMaxMessageBytes) << "\n";
  return code;
}

int run_program(int argc, char** argv, std::span<const AddVerb> verbs) {
  restart_with_environment(argv);
  share_heap_if_limited();
  // Reached only if building a message throws. These messages do not allocate.
  constexpr std::string_view kNoMemory = "halftone: out of memory\n";
  constexpr std::string_view kInternal = "halftone: internal error while reporting an error\n";
  const auto write_error = [](std::string_view text) {
    return ::write(STDERR_FILENO, text.data(), text.size()) >= 0;
  };
  try {
    return parse_and_run(argc, argv, verbs);
  } catch (const std::bad_alloc&) {
    write_error(kNoMemory);
    return kNoMemoryExit;
  } catch (...) {
    write_error(kInternal);
    return kInternalExit;
  }
}

}  // namespace halftone::cli
