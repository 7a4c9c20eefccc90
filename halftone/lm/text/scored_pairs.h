// SPDX-License-Identifier: Apache-2.0
// SentencePiece's byte pair encoding.
#pragma once

#include <string_view>
#include <vector>

#include "halftone/lm/text/vocabulary.h"

namespace halftone::lm {

/// Appends the tokens of a text: while two neighbours together are a token, the pair of the highest
/// score, and of equal ones the first, becomes one. It begins with characters, or with user-defined
/// tokens where the text has them. What is no token in the end becomes its bytes, or the unknown
/// token where bytes have none.
/// Source: Kudo, Richardson, EMNLP 2018 (arXiv:1808.06226), and bpe_model.cc of SentencePiece.
/// @param text  UTF-8, with U+2581 in place of spaces
/// @throws Error kFormat if there is neither a token for a byte nor an unknown token
void encode_by_scores(const Vocabulary& vocabulary, TokenId unknown, std::string_view text,
                      std::vector<TokenId>& tokens);

}  // namespace halftone::lm
