// SPDX-License-Identifier: Apache-2.0
// Small tokenizers for the tests of this module.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "halftone/formats/gguf/testing.h"
#include "halftone/lm/text/byte_pairs.h"
#include "halftone/lm/text/tokenizer.h"

namespace halftone::lm {

/// The keys of a tokenizer. @param kinds  of the tokens; none: the key is absent
inline formats::GgufKeys tokenizer_keys(std::string_view model,
                                        const std::vector<std::string>& tokens,
                                        const std::vector<std::int32_t>& kinds = {}) {
  formats::GgufKeys keys;
  keys.set("tokenizer.ggml.model", model).set("tokenizer.ggml.tokens", tokens);
  if (!kinds.empty()) keys.set("tokenizer.ggml.token_type", kinds);
  return keys;
}

/// Sets the key "tokenizer.ggml.NAME_token_id".
inline void set_token(formats::GgufKeys& keys, const std::string& name, std::uint32_t token) {
  keys.set("tokenizer.ggml." + name + "_token_id", token);
}

/// The keys of a file whose tokens are the 256 bytes and, from 256 on, control tokens. The last one
/// ends texts.
inline formats::GgufKeys byte_token_keys(const std::vector<std::string>& controls) {
  std::vector<std::string> texts;
  for (int byte = 0; byte < 256; ++byte) {
    texts.push_back(characters_from_bytes(std::string(1, static_cast<char>(byte))));
  }
  texts.insert(texts.end(), controls.begin(), controls.end());
  std::vector<std::int32_t> kinds(texts.size(), 1);
  std::fill(kinds.begin() + 256, kinds.end(), 3);
  formats::GgufKeys keys = tokenizer_keys("gpt2", texts, kinds);
  keys.set("tokenizer.ggml.merges", std::vector<std::string>());
  set_token(keys, "eos", static_cast<std::uint32_t>(texts.size() - 1));
  return keys;
}
/// The file.
inline formats::GgufFile byte_tokens(const std::vector<std::string>& controls) {
  return formats::gguf_of(byte_token_keys(controls));
}

}  // namespace halftone::lm
