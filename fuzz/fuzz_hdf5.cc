// SPDX-License-Identifier: Apache-2.0
#include "fuzz/fuzz_dataset.h"
#include "halftone/formats/data/hdf5.h"

// The HDF5 library, which is not ours to mend, leaks on damaged files and asks for any amount of
// memory that a file names; it copes with not getting it.
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  static std::vector<char*> arguments(*argv, *argv + *argc);
  static char limit[] = "-malloc_limit_mb=1000000000";
  arguments.insert(arguments.begin() + 1, limit);
  *argc = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  *argv = arguments.data();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace halftone::formats;
  exercise_dataset([&] { return open_hdf5_image("fuzz", as_bytes(data, size), {}); });
  return 0;
}
