// SPDX-License-Identifier: Apache-2.0
// How files store the elements of a weight. Private to this folder.
#pragma once

#include <cstddef>
#include <span>

#include "halftone/lm/model/weights.h"

namespace halftone::lm {

/// Bytes of a block of MXFP4 whose scale a file keeps apart.
inline constexpr std::size_t kMxfp4Bytes = 16;

/// The elements as float32.
/// @throws Error kUnsupported if Halftone does not decode this type
void decode_elements(const StorageType& type, const SharedBytes& bytes, std::span<float> values);

}  // namespace halftone::lm
