// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <span>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/export.h"
#include "halftone/formats/onnx/import.h"

/// An imported graph must export, unless ONNX cannot express it, and the export must import.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace halftone;
  try {
    const ir::Graph graph = formats::import_onnx(std::as_bytes(std::span(data, size)), {});
    const auto bytes = formats::export_onnx(graph);
    try {
      static_cast<void>(formats::import_onnx(bytes, {}));
    } catch (const Error&) {
      std::abort();
    }
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInternal) std::abort();
  }
  return 0;
}
