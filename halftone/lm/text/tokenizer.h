// SPDX-License-Identifier: Apache-2.0
// Text to tokens and back.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/base/shared_bytes.h"
#include "halftone/formats/gguf/gguf_file.h"
#include "halftone/formats/gguf/gguf_writer.h"
#include "halftone/lm/text/vocabulary.h"

namespace halftone::lm {

struct EncodeOptions {
  bool begin = true;     ///< put the tokens in front that the model has in front of texts
  bool end = true;       ///< and those behind that it has behind them
  bool control = false;  ///< find control tokens such as "<|im_start|>" in the text
  /// By byte: what is not trusted has no control tokens, and none of the user-defined ones that
  /// look like "<|im_start|>" or occur in what is trusted, other than white space. Kept by
  /// reference; null: all is trusted.
  const std::vector<bool>* trusted = nullptr;
};

/// The tokenizer of a model. Any number of threads may use it.
class Tokenizer {
 public:
  /// The tokenizer of a GGUF file, as llama.cpp reads it: tokenizer.ggml.model "gpt2" (byte pairs),
  /// "llama" (SentencePiece's pairs), "t5" (unigrams), "bert" (pieces of words) or "gemma4".
  /// @throws Error kFormat if keys are missing, of other types or do not fit together; kUnsupported
  ///         for other models and splitting rules
  static Tokenizer from_gguf(const formats::GgufFile& file);
  /// The tokenizer of Hugging Face's tokenizer.json, as the package tokenizers reads it: a model of
  /// type BPE, Unigram, WordPiece or WordLevel.
  /// @throws Error kFormat if the file is malformed; kUnsupported for what is not known, which it
  ///         names
  static Tokenizer from_tokenizer_json(const SharedBytes& file);
  /// The tokenizer of llama2.c: scores and texts.
  /// @throws Error kFormat if the file is malformed
  static Tokenizer from_llama2c(const SharedBytes& file);

  /// The inverse of from_gguf(): sets the keys tokenizer.ggml.* of a new file. What is lost is what
  /// GGUF has no keys for and llama.cpp does not do: the composition of texts to Unicode's form
  /// NFC, white space that added tokens take, and that a text with a space in front gets no second
  /// one.
  /// @param size  of the vocabulary of the model: unused tokens are added up to it
  /// @throws Error kUnsupported if files cannot name what the tokenizer does: says what to do;
  ///         kFormat if there are more tokens than `size`
  void set_gguf_keys(formats::GgufKeys& keys, std::size_t size) const;

  /// @param text  UTF-8
  /// @throws Error kFormat if the text is not UTF-8, or of what has no token and there is no
  /// unknown
  ///         one; kUnsupported if the file says to cut off a text so long
  [[nodiscard]] std::vector<TokenId> encode(std::string_view text,
                                            const EncodeOptions& options = {}) const;
  /// The text of tokens; control tokens have none. It may end inside a character.
  /// @throws Error kUsage if there is no such token
  [[nodiscard]] std::string decode(std::span<const TokenId> tokens) const;
  /// The bytes of a token in the middle of a text; of control tokens their name.
  /// @throws Error kUsage if there is no such token
  [[nodiscard]] std::string text(TokenId token) const;

  [[nodiscard]] const Vocabulary& vocabulary() const;
  [[nodiscard]] TokenId begin() const;  ///< kNoToken if there is none
  [[nodiscard]] TokenId end() const;    ///< kNoToken if there is none
  /// What a user should know of the file, in a sentence; empty if nothing.
  [[nodiscard]] const std::string& warning() const;

  struct State;  ///< known in this folder only

 private:
  explicit Tokenizer(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;  // shared by copies
};

}  // namespace halftone::lm
