// SPDX-License-Identifier: Apache-2.0
#include "fuzz/fuzz_dataset.h"
#include "halftone/formats/data/hdf5.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace halftone::formats;
  exercise_dataset([&] { return open_hdf5_image("fuzz", as_bytes(data, size), {}); });
  return 0;
}
