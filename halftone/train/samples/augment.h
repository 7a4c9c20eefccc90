// SPDX-License-Identifier: Apache-2.0
// Images moved a little, so that a network sees more of them than there are.
#pragma once

#include <cstddef>
#include <span>

#include "halftone/base/random.h"
#include "halftone/ir/shape.h"

namespace halftone::train {

struct AugmentOptions {
  bool flip = false;        ///< left to right, every second image
  std::size_t padding = 0;  ///< zeros around, of which a window of the old size is cut at random
  [[nodiscard]] bool changes() const { return flip || padding != 0; }
};

/// Augments images of a shape [N, C, H, W] or [N, H, W, C], whichever has at most four channels.
class Augment {
 public:
  /// @throws Error kUsage if options want to change what is no image
  Augment(const AugmentOptions& options, const ir::Shape& shape);

  /// Changes one image in place.
  void apply(std::span<float> image, Random& random) const;

 private:
  AugmentOptions options_;
  std::size_t height_ = 0;
  std::size_t width_ = 0;
  std::size_t planes_ = 1;  ///< outside of the rows ...
  std::size_t depth_ = 1;   ///< ... and inside of the columns
};

}  // namespace halftone::train
