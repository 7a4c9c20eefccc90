// SPDX-License-Identifier: Apache-2.0
// Tokens of the sequences that states remember.
#pragma once

#include <cstddef>

namespace halftone::runtime {

/// Tokens at the front of a sequence that another one is to have, out of some.
struct SequenceCopy {
  std::size_t from = 0;
  std::size_t to = 0;
  std::size_t sequences = 0;
  std::size_t tokens = 0;
};

/// Tokens of a sequence that a run writes.
struct SequenceRows {
  std::size_t sequence = 0;
  std::size_t first = 0;
  std::size_t count = 0;
};

}  // namespace halftone::runtime
