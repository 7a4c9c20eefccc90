// SPDX-License-Identifier: Apache-2.0
// Operations of training on values and the levels of a basis. numerics::LevelTable defines the
// level of a value.
#pragma once

#include <cstddef>
#include <span>

#include "halftone/kernels/encode/encode_table.h"
#include "halftone/numerics/levels.h"

namespace halftone::kernels {

/// y_i = the level of x_i.
/// @param y  [n]; may be the memory of x
void round_to_levels(std::span<const float> x, const numerics::LevelTable& table,
                     std::span<float> y) noexcept;
/// The same with levels prepared for encoding, which is faster for more than 16 of them.
void round_to_levels(std::span<const float> x, const EncodeTable& table,
                     std::span<float> y) noexcept;

/// More levels are summed by the reference, which is slow: their partial sums do not fit the stack.
inline constexpr std::size_t kMaxSummedLevels = std::size_t{1} << numerics::kMaxBits;

/// sums_l = the sum of v_i over the values x_i of level l, in ascending order of levels. It does
/// not depend on the vector length: in each run of 4096 values, value i is added to partial sum
/// i mod 16 of its level in float32; then partial sum l + h is added to partial sum l, for
/// h = 8, 4, 2, 1. The sums of the runs are added in float64.
/// @param v     [n]
/// @param sums  [levels], all written
void sum_by_level(std::span<const float> x, std::span<const float> v,
                  const numerics::LevelTable& table, std::span<double> sums) noexcept;
/// The number of values of each level.
void count_by_level(std::span<const float> x, const numerics::LevelTable& table,
                    std::span<double> counts) noexcept;

/// y_i = g_i where low <= x_i <= high, else 0.
/// @param y  [n]; may be the memory of g
void pass_between(std::span<const float> x, float low, float high, std::span<const float> g,
                  std::span<float> y) noexcept;

/// Reference implementations in plain loops.
void round_to_levels_reference(std::span<const float> x, const numerics::LevelTable& table,
                               std::span<float> y) noexcept;
void sum_by_level_reference(std::span<const float> x, std::span<const float> v,
                            const numerics::LevelTable& table, std::span<double> sums) noexcept;
void pass_between_reference(std::span<const float> x, float low, float high,
                            std::span<const float> g, std::span<float> y) noexcept;

}  // namespace halftone::kernels
