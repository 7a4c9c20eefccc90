// SPDX-License-Identifier: Apache-2.0
// Continues many texts at once.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "halftone/api/language_model.h"
#include "halftone/base/error.h"
#include "halftone/lm/generate/generate.h"

namespace halftone {

struct BatchOptions {
  v0::GenerateOptions generate{};   ///< of lines that do not say otherwise
  std::size_t first = 0;            ///< the line to begin with
  std::function<bool()> goes_on{};  ///< asked before each run; may be empty
};

/// What became of a line.
struct BatchAnswer {
  std::size_t line = 0;  ///< from 0 on
  std::string id{};      ///< of the request, in JSON; empty: it has none
  lm::Generation generation{};
  std::optional<Error> error{};
};

/// Continues texts, as many together as the model has sequences. Each is what generate_text() or
/// answer() makes of it alone.
/// @param lines      requests in JSON: {"prompt": "Once"} or {"messages": [...]} with what else
///                   answer() takes, with options (take_options()) and an "id" of any kind. What is
///                   wrong with one is its answer's error. Blank lines have no answer.
/// @param on_answer  gets answers in the order of lines
/// @throws Error kInterrupted if it is not to go on
void generate_batch(TextModel& model, std::span<const std::string> lines,
                    const BatchOptions& options,
                    const std::function<void(const BatchAnswer&)>& on_answer);

/// Finds where a run was stopped in its file of answers, each with its "line", which rise. What
/// is behind the last whole one is cut off.
/// @return  the last "line"; 0 if there is no such file
/// @throws Error kFormat if it is not a file of such lines; kIo
std::size_t resume_answers(const std::filesystem::path& file);

}  // namespace halftone
