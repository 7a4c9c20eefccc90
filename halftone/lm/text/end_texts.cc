// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/text/end_texts.h"

#include <algorithm>
#include <array>

namespace halftone::lm {

bool ends_answers(std::string_view text, const std::function<bool(std::string_view)>& has) {
  constexpr std::array<std::string_view, 24> kEnds = {"<|eot_id|>",
                                                      "<|im_end|>",
                                                      "<|end|>",
                                                      "<|return|>",
                                                      "<|call|>",
                                                      "<|flush|>",
                                                      "<|calls|>",
                                                      "<end_of_turn>",
                                                      "<|endoftext|>",
                                                      "</s>",
                                                      "<|eom_id|>",
                                                      "<EOT>",
                                                      "_<EOT>",
                                                      "[EOT]",
                                                      "[EOS]",
                                                      "<|end_of_text|>",
                                                      "<end_of_utterance>",
                                                      "<eos>",
                                                      "<turn|>",
                                                      "<|tool_response>",
                                                      "<｜end▁of▁sentence｜>",
                                                      "[e~[",
                                                      "<|eot|>",
                                                      "<|plamo:eos|>"};
  if (text.empty() || std::string_view("<[_").find(text[0]) == std::string_view::npos) return false;
  if (std::ranges::find(kEnds, text) == kEnds.end()) return false;
  // Models with channels and calls go on behind a message; some have HTML's </s> among words.
  if (text == "<|end|>") {
    const bool has_call = has("<|call|>") || has("<|calls|>");
    return !(has_call && (has("<|return|>") || has("<|flush|>")));
  }
  return text != "</s>" || !(has("<|tool_response>") || has("<|plamo:eos|>"));
}

}  // namespace halftone::lm
