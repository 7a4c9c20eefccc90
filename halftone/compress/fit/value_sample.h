// SPDX-License-Identifier: Apache-2.0
// A sample of fixed size out of a stream of activations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace halftone::compress {

/// Pairs (actual, original) out of a stream.
class ValueSample {
 public:
  /// Which places of a stream are kept: it is cut into strata of equal length and one of each is
  /// taken, at a random place. Depends on the length of the stream and the seed alone, not on how
  /// the stream is cut into batches.
  class Picks {
   public:
    /// @param stream_size  places there are
    /// @param most         places to keep at most, > 0
    Picks(std::size_t stream_size, std::size_t most, std::uint64_t seed);

    /// Those in [begin, end), ascending.
    [[nodiscard]] std::span<const std::size_t> within(std::size_t begin, std::size_t end) const;
    /// No more than so many lie within `count` places.
    [[nodiscard]] std::size_t max_within(std::size_t count) const { return count / stride_ + 2; }

   private:
    std::size_t stride_;
    std::vector<std::size_t> places_;
  };

  /// @pre both are as long
  ValueSample(std::vector<float> actual, std::vector<float> original)
      : actual_(std::move(actual)), original_(std::move(original)) {}

  [[nodiscard]] std::span<const float> actual() const { return actual_; }
  [[nodiscard]] std::span<const float> original() const { return original_; }

 private:
  std::vector<float> actual_;
  std::vector<float> original_;
};

}  // namespace halftone::compress
