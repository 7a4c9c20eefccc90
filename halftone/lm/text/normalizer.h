// SPDX-License-Identifier: Apache-2.0
// What becomes of a text before it is split.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halftone/lm/text/characters.h"
#include "halftone/lm/text/charsmap.h"
#include "halftone/lm/text/regex.h"

namespace halftone::lm {

/// A text under way. It is UTF-8.
struct NormalText {
  std::string text;
  /// Bytes in front that are, or came from, the first character of the whole text; 0 if none.
  std::size_t front = 0;
};

/// The step of a normalizer. Source of their names and meaning: the package tokenizers.
using NormalizerStep = std::function<void(NormalText&)>;

/// Steps one after another.
class Normalizer {
 public:
  void add(NormalizerStep step) { steps_.push_back(std::move(step)); }
  [[nodiscard]] bool empty() const { return steps_.empty(); }
  void apply(NormalText& text) const {
    for (const NormalizerStep& step : steps_) step(text);
  }

 private:
  std::vector<NormalizerStep> steps_;
};

struct BertNormalizer {
  bool cleans_text = true;
  bool separates_chinese = true;
  bool strips_accents = true;
  bool lowers_case = true;
};

/// What SentencePiece does with spaces, as llama.cpp does it (tokenizer.ggml.model "t5").
struct SpaceRules {
  bool adds_front = false;
  bool merges = false;  ///< several become one, and the text begins with one
};

namespace normalizer_step {

NormalizerStep normal_form(NormalForm form);
NormalizerStep lower_case();
/// White space at the ends.
NormalizerStep strip(bool left, bool right);
/// Marks: all that stand behind the characters that they belong to.
NormalizerStep strip_accents();
/// Every match of a pattern by a text.
NormalizerStep replace(Regex pattern, std::string content);
/// Every `from` by `to`; as replace(), but faster.
NormalizerStep replace_text(std::string from, std::string to);
/// A text in front of others that are not empty.
NormalizerStep prepend(std::string content);
/// Source: BasicTokenizer of BERT's tokenization.py.
NormalizerStep bert(const BertNormalizer& options);
/// Source: nmt of SentencePiece's builder.cc.
NormalizerStep nmt();
/// SentencePiece's map, by grapheme clusters of up to 5 bytes, else by characters, as the crate
/// spm_precompiled does it.
NormalizerStep precompiled(Charsmap map);
/// SentencePiece's map, by the longest beginning that it has, as llama.cpp does it.
NormalizerStep precompiled_by_prefixes(Charsmap map, std::vector<std::string> kept);
NormalizerStep spaces(const SpaceRules& rules);

}  // namespace normalizer_step

/// Every `from` replaced by `to`.
std::string replaced(std::string_view text, std::string_view from, std::string_view to);

}  // namespace halftone::lm
