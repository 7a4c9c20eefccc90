// SPDX-License-Identifier: Apache-2.0
// Language models: tokens, logits, texts, conversations, perplexity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/export.hpp"
#include "halftone/options.hpp"
#include "halftone/types/language.hpp"
#include "halftone/types/language_speed.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// For LanguageModel::tokenize().
  struct TokenizeOptions {
    bool begin = true;     ///< with the token in front that begins a text, if the model has one
    bool control = false;  ///< find control tokens such as "<|im_start|>"; not for texts of others
  };

  struct TextEvaluationOptions;

  /// A language model with its tokenizer, and what it remembers: sequences of tokens. Copies are
  /// the same model. One thread at a time may use it, except for functions that are const.
  ///
  /// Functions that are given a prompt reuse the tokens at its front that the sequence has. Logits
  /// depend on the tokens of their sequence alone, bit for bit: not on how they were divided into
  /// calls, nor on threads, other sequences or the processor.
  class HALFTONE_CPP_API LanguageModel {
   public:
    /// Opens a GGUF file, a folder of Hugging Face (config.json, *.safetensors, tokenizer.json) or
    /// a
    /// *.bin file of llama2.c.
    /// @param path  must not change while the model lives
    /// @throws Error kIo, kFormat, kUnsupported, kShape, kMemory; kUsage for an option out of
    /// range, a
    ///         context that the positions of the model do not reach, or a missing or superfluous
    ///         tokenizer; kUnsupported also if this build has no libraries for text
    static LanguageModel open(const std::filesystem::path& path,
                              const LanguageModelOptions& options = {});

    [[nodiscard]] const std::string& name() const;    ///< in messages: that of its file
    [[nodiscard]] const std::string& device() const;  ///< where it runs: "cpu", "cuda", "opencl:0"
    [[nodiscard]] std::size_t vocabulary() const;     ///< logits for each token
    [[nodiscard]] std::size_t context() const;        ///< tokens that a sequence may have
    [[nodiscard]] std::size_t sequences() const;      ///< that it remembers
    [[nodiscard]] Token begin_token() const;  ///< in front of every text; kNoToken if there is none
    [[nodiscard]] bool is_end_token(Token token) const;  ///< whether it ends a text or an answer

    /// @throws Error kFormat if the text is not UTF-8
    [[nodiscard]] std::vector<Token> tokenize(std::string_view text,
                                              const TokenizeOptions& options = {}) const;
    /// The text of tokens. Control tokens have none. It may begin and end inside a character.
    /// @throws Error kUsage if there is no such token
    [[nodiscard]] std::string detokenize(std::span<const Token> tokens) const;
    /// The bytes of one token in the middle of a text; of a control token its name.
    /// @throws Error kUsage if there is no such token
    [[nodiscard]] std::string token_text(Token token) const;
    /// The text that answer() has the model continue.
    /// @throws Error as answer()
    [[nodiscard]] std::string chat_prompt(std::span<const Message> conversation,
                                          std::string_view chat_template = "") const;
    /// The text that answer_json() has the model continue; with the member
    /// "add_generation_prompt": false it ends behind the last message.
    /// @throws Error as answer_json()
    [[nodiscard]] std::string chat_prompt_json(std::string_view request,
                                               std::string_view chat_template = "") const;

    /// Appends tokens to a sequence.
    /// @param tokens  at least one
    /// @return        logits of the token that follows the last one: [vocabulary()]
    /// @throws Error kUsage if there is no such sequence or token; kUnsupported if the context is
    ///         full; the sequence is then as it was
    std::vector<float> append(std::span<const Token> tokens, std::size_t sequence = 0);
    /// The same.
    /// @return  logits of the tokens that follow each: [tokens, vocabulary()], row-major
    std::vector<float> append_for_all(std::span<const Token> tokens, std::size_t sequence = 0);
    /// Appends tokens to each of several sequences, in runs that they share: weights are read once
    /// for all. Each gets the logits that it gets alone.
    /// @return  logits of the token that follows the last one of each: [parts, vocabulary()]
    /// @throws Error as append(); kUsage if a sequence is named twice; all sequences are then as
    ///         they were
    std::vector<float> append_each(std::span<const SequenceTokens> parts);
    /// Vectors of texts, each of length 1: the mean of the hidden rows behind the final norm, or
    /// the row of the first or the last token where the files say so. Each is the same whatever the
    /// others are. Sequences stay as they are.
    /// @param dimensions  the first numbers only, of length 1 again; 0: all
    /// @throws Error kUsage if a text has more tokens than context(), or none, or vectors have
    ///         fewer dimensions; kFormat if it is not UTF-8; kMemory
    std::vector<std::vector<float>> embed(std::span<const std::string> texts,
                                          std::size_t dimensions = 0);
    /// The tokens of a sequence.
    /// @throws Error kUsage if there is no such sequence
    [[nodiscard]] std::vector<Token> tokens(std::size_t sequence = 0);
    /// Forgets all tokens from `length` on.
    /// @throws Error kUsage if there is no such sequence, or it is shorter
    void truncate(std::size_t length, std::size_t sequence = 0);
    /// Bytes of weights, keys and values that one more token reads behind `length` tokens.
    [[nodiscard]] std::size_t bytes_per_token(std::size_t length);

    /// Continues a text token by token. Afterwards the sequence has the tokens of the prompt and of
    /// the result, but the last one.
    /// @param on_token  may be empty
    /// @throws Error kUsage if the prompt has no token or more than the context, before anything is
    ///         run, or an option is out of range; kFormat if it is not UTF-8
    Generation generate(std::string_view prompt, const GenerateOptions& options = {},
                        const OnToken& on_token = {});
    /// The same with a prompt of tokens, such as tokens().
    Generation generate(std::span<const Token> prompt, const GenerateOptions& options = {},
                        const OnToken& on_token = {});
    /// Answers the last message of a conversation, which is written as the template says.
    /// @param conversation  all of it: what the sequence has of it is not read again
    /// @throws Error as generate(); kUsage if the template refuses the conversation, as where
    ///         users and assistants must alternate; kUnsupported if the model has no template, or
    ///         it does what chat templates do not; kFormat if it is none
    Generation answer(std::span<const Message> conversation, const AnswerOptions& options = {},
                      const OnToken& on_token = {});
    /// Answers a conversation with what belongs to it, or continues its last message.
    /// @param request  JSON, as apply_chat_template() of the package transformers takes it:
    ///
    ///     {"messages": [{"role": "user", "content": "Hi"}, ...], "tools": [...],
    ///      "documents": [...], "continue_final_message": false, "enable_thinking": false, ...}
    ///
    ///     Only messages must be there; members that are not named here are variables of the
    ///     template. Texts never become control tokens.
    /// @throws Error as answer(); kFormat if the request is no such JSON; kUsage if the template
    ///         leaves out the message to continue
    Generation answer_json(std::string_view request, const AnswerOptions& options = {},
                           const OnToken& on_token = {});

    /// Perplexity of a text. Sequence 0 is overwritten.
    /// @throws Error kUsage for an option out of range, if no token counts, or if the reference has
    ///         another tokenizer; kFormat if the text is not UTF-8 or logits are not numbers;
    ///         kInterrupted
    TextEvaluation evaluate(std::string_view text, const TextEvaluationOptions& options);
    /// The same with default options.
    TextEvaluation evaluate(std::string_view text);

    /// Tokens that the model reads and writes in a second. Sequence 0 is overwritten.
    /// @param progress  may be empty
    /// @throws Error kUsage if there is nothing to measure, or the context is too short;
    ///         kInterrupted
    LanguageSpeed measure_speed(const LanguageSpeedOptions& options = {},
                                const Progress& progress = {});

   private:
    struct State;
    explicit LanguageModel(std::shared_ptr<State> state);
    std::shared_ptr<State> state_;  // shared by the copies
  };

  /// For LanguageModel::evaluate(): windows of the text, each a sequence of its own, that begin at
  /// token 0, stride, 2 stride, ... A token that windows share counts once, in the first one that
  /// has tokens in front of it.
  struct TextEvaluationOptions {
    std::size_t window = 0;       ///< tokens, at least 2; 0: 512, or the context if it is shorter
    std::size_t stride = 0;       ///< 1 to window; 0: window
    std::size_t max_windows = 0;  ///< to use, from the front; 0: all
    /// Count only tokens behind the middle of a whole window, as llama.cpp's llama-perplexity does.
    bool second_half = false;
    std::optional<LanguageModel> reference{};  ///< another model to compare with
    Progress progress{};                       ///< may be empty
  };

  /// A conversation.
  class HALFTONE_CPP_API Chat {
   public:
    /// @param options  the seed of answer i is seed + i
    /// @param system   a message that tells the model what it is; empty: none
    /// @throws Error kUnsupported if the model has no template
    explicit Chat(const LanguageModel& model, const AnswerOptions& options = {},
                  const std::string& system = "");

    /// Answers a message of the user. If this throws, the conversation is as it was.
    /// @throws Error as LanguageModel::answer()
    Generation answer(const std::string& message, const OnToken& on_token = {});
    /// The conversation.
    [[nodiscard]] const std::vector<Message>& messages() const { return messages_; }

   private:
    LanguageModel model_;
    AnswerOptions options_;
    std::vector<Message> messages_;
  };

}  // namespace v0
}  // namespace halftone
