// SPDX-License-Identifier: Apache-2.0
// A sample of fixed size from a stream of activations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace halftone::compress {

/// Pairs (actual, original) from a stream.
class ValueSample {
 public:
  /// Chooses the indices of a stream to keep: one random index from each of many strata of equal
  /// length. The choice depends only on the length of the stream and the seed, not on how the
  /// stream is divided into batches.
  class Picks {
   public:
    /// @param stream_size  number of indices
    /// @param most         maximum number of indices to keep, > 0
    Picks(std::size_t stream_size, std::size_t most, std::uint64_t seed);

    /// The kept indices in [begin, end), ascending.
    [[nodiscard]] std::span<const std::size_t> within(std::size_t begin, std::size_t end) const;
    /// Upper bound of the kept indices among `count` successive ones.
    [[nodiscard]] std::size_t max_within(std::size_t count) const { return count / stride_ + 2; }

   private:
    std::size_t stride_;
    std::vector<std::size_t> places_;
  };

  /// @pre both have the same length
  ValueSample(std::vector<float> actual, std::vector<float> original)
      : actual_(std::move(actual)), original_(std::move(original)) {}

  [[nodiscard]] std::span<const float> actual() const { return actual_; }
  [[nodiscard]] std::span<const float> original() const { return original_; }

 private:
  std::vector<float> actual_;
  std::vector<float> original_;
};

}  // namespace halftone::compress
