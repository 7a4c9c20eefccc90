// SPDX-License-Identifier: Apache-2.0
// A sample of fixed size out of a stream of activations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/base/random.h"

namespace halftone::compress {

/// Keeps pairs (actual, original) of a stream whose length is known beforehand: the stream is cut
/// into strata of equal length and one pair of each is kept, at a random place. Depends on the
/// stream and the seed alone, not on how the stream is cut into batches.
class ValueSample {
 public:
  /// @param stream_size  values to come
  /// @param most         pairs to keep at most, > 0
  ValueSample(std::size_t stream_size, std::size_t most, std::uint64_t seed);

  /// The next values of the stream, in order. @pre the lengths agree
  void add(std::span<const float> actual, std::span<const float> original);

  [[nodiscard]] std::span<const float> actual() const { return actual_; }
  [[nodiscard]] std::span<const float> original() const { return original_; }

 private:
  void pick_next();

  std::size_t stride_;
  Random random_;
  std::size_t position_ = 0;  ///< of the next value in the stream
  std::size_t stratum_ = 0;   ///< where the current stratum starts
  std::size_t pick_ = 0;      ///< which value of the stream is kept next
  std::vector<float> actual_;
  std::vector<float> original_;
};

}  // namespace halftone::compress
