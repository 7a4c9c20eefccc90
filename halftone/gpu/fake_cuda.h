// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 for tests without a card. Memory is that of the processor; a kernel "append_<n>"
// appends its second argument and a checksum of all n of them to a list in its first one. Calls and
// objects are counted, and calls can be made to fail.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace fake_cuda {

/// What was asked for so far: "cuLaunchKernel append_2 3x1x64", "cuGraphLaunch", ...
std::vector<std::string>& calls();
/// Makes the call of a function after so many others fail, once.
void fail(const std::string& function, int status, int after = 0);
/// Objects that were made and not released: contexts, streams, memory, modules, events, graphs.
std::size_t num_objects();

}  // namespace fake_cuda
