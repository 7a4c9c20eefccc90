// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/rotary_tables.h"

#include <vector>

#include "halftone/base/elementary.h"

namespace halftone::lm {

RotaryTables rotary_tables(const Description& description, const RotaryAngles& angles,
                           std::size_t context) {
  const std::size_t pairs = description.rotary_dims / 2;
  const bool is_long = !angles.long_divisors.empty() && context > description.original_context;
  const std::vector<double>& divisors = is_long ? angles.long_divisors : angles.divisors;
  const ir::Shape shape{static_cast<ir::Dim>(context), static_cast<ir::Dim>(pairs)};
  RotaryTables tables{ir::Tensor(ir::ElementType::kFloat32, shape),
                      ir::Tensor(ir::ElementType::kFloat32, shape)};
  const auto cos = tables.cos.as<float>();
  const auto sin = tables.sin.as<float>();
  for (std::size_t i = 0; i < pairs; ++i) {
    const double exponent = 2 * static_cast<double>(i) / static_cast<double>(2 * pairs);
    const double turned = elementary::pow(angles.base, exponent);
    const double divisor = divisors.empty() ? turned : turned * divisors[i];
    for (std::size_t position = 0; position < context; ++position) {
      const double angle = static_cast<double>(position) / divisor;
      const double factor = description.rotary_factor;
      cos[position * pairs + i] = static_cast<float>(factor * elementary::cos(angle));
      sin[position * pairs + i] = static_cast<float>(factor * elementary::sin(angle));
    }
  }
  return tables;
}

}  // namespace halftone::lm
