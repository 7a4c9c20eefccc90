// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <new>

#include "halftone/base/error.h"
#include "halftone/cli/command.h"

namespace halftone::cli {
namespace {

constexpr int kUsageExit = 2;
constexpr int kInternalExit = 70;

/// The contract with scripts; see docs/cli.md.
int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
      return kUsageExit;
    case ErrorKind::kIo:
    case ErrorKind::kFormat:
      return 3;
    case ErrorKind::kUnsupported:
    case ErrorKind::kShape:
      return 4;
    case ErrorKind::kDevice:
      return 5;
    case ErrorKind::kInternal:
      break;
  }
  return kInternalExit;
}

int report_error(const std::string& message, int code) {
  std::cerr << "halftone: " << message << "\n";
  return code;
}

int run_action(const Action& action) {
  try {
    action();
    std::cout << std::flush;
    if (!std::cout) return report_error("cannot write the result to standard output", 3);
    return 0;
  } catch (const Error& error) {
    return report_error(error.what(), exit_code(error.kind()));
  } catch (const std::bad_alloc&) {
    return report_error("out of memory", exit_code(ErrorKind::kShape));
  } catch (const std::exception& error) {
    return report_error(std::string("internal error: ") + error.what(), kInternalExit);
  }
}

int main_with(int argc, char** argv) {
  CLI::App app("Halftone: neural networks in a few bits per weight and activation", "halftone");
  app.set_version_flag("--version", HALFTONE_VERSION);
  app.require_subcommand(1);
  app.footer("\nStart with: halftone quantize --help");
  Action action;
  add_inspect(app, action);
  add_convert(app, action);
  add_quantize(app, action);
  add_eval(app, action);
  add_run(app, action);
  add_bench(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help and version are results; everything else is a usage error.
    return app.exit(error) == 0 ? 0 : kUsageExit;
  }
  return run_action(action);
}

}  // namespace
}  // namespace halftone::cli

int main(int argc, char** argv) { return halftone::cli::main_with(argc, argv); }
