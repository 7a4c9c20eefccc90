// SPDX-License-Identifier: Apache-2.0
// Shared by the programs: verbs, exit codes, error messages of one line.
#pragma once

#include <span>
#include <string>

#include "halftone/base/error.h"
#include "halftone/cli/command.h"

namespace halftone::cli {

/// The exit code of an error. Scripts rely on it; see docs/cli.md.
int exit_code(ErrorKind kind);

/// Writes "halftone: MESSAGE" to standard error as one line, always printable() and cut in the
/// middle beyond 2,000 bytes. @return the code
int report_error(std::string message, int code);

/// Sets the environment so that idle threads sleep in a program that starts from now on. GNU's
/// OpenMP, which also carries oneDNN's threads, has them spin for milliseconds while they wait for
/// work; if another process needs their core, each layer then takes a whole time slice of the
/// scheduler. It reads the environment when it is loaded.
/// @return whether the environment has changed: false if the user has set it
bool let_idle_threads_sleep();

/// Declares a verb. If the user chooses it, it sets the action.
using AddVerb = void (*)(CLI::App& app, Action& action);

/// The whole main(): parses the arguments, runs the chosen verb on all ranks of mpirun, and reports
/// errors. @return the exit code
int run_program(int argc, char** argv, std::span<const AddVerb> verbs);

}  // namespace halftone::cli
