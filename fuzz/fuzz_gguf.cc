// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/formats/gguf/gguf_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace halftone;
  const auto* first = reinterpret_cast<const std::byte*>(data);
  try {
    const auto file = formats::GgufFile::parse({nullptr, {first, size}});
    for (const formats::GgufTensor& tensor : file.tensors()) {
      std::vector<float> values(tensor.num_elements());
      numerics::decode_blocks(*tensor.type, tensor.bytes.bytes, values);
    }
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInternal) throw;
  }
  return 0;
}
