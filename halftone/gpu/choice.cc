// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/choice.h"

#include "halftone/gpu/launches.h"
#include "halftone/gpu/texts.h"

namespace halftone::gpu {
namespace {

Kernel& choice_kernel(Programs& programs, const char* name) {
  return programs.kernel(program_text("", {"elementary", "choice"}), name);
}

}  // namespace

Launch softmax(Programs& programs, const RowsAndColumns& extent, const Buffer& x, const Buffer& y) {
  return {&choice_kernel(programs, "softmax_rows"),
          grid_of(extent.rows),
          {x, y, number(extent.rows), number(extent.cols)}};
}

Launch top_k(Programs& programs, const RowsAndColumns& extent, std::size_t k, const Buffer& x,
             const Buffer& y) {
  return {&choice_kernel(programs, "top_k"),
          grid_of(extent.rows),
          {x, y, number(extent.rows), number(extent.cols), number(k)}};
}

Launch gather_elements(Programs& programs, const Chosen& chosen, const Buffer& x, const Buffer& y) {
  const std::size_t count = chosen.rows * chosen.y_cols;
  return {&choice_kernel(programs, "gather_elements"),
          grid_of(count),
          {x, chosen.ids, y, number(count), number(chosen.x_cols), number(chosen.y_cols)}};
}

Launch sum_axis(Programs& programs, const Axis& axis, const Buffer& x, const Buffer& y) {
  const std::size_t count = axis.outer * axis.inner;
  return {&choice_kernel(programs, "sum_axis"),
          grid_of(count),
          {x, y, number(count), number(axis.extent), number(axis.inner), number(axis.divisor)}};
}

}  // namespace halftone::gpu
