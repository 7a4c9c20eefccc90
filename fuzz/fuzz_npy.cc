// SPDX-License-Identifier: Apache-2.0
// The same bytes as samples and as labels; what parses is written and read again.
#include <cstdlib>

#include "fuzz/fuzz_dataset.h"
#include "halftone/data/npy.h"
#include "halftone/data/open_dataset.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace halftone::data;
  const auto bytes = as_bytes(data, size);
  const halftone::SharedBytes file{nullptr, bytes};
  exercise_dataset([&] { return dataset_from_npy("fuzz", file, {}, {}); });
  exercise_dataset([&] { return dataset_from_npy("fuzz", file, file, {}); });
  try {
    const NpyArray array = parse_npy(bytes);
    const NpyArray back = parse_npy(npy_bytes(array));
    if (back.shape != array.shape || back.data != array.data) std::abort();
  } catch (const halftone::Error&) {  // not a .npy file
  }
  return 0;
}
