// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>
#include <sys/resource.h>

#include "fuzz/fuzz_dataset.h"
#include "halftone/data/hdf5.h"

// The HDF5 library runs in a child process. Any end of it must be an Error here. The library may
// request as much memory as a file names; it copes with a failed allocation.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

// Keeps a child that a sanitizer stops from writing an artifact, and one that loops from being
// slow.
static void tame_child() {
  constexpr rlim_t kMaxSeconds = 5;
  const rlimit limit{kMaxSeconds, kMaxSeconds};
  ::setrlimit(RLIMIT_CPU, &limit);
  __sanitizer_set_death_callback(nullptr);
}

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  static std::vector<char*> arguments(*argv, *argv + *argc);
  static char limit[] = "-malloc_limit_mb=1000000000";
  arguments.insert(arguments.begin() + 1, limit);
  *argc = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  *argv = arguments.data();
  return ::pthread_atfork(nullptr, nullptr, tame_child);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace halftone::data;
  exercise_dataset([&] { return open_hdf5_image("fuzz", as_bytes(data, size), {}); });
  return 0;
}
