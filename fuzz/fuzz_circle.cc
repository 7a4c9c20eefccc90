// SPDX-License-Identifier: Apache-2.0
// An imported graph is written in both formats and read again.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/formats/circle/export.h"
#include "halftone/formats/circle/import.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace halftone;
  try {
    // A copy of exactly this size, so that any read past its end is seen.
    const auto given = std::as_bytes(std::span(data, size));
    const std::vector<std::byte> bytes(given.begin(), given.end());
    const ir::Graph graph = formats::import_circle(bytes);
    for (const auto flavor : {formats::CircleFlavor::kTflite, formats::CircleFlavor::kCircle}) {
      (void)formats::import_circle(formats::export_circle(graph, flavor));
    }
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInternal) throw;
  }
  return 0;
}
