// SPDX-License-Identifier: Apache-2.0
// Many texts at once on one model.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/lm/generate/continuation.h"
#include "halftone/lm/serve/cache_slots.h"

namespace halftone::lm {

struct SchedulerOptions {
  /// Tokens of a run at most, but one for each text: parts of prompts share runs with the next
  /// tokens of others, so a longer part makes prompts faster and others wait.
  std::size_t run_tokens = 64;
  std::size_t max_waiting = 64;  ///< texts beyond those that have a sequence of the model
};

/// What became of a text.
struct ServeResult {
  Generation generation{};
  bool is_overdue = false;       ///< it was interrupted because its time was over
  std::optional<Error> error{};  ///< why it failed
};

/// A text that is wanted. Its functions are called by Scheduler::step(), and must not throw.
struct ServeJob : GenerateJob {
  std::vector<TokenId> prompt{};
  int priority = 0;        ///< higher ones go first, and may interrupt lower ones for a while
  std::string client{};    ///< clients have equal shares of the sequences
  double max_seconds = 0;  ///< from submit() on; 0: any number
  /// Gets the result, once, unless submit() fails.
  std::function<void(ServeResult)> on_end{};
};

/// What a scheduler has done, and does now.
struct ServeCounts {
  std::size_t running = 0;  ///< texts with a sequence
  std::size_t waiting = 0;  ///< texts without one
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;  ///< because too many were waiting
  std::uint64_t ended = 0;
  std::uint64_t interrupted = 0;  ///< of these: cancelled, overdue, or not wanted any more
  std::uint64_t failed = 0;       ///< of these
  std::uint64_t evictions = 0;    ///< texts that lost their sequence to one of higher priority
  std::uint64_t prompt_tokens = 0;
  std::uint64_t reused_tokens = 0;  ///< of prompts, which a sequence had already
  std::uint64_t generated_tokens = 0;
  std::uint64_t guessed_tokens = 0;   ///< before they were drawn
  std::uint64_t accepted_tokens = 0;  ///< of these, which were right
  std::uint64_t runs = 0;
  std::uint64_t run_tokens = 0;  ///< of all runs
  /// Memory of caches that sequences share now, which copies would take.
  std::size_t shared_bytes = 0;
};

/// Continues many texts on one model, in runs that they share: a run has the next token of each
/// text, parts of prompts and, where it is short, guesses. Each text is byte for byte what
/// generate() makes of the same job alone, whatever else runs.
///
/// Who waits gets a sequence in the order of priority, then of the clients with the fewest running
/// texts, then of time. A text of higher priority takes the sequence of one of lower priority,
/// which waits and goes on later. Tokens of a run are divided so that none has more than another
/// that wants as many, and a short prompt gets a run without long ones.
class Scheduler {
 public:
  using Id = std::uint64_t;

  /// @param model      used by step() alone; must outlive this, as the tokenizer must
  /// @throws Error kUsage if options.run_tokens is 0
  Scheduler(TokenModel& model, const Tokenizer& tokenizer, const SchedulerOptions& options = {});
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Takes a text in. By any thread.
  /// @return nullopt if too many are waiting
  /// @throws Error as Continuation
  std::optional<Id> submit(ServeJob job);
  /// Interrupts a text, if it has not ended. By any thread.
  void cancel(Id id);
  /// Interrupts all texts that have been submitted. By any thread.
  void cancel_all();
  /// By any thread.
  [[nodiscard]] ServeCounts counts() const;

  /// Runs the model once. By one thread at a time.
  /// @return whether there is more to do
  bool step();

 private:
  struct Request;
  /// Logits behind the last token of a text, and behind each guess.
  struct Answer {
    Request* request;
    std::span<const float> logits;
  };
  using Requests = std::vector<std::unique_ptr<Request>>;
  using Clock = std::chrono::steady_clock;

  void take_submitted();
  void end_overdue();
  /// Lends sequences to those that wait.
  void admit();
  [[nodiscard]] Request* next_waiting() const;
  /// Whether the front of a text is being read for another one: it then waits to copy it.
  [[nodiscard]] bool is_being_read(const Request& request) const;
  [[nodiscard]] std::size_t running_of(const std::string& client) const;
  /// A running text of lower priority, if there is one.
  [[nodiscard]] Request* victim_for(const Request& request) const;
  void start(Request& request);
  void evict(Request& request);
  /// Gives prompts that one run can read a run without longer ones, but not two runs one after the
  /// other.
  void leave_out_long(std::vector<Request*>& requests);
  /// The next run: what each running text adds to it.
  [[nodiscard]] std::vector<Request*> divide_run();
  void run();
  void append(std::span<Request* const> requests);
  /// Adds guesses to a run that has few tokens: of what texts have said, else of the draft.
  void guess(std::span<Request* const> requests) const;
  /// @param parts  of the requests that have room for guesses
  void write_drafts(std::span<Request* const> requests, std::span<const DraftPart> parts) const;
  /// Draws the next token of each text, which takes a while with a large vocabulary, on several
  /// threads.
  void draw(std::span<const Answer> answers);
  /// Tells the next tokens of a text.
  void write(const Answer& answer);
  void fail_with(Request& request, const Error& error);
  /// Gives results of texts that have ended, and forgets these.
  void finish_ended();
  void finish(Request& request);
  template <typename Change>
  void count(const Change& change);

  TokenModel& model_;
  const Tokenizer& tokenizer_;
  SchedulerOptions options_;
  CacheSlots slots_;
  Requests requests_;          ///< in the order of their ids
  bool has_left_out_ = false;  ///< long prompts, in the last run
  mutable std::mutex mutex_;   ///< of all below
  Requests submitted_;
  std::vector<Id> cancelled_;
  Id cancelled_up_to_ = 0;  ///< texts with these ids too
  ServeCounts counts_;
  Id next_id_ = 1;
};

}  // namespace halftone::lm
