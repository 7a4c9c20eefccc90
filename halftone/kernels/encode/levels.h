// SPDX-License-Identifier: Apache-2.0
// Numbers beside the levels of a basis: what training asks for at every step. Which level is a
// number's, numerics::LevelTable says.
#pragma once

#include <span>

#include "halftone/numerics/basis.h"

namespace halftone::kernels {

/// y_i = the level of x_i.
/// @param y  [n]; may be the memory of x
void round_to_levels(std::span<const float> x, const numerics::LevelTable& table,
                     std::span<float> y) noexcept;

/// sums_l = the sum of v_i over the numbers x_i of level l, in ascending order of levels. Does not
/// depend on the length of a vector: of each 4096 numbers, number i is added to the partial sum
/// i mod 16 of its level in float32; partial sum l takes up partial sum l + h, for h = 8, 4, 2, 1;
/// the sums of the runs of 4096 add up in float64.
/// @param v     [n]
/// @param sums  [levels], all written
void sum_by_level(std::span<const float> x, std::span<const float> v,
                  const numerics::LevelTable& table, std::span<double> sums) noexcept;
/// How many numbers take each level.
void count_by_level(std::span<const float> x, const numerics::LevelTable& table,
                    std::span<double> counts) noexcept;

/// y_i = g_i where low <= x_i <= high, else 0.
/// @param y  [n]; may be the memory of g
void pass_between(std::span<const float> x, float low, float high, std::span<const float> g,
                  std::span<float> y) noexcept;

/// The definitions, in plain loops.
void round_to_levels_reference(std::span<const float> x, const numerics::LevelTable& table,
                               std::span<float> y) noexcept;
void sum_by_level_reference(std::span<const float> x, std::span<const float> v,
                            const numerics::LevelTable& table, std::span<double> sums) noexcept;
void pass_between_reference(std::span<const float> x, float low, float high,
                            std::span<const float> g, std::span<float> y) noexcept;

}  // namespace halftone::kernels
