// SPDX-License-Identifier: Apache-2.0
#include "fuzz/fuzz_dataset.h"
#include "halftone/data/open_dataset.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace halftone::data;
  const halftone::SharedBytes file{nullptr, as_bytes(data, size)};
  exercise_dataset([&] { return dataset_from_npz("fuzz", file, {}, {}); });
  return 0;
}
