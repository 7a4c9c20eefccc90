// SPDX-License-Identifier: Apache-2.0
// Small tokenizers for the tests of this module.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "halftone/formats/gguf/testing.h"
#include "halftone/lm/text/tokenizer.h"
#include "halftone/lm/text/utf8.h"

namespace halftone::lm {

/// A list of texts as a key.
inline void add_texts(formats::GgufBytes& file, std::string_view key,
                      const std::vector<std::string>& texts) {
  file.text(key).number<std::uint32_t>(9).number<std::uint32_t>(8);
  file.number<std::uint64_t>(texts.size());
  for (const std::string& text : texts) file.text(text);
}

inline void add_kinds(formats::GgufBytes& file, const std::vector<std::int32_t>& kinds) {
  file.text("tokenizer.ggml.token_type").number<std::uint32_t>(9).number<std::uint32_t>(5);
  file.number<std::uint64_t>(kinds.size());
  for (const std::int32_t kind : kinds) file.number(kind);
}

/// The tokenizer of a file whose tokens are the 256 bytes and, from 256 on, control tokens. The
/// last one ends texts.
inline formats::GgufFile byte_tokens(const std::vector<std::string>& controls) {
  std::vector<std::string> texts;
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool is_printed =
        (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    texts.push_back(to_utf8(is_printed ? byte : next++));
  }
  texts.insert(texts.end(), controls.begin(), controls.end());
  std::vector<std::int32_t> kinds(texts.size(), 1);
  std::fill(kinds.begin() + 256, kinds.end(), 3);
  formats::GgufBytes file;
  file.head(0, 5).text_key("tokenizer.ggml.model", "gpt2");
  add_texts(file, "tokenizer.ggml.tokens", texts);
  add_kinds(file, kinds);
  add_texts(file, "tokenizer.ggml.merges", {});
  file.int_key("tokenizer.ggml.eos_token_id", static_cast<std::uint32_t>(texts.size() - 1));
  return formats::GgufFile::parse(file.file());
}

}  // namespace halftone::lm
