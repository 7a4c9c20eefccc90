// SPDX-License-Identifier: Apache-2.0
// For tests and benchmarks: random tensors from fixed seeds.
#pragma once

#include <cstdint>
#include <utility>

#include "halftone/base/random.h"
#include "halftone/ir/tensor.h"

namespace halftone::ir::test {

/// Normally distributed values times `scale`. @param shape  static, here and below
inline Tensor random_tensor(Shape shape, Random& random, float scale = 1) {
  Tensor tensor(ElementType::kFloat32, std::move(shape));
  for (float& value : tensor.as<float>()) value = scale * static_cast<float>(random.normal());
  return tensor;
}
inline Tensor random_tensor(Shape shape, std::uint64_t seed) {
  Random random(seed);
  return random_tensor(std::move(shape), random);
}
/// Values uniform in [low, high).
inline Tensor uniform_tensor(Shape shape, Random& random, double low, double high) {
  Tensor tensor(ElementType::kFloat32, std::move(shape));
  for (float& value : tensor.as<float>()) {
    value = static_cast<float>(low + (high - low) * random.uniform());
  }
  return tensor;
}

}  // namespace halftone::ir::test
