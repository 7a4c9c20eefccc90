// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <optional>
#include <string>

#include "halftone/api/text_generation.h"
#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/cli/interruption.h"
#include "halftone/cli/language_options.h"
#include "halftone/report/language.h"

namespace halftone::cli {
namespace {

struct ChatVerbOptions {
  CommonOptions common;
  LanguageOptions language;
  ChatOptions chat;
  std::string request;
  std::string tools;
  bool prints_prompt = false;
};

constexpr const char* kCommands =
    "/bye ends, /clear forgets the conversation, /help shows this; between two lines \"\"\" a "
    "message has several lines";

/// The rest of a message of several lines, which ends with a line \"\"\".
std::string rest_of_message() {
  std::string text;
  for (std::string line; std::getline(std::cin, line) && line != "\"\"\"";) {
    text += (text.empty() ? "" : "\n") + line;
  }
  return text;
}

/// Asks for a message, on a terminal. @return  whether there is one
bool read_message(bool is_terminal, std::string& message) {
  if (is_terminal) std::cerr << "> " << std::flush;
  if (!std::getline(std::cin, message)) return false;
  if (message == "\"\"\"") message = rest_of_message();
  return true;
}

/// What a terminal or a program converses with.
class Dialog {
 public:
  Dialog(TextModel& model, const ChatOptions& how, const CommonOptions& common,
         const Machine& machine)
      : model_(model), how_(how), common_(common), machine_(machine) {
    chat_.emplace(model, how);
  }

  /// Answers the messages that there are, or continues the last one.
  void begin() {
    show([&] { return chat_->answer(); });
  }

  /// @throws Error if a message was not answered and nobody was there to see why
  void end(bool is_terminal) const {
    if (first_error_ && !is_terminal) fail(*first_error_, "a message was not answered");
  }

  /// Does what a line says. @return whether to go on
  bool take(const std::string& message, bool is_terminal) {
    if (message == "/bye") return false;
    if (message == "/clear") {
      chat_.emplace(model_, how_);
    } else if (message == "/help") {
      print_line(kCommands);
    } else if (!message.empty()) {
      answer(message, is_terminal);
    }
    return true;
  }

 private:
  void print_line(const std::string& line) const { Progress(common_, machine_).print_line(line); }

  void answer(const std::string& message, bool is_terminal) {
    v0::End reason{};
    try {
      reason = show([&] { return chat_->answer(message); });
    } catch (const Error& error) {
      // One message that is not UTF-8, or longer than the context, does not end the others.
      if (error.kind() != ErrorKind::kFormat && error.kind() != ErrorKind::kUsage) throw;
      print_line("halftone: " + std::string(error.what()));
      if (!first_error_) first_error_ = error.kind();
      return;
    }
    // Who types may go on; a program that sends messages wanted to end this one.
    if (reason == v0::End::kInterrupted && !is_terminal)
      fail(ErrorKind::kInterrupted, "the conversation was stopped");
  }

  template <typename Answer>
  v0::End show(const Answer& answer) {
    // Only while an answer is written: at the prompt, Ctrl-C ends the program.
    const Interruption interruption;
    const lm::Generation found = answer();
    std::cout << (common_.json ? report::to_json_line(found) : "\n") << std::flush;
    if (common_.json) return found.end;
    if (found.end == v0::End::kContext) {
      print_line("the context is full: a longer one comes with --context");
    }
    if (found.forgotten_messages != 0 && !has_said_forgotten_) {
      has_said_forgotten_ = true;
      print_line(
          "the context is full: the oldest messages are forgotten from here on; a longer "
          "one comes with --context");
    }
    return found.end;
  }

  TextModel& model_;
  const ChatOptions& how_;
  const CommonOptions& common_;
  const Machine& machine_;
  std::optional<Conversation> chat_;
  std::optional<ErrorKind> first_error_;
  bool has_said_forgotten_ = false;
};

std::string text_of(const std::string& path) {
  const SharedBytes file = map_file(path);
  return {reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()};
}

ChatOptions chat_options(const ChatVerbOptions& options) {
  ChatOptions how = options.chat;
  how.answer.generate.sampling.seed = options.common.seed;
  how.on_token = token_output(options.common.json);
  if (!options.request.empty()) {
    how.request = with_context(options.request,
                               [&] { return chat_request_of_json(text_of(options.request)); });
  }
  if (!options.tools.empty()) how.request.tools = text_of(options.tools);
  return how;
}

void run(const ChatVerbOptions& options, const Machine& machine) {
  if (follows(options.language.model, options.language.open, options.common, machine)) return;
  apply(options.common);
  OpenOptions open = options.language.open;
  open.on_device = device_output(options.common, machine);
  open.ranks = machine.ranks();
  TextModel model = TextModel::open(options.language.model, open);
  Progress(options.common, machine).print_warnings(model.warnings());
  const ChatOptions how = chat_options(options);
  if (options.prints_prompt) {
    const Conversation chat(model, how);
    std::cout << chat_prompt(model, chat.request(), how.answer.chat_template) << std::flush;
    return;
  }
  Dialog conversation(model, how, options.common, machine);
  if (!options.request.empty()) conversation.begin();
  const bool is_terminal = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1;
  for (std::string message; read_message(is_terminal, message);) {
    if (!conversation.take(message, is_terminal)) break;
  }
  if (is_terminal) std::cerr << "\n";
  conversation.end(is_terminal);
}

}  // namespace

void add_chat(CLI::App& app, Action& action) {
  const auto options = std::make_shared<ChatVerbOptions>();
  CLI::App* verb =
      add_verb(app, "chat", "Converse with a language model: a line is a message",
               "halftone chat model.gguf --system \"Answer in one sentence.\"", options->common);
  add_language_options(*verb, options->language);
  verb->add_option("--system", options->chat.system,
                   "What the model is told first (default: nothing, or what its template says)");
  verb->add_option(
      "--template", options->chat.answer.chat_template,
      "How conversations are written: a file with a template in Jinja, or a family such as "
      "chatml (default: as the model says)");
  CLI::Option* request = verb->add_option(
      "--request", options->request,
      "A conversation to answer first: JSON with messages, tools, documents, "
      "continue_final_message and variables of the template, as apply_chat_template() of "
      "transformers takes them");
  request->check(read_path());
  verb->add_option("--tools", options->tools,
                   "Functions that the model may call: a file with a list of descriptions in JSON")
      ->check(read_path());
  verb->add_flag("--print-prompt", options->prints_prompt,
                 "Print what the model would be given of --request, and end")
      ->needs(request);
  add_generate_options(*verb, options->chat.answer.generate);
  verb->get_option("--tokens")
      ->description("Tokens of an answer at most; 0: until it ends or the context is full");
  verb->final_callback([options, &action] {
    action = [options](const Machine& machine) { run(*options, machine); };
  });
}

}  // namespace halftone::cli
