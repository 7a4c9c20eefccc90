// SPDX-License-Identifier: Apache-2.0
// What describes a language model: keys of GGUF with its tensors, config.json, llama2.c.
#include <cstdint>
#include <string_view>

#include "halftone/base/error.h"
#include "halftone/formats/gguf/gguf_file.h"
#include "halftone/lm/model/gguf_keys.h"
#include "halftone/lm/model/hf_config.h"
#include "halftone/lm/model/llama2c.h"
#include "halftone/lm/model/weights.h"

namespace {

namespace formats = halftone::formats;
namespace lm = halftone::lm;

void describe(const halftone::SharedBytes& file) {
  const std::string_view text(reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size());
  if (text.starts_with("GGUF")) {
    const auto gguf = formats::GgufFile::parse(file);
    const lm::Weights weights(lm::describe_gguf(gguf), gguf);
  } else if (text.starts_with("{")) {
    lm::describe_config(text, "config.json");
  } else {
    const lm::Llama2cFile checkpoint = lm::parse_llama2c(file);
    const lm::Weights weights(checkpoint.description, checkpoint);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    describe({nullptr, {reinterpret_cast<const std::byte*>(data), size}});
  } catch (const halftone::Error& error) {
    if (error.kind() == halftone::ErrorKind::kInternal) throw;
  }
  return 0;
}
