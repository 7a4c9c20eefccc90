// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/samples/augment.h"

#include <algorithm>
#include <vector>

#include "halftone/base/error.h"

namespace halftone::train {

Augment::Augment(const AugmentOptions& options, const ir::Shape& shape) : options_(options) {
  if (!options.changes()) return;
  constexpr ir::Dim kMaxChannels = 4;
  const bool is_image = shape.rank() == 4;
  const bool channels_first = is_image && shape[1] <= kMaxChannels;
  if (!channels_first && (!is_image || shape[3] > kMaxChannels)) {
    fail(ErrorKind::kUsage,
         "augmentation: expected images [N, C, H, W] or [N, H, W, C] with up to " +
             std::to_string(kMaxChannels) + " channels, found " + shape.to_string());
  }
  const auto extent = [&](std::size_t axis) { return static_cast<std::size_t>(shape[axis]); };
  height_ = extent(channels_first ? 2 : 1);
  width_ = extent(channels_first ? 3 : 2);
  (channels_first ? planes_ : depth_) = extent(channels_first ? 1 : 3);
}

void Augment::apply(std::span<float> image, Random& random) const {
  if (!options_.changes()) return;
  const bool flipped = options_.flip && random.below(2) == 1;
  const auto shift = [&] {
    const auto p = static_cast<std::ptrdiff_t>(options_.padding);
    return static_cast<std::ptrdiff_t>(random.below(2 * options_.padding + 1)) - p;
  };
  const std::ptrdiff_t down = shift();
  const std::ptrdiff_t right = shift();
  const std::vector<float> old(image.begin(), image.end());
  std::ranges::fill(image, 0.0F);
  const auto height = static_cast<std::ptrdiff_t>(height_);
  const auto width = static_cast<std::ptrdiff_t>(width_);
  for (std::size_t plane = 0; plane < planes_; ++plane) {
    for (std::ptrdiff_t y = 0; y < height; ++y) {
      const std::ptrdiff_t from_y = y + down;
      if (from_y < 0 || from_y >= height) continue;
      for (std::ptrdiff_t x = 0; x < width; ++x) {
        const std::ptrdiff_t from_x = (flipped ? width - 1 - x : x) + right;
        if (from_x < 0 || from_x >= width) continue;
        const auto at = [&](std::ptrdiff_t row, std::ptrdiff_t col) {
          return ((plane * height_ + static_cast<std::size_t>(row)) * width_ +
                  static_cast<std::size_t>(col)) *
                 depth_;
        };
        std::copy_n(old.begin() + static_cast<std::ptrdiff_t>(at(from_y, from_x)), depth_,
                    image.begin() + static_cast<std::ptrdiff_t>(at(y, x)));
      }
    }
  }
}

}  // namespace halftone::train
