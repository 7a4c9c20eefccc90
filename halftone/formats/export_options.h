// SPDX-License-Identifier: Apache-2.0
// How a network is written.
#pragma once

namespace halftone::formats {

struct ExportOptions {
  /// ONNX only: layers with codes become operators of ONNX that read DequantizeLinear, in place of
  /// Halftone's own; see standard_form() in onnx/standard_form.h.
  bool standard = false;
  /// The same, with com.microsoft.MatMulNBits, an operator of ONNX Runtime, for fully connected
  /// layers whose weights have groups of 16, 32, 64, ... inputs.
  bool matmul_nbits = false;

  [[nodiscard]] bool is_standard() const { return standard || matmul_nbits; }
};

}  // namespace halftone::formats
