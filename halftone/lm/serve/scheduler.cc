// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/serve/scheduler.h"

#include <algorithm>
#include <exception>
#include <tuple>
#include <utility>

#include "halftone/base/parallel.h"

namespace halftone::lm {

struct Scheduler::Request {
  Request(Id the_id, const TokenModel& model, const Tokenizer& tokenizer, ServeJob& job)
      : id(the_id),
        priority(job.priority),
        client(std::move(job.client)),
        on_end(std::move(job.on_end)),
        prompt_tokens(job.prompt.size()),
        text(model, tokenizer, job.prompt, std::move(static_cast<GenerateJob&>(job))) {
    if (job.max_seconds > 0) {
      deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                    std::chrono::duration<double>(job.max_seconds));
    }
  }

  /// Tokens that the model has yet to read before it can write the next one.
  [[nodiscard]] std::size_t pending() const { return text.tokens().size() - done; }
  [[nodiscard]] bool is_reading() const { return text.num_written() == 0; }
  /// What the next run reads.
  [[nodiscard]] SequencePart part() const {
    if (num_guesses() > 0) return {*sequence, guessed, WantedLogits::kAll};
    return {*sequence, text.tokens().subspan(done, share),
            share == pending() ? WantedLogits::kLast : WantedLogits::kNone};
  }
  [[nodiscard]] std::size_t num_guesses() const { return guessed.empty() ? 0 : guessed.size() - 1; }

  Id id;
  int priority;
  std::string client;
  std::function<void(ServeResult)> on_end;
  std::size_t prompt_tokens;
  Continuation text;
  std::optional<Clock::time_point> deadline;
  std::optional<std::size_t> sequence;  ///< where it runs
  std::size_t done = 0;                 ///< tokens that the sequence has
  std::size_t reused = 0;               ///< of the prompt, when it began
  std::size_t share = 0;                ///< tokens in the next run, without guesses
  std::vector<TokenId> guessed;         ///< where there are guesses: the last token and these
  bool has_begun = false;
  bool is_overdue = false;
  std::optional<Error> error;
};

Scheduler::Scheduler(TokenModel& model, const Tokenizer& tokenizer, const SchedulerOptions& options)
    : model_(model), tokenizer_(tokenizer), options_(options), slots_(model) {
  if (options.run_tokens == 0) {
    fail(ErrorKind::kUsage, "tokens of a run: expected at least 1, found 0");
  }
}

Scheduler::~Scheduler() = default;

template <typename Change>
void Scheduler::count(const Change& change) {
  const std::lock_guard lock(mutex_);
  change(counts_);
}

ServeCounts Scheduler::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::optional<Scheduler::Id> Scheduler::submit(ServeJob job) {
  auto request = std::make_unique<Request>(0, model_, tokenizer_, job);
  const std::lock_guard lock(mutex_);
  if (counts_.running + counts_.waiting >= model_.sequences() + options_.max_waiting) {
    ++counts_.refused;
    return std::nullopt;
  }
  ++counts_.accepted;
  ++counts_.waiting;
  request->id = next_id_++;
  submitted_.push_back(std::move(request));
  return submitted_.back()->id;
}

void Scheduler::cancel(Id id) {
  const std::lock_guard lock(mutex_);
  cancelled_.push_back(id);
}

void Scheduler::cancel_all() {
  const std::lock_guard lock(mutex_);
  cancelled_up_to_ = next_id_ - 1;
}

bool Scheduler::step() {
  take_submitted();
  end_overdue();
  finish_ended();
  admit();
  run();
  finish_ended();
  const std::lock_guard lock(mutex_);
  return !requests_.empty() || !submitted_.empty();
}

void Scheduler::take_submitted() {
  const std::lock_guard lock(mutex_);
  for (auto& request : submitted_) requests_.push_back(std::move(request));
  submitted_.clear();
  for (const auto& request : requests_) {
    const bool is_cancelled = request->id <= cancelled_up_to_ ||
                              std::ranges::find(cancelled_, request->id) != cancelled_.end();
    if (is_cancelled) request->text.interrupt();
  }
  cancelled_.clear();
}

void Scheduler::end_overdue() {
  const Clock::time_point now = Clock::now();
  for (const auto& request : requests_) {
    if (!request->deadline || now < *request->deadline) continue;
    request->is_overdue = true;
    request->text.interrupt();
  }
}

