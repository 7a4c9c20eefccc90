// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/int8_matmul/int8_weights.h"

#include "halftone/kernels/check_weights.h"
#include "halftone/kernels/int8_matmul/level_grid.h"

namespace halftone::kernels {

Int8Weights::Int8Weights(const std::string& kernel, const numerics::BitPlanes& codes,
                         const numerics::MatrixEncoding& encoding, std::span<const float> bias)
    : outputs_(codes.rows),
      inputs_(codes.cols),
      bits_(static_cast<std::size_t>(codes.bits)),
      steps_(encoding.weight_steps()),
      group_inputs_(encoding.granularity == numerics::Granularity::kGroup ? encoding.group_size
                                                                          : codes.cols),
      has_offset_(!encoding.is_centred()) {
  check_weights(kernel, codes, encoding, bias, kMaxInputs);
  num_groups_ = encoding.groups_per_row(inputs_);
  totals_ = AlignedBuffer(num_blocks() * kBlock * sizeof(float));
}

void Int8Weights::set_bias(std::span<const float> bias) {
  if (bias.empty()) return;
  bias_ = AlignedBuffer(num_blocks() * kBlock * sizeof(float));
  std::copy(bias.begin(), bias.end(), bias_.as<float>().begin());
}

}  // namespace halftone::kernels
