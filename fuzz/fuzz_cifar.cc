// SPDX-License-Identifier: Apache-2.0
#include "fuzz/fuzz_dataset.h"
#include "halftone/data/open_dataset.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace halftone::data;
  exercise_dataset([&] { return dataset_from_cifar("fuzz", {nullptr, as_bytes(data, size)}, {}); });
  return 0;
}