std::size_t Scheduler::running_of(const std::string& client) const {
  return static_cast<std::size_t>(std::ranges::count_if(requests_, [&](const auto& request) {
    return request->sequence && request->client == client;
  }));
}

bool Scheduler::is_being_read(const Request& request) const {
  constexpr std::size_t kWorthWaiting = 16;  // tokens
  if (!slots_.copies()) return false;
  const std::size_t known = slots_.longest_front(request.text.tokens());
  return std::ranges::any_of(requests_, [&](const auto& other) {
    if (!other->sequence || !other->is_reading()) return false;
    const std::size_t same = reusable_tokens(other->text.tokens(), request.text.tokens());
    return same >= known + kWorthWaiting && other->done < same;
  });
}

Scheduler::Request* Scheduler::next_waiting() const {
  Request* best = nullptr;
  const auto order = [&](const Request& request) {
    return std::tuple(-request.priority, running_of(request.client), request.id);
  };
  for (const auto& request : requests_) {
    if (request->sequence || request->text.has_ended()) continue;
    if (best != nullptr && order(*best) < order(*request)) continue;
    const bool has_room = slots_.has_free() || victim_for(*request) != nullptr;
    if (has_room && !is_being_read(*request)) best = request.get();
  }
  return best;
}

Scheduler::Request* Scheduler::victim_for(const Request& request) const {
  Request* victim = nullptr;
  for (const auto& other : requests_) {  // of equal ones the youngest
    if (!other->sequence || other->priority >= request.priority) continue;
    if (victim == nullptr || other->priority <= victim->priority) victim = other.get();
  }
  return victim;
}

void Scheduler::admit() {
  while (Request* next = next_waiting()) {
    if (!slots_.has_free()) evict(*victim_for(*next));
    start(*next);
  }
}

void Scheduler::start(Request& request) {
  CacheSlots::Slot slot;
  try {
    slot = *slots_.take(request.text.tokens());
  } catch (const Error& error) {  // no memory for a copy
    return fail_with(request, error);
  }
  request.sequence = slot.sequence;
  request.done = slot.reused;
  const bool is_first = !std::exchange(request.has_begun, true);
  if (is_first) {
    request.reused = slot.reused;
    request.text.set_prompt(slot.reused, slot.reused);
  }
  count([&](ServeCounts& counts) {
    --counts.waiting;
    ++counts.running;
    if (!is_first) return;
    counts.prompt_tokens += request.prompt_tokens;
    counts.reused_tokens += slot.reused;
  });
}

void Scheduler::evict(Request& request) {
  slots_.give_back(*request.sequence);
  request.sequence.reset();
  count([](ServeCounts& counts) {
    ++counts.waiting;
    --counts.running;
    ++counts.evictions;
  });
}

void Scheduler::leave_out_long(std::vector<Request*>& requests) {
  const auto is_long = [&](const Request* each) { return each->pending() > options_.run_tokens; };
  const bool has_short = std::ranges::any_of(
      requests, [&](const Request* each) { return each->is_reading() && !is_long(each); });
  has_left_out_ = has_short && !has_left_out_ && std::ranges::any_of(requests, is_long);
  if (has_left_out_) std::erase_if(requests, is_long);
}

std::vector<Scheduler::Request*> Scheduler::divide_run() {
  std::vector<Request*> requests;
  for (const auto& request : requests_) {
    if (!request->sequence || request->text.has_ended()) continue;
    if (!request->is_reading() || request->text.goes_on()) requests.push_back(request.get());
  }
  leave_out_long(requests);
  // Who wants least comes first, and what it leaves of its part is for the others.
  std::ranges::stable_sort(requests, {}, &Request::pending);
  std::size_t left = std::max(options_.run_tokens, requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    requests[i]->share = std::min(requests[i]->pending(), left / (requests.size() - i));
    left -= requests[i]->share;
  }
  return requests;
}

void Scheduler::guess(std::span<Request* const> requests) const {
  constexpr std::size_t kCheapRun = 16;  // tokens, which read the weights once
  std::size_t left = std::min(kCheapRun, options_.run_tokens);
  for (const Request* request : requests) left -= std::min(left, request->share);
  std::vector<Request*> drafted;
  std::vector<DraftPart> drafts;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Request& request = *requests[i];
    request.guessed.clear();
    if (request.is_reading() || request.pending() != 1) continue;
    const std::size_t share = left / (requests.size() - i);
    request.guessed = request.text.guess(share);
    const std::size_t draft_tokens = request.guessed.empty() ? request.text.draft_tokens(share) : 0;
    left -= request.guessed.size() + draft_tokens;
    if (draft_tokens != 0) {
      drafted.push_back(&request);
      drafts.push_back({*request.sequence, &request.text, draft_tokens});
    }
    request.guessed.insert(request.guessed.begin(), request.text.tokens().back());
  }
  write_drafts(drafted, drafts);
}

