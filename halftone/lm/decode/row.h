// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "halftone/lm/text/vocabulary.h"

namespace halftone::lm {

/// A token of a run.
struct DecoderRow {
  TokenId token = 0;
  std::size_t sequence = 0;
  std::size_t position = 0;
  bool is_wanted = false;  ///< whether the logits behind it are
};

}  // namespace halftone::lm
