// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/reconstruct/learned_levels.h"

#include <algorithm>
#include <cmath>

#include "halftone/base/elementary.h"
#include "halftone/base/parallel.h"

namespace halftone::compress {
namespace {

constexpr double kFirstDecay = 0.9;
constexpr double kSecondDecay = 0.999;
constexpr double kEpsilon = 1e-12;

/// The bias corrections of Adam's averages; `step` counts from 1.
struct SeenShares {
  explicit SeenShares(int step)
      : first(1 - elementary::pow(kFirstDecay, step)),
        second(1 - elementary::pow(kSecondDecay, step)) {}
  double first;
  double second;
};

/// The step of one parameter.
double adam_step(double gradient, double& first, double& second, const SeenShares& seen) {
  first = kFirstDecay * first + (1 - kFirstDecay) * gradient;
  second = kSecondDecay * second + (1 - kSecondDecay) * gradient * gradient;
  const double mean = first / seen.first;
  const double size = std::sqrt(second / seen.second);
  return size > 0 ? mean / (size + kEpsilon * size) : 0;
}

}  // namespace

void Adam::step(std::span<float> numbers, std::span<const float> gradient, double rate) {
  const SeenShares seen(++steps_);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double move = adam_step(static_cast<double>(gradient[i]), first_[i], second_[i], seen);
    numbers[i] -= static_cast<float>(rate * move);
  }
}

LearnedLevels::LearnedLevels(ParameterSpace space, const numerics::Levels& levels)
    : space_(std::move(space)), levels_(levels), table_(levels), adam_(0) {
  const Vector parameters = space_.parameters_of(levels);
  parameters_.assign(parameters.begin(), parameters.end());
  adam_ = Adam(parameters_.size());
}

void LearnedLevels::step(std::span<const double> level_gradient, double rate) {
  // With another scale numbers that have levels might overflow.
  if (table_.beyond()) return;
  const Matrix& features = space_.features();
  std::vector<float> gradient(parameters_.size(), 0);
  for (std::size_t p = 0; p < gradient.size(); ++p) {
    double sum = 0;
    for (std::size_t level = 0; level < level_gradient.size(); ++level) {
      sum +=
          features(static_cast<Eigen::Index>(table_.codes()[level]), static_cast<Eigen::Index>(p)) *
          level_gradient[level];
    }
    gradient[p] = static_cast<float>(sum);
  }
  adam_.step(parameters_, gradient, rate * 2 * static_cast<double>(table_.half_gap()));
  update_levels();
}

void LearnedLevels::update_levels() {
  Vector parameters(static_cast<Eigen::Index>(parameters_.size()));
  std::copy(parameters_.begin(), parameters_.end(), parameters.begin());
  levels_ = space_.to_levels(parameters);
  table_ = numerics::LevelTable(levels_);
}

LearnedWeights::LearnedWeights(const numerics::MatrixEncoding& encoding,
                               const numerics::BitPlanes& codes, std::span<const float> weights)
    : RoundedWeights(encoding, codes.rows, codes.cols),
      latent_(weights.begin(), weights.end()),
      values_(decode(codes, encoding)),
      indices_(weights.size(), 0),
      first_(weights.size(), 0),
      second_(weights.size(), 0) {
  const ParameterSpace space = ParameterSpace::of(encoding);
  for (std::size_t b = 0; b < encoding.num_blocks(); ++b) {
    levels_.emplace_back(space.of_block(b), encoding.levels(b));
  }
  for_each_run([&](std::size_t block, std::size_t first, std::size_t count) {
    const auto thresholds = levels_[block].table().thresholds();
    const auto sorted = levels_[block].table().levels();
    const float margin = levels_[block].table().half_gap() / 8;
    for (std::size_t i = first; i < first + count; ++i) {
      const auto level =
          static_cast<std::size_t>(std::ranges::lower_bound(sorted, values_[i]) - sorted.begin());
      if (level > 0) {
        latent_[i] = std::max(latent_[i], std::min(thresholds[level - 1] + margin, values_[i]));
      }
      if (level + 1 < sorted.size()) {
        latent_[i] = std::min(latent_[i], std::max(thresholds[level] - margin, values_[i]));
      }
    }
  });
  encode();
}

void LearnedWeights::encode() {
  for_each_run([&](std::size_t block, std::size_t first, std::size_t count) {
    const numerics::LevelTable& table = levels_[block].table();
    for (std::size_t i = first; i < first + count; ++i) {
      indices_[i] = table.index(latent_[i]);
      values_[i] = table.levels()[indices_[i]];
    }
  });
}

void LearnedWeights::step(std::span<const float> gradient, const WeightStep& step) {
  const SeenShares seen(++steps_);
  std::vector<std::vector<double>> level_gradients(
      levels_.size(), std::vector<double>(levels_[0].table().size(), 0));
  for_each_run([&](std::size_t block, std::size_t first, std::size_t count) {
    const numerics::LevelTable& table = levels_[block].table();
    const double gap = 2 * static_cast<double>(table.half_gap());
    const float low = table.levels().front() - table.half_gap();
    const float high = table.levels().back() + table.half_gap();
    for (std::size_t i = first; i < first + count; ++i) {
      level_gradients[block][indices_[i]] += static_cast<double>(gradient[i]);
      const double move = adam_step(static_cast<double>(gradient[i]), first_[i], second_[i], seen);
      const float moved = latent_[i] - static_cast<float>(step.weight_rate * gap * move);
      latent_[i] = std::min(std::max(moved, low), high);
    }
  });
  for (std::size_t b = 0; b < levels_.size(); ++b)
    levels_[b].step(level_gradients[b], step.level_rate);
  encode();
}

numerics::MatrixEncoding LearnedWeights::encoding() const {
  std::vector<numerics::Levels> blocks;
  for (const LearnedLevels& each : levels_) blocks.push_back(each.levels());
  return format().with_levels(blocks);
}

numerics::BitPlanes LearnedWeights::codes() const {
  numerics::BitPlanes codes(rows(), cols(), format().bits);
  for_each_run([&](std::size_t block, std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i) {
      codes.set_code(i / cols(), i % cols(), levels_[block].table().codes()[indices_[i]]);
    }
  });
  return codes;
}

}  // namespace halftone::compress