void Scheduler::write_drafts(std::span<Request* const> requests,
                             std::span<const DraftPart> parts) const {
  if (parts.empty()) return;
  // It reads prompts in parts as the model does, so that others need not wait for long ones.
  const std::size_t max_read = std::max(options_.run_tokens, parts.size());
  const auto drafts = write_draft(*model_.draft(), parts, max_read);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    std::vector<TokenId>& guessed = requests[i]->guessed;
    guessed.insert(guessed.end(), drafts[i].begin(), drafts[i].end());
  }
}

void Scheduler::run() {
  const std::vector<Request*> requests = divide_run();
  if (requests.empty()) return;
  try {
    guess(requests);
    append(requests);
  } catch (const Error& error) {
    for (Request* request : requests) fail_with(*request, error);
  } catch (const std::exception& error) {  // no memory, say: others may have it
    for (Request* request : requests) fail_with(*request, {ErrorKind::kInternal, error.what()});
  }
}

void Scheduler::append(std::span<Request* const> requests) {
  std::vector<SequencePart> parts;
  std::size_t num_tokens = 0;
  for (const Request* request : requests) {
    parts.push_back(request->part());
    num_tokens += parts.back().tokens.size();
  }
  const std::vector<float> logits = model_.append_each(parts);
  count([&](ServeCounts& counts) {
    counts.shared_bytes = model_.shared_bytes();
    ++counts.runs;
    counts.run_tokens += num_tokens;
  });
  std::vector<Answer> answers;
  std::span<const float> rows = logits;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Request& request = *requests[i];
    request.done += request.share;
    if (request.is_reading()) request.text.set_prompt(request.done, request.reused);
    if (parts[i].wanted == WantedLogits::kNone) continue;
    const std::size_t num_logits = (request.num_guesses() + 1) * model_.vocabulary();
    answers.push_back({&request, rows.first(num_logits)});
    rows = rows.subspan(num_logits);
  }
  draw(answers);
  for (const Answer& answer : answers) write(answer);
}

void Scheduler::draw(std::span<const Answer> answers) {
  parallel_for(answers.size(), [&](std::size_t i) {
    try {
      answers[i].request->text.draw_ahead(answers[i].logits);
    } catch (const Error& error) {
      fail_with(*answers[i].request, error);
    }
  });
}

void Scheduler::write(const Answer& answer) {
  Request& request = *answer.request;
  if (request.text.has_ended()) return;  // no tokens were asked for
  const std::span<const TokenId> guesses = std::span(request.guessed).last(request.num_guesses());
  const std::size_t written = request.text.num_written();
  try {
    const std::size_t right = request.text.write_guessed(guesses, answer.logits);
    count([&](ServeCounts& counts) {
      counts.generated_tokens += request.text.num_written() - written;
      counts.guessed_tokens += guesses.size();
      counts.accepted_tokens += right;
    });
  } catch (const Error& error) {
    fail_with(request, error);
  }
  if (guesses.empty()) return;
  request.done = request.text.tokens().size() - 1;
  model_.truncate(*request.sequence, request.done);
}

void Scheduler::fail_with(Request& request, const Error& error) {
  request.error = error;
  request.text.interrupt();
}

void Scheduler::finish_ended() {
  // Functions of texts may submit and cancel others, which changes none of these.
  for (const auto& request : requests_) {
    if (request->text.has_ended()) finish(*request);
  }
  std::erase_if(requests_, [](const auto& request) { return request->text.has_ended(); });
}

void Scheduler::finish(Request& request) {
  if (request.sequence) slots_.give_back(*request.sequence);
  ServeResult result{request.text.finish(), request.is_overdue, request.error};
  count([&](ServeCounts& counts) {
    --(request.sequence ? counts.running : counts.waiting);
    ++counts.ended;
    if (request.error) {
      ++counts.failed;
    } else if (result.generation.end == End::kInterrupted) {
      ++counts.interrupted;
    }
  });
  if (request.on_end) request.on_end(std::move(result));
}

}  // namespace halftone::lm
