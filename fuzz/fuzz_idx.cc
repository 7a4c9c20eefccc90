// SPDX-License-Identifier: Apache-2.0
// The first byte says how many of the bytes that follow, in units of 4, are the labels' file.
#include "fuzz/fuzz_dataset.h"
#include "halftone/data/open_dataset.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace halftone::data;
  if (size == 0) return 0;
  const auto bytes = as_bytes(data + 1, size - 1);
  const std::size_t label_bytes = std::min<std::size_t>(std::size_t{data[0]} * 4, bytes.size());
  std::optional<halftone::SharedBytes> labels;
  if (label_bytes != 0) labels = halftone::SharedBytes{nullptr, bytes.first(label_bytes)};
  for (const bool limited : {false, true}) {
    DatasetOptions options;
    if (limited) options.limit = 2;
    exercise_dataset([&] {
      return dataset_from_idx("fuzz", {nullptr, bytes.subspan(label_bytes)}, labels, options);
    });
  }
  return 0;
}
