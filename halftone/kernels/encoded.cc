// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/encoded.h"

#include "halftone/base/error.h"

namespace halftone::kernels {

void check_weights(const std::string& kernel, const numerics::BitPlanes& codes,
                   const numerics::MatrixEncoding& encoding, std::span<const float> bias,
                   std::size_t max_inputs) {
  const auto context = [&] {
    return kernel + " weights of " + std::to_string(codes.rows) + " x " +
           std::to_string(codes.cols) + ": ";
  };
  if (codes.cols > max_inputs) {
    fail(ErrorKind::kUnsupported,
         context() + "expected at most " + std::to_string(max_inputs) + " inputs");
  }
  with_context(kernel + " weights", [&] { encoding.check(codes.rows, codes.cols); });
  if (codes.bits != encoding.bits) {
    fail(ErrorKind::kShape, context() + "expected codes of " + std::to_string(encoding.bits) +
                                " bits, found " + std::to_string(codes.bits));
  }
  if (!bias.empty() && bias.size() != codes.rows) {
    fail(ErrorKind::kShape,
         context() + "expected a bias for each output, found " + std::to_string(bias.size()));
  }
}

void check_summed(const std::string& kernel, const numerics::MatrixEncoding& encoding) {
  if (encoding.is_summed()) return;
  fail(ErrorKind::kUnsupported,
       kernel + " weights: expected codes whose bits are signs of coefficients, found those of " +
           std::string(system_name(encoding)));
}

}  // namespace halftone::kernels
