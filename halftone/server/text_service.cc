// SPDX-License-Identifier: Apache-2.0
#include "halftone/server/text_service.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "halftone/base/paths.h"
#include "halftone/base/thread_settings.h"
#include "halftone/lm/evaluate/measures.h"
#include "halftone/server/request_error.h"

namespace halftone::server {
namespace {

/// "SmolLM2" of "models/SmolLM2.gguf".
std::string name_of_file(const std::string& path) {
  const std::filesystem::path file(path);
  const std::filesystem::path name = file.has_filename() ? file : file.parent_path();
  return (is_folder(file) ? name.filename() : name.stem()).string();
}

/// @param top  number of alternatives
ScoredToken score(std::span<const float> logits, lm::TokenId token, std::size_t top) {
  std::vector<double> logprobs(logits.size());
  lm::log_softmax(logits, logprobs);
  const auto at = [&](std::size_t id) {
    return TokenLogprob{static_cast<lm::TokenId>(id), logprobs[id]};
  };
  ScoredToken scored{at(static_cast<std::size_t>(token)), {}};
  std::vector<std::size_t> order(logits.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const std::size_t count = std::min(top, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](std::size_t a, std::size_t b) {
                      return logprobs[a] != logprobs[b] ? logprobs[a] > logprobs[b] : a < b;
                    });
  for (std::size_t i = 0; i < count; ++i) scored.top.push_back(at(order[i]));
  return scored;
}

/// Has a job tell a queue what is written.
void connect(lm::ServeJob& job, const std::shared_ptr<EventQueue>& events, std::size_t choice,
             std::optional<std::size_t> logprobs, Metrics& metrics) {
  auto last = std::make_shared<std::vector<float>>();  // shared by both functions
  if (logprobs) {
    job.on_logits = [last](std::span<const float> logits) {
      last->assign(logits.begin(), logits.end());
    };
  }
  const bool ends_quietly = logprobs.has_value();
  job.on_token = [=](lm::TokenId token, std::string_view text) {
    ChoiceEvent event{choice, std::string(text)};
    if (logprobs && token != lm::kNoToken) event.token = score(*last, token, *logprobs);
    if (!text.empty() || (ends_quietly && event.token)) events->put(std::move(event));
    return true;
  };
  job.on_end = [=, &metrics](lm::ServeResult result) {
    metrics.note(result.generation);
    events->put({choice, {}, {}, std::move(result)});
  };
}

}  // namespace

RunningCompletion::~RunningCompletion() {
  if (has_ended()) return;
  for (const lm::Scheduler::Id id : ids_) service_.loop_.cancel(id);
}

void RunningCompletion::note_end(const ChoiceEvent& event) {
  ++num_ended_;
  const lm::Generation& generation = event.result->generation;
  written_tokens_ += generation.tokens.size();
  if (event.choice % choices_per_prompt_ != 0) return;
  prompt_tokens_ += generation.prompt_tokens;
  reused_tokens_ += generation.reused_tokens;
}

std::optional<ChoiceEvent> RunningCompletion::next(std::chrono::milliseconds patience) {
  std::optional<ChoiceEvent> event = events_->take(patience);
  if (!event || !event->result) return event;
  note_end(*event);
  const lm::ServeResult& result = *event->result;
  if (result.error) {
    throw RequestError(500, "the model failed: " + std::string(result.error->what()));
  }
  if (result.is_overdue && result.generation.tokens.empty()) {
    throw RequestError(503, "the server has no time for this request: it is busy with others", {},
                       "timeout");
  }
  return event;
}

TextService::TextService(TextModel& model, const ServerOptions& options)
    : model_(model),
      options_(options),
      name_(options.name.empty() ? name_of_file(model.name()) : options.name),
      tools_(model, options.chat_template),
      loop_(model.model(), model.tokenizer(),
            {.run_tokens = options.run_tokens, .max_waiting = options.queue}, settings_) {}

std::vector<std::vector<float>> TextService::embed(std::span<const std::vector<lm::TokenId>> texts,
                                                   std::size_t dimensions) const {
  if (is_draining_) throw RequestError(503, "the server is about to end", {}, "ending");
  const UseThreadSettings use(settings_);
  return embed_tokens(model_, texts, dimensions);
}

void TextService::check_name(const std::string& name) const {
  if (name.empty() || name == name_) return;
  throw RequestError(404, "the model '" + name + "' is not here: expected '" + name_ + "'", "model",
                     "model_not_found");
}

bool TextService::has_chat_template() const {
  try {
    (void)model_.chat_template(options_.chat_template);
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::vector<PreparedText> TextService::prepare(const CompletionRequest& request) const {
  if (request.is_conversation()) {
    const bool has_tools = !request.tools.functions.empty();
    lm::ChatRequest conversation = request.conversation;
    conversation.tools_as_text = (has_tools || request.tools.is_past) && tools_.as_text();
    v0::GenerateOptions options = request.options;
    // With functions, the form of an answer allows calls too.
    const std::string schema = has_tools ? std::exchange(options.json_schema, "") : "";
    PreparedText text =
        prepare_answer(model_, conversation, {options_.chat_template, options, false});
    if (has_tools) tools_.prepare(request.tools, schema, text);
    return {std::move(text)};
  }
  std::vector<PreparedText> texts;
  for (const Prompt& prompt : request.prompts) {
    PreparedText text = prepare_text(
        model_, std::holds_alternative<std::string>(prompt) ? std::get<std::string>(prompt) : "",
        request.options);
    if (const auto* tokens = std::get_if<std::vector<lm::TokenId>>(&prompt)) {
      text.prompt = *tokens;
      model_.check_tokens(text.prompt);
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

void TextService::check_count(std::size_t texts) const {
  const std::size_t most = model_.model().sequences() + options_.queue;
  if (texts <= most) return;
  throw RequestError(
      400, "prompts times choices (best_of or n): expected at most " + std::to_string(most) +
               " texts, as many as this server runs and lets " + "wait, found " +
               std::to_string(texts) + "; ask for fewer, or start it with a larger --queue");
}

void TextService::submit(const CompletionRequest& request, const std::string& client,
                         const PreparedText& text, RunningCompletion& running) {
  // The best texts are found by their probabilities.
  const bool ranks = request.candidates > request.choices;
  const std::optional<std::size_t> logprobs =
      ranks ? request.logprobs.value_or(0) : request.logprobs;
  for (std::size_t i = 0; i < request.candidates; ++i) {
    lm::ServeJob job{text.job, text.prompt};
    job.end_tokens.insert(job.end_tokens.end(), request.stop_tokens.begin(),
                          request.stop_tokens.end());
    job.sampling.seed += i;
    job.client = request.user.empty() ? client : request.user;
    job.max_seconds = options_.seconds;
    connect(job, running.events_, running.ids_.size(), logprobs, metrics_);
    const auto id = loop_.submit(std::move(job));
    if (!id) {
      throw RequestError(429, "too many requests are waiting: try again later", {},
                         "rate_limit_exceeded");
    }
    running.ids_.push_back(*id);
  }
}

std::unique_ptr<RunningCompletion> TextService::start(const CompletionRequest& request,
                                                      const std::string& client) {
  if (is_draining_) throw RequestError(503, "the server is about to end", {}, "ending");
  check_name(request.model);
  auto running = std::make_unique<RunningCompletion>(*this);
  running->choices_per_prompt_ = request.candidates;
  try {
    model_.check_tokens(request.stop_tokens);
    const std::vector<PreparedText> texts = prepare(request);
    check_count(texts.size() * request.candidates);
    for (const PreparedText& text : texts) {
      submit(request, client, text, *running);
      if (request.echoes) running->echoes_.push_back(model_.detokenize(text.prompt));
    }
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kMemory || error.kind() == ErrorKind::kInternal) throw;
    const bool is_long = error.hint() == Hint::kContext;
    throw RequestError(400, error.what(), request.is_conversation() ? "messages" : "prompt",
                       is_long ? "context_length_exceeded" : "");
  }
  return running;
}

void TextService::drain() {
  is_draining_ = true;
  loop_.drain();
}

}  // namespace halftone::server
