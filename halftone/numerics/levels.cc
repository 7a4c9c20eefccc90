// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/levels.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "halftone/base/error.h"

namespace halftone::numerics {

Levels::Levels(std::shared_ptr<const Codebook> codebook, float scale, float offset)
    : codebook_(std::move(codebook)), scale_(scale) {
  HALFTONE_ASSERT(codebook_ != nullptr && std::isfinite(scale) && std::isfinite(offset));
  basis_.bits = codebook_->bits();
  basis_.offset = offset;
}

float Levels::value(Code code) const {
  if (codebook_ == nullptr) return basis_.value(code);
  const float scaled = scale_ * codebook_->levels()[code];
  return basis_.offset == 0 ? scaled : scaled + basis_.offset;
}

bool Levels::is_summed() const {
  return codebook_ == nullptr || !codebook_->coefficients().empty();
}

Basis Levels::basis() const {
  HALFTONE_ASSERT(is_summed());
  if (codebook_ == nullptr) return basis_;
  Basis basis = basis_;
  const std::span<const float> own = codebook_->coefficients();
  std::ranges::transform(own, basis.coefficients.begin(), [this](float a) { return scale_ * a; });
  const float middle = (codebook_->levels().front() + codebook_->levels().back()) / 2;
  basis.offset = scale_ * middle + basis_.offset;
  return basis;
}

LevelTable::LevelTable(const Levels& levels) {
  if (levels.codebook() == nullptr) {
    add_basis(levels.basis());
  } else {
    add_codebook(levels, *levels.codebook());
  }
}

void LevelTable::add_basis(const Basis& basis) {
  check_basis_bits(basis.bits);
  std::vector<std::pair<float, Code>> sorted(basis.num_levels());
  for (std::size_t code = 0; code < sorted.size(); ++code) {
    sorted[code] = {basis.value(static_cast<Code>(code)), static_cast<Code>(code)};
  }
  std::ranges::sort(sorted);
  for (const auto& [level, code] : sorted) {
    levels_.push_back(level);
    codes_.push_back(code);
  }
  for (std::size_t l = 0; l + 1 < levels_.size(); ++l) {
    thresholds_.push_back((levels_[l] + levels_[l + 1]) / 2);
  }
}

void LevelTable::add_codebook(const Levels& levels, const Codebook& codebook) {
  codes_.assign(codebook.codes().begin(), codebook.codes().end());
  // With a negative scale, larger numbers have lower levels of the codebook.
  const bool is_reversed = levels.scale() < 0;
  const auto moved = [&](float t) {
    const auto takes_lower = [&](float x) {
      return is_reversed ? levels.argument(x) > t : levels.argument(x) <= t;
    };
    return largest_where(takes_lower, t * levels.scale() + levels.offset());
  };
  for (const float t : codebook.thresholds()) thresholds_.push_back(moved(t));
  if (is_reversed) {
    std::ranges::reverse(codes_);
    std::ranges::reverse(thresholds_);
  }
  for (const Code code : codes_) levels_.push_back(levels.value(code));
  if (!codebook.beyond()) return;
  Beyond beyond = *codebook.beyond();
  if (is_reversed) {
    std::swap(beyond.low, beyond.high);
    std::swap(beyond.at_low, beyond.at_high);
  }
  beyond.low = moved(beyond.low);
  beyond.high = moved(beyond.high);
  for (Beyond::Special* each : {&beyond.at_low, &beyond.at_high, &beyond.of_nan}) {
    each->value = levels.value(each->code);
  }
  beyond_ = beyond;
}

std::size_t LevelTable::index(float x) const {
  // Counts thresholds strictly below x. The comparison is false for NaN, which gets level 0.
  const auto first_not_below =
      std::partition_point(thresholds_.begin(), thresholds_.end(), [x](float t) { return t < x; });
  return static_cast<std::size_t>(first_not_below - thresholds_.begin());
}

}  // namespace halftone::numerics
