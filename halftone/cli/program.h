// SPDX-License-Identifier: Apache-2.0
// What the programs share: verbs, exit codes, one line for an error.
#pragma once

#include <span>
#include <string>

#include "halftone/base/error.h"
#include "halftone/cli/command.h"

namespace halftone::cli {

/// The contract with scripts; see docs/cli.md.
int exit_code(ErrorKind kind);

/// Writes "halftone: MESSAGE" on standard error, as one line: printable() in any case, and cut in
/// the middle beyond 2,000 bytes. @return the code
int report_error(std::string message, int code);

/// Declares a verb, which becomes the action once it is chosen.
using AddVerb = void (*)(CLI::App& app, Action& action);

/// All of main(): parses the arguments, runs the verb they choose on all ranks of mpirun, and says
/// what went wrong. @return the exit code
int run_program(int argc, char** argv, std::span<const AddVerb> verbs);

}  // namespace halftone::cli
