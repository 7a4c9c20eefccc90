// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/teacher/score_memory.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstdint>

namespace halftone::train {
namespace {

at::Tensor indices_of(std::span<const std::size_t> samples) {
  at::Tensor indices =
      at::empty({static_cast<std::int64_t>(samples.size())}, at::TensorOptions(at::kLong));
  std::ranges::copy(samples, indices.data_ptr<std::int64_t>());
  return indices;
}

}  // namespace

ScoreMemory::ScoreMemory(std::size_t samples, std::size_t teachers, std::size_t scores)
    : scores_(at::empty({static_cast<std::int64_t>(samples), static_cast<std::int64_t>(teachers),
                         static_cast<std::int64_t>(scores)},
                        at::TensorOptions(at::kFloat))),
      is_known_(samples, 0) {}

bool ScoreMemory::has(std::span<const std::size_t> samples) const {
  return std::ranges::all_of(samples,
                             [this](std::size_t sample) { return is_known_[sample] != 0; });
}

void ScoreMemory::keep(std::span<const std::size_t> samples, const at::Tensor& scores) {
  scores_.index_copy_(0, indices_of(samples), scores.transpose(0, 1));
  for (const std::size_t sample : samples) is_known_[sample] = 1;
}

at::Tensor ScoreMemory::scores(std::span<const std::size_t> samples) const {
  return scores_.index_select(0, indices_of(samples)).transpose(0, 1).contiguous();
}

}  // namespace halftone::train
