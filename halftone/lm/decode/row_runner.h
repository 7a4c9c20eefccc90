// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>

#include "halftone/lm/decode/row.h"

namespace halftone::lm {

/// How many of some rows run next. Few run together: each run reads all weights. More run in the
/// order of the binary digits of their number, so that plans of few sizes serve all.
inline std::size_t next_run(std::size_t count, std::size_t max_rows) {
  constexpr std::size_t kFewRows = 16;
  return std::min(count <= kFewRows ? count : std::bit_floor(count), max_rows);
}

/// Runs the graphs of a decoder elsewhere than in its process alone: on a device, or on many ranks.
class RowRunner {
 public:
  RowRunner() = default;
  RowRunner(const RowRunner&) = delete;
  RowRunner& operator=(const RowRunner&) = delete;
  virtual ~RowRunner() = default;

  virtual void run_body(std::span<const DecoderRow> rows) = 0;
  /// @param rows    those of the last run of the body
  /// @param wanted  indices of some of them, ascending
  /// @param logits  [wanted.size(), vocabulary]
  virtual void run_head(std::size_t rows, std::span<const std::size_t> wanted,
                        std::span<float> logits) = 0;
  [[nodiscard]] virtual std::size_t state_bytes() const = 0;
  /// Makes states of a sequence those of the first tokens of another.
  /// @return  false if it cannot; nothing has changed then
  virtual bool copy_front(std::size_t /*from*/, std::size_t /*to*/, std::size_t /*length*/) {
    return false;
  }
};

}  // namespace halftone::lm
