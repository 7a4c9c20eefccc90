// SPDX-License-Identifier: Apache-2.0
// Tokens of lines, for a test that compares them with other programs':
//
//     token_ids MODEL.gguf|tokenizer.json [special] < LINES
//
// reads lines of JSON strings, and writes the ids of each and whether their text is the line's;
// with "special", those in front and behind too, and control tokens are found in lines.
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "halftone/base/error.h"
#include "halftone/lm/text/tokenizer.h"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const bool is_special = argc > 2;
  try {
    const std::filesystem::path path(argv[1]);
    using halftone::lm::Tokenizer;
    const Tokenizer tokenizer = path.extension() == ".json"
                                    ? Tokenizer::from_tokenizer_json(halftone::map_file(path))
                                    : Tokenizer::from_gguf(halftone::formats::GgufFile::open(path));
    for (std::string line; std::getline(std::cin, line);) {
      const auto text = nlohmann::json::parse(line).get<std::string>();
      const auto ids =
          tokenizer.encode(text, {.begin = is_special, .end = is_special, .control = is_special});
      const std::string decoded = tokenizer.decode(ids);
      if (is_special) {
        const nlohmann::json found{ids, decoded};
        std::cout << found.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) << '\n';
        continue;
      }
      std::cout << (decoded == text ? "same" : "other");
      for (const auto id : ids) std::cout << ' ' << id;
      std::cout << '\n';
    }
  } catch (const halftone::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
