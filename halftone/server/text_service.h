// SPDX-License-Identifier: Apache-2.0
// The model behind the server: requests become texts that are written together.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "halftone/api/text_embedding.h"
#include "halftone/api/text_generation.h"
#include "halftone/base/thread_settings.h"
#include "halftone/lm/serve/serve_loop.h"
#include "halftone/server/completion_request.h"
#include "halftone/server/event_queue.h"
#include "halftone/server/metrics.h"
#include "halftone/server/server_options.h"
#include "halftone/server/tool_support.h"

namespace halftone::server {

class TextService;

/// The choices of a request while they are written. Destroying it cancels those that have not
/// ended.
class RunningCompletion {
 public:
  explicit RunningCompletion(TextService& service) : service_(service) {}
  ~RunningCompletion();
  RunningCompletion(const RunningCompletion&) = delete;
  RunningCompletion& operator=(const RunningCompletion&) = delete;

  /// The next event; nullopt if none comes in time.
  /// @throws RequestError 503 if a choice had no time to begin; 500 if it failed
  std::optional<ChoiceEvent> next(std::chrono::milliseconds patience);
  [[nodiscard]] std::size_t num_choices() const { return ids_.size(); }
  [[nodiscard]] bool has_ended() const { return num_ended_ == ids_.size(); }
  /// The prompt of a choice, if the request wants it in front.
  [[nodiscard]] std::string echo_of(std::size_t choice) const {
    return echoes_.empty() ? std::string() : echoes_.at(choice / choices_per_prompt_);
  }
  /// Tokens of all prompts, each counted once; known when all has ended.
  [[nodiscard]] std::size_t prompt_tokens() const { return prompt_tokens_; }
  [[nodiscard]] std::size_t reused_tokens() const { return reused_tokens_; }
  [[nodiscard]] std::size_t written_tokens() const { return written_tokens_; }

 private:
  friend class TextService;
  void note_end(const ChoiceEvent& event);

  TextService& service_;
  std::shared_ptr<EventQueue> events_ = std::make_shared<EventQueue>();  // jobs write to it
  std::vector<lm::Scheduler::Id> ids_;
  std::size_t choices_per_prompt_ = 1;
  std::vector<std::string> echoes_;
  std::size_t num_ended_ = 0;
  std::size_t prompt_tokens_ = 0;
  std::size_t reused_tokens_ = 0;
  std::size_t written_tokens_ = 0;
};

class TextService {
 public:
  /// @param model    must outlive this, which alone runs it
  /// @throws Error as lm::ServeLoop
  TextService(TextModel& model, const ServerOptions& options);

  /// Begins the texts of a request.
  /// @param client  who shares with others if the request does not say it
  /// @throws RequestError 400 if the model cannot take it; 404 if it names another model; 429 if
  ///         too many texts are waiting; 503 after drain()
  std::unique_ptr<RunningCompletion> start(const CompletionRequest& request,
                                           const std::string& client);
  [[nodiscard]] std::string name() const { return name_; }
  [[nodiscard]] const TextModel& model() const { return model_; }
  /// Of requests that do not say otherwise.
  [[nodiscard]] const v0::GenerateOptions& defaults() const { return options_.generate; }
  [[nodiscard]] lm::ServeCounts counts() const { return loop_.counts(); }
  [[nodiscard]] Metrics& metrics() { return metrics_; }
  /// @throws RequestError 404 if a request names another model
  void check_name(const std::string& name) const;
  /// Vectors of texts, computed beside what is written. By any thread.
  /// @throws Error as embed_tokens(); RequestError 503 after drain()
  [[nodiscard]] std::vector<std::vector<float>> embed(
      std::span<const std::vector<lm::TokenId>> texts, std::size_t dimensions) const;
  [[nodiscard]] const ToolSupport& tools() const { return tools_; }
  /// Whether the model takes conversations.
  [[nodiscard]] bool has_chat_template() const;
  [[nodiscard]] bool is_draining() const { return is_draining_; }
  /// Takes no more requests, and returns when all texts have ended.
  void drain();

 private:
  friend class RunningCompletion;
  /// What is to be written, a text for each prompt.
  [[nodiscard]] std::vector<PreparedText> prepare(const CompletionRequest& request) const;
  /// @throws RequestError 400 if a request asks for more texts than ever find a place
  void check_count(std::size_t texts) const;
  void submit(const CompletionRequest& request, const std::string& client, const PreparedText& text,
              RunningCompletion& running);

  TextModel& model_;
  const ServerOptions options_;
  std::string name_;
  ToolSupport tools_;
  Metrics metrics_;
  std::atomic<bool> is_draining_ = false;
  const ThreadSettings settings_ = thread_settings();
  lm::ServeLoop loop_;
};

}  // namespace halftone::server
