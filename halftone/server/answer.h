// SPDX-License-Identifier: Apache-2.0
// An answer with texts, in any of OpenAI's protocols.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "halftone/lm/text/tokenizer.h"
#include "halftone/lm/tools/tool_call_reader.h"
#include "halftone/server/event_queue.h"
#include "halftone/server/json_body.h"
#include "halftone/server/text_service.h"

namespace halftone::server {

/// What all parts of an answer have in common.
struct AnswerHead {
  std::string id;
  std::int64_t created = 0;  ///< seconds since 1970
  std::string model;
};

/// Made from the events of a completion: whole, or as a stream of server-sent events.
class Answer {
 public:
  Answer() = default;
  virtual ~Answer() = default;
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  /// What begins a stream.
  virtual std::string begin(const RunningCompletion& running) = 0;
  /// What an event adds to a stream; of the last one, its end too.
  virtual std::string more(const ChoiceEvent& event, const RunningCompletion& running) = 0;
  /// What ends a stream that failed.
  virtual std::string failure(const RequestError& error) = 0;

  /// Adds an event to the whole answer.
  virtual void add(const ChoiceEvent& event) = 0;
  /// The whole answer. @pre all choices have ended
  [[nodiscard]] virtual Json whole(const RunningCompletion& running) const = 0;
};

/// More of a text whose calls, if there may be some, a reader finds.
lm::ToolText read(std::optional<lm::ToolCallReader>& reader, const ChoiceEvent& event);
/// The identifier of a call, of nine letters and digits, as Mistral's templates take them.
std::string id_of_call(const std::string& answer, std::size_t choice, std::size_t index);
/// Probabilities of tokens, as conversations have them.
Json logprobs_json(std::span<const ScoredToken> tokens, const lm::Tokenizer& tokenizer);
/// Whether a text is whole, rather than cut by a number of tokens or the time.
inline bool ends_by_itself(v0::End end) { return end == v0::End::kToken || end == v0::End::kText; }
/// JSON has no infinity: of a token that is never drawn.
double finite(double logprob);

}  // namespace halftone::server
