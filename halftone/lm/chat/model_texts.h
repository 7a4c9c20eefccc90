// SPDX-License-Identifier: Apache-2.0
// What the files of a language model say of its text.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "halftone/formats/gguf/gguf_writer.h"
#include "halftone/lm/chat/chat_template.h"
#include "halftone/lm/model/model_file.h"
#include "halftone/lm/text/tokenizer.h"

namespace halftone::lm {

struct ModelTexts {
  Tokenizer tokenizer;
  std::string chat_template;        ///< Jinja; empty if the files have none
  ChatMarks marks;                  ///< the texts that a template writes for begin and end
  std::vector<TokenId> end_tokens;  ///< of texts, in the order of ids
  /// Of answers: end_tokens, and tokens whose texts are known to end answers.
  std::vector<TokenId> answer_end_tokens{};
};

/// The files by which a model turns text into tokens, which ModelFile keeps: of a GGUF file its
/// keys.
/// @param model      a GGUF file, a folder of Hugging Face, Halftone's own file, or one of llama2.c
/// @param tokenizer  of a model of llama2.c, if it is not the tokenizer.bin beside it; else empty
/// @throws Error as formats::GgufFile, ModelFile and map_file()
TextFiles read_text_files(const std::filesystem::path& model,
                          const std::filesystem::path& tokenizer = {});

/// Reads a GGUF file, Halftone's own file, or a folder of Hugging Face with tokenizer.json and,
/// where they are there, tokenizer_config.json, chat_template.jinja and generation_config.json, in
/// whose absence config.json says which tokens end texts. Where no file says it, texts of tokens
/// do.
/// @param tokenizer  of a model of llama2.c, if it is not the tokenizer.bin beside it; else empty
/// @throws Error kUsage if a file of llama2.c comes without a tokenizer, or another model with one;
///         kIo if a file is missing; kFormat if one is malformed; kUnsupported as Tokenizer's
///         functions
ModelTexts read_model_texts(const std::filesystem::path& model,
                            const std::filesystem::path& tokenizer);

/// Sets the keys of a new GGUF file that say what the files of a folder of Hugging Face say of
/// text: Tokenizer::set_gguf_keys(), the tokens that begin and end texts, pad them and are unknown,
/// and the template of chats. Tokens are those that tokenizer_config.json names, else
/// config.json's.
/// @param folder      has tokenizer.json
/// @param vocabulary  tokens of the model
/// @throws Error as read_model_texts() and Tokenizer::set_gguf_keys()
void set_gguf_text_keys(formats::GgufKeys& keys, const std::filesystem::path& folder,
                        std::size_t vocabulary);

/// The end token of a tokenizer, and those whose texts are known to end an answer ("<|im_end|>",
/// "<|eot_id|>", ...), of whatever kind, in the order of ids.
std::vector<TokenId> end_tokens(const Tokenizer& tokenizer);

}  // namespace halftone::lm
