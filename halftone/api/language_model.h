// SPDX-License-Identifier: Apache-2.0
// Language models as programs handle them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halftone/api/form_cache.h"
#include "halftone/api/text_embedding.h"
#include "halftone/base/paths.h"
#include "halftone/lm/chat/model_texts.h"
#include "halftone/lm/constrain/constraint.h"
#include "halftone/lm/generate/token_model.h"
#include "halftone/runtime/execution_options.h"
#include "halftone/spmd/transport.hpp"
#include "halftone/types/language.hpp"

namespace halftone {

/// How a model is opened.
struct OpenOptions : v0::LanguageModelOptions {
  runtime::FloatOrder float_order = runtime::FloatOrder::kFastest;
  int threads = 0;  ///< 0: those of the process
  /// Ranks that run the model together, of which this is the first; null: this process does alone.
  std::shared_ptr<spmd::Transport> ranks{};
  /// Gets a line with the device that "auto" chose, and why; may be empty.
  std::function<void(const std::string&)> on_device{};

  /// Takes what these options have too.
  void set_execution(const runtime::ExecutionOptions& execution) {
    float_activations = !execution.int8_activations;
    float_order = execution.float_order;
  }
};

/// A model with its tokenizer. Functions that take it run on one thread at a time.
class TextModel {
 public:
  /// Opens a GGUF file, Halftone's own file, a folder of Hugging Face, or a file of llama2.c.
  /// @throws Error as lm::read_model_texts() and open_token_model(); kUnsupported if this build has
  ///         no tokenizers
  static TextModel open(const std::filesystem::path& path, const OpenOptions& options = {});
  /// @param name             in messages
  /// @param trained_context  tokens that the model was trained for; 0: not known
  /// @param device           where it runs
  TextModel(std::string name, lm::ModelTexts texts, std::unique_ptr<lm::TokenModel> model,
            std::size_t trained_context = 0, std::string device = "cpu")
      : name_(std::move(name)),
        texts_(std::move(texts)),
        model_(std::move(model)),
        trained_context_(trained_context),
        device_(std::move(device)),
        constraint_tokens_(std::make_shared<lm::ConstraintTokens>(texts_.tokenizer)) {}

  [[nodiscard]] const std::string& name() const { return name_; }
  /// Where it runs: "cpu", "cuda", "opencl:0".
  [[nodiscard]] const std::string& device() const { return device_; }
  [[nodiscard]] const lm::ModelTexts& texts() const { return texts_; }
  [[nodiscard]] const lm::Tokenizer& tokenizer() const { return texts_.tokenizer; }
  [[nodiscard]] lm::TokenModel& model() { return *model_; }
  [[nodiscard]] const lm::TokenModel& model() const { return *model_; }

  /// What a user should know of its files and its context.
  [[nodiscard]] std::vector<std::string> warnings() const;
  /// @throws Error as lm::Tokenizer::encode() and check_tokens()
  [[nodiscard]] std::vector<lm::TokenId> tokenize(std::string_view text,
                                                  const lm::EncodeOptions& options = {}) const;
  /// Whether the model has the tokens of its tokenizer.
  /// @throws Error kFormat if not
  void check_tokens(std::span<const lm::TokenId> tokens) const;
  /// The text of tokens; control tokens have none. It may end inside a character.
  /// @throws Error as lm::Tokenizer::decode()
  [[nodiscard]] std::string detokenize(std::span<const lm::TokenId> tokens) const;
  /// @throws Error as lm::Tokenizer::text()
  [[nodiscard]] std::string token_text(lm::TokenId token) const;
  /// The token in front of texts; lm::kNoToken if there is none.
  [[nodiscard]] lm::TokenId begin_token() const;
  /// Whether a text or an answer ends with the token.
  [[nodiscard]] bool is_end_token(lm::TokenId token) const {
    const auto has = [&](const std::vector<lm::TokenId>& tokens) {
      return std::ranges::find(tokens, token) != tokens.end();
    };
    return has(texts_.end_tokens) || has(texts_.answer_end_tokens);
  }

  /// @param choice  a family, a template in Jinja, or a file with one; empty: that of the model
  /// @throws Error kUnsupported if there is no such family or file, or the model has no template;
  ///         else as lm::ChatTemplate::parsed() and map_file()
  [[nodiscard]] lm::ChatTemplate chat_template(std::string_view choice = "") const;

  /// What gives vectors of texts, made when it is first asked for. By any thread.
  /// @throws Error kUnsupported if the model has none; as lm::pooling_of() and lm::Decoder
  [[nodiscard]] TextEmbedder& embedder() const;
  /// Says how it is made.
  void set_embedder(std::function<std::unique_ptr<TextEmbedder>()> open) {
    embedding_ = std::make_unique<Embedding>();
    embedding_->open = std::move(open);
  }

  /// The tokens as constraints of texts need them.
  [[nodiscard]] const std::shared_ptr<const lm::ConstraintTokens>& constraint_tokens() const {
    return constraint_tokens_;
  }
  /// Forms that texts of the model had.
  [[nodiscard]] FormCache& forms() const { return *forms_; }

 private:
  struct Embedding {
    std::function<std::unique_ptr<TextEmbedder>()> open{};
    std::once_flag once{};
    std::unique_ptr<TextEmbedder> embedder{};
  };

  std::string name_;
  lm::ModelTexts texts_;
  std::unique_ptr<lm::TokenModel> model_;
  std::size_t trained_context_;
  std::string device_;
  std::shared_ptr<const lm::ConstraintTokens> constraint_tokens_;  // shared by texts in progress
  std::unique_ptr<FormCache> forms_ = std::make_unique<FormCache>();
  std::unique_ptr<Embedding> embedding_;
};

/// On a rank that is not the first: computes its part of the model that the first one opens with
/// the same options, until that one ends.
/// @throws Error as TextModel::open(), on all ranks if on one
void follow_model(const std::filesystem::path& path, const OpenOptions& options);

/// Whether a path is read as a language model: *.gguf, *.safetensors, *.bin, a folder.
inline bool is_language_model(const std::filesystem::path& path) {
  return path.extension() == ".gguf" || path.extension() == ".safetensors" ||
         path.extension() == ".bin" || is_folder(path);
}

}  // namespace halftone
