// SPDX-License-Identifier: Apache-2.0
// How fast the memory of this machine is.
#pragma once

namespace halftone {

/// Bytes that threads read from memory in a second: the fastest of several passes over 256 MiB,
/// which no cache holds. Takes about half a second.
/// @throws std::bad_alloc if there is too little memory
double memory_bytes_per_second();

}  // namespace halftone
