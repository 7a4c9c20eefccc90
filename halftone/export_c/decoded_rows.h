// SPDX-License-Identifier: Apache-2.0
// Layers of float32 whose weights are codes: rows of weights are decoded one by one.
#pragma once

#include <string>

#include "halftone/export_c/scope.h"

namespace halftone::export_c {

/// Names of what ht_decode_row_f32() reads and writes.
struct DecodedRows {
  std::string rows;     ///< "&weights"
  std::string levels;   ///< memory for the levels of a block
  std::string decoded;  ///< memory for a row
};

/// Adds weights [outputs, inputs] as codes with their numbers, and the memory.
/// @param suffix  of all names
DecodedRows add_decoded_rows(Scope& scope, const ir::EncodedTensor& weights,
                             const std::string& suffix = "");

/// Writes a FullyConnected or Conv of float32 inputs and such weights.
/// @throws Error kUnsupported as Scope::refuse() for inputs of codes
void write_decoded_rows(Scope& scope, const ir::EncodedTensor& weights);

}  // namespace halftone::export_c
