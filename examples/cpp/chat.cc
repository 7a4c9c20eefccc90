// SPDX-License-Identifier: Apache-2.0
// Converses with a language model: a line of standard input is a message. The answers appear as
// they are written.
//
//     chat model.gguf
//     chat stories260K.bin tok512.bin zephyr
#include <halftone/halftone.hpp>
#include <iostream>
#include <string>

namespace {

bool print(halftone::Token /*token*/, std::string_view text) {
  std::cout << text << std::flush;
  return true;  // false would stop the answer
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::cerr << "usage: chat MODEL [TOKENIZER [TEMPLATE]]\n";
    return 2;
  }
  try {
    const auto model =
        halftone::LanguageModel::open(argv[1], {.tokenizer = argc > 2 ? argv[2] : ""});
    halftone::AnswerOptions options;
    if (argc > 3) options.chat_template = argv[3];
    options.generate.max_tokens = 200;
    halftone::Chat chat(model, options);
    for (std::string message; std::getline(std::cin, message);) {
      const halftone::Generation answer = chat.answer(message, print);
      std::cout << '\n';
      if (answer.end == halftone::End::kContext) std::cerr << "chat: the context is full\n";
    }
  } catch (const halftone::Error& error) {
    std::cerr << "chat: " << error.what() << '\n';
    return 1;
  }
}
