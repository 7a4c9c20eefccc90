// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/batch_generation.h"

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "halftone/api/json_options.h"
#include "halftone/api/text_generation.h"
#include "halftone/base/file.h"
#include "halftone/base/json/json_text.h"
#include "halftone/base/paths.h"
#include "halftone/lm/serve/scheduler.h"

namespace halftone {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// Lines of JSON may have blank ones between them.
bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

OrderedJson parse_object(std::string_view line) {
  check_json(line);
  OrderedJson request = OrderedJson::parse(line);
  if (!request.is_object()) fail(ErrorKind::kFormat, "expected an object in JSON");
  return request;
}

/// @param answer  gets the id, even if the request is wrong
PreparedText prepare_line(const TextModel& model, std::string_view line,
                          const v0::GenerateOptions& defaults, BatchAnswer& answer) {
  OrderedJson request = parse_object(line);
  if (const auto id = request.find("id"); id != request.end()) {
    answer.id = id->dump();
    request.erase("id");
  }
  v0::AnswerOptions options{.generate = defaults};
  take_options(request, options.generate);
  if (request.contains("messages")) {
    return prepare_answer(model, chat_request_of_json(request.dump()), options);
  }
  const auto prompt = request.find("prompt");
  if (prompt == request.end() || !prompt->is_string()) {
    fail(ErrorKind::kFormat, "expected a text as \"prompt\", or \"messages\"");
  }
  for (const auto& [name, value] : request.items()) {
    if (name != "prompt") fail(ErrorKind::kFormat, "unexpected member \"" + name + "\"");
  }
  return prepare_text(model, prompt->get<std::string>(), options.generate);
}

/// The lines in progress.
class Batch {
 public:
  Batch(TextModel& model, std::span<const std::string> lines, const BatchOptions& options,
        const std::function<void(const BatchAnswer&)>& on_answer)
      : model_(model),
        lines_(lines),
        options_(options),
        on_answer_(on_answer),
        scheduler_(model.model(), model.tokenizer(), {.max_waiting = lines.size()}),
        next_(options.first),
        told_(options.first) {}

  void run() {
    while (told_ < lines_.size()) {
      if (options_.goes_on && !options_.goes_on()) {
        fail(ErrorKind::kInterrupted, "the generation was stopped");
      }
      submit_some();
      scheduler_.step();
      tell();
    }
  }

 private:
  /// Hands out answers up to the first that is not there yet.
  void tell() {
    for (; told_ < lines_.size(); ++told_) {
      if (is_blank(lines_[told_])) continue;
      const auto done = done_.find(told_);
      if (done == done_.end()) return;
      on_answer_(done->second);
      done_.erase(done);
    }
  }
  /// Keeps twice as many texts at hand as run, so that those of one prompt find each other.
  void submit_some() {
    const std::size_t wanted = 2 * model_.model().sequences();
    for (lm::ServeCounts counts = scheduler_.counts();
         next_ < lines_.size() && counts.running + counts.waiting < wanted;
         counts = scheduler_.counts()) {
      submit(next_++);
    }
  }
  void submit(std::size_t line) {
    if (is_blank(lines_[line])) return;
    BatchAnswer answer{line};
    try {
      PreparedText text = prepare_line(model_, lines_[line], options_.generate, answer);
      lm::ServeJob job{std::move(text.job), std::move(text.prompt)};
      job.on_end = [this, answer](lm::ServeResult result) mutable {
        answer.generation = std::move(result.generation);
        answer.error = std::move(result.error);
        done_[answer.line] = std::move(answer);
      };
      (void)scheduler_.submit(std::move(job));
    } catch (const Error& error) {
      answer.error = error;
      done_[line] = std::move(answer);
    }
  }

  TextModel& model_;
  std::span<const std::string> lines_;
  const BatchOptions& options_;
  const std::function<void(const BatchAnswer&)>& on_answer_;
  lm::Scheduler scheduler_;
  std::size_t next_;
  std::size_t told_;
  std::map<std::size_t, BatchAnswer> done_;  ///< by line
};

}  // namespace

void generate_batch(TextModel& model, std::span<const std::string> lines,
                    const BatchOptions& options,
                    const std::function<void(const BatchAnswer&)>& on_answer) {
  Batch(model, lines, options, on_answer).run();
}

std::size_t resume_answers(const std::filesystem::path& file) {
  if (!path_exists(file)) return 0;
  const std::vector<std::byte> bytes = read_file(file);
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::size_t last = 0;
  std::size_t whole = 0;
  for (std::size_t end = text.find('\n'); end != text.npos; end = text.find('\n', whole)) {
    const OrderedJson answer =
        with_context(file.string(), [&] { return parse_object(text.substr(whole, end - whole)); });
    const OrderedJson line = answer.value("line", OrderedJson());
    if (!line.is_number_unsigned() || line.get<std::size_t>() <= last) {
      fail(ErrorKind::kFormat, file.string() + ": expected answers of a batch, found none behind " +
                                   std::to_string(last) + "; write to another file");
    }
    last = line.get<std::size_t>();
    whole = end + 1;
  }
  if (whole < text.size()) std::filesystem::resize_file(file, whole);
  return last;
}

}  // namespace halftone
