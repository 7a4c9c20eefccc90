// SPDX-License-Identifier: Apache-2.0
// Threads of libtorch and of the BLAS behind it, and libtorch without memory.
#pragma once

#include <c10/util/Exception.h>

#include <cstddef>

#include "halftone/base/error.h"

namespace halftone::train {

/// Makes libtorch and BLAS compute on the calling thread, in the whole process; lanes of a map run
/// in parallel instead. With threads of its own, OpenBLAS splits sums by the number of cores, which
/// changes their bits. libtorch asks OMP_NUM_THREADS at the first operation of each thread,
/// whatever that thread said to OpenMP before; sums that two lanes split at once were wrong now and
/// then. Maps the buffers of BLAS for that many calling threads, because OpenBLAS tries for ever if
/// it cannot map one.
/// @throws Error kMemory if the address space is too small for the buffers, or for a thread of
/// libtorch
///         on each core: it waits for ever for one that cannot start
void prepare_torch(std::size_t num_threads);

/// Whether libtorch lacks memory: its allocators have no exception of their own.
bool is_lack_of_memory(const c10::Error& error);

/// Runs `body` and returns its result.
/// @throws Error kMemory if libtorch lacks memory; else as `body`
template <typename Body>
auto with_torch_memory(Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const c10::Error& error) {
    if (!is_lack_of_memory(error)) throw;
    fail(ErrorKind::kMemory, "training: out of memory; a smaller batch needs less", Hint::kBatch);
  }
}

}  // namespace halftone::train
