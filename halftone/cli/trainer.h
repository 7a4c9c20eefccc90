// SPDX-License-Identifier: Apache-2.0
// Starts the program that trains, which needs libtorch.
#pragma once

namespace halftone::cli {

/// The name of the program, in the folder of this one.
inline constexpr const char* kTrainer = "halftone-train";

/// Replaces this program by the one that trains. Returns only if there is none.
/// @throws Error kMemory if its libraries cannot be loaded within the limit of address space
void start_trainer(char** argv);

}  // namespace halftone::cli
