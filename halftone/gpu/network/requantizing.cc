// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/network/requantizing.h"

#include "halftone/gpu/texts.h"
#include "halftone/numerics/integer_grid.h"

namespace halftone::gpu {

std::string code_macro(ir::ElementType element) {
  if (element == ir::ElementType::kInt32) return "#define CODE int\n";
  return element == ir::ElementType::kInt8 ? "#define CODE schar\n" : "#define CODE uchar\n";
}

Requantizing::Requantizing(StepMaker& maker, const ir::Requantize& op) {
  const bool is_twice = op.rounding == ir::CodeRounding::kTwice;
  kernel_ = &maker.programs().kernel(program_text(code_macro(op.element), {"window", "codes"}),
                                     is_twice ? "requantize_twice" : "requantize_once");
  if (is_twice) {
    std::vector<std::int32_t> mantissas;
    std::vector<std::int32_t> shifts;
    for (const double m : op.multipliers) {
      const auto fixed = numerics::divided(numerics::fixed_multiplier(m), op.count);
      mantissas.push_back(fixed.mantissa);
      shifts.push_back(fixed.shift);
    }
    factors_ = {&maker.constant(std::move(mantissas)), &maker.constant(std::move(shifts))};
  } else {
    factors_ = {&maker.constant(op.multipliers)};
  }
  numbers_ = {maker.count(), number(op.multipliers.size())};
  for (const std::int32_t each : {op.zero_point, op.low, op.high}) {
    numbers_.push_back(static_cast<std::uint32_t>(each));
  }
  if (!is_twice) numbers_.push_back(op.rounding == ir::CodeRounding::kHalfAway ? 1 : 0);
}

Launch Requantizing::launch(const Buffer& x, const Buffer& y) const {
  Launch launch{kernel_, grid_of(numbers_[0]), {x}};
  for (const Buffer* factors : factors_) launch.arguments.emplace_back(*factors);
  launch.arguments.emplace_back(y);
  for (const std::uint32_t each : numbers_) launch.arguments.emplace_back(each);
  return launch;
}

}  // namespace halftone::gpu
