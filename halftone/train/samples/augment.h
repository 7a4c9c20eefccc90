// SPDX-License-Identifier: Apache-2.0
// Data augmentation: random flips and shifts of images.
#pragma once

#include <cstddef>
#include <span>

#include "halftone/base/random.h"
#include "halftone/ir/shape.h"

namespace halftone::train {

struct AugmentOptions {
  bool flip = false;        ///< left to right, with probability 1/2
  std::size_t padding = 0;  ///< zeros added around; a random window of the old size is kept
  [[nodiscard]] bool changes() const { return flip || padding != 0; }
};

/// Augments images of shape [N, C, H, W] or [N, H, W, C], where C is at most four.
class Augment {
 public:
  /// @throws Error kUsage if options change samples that are not images
  Augment(const AugmentOptions& options, const ir::Shape& shape);

  /// Changes one image in place.
  void apply(std::span<float> image, Random& random) const;

 private:
  AugmentOptions options_;
  std::size_t height_ = 0;
  std::size_t width_ = 0;
  std::size_t planes_ = 1;  ///< channels, if before the rows
  std::size_t depth_ = 1;   ///< channels, if after the columns
};

}  // namespace halftone::train
