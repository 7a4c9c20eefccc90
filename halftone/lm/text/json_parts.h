// SPDX-License-Identifier: Apache-2.0
// Parts of tokenizer.json of Hugging Face's tokenizers. Private to this folder.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halftone/lm/text/tokenizer_state.h"

namespace halftone::lm::tokenizer_json {

/// @throws Error kFormat
[[noreturn]] void fail_format(const std::string& message);
/// @throws Error kUnsupported that names a part, and shows its beginning
[[noreturn]] void refuse(const std::string& part, const nlohmann::json& found);

/// A member; null if there is none.
const nlohmann::json& member(const nlohmann::json& object, const char* key);
std::string text_member(const nlohmann::json& object, const char* key);
/// A text; empty for null or none.
std::string optional_text(const nlohmann::json& object, const char* key);
bool flag_member(const nlohmann::json& object, const char* key, bool otherwise);
/// @throws Error kFormat for what is no number from 0 to 2^24
std::size_t count_member(const nlohmann::json& object, const char* key, std::size_t otherwise);
/// @throws Error kUnsupported for a member with another name
void check_members(const std::string& part, const nlohmann::json& object,
                   std::initializer_list<std::string_view> known);
/// A step, or those of a Sequence, in which others may lie; none for null.
std::vector<nlohmann::json> steps_of(const nlohmann::json& step, const char* list);

/// How steps that this file has read are named in GGUF files, and whether words are bytes.
struct Steps {
  bool has_bytes = false;       ///< the last step of the pre-tokenizer is ByteLevel
  bool has_space_sign = false;  ///< U+2581 represents a space
  bool has_others = false;      ///< steps that GGUF files do not name
  bool adds_space = false;
  std::vector<std::string> patterns{};
};

void read_normalizer(const nlohmann::json& normalizer, Steps& steps, Tokenizer::State& state);
void read_pre_tokenizer(const nlohmann::json& pre_tokenizer, Steps& steps, Tokenizer::State& state);
void read_decoder(const nlohmann::json& decoder, const Steps& steps, Tokenizer::State& state);
/// Whether a decoder turns tokens such as "<0x0A>" into bytes.
bool decodes_bytes(const nlohmann::json& decoder);

/// The merges of a model BPE, as the file has them.
std::vector<std::pair<std::string, std::string>> merges_of(const nlohmann::json& model);
/// The tokens of a model, and those that were added.
std::vector<Token> tokens_of(const nlohmann::json& root, const Steps& steps);
void read_model(const nlohmann::json& model, const Steps& steps, Tokenizer::State& state);
/// An id. @throws Error kFormat
TokenId id_of(const nlohmann::json& id);

}  // namespace halftone::lm::tokenizer_json
