// SPDX-License-Identifier: Apache-2.0
// How models are opened, tokens are drawn, what was written, and how well texts are predicted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/export.hpp"
#include "halftone/types/resources.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// A token, by its number in the vocabulary.
  using Token = std::int32_t;
  inline constexpr Token kNoToken = -1;  ///< no token

  /// Tokens that a sequence is continued with.
  struct SequenceTokens {
    std::size_t sequence = 0;
    std::span<const Token> tokens{};  ///< at least one
  };

  /// For LanguageModel::open().
  struct LanguageModelOptions {
    std::filesystem::path tokenizer{};  ///< a file, for a model of llama2.c; else empty
    /// Tokens of a sequence at most; nullopt: as the model says, 4096 at most.
    std::optional<std::size_t> context{};
    std::size_t sequences = 1;  ///< that the model remembers, each in memory of its own
    /// How keys and values are kept: "float32", "float16", or "int8" with a scale for each head.
    std::string cache = "float16";
    bool float_activations = false;  ///< round no inputs of layers to 8 bits; decode the weights
    /// Low-rank changes of matrices: a folder of the package peft, or a GGUF file; empty: none.
    std::filesystem::path lora{};
    /// A smaller model with the same tokens, as files in open(); empty: none. What it would write
    /// is guessed where a text repeats nothing, and verified as GenerateOptions::lookup says: the
    /// text is the same. It has sequences and a context of its own, which take memory.
    std::filesystem::path draft{};
    /// Of a file of two precisions, which quantize_language_model() writes: 3 or 4; nullopt: 4, or
    /// any other file. With 3, the rest of the codes is not read.
    std::optional<std::size_t> bits{};
    /// "cpu", a graphics card as devices() names them: "opencl:0", or "cuda" for the first one; or
    /// "auto": the best card, or the processor where none can run the model. Logits have the same
    /// bits.
    std::string device = "cpu";
    Resources resources{};  ///< of all calls
  };

  /// What is added to the logit of a token.
  struct LogitBias {
    Token token = 0;
    double bias = 0;  ///< -100 and less: it is never drawn, if others are
  };

  /// How tokens are drawn, in these steps on the logits l, each on the tokens that those before it
  /// have left:
  ///
  ///     1. repetition   l of the last repeat_window tokens becomes l / repeat_penalty if l > 0,
  ///                     else l * repeat_penalty
  ///     2. top_k        the k highest logits
  ///     3. top_p        the fewest of the most probable tokens whose probabilities sum to p or
  ///                     more
  ///     4. min_p        tokens at least min_p times as probable as the most probable one
  ///     5. temperature  drawn with probability softmax(l / temperature)
  ///
  /// The same options and tokens give the same text on every processor.
  struct SamplingOptions {
    double temperature = 0;          ///< at least 0; 0: the highest logit
    std::size_t top_k = 40;          ///< 0: all
    double top_p = 0.95;             ///< above 0; 1: all
    double min_p = 0.05;             ///< 0 to 1; 0: all
    double repeat_penalty = 1;       ///< above 0; 1: none
    std::size_t repeat_window = 64;  ///< tokens
    std::uint64_t seed = 0;
    double presence_penalty = 0;   ///< -2 to 2: taken from the logits of tokens written before
    double frequency_penalty = 0;  ///< -2 to 2: the same for each time that they were written
    std::vector<LogitBias> logit_bias{};
  };

  /// Gets a text as it is written: each token with the text that is certain with it, which may be
  /// empty and ends between two characters; at the end kNoToken and the rest of the text, if there
  /// is one; and kNoToken without text before each 256 tokens of the prompt. It runs on the calling
  /// thread.
  /// @return  whether to go on; if not, the generation ends with End::kInterrupted. What the
  ///          function throws leaves the call unchanged.
  using OnToken = std::function<bool(Token token, std::string_view text)>;

  /// For LanguageModel::generate().
  struct GenerateOptions {
    std::size_t max_tokens = 128;
    SamplingOptions sampling{};
    std::vector<std::string> stops{};  ///< the result ends in front of the first of these texts
    std::size_t sequence = 0;          ///< of the model
    bool control = false;              ///< find control tokens in a prompt that is text
    /// What the text has to be: a JSON schema, a file with one, or "json" for any object. Tokens
    /// that lead to no such text are not drawn, and the others keep their relative probabilities;
    /// the text is whole unless the count or the context ends it.
    std::string json_schema{};
    /// The same as a grammar in the notation of llama.cpp (GBNF), or a file with one.
    std::string grammar{};
    /// The same as a regular expression of the whole text.
    std::string regex{};
    /// Tokens that are guessed at most, as they followed the last ones before, and verified in one
    /// run: the text is the same, and written faster where it repeats something. 0: none.
    std::size_t lookup = 15;
  };

  /// Why a generation ended.
  enum class End : std::uint8_t {
    kCount,        ///< it has as many tokens as were asked for
    kToken,        ///< an end token of the model, which has no text; or the text of a grammar is
                   ///< whole
    kText,         ///< a stop text
    kContext,      ///< the context is full
    kInterrupted,  ///< OnToken ended it
  };
  /// "count", "token", "text", "context" or "interrupted".
  constexpr std::string_view to_string(End end) {
    switch (end) {
      case End::kCount:
        return "count";
      case End::kToken:
        return "token";
      case End::kText:
        return "text";
      case End::kContext:
        return "context";
      case End::kInterrupted:
        break;
    }
    return "interrupted";
  }

  /// What was generated.
  struct Generation {
    std::string text;           ///< without the stop text; bytes that are no UTF-8 became U+FFFD
    std::vector<Token> tokens;  ///< with the end token
    End end = End::kCount;      ///< why it ended
    std::size_t prompt_tokens = 0;       ///< of the prompt, with those that are reused
    std::size_t reused_tokens = 0;       ///< of the prompt, which the sequence had already
    double prompt_seconds = 0;           ///< for the prompt
    double first_seconds = 0;            ///< from the beginning to the first token
    double generate_seconds = 0;         ///< for the tokens after the first one
    std::size_t forgotten_messages = 0;  ///< of a conversation, left out to make room
    std::size_t guessed_tokens = 0;      ///< that were guessed before they were drawn
    std::size_t accepted_tokens = 0;     ///< of these, which were right
    bool begins_twice = false;  ///< the prompt has the begin token, which the model adds too
  };

  /// Who has written a message.
  enum class Role : std::uint8_t { kSystem, kUser, kAssistant };

  /// A message of a conversation.
  struct Message {
    Role role = Role::kUser;
    std::string content;  ///< control tokens in it are plain text
  };

  /// For LanguageModel::answer() and Chat.
  struct AnswerOptions {
    std::string chat_template{};  ///< "chatml", ..., text or file in Jinja; empty: its own
    /// max_tokens 0: until the context is full.
    GenerateOptions generate{.max_tokens = 0};
    /// Where a conversation leaves less than a quarter of the context for the answer, or max_tokens
    /// if that is less, its oldest turns are left out until it takes half. Chat always does so.
    bool forgets = false;
  };

  /// A value and its standard error, which takes tokens for independent.
  struct Estimate {
    double value = 0;
    double standard_error = 0;
  };

  /// How close a language model is to a reference.
  struct TextComparison {
    Estimate perplexity;  ///< of the reference
    Estimate ratio;       ///< perplexity of the model / of the reference
    Estimate mean_kl;     ///< mean of KL(reference || model) in nats for each token
    Estimate kl_99;       ///< which 99 % of the tokens do not exceed
    Estimate same_top;    ///< share of tokens with the same most probable one
  };

  /// What LanguageModel::evaluate() returns.
  struct TextEvaluation {
    std::size_t num_tokens = 0;  ///< that count
    std::size_t num_windows = 0;
    Estimate loss;        ///< mean of -log p(token), in nats
    Estimate perplexity;  ///< e^loss
    std::optional<TextComparison> reference{};
  };

}  // namespace v0
}  // namespace halftone
