// SPDX-License-Identifier: Apache-2.0
// Implementations of Unary, Binary, Where and Encode.
#pragma once

#include "halftone/runtime/implementation.h"

namespace halftone::runtime {

/// Whether the first input and the output are float32.
inline bool maps_floats(const NodeContext& context) {
  return context.input(0).is_dense(ir::ElementType::kFloat32) &&
         context.output().is_dense(ir::ElementType::kFloat32);
}

/// Unary with the vector functions of halftone/kernels.
extern const Implementation kUnaryVector;
/// Unary with the C++ library, element by element: functions that the others lack or compute less
/// precisely (oneDNN's logarithm is off by 6e-5 near 1).
extern const Implementation kUnaryPlain;

/// Binary of float32, row by row.
extern const Implementation kBinaryFloats;
/// Sums, differences and products of int32.
extern const Implementation kBinaryIntegers;

/// Where, row by row.
extern const Implementation kWhereRows;

/// Encode to bit planes.
extern const Implementation kEncodePlanes;
/// Encode to levels as 8-bit integers.
extern const Implementation kEncodeInt8;

}  // namespace halftone::runtime
