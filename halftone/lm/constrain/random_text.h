// SPDX-License-Identifier: Apache-2.0
// Texts of grammars by chance. Only tests include this.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "halftone/base/random.h"
#include "halftone/lm/constrain/acceptor.h"

namespace halftone::lm {

/// A text of a grammar, drawn byte by byte; where it may end, it does so one time in four.
/// @return  empty if it grew beyond max_bytes
inline std::string random_text(const Grammar& grammar, std::uint64_t seed,
                               std::size_t max_bytes = 4000) {
  Acceptor acceptor(std::make_shared<Grammar>(grammar));
  Random random(seed);
  Acceptor::State state = acceptor.start();
  std::string text;
  while (text.size() < max_bytes) {
    if (acceptor.must_end(state)) return text;
    if (acceptor.may_end(state) && random.uniform() < 0.25) return text;
    std::vector<std::uint8_t> bytes;
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const auto next = static_cast<std::uint8_t>(byte);
      if (acceptor.after(state, next) != Acceptor::kNowhere) bytes.push_back(next);
    }
    // Signs that close something come more often, or texts would seldom end.
    std::uint8_t byte =
        bytes[static_cast<std::size_t>(random.uniform() * static_cast<double>(bytes.size()))];
    for (const char closing : {'"', '}', ']'}) {
      const auto sign = static_cast<std::uint8_t>(closing);
      if (acceptor.after(state, sign) != Acceptor::kNowhere && random.uniform() < 0.3) byte = sign;
    }
    text += static_cast<char>(byte);
    state = acceptor.after(state, byte);
  }
  return "";
}

}  // namespace halftone::lm
