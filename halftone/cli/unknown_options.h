// SPDX-License-Identifier: Apache-2.0
// What a user may have meant by an option, an argument or a verb that there is not.
#pragma once

#include <CLI/App.hpp>
#include <span>
#include <string>

namespace halftone::cli {

/// A message about the first argument that no verb or option takes: "unknown option '--bits'; did
/// you mean --weight-bits and --activation-bits?". Users of llama.cpp, ONNX Runtime, NNCF and
/// PyTorch are told the names of what they know.
/// @param app        after parsing failed since arguments are left over
/// @param arguments  of the program, in the order of the command line
std::string unknown_message(const CLI::App& app, std::span<const std::string> arguments);

}  // namespace halftone::cli
