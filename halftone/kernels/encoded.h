// SPDX-License-Identifier: Apache-2.0
// Codes with what they mean, as references and constructors of weights take them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "halftone/base/view.h"
#include "halftone/numerics/encoding.h"

namespace halftone::kernels {

/// Encoded weights of a layer. Refers to its parts.
struct EncodedWeights {
  const numerics::BitPlanes& codes;          ///< [outputs, inputs of an output]
  const numerics::MatrixEncoding& encoding;  ///< of `codes`
  std::span<const float> bias = {};          ///< [outputs], or empty for none
};

/// Encoded activations with one basis. Refers to its parts.
struct EncodedInputs {
  const numerics::BitPlanes& codes;
  const numerics::Basis& basis;
};

/// Checks that a kernel can pack the weights of a fully connected layer.
/// @param kernel       its name, for messages
/// @param codes        [o, n]
/// @param bias         [o], or empty for none
/// @param max_inputs  upper bound of n
/// @throws Error kUnsupported if n is larger; kShape as MatrixEncoding::check(), or if bits or the
///         length of the bias differ
void check_weights(const std::string& kernel, const numerics::BitPlanes& codes,
                   const numerics::MatrixEncoding& encoding, std::span<const float> bias,
                   std::size_t max_inputs);

/// Checks that bits of the codes are signs of coefficients, as kernels that work bit by bit need.
/// @throws Error kUnsupported if they are not
void check_summed(const std::string& kernel, const numerics::MatrixEncoding& encoding);

/// Weights of 8 bits with a zero point for each output. Refers to its parts.
struct IntegerWeights {
  std::span<const std::byte> codes;         ///< [outputs, inputs of an output], int8 or uint8
  bool is_signed = true;                    ///< whether they are int8
  std::span<const std::int32_t> zeros;      ///< [outputs] zero points
  std::span<const std::int32_t> bias = {};  ///< [outputs], or empty for none

  [[nodiscard]] int lowest() const { return is_signed ? -128 : 0; }
  [[nodiscard]] std::int32_t bias_of(std::size_t output) const {
    return bias.empty() ? 0 : bias[output];
  }
  /// The code at an index of `codes`.
  [[nodiscard]] int code(std::size_t i) const {
    const int byte = std::to_integer<int>(codes[i]);
    return is_signed && byte > 127 ? byte - 256 : byte;
  }
};

/// Pixels as integers: q represents scale q + offset. Written by encode_int8().
struct Int8Pixels {
  const std::int8_t* q = nullptr;  ///< [images, pixels, channels]
  float scale = 1;
  float offset = 0;
};

/// Activations as integers: row r represents scales[r] q[r, :] + offset. Written by
/// quantize_rows(), without offset, or by encode_int8().
struct Int8Rows {
  MatrixView<const std::int8_t> q;  ///< [m, n]
  std::span<const float> scales;    ///< [m]
  float offset = 0;
};

}  // namespace halftone::kernels
