// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>

#include "halftone/api/text_generation.h"
#include "halftone/base/error.h"
#include "halftone/cli/interruption.h"
#include "halftone/cli/language_options.h"
#include "halftone/report/language.h"

namespace halftone::cli {
namespace {

struct ChatVerbOptions {
  CommonOptions common;
  LanguageOptions language;
  ChatOptions chat;
};

/// Asks for a line, on a terminal. @return  whether there is one
bool read_message(bool is_terminal, std::string& message) {
  if (is_terminal) std::cerr << "> " << std::flush;
  return static_cast<bool>(std::getline(std::cin, message));
}

lm::EndReason answer(Chat& chat, const std::string& message, const CommonOptions& common,
                     const Machine& machine) {
  // Only while an answer is written: at the prompt, Ctrl-C ends the program.
  const Interruption interruption;
  const lm::Generation found = chat.answer(message);
  std::cout << (common.json ? report::to_json_line(found) : "\n") << std::flush;
  if (found.reason == lm::EndReason::kContext && !common.json) {
    Progress(common, machine).print_line("the context is full: a longer one comes with --context");
  }
  return found.reason;
}

void run(const ChatVerbOptions& options, const Machine& machine) {
  if (!machine.is_first()) return;
  apply(options.common);
  LanguageModel model =
      LanguageModel::open(options.language.model, options.language.open_options());
  Progress(options.common, machine).print_warnings(model.warnings());
  ChatOptions how = options.chat;
  how.answer.generate.sampling.seed = options.common.seed;
  how.answer.generate.on_token = token_output(options.common.json);
  Chat chat(model, how);
  const bool is_terminal = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1;
  for (std::string message; read_message(is_terminal, message);) {
    if (message.empty()) continue;
    const lm::EndReason reason = answer(chat, message, options.common, machine);
    // Who types may go on; a program that sends messages wanted to end this one.
    if (reason == lm::EndReason::kInterrupted && !is_terminal)
      fail(ErrorKind::kInterrupted, "the conversation was stopped");
  }
  if (is_terminal) std::cerr << "\n";
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
      "--template", options->chat.answer.template_name,
      "How conversations are written: a file with a template in Jinja, or a family such as "
      "chatml (default: as the model says)");
  verb->add_option("-n,--tokens", options->chat.answer.generate.max_tokens,
                   "Tokens of an answer at most; 0: until it ends or the context is full")
      ->check(whole_from(0))
      ->capture_default_str();
  add_generate_options(*verb, options->chat.answer.generate);
  verb->final_callback([options, &action] {
    action = [options](const Machine& machine) { run(*options, machine); };
  });
}

}  // namespace halftone::cli
