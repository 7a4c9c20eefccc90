// SPDX-License-Identifier: Apache-2.0
// Texts and grammars in tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halftone/lm/constrain/acceptor.h"
#include "halftone/lm/constrain/random_text.h"

namespace halftone::lm {

/// Whether a whole text follows a grammar.
inline bool accepts(const Grammar& grammar, std::string_view text) {
  Acceptor acceptor(std::make_shared<Grammar>(grammar));
  Acceptor::State state = acceptor.start();
  for (const char byte : text) state = acceptor.after(state, static_cast<std::uint8_t>(byte));
  return state != Acceptor::kNowhere && acceptor.may_end(state);
}

/// Expects that some texts follow a grammar, and others do not.
inline void expect_texts(const Grammar& grammar, std::string_view what,
                         const std::vector<std::string>& in, const std::vector<std::string>& out) {
  for (const std::string& text : in) EXPECT_TRUE(accepts(grammar, text)) << what << "\n" << text;
  for (const std::string& text : out) EXPECT_FALSE(accepts(grammar, text)) << what << "\n" << text;
}

}  // namespace halftone::lm
