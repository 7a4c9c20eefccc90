// SPDX-License-Identifier: Apache-2.0
// Texts that JSON schemas allow, by chance. Usage: schema_texts COUNT < SCHEMAS
//
// Each line of the input is a schema; the output has a line for each: a list of texts in JSON, or
// the message why there is none.
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "halftone/base/error.h"
#include "halftone/lm/constrain/json_schema.h"
#include "halftone/lm/constrain/random_text.h"

int main(int argc, char** argv) {
  const std::uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10;
  for (std::string line; std::getline(std::cin, line);) {
    nlohmann::json texts = nlohmann::json::array();
    try {
      const halftone::lm::Grammar grammar = halftone::lm::grammar_of_schema(line);
      for (std::uint64_t seed = 0; seed < count; ++seed) {
        texts.push_back(halftone::lm::random_text(grammar, seed));
      }
    } catch (const halftone::Error& error) {
      texts = error.what();
    }
    std::cout << texts << "\n";
  }
}
