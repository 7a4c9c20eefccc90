// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/plan/plan.h"

namespace halftone::runtime {

std::size_t Plan::constant_bytes() const {
  std::size_t sum = 0;
  for (std::size_t v = 0; v < graph().num_values(); ++v) {
    const ir::Constant* constant = graph().constant(ir::ValueId{static_cast<std::uint32_t>(v)});
    if (constant == nullptr) continue;
    const auto* codes = std::get_if<ir::EncodedTensor>(constant);
    sum += codes != nullptr ? codes->codes.planes.words().size_bytes() : storage_bytes(*constant);
  }
  return sum;
}

std::size_t Plan::packed_weight_bytes() const {
  std::size_t sum = 0;
  for (const Step& step : steps()) sum += step.body.packed_bytes;
  return sum;
}

std::size_t Plan::weight_bytes_of_run() const {
  std::size_t sum = packed_weight_bytes();
  for (const Step& step : steps()) sum -= step.body.idle_bytes;
  return sum;
}

}  // namespace halftone::runtime
