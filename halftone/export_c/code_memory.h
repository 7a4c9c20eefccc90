// SPDX-License-Identifier: Apache-2.0
// How the codes of a value lie in the arena of a C program.
#pragma once

#include <cstddef>
#include <string>

#include "halftone/ir/graph.h"
#include "halftone/runtime/value.h"

namespace halftone::export_c {

/// How the codes of a row lie. Images that convolutions read take no more bits than they need.
enum class CodeMemory {
  kBytes,         ///< a byte for each, as kernels::Int8Levels has it
  kPacked,        ///< pixels of whole bytes; code i is in bits b i and above, b is 1, 2 or 4
  kPlanes,        ///< bit planes of whole 32-bit words
  kSharedPlanes,  ///< bit planes of 1, 2, 4, 8 or 16 channels, one behind the other: they share
                  ///< words
};

/// The codes of a value: rows are pixels of an image.
struct CodeRows {
  CodeMemory memory = CodeMemory::kBytes;
  std::size_t rows = 0;
  std::size_t cols = 0;
  int bits = 0;  ///< of a code, and of its index in kPacked

  [[nodiscard]] bool is_bytes() const { return memory == CodeMemory::kBytes; }
  [[nodiscard]] bool is_planes() const {
    return memory == CodeMemory::kPlanes || memory == CodeMemory::kSharedPlanes;
  }
  /// Bits of a row in memory.
  [[nodiscard]] std::size_t row_bits() const;
  /// Bits of a bit plane of a row.
  [[nodiscard]] std::size_t plane_bits() const;
  [[nodiscard]] std::size_t size_bytes() const;
  /// The expression of a row: "x + p * 4". @pre memory is not kSharedPlanes
  [[nodiscard]] std::string at(const std::string& name, const std::string& row) const;
};

/// @pre the value has codes
/// @param layout  of the runtime
CodeRows code_rows(const ir::Graph& graph, ir::ValueId id, runtime::CodeLayout layout);

}  // namespace halftone::export_c
