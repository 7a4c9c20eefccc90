// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/text/text_decoder.h"

#include <array>
#include <string_view>

#include "halftone/lm/text/byte_pairs.h"
#include "halftone/lm/text/normalizer.h"

namespace halftone::lm::decoder_step {

DecoderStep replace_text(std::string from, std::string to) {
  return [from = std::move(from), to = std::move(to)](std::string& text, bool) {
    text = replaced(text, from, to);
  };
}

DecoderStep strip_front(std::string content, std::size_t count, bool is_of_whole) {
  return [content = std::move(content), count, is_of_whole](std::string& text, bool is_first) {
    if (is_of_whole && !is_first) return;
    std::size_t length = 0;
    for (std::size_t i = 0; i < count && text.compare(length, content.size(), content) == 0; ++i) {
      length += content.size();
    }
    text.erase(0, length);
  };
}

DecoderStep strip_back(std::string content, std::size_t count) {
  return [content = std::move(content), count](std::string& text, bool) {
    for (std::size_t i = 0; i < count && text.ends_with(content); ++i) {
      text.resize(text.size() - content.size());
    }
  };
}

DecoderStep metaspace(std::string sign, bool drops_first) {
  return [sign = std::move(sign), drops_first](std::string& text, bool is_first) {
    text = replaced(text, sign, is_first && drops_first ? "" : " ");
  };
}

DecoderStep bytes() {
  return [](std::string& text, bool) { text = bytes_from_characters(text); };
}

DecoderStep word_pieces(std::string prefix, bool cleans) {
  return [prefix = std::move(prefix), cleans](std::string& text, bool is_first) {
    if (!is_first) {
      if (!prefix.empty() && text.starts_with(prefix)) {
        text.erase(0, prefix.size());
      } else {
        text.insert(0, " ");
      }
    }
    if (!cleans) return;
    constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kCleaned = {
        {{" .", "."},
         {" ?", "?"},
         {" !", "!"},
         {" ,", ","},
         {" ' ", "'"},
         {" n't", "n't"},
         {" 'm", "'m"},
         {" do not", " don't"},
         {" 's", "'s"},
         {" 've", "'ve"},
         {" 're", "'re"}}};
    for (const auto& [from, to] : kCleaned) text = replaced(text, from, to);
  };
}

DecoderStep words() {
  return [](std::string& text, bool is_first) {
    if (!is_first) text.insert(0, " ");
  };
}

}  // namespace halftone::lm::decoder_step
