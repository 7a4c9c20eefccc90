// SPDX-License-Identifier: Apache-2.0
// The tensor types of GGUF: blocks of codes that share scales.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "halftone/numerics/block_encoding.h"

namespace halftone::formats {

/// A tensor type: how a file calls an encoding.
struct GgufType : numerics::BlockEncoding {
  std::uint32_t id = 0;
};

/// All types that have a size, by id.
std::span<const GgufType> gguf_types();
/// The type of this id; null if there is none.
const GgufType* gguf_type(std::uint32_t id);
/// The type that a file had under a number which llama.cpp has given up, such as "Q4_0_4_4"; empty
/// for other numbers. Source: llama.cpp, ggml/include/ggml.h, enum ggml_type.
std::string_view former_gguf_type(std::uint32_t id);
/// The type of this name, as "Q4_K"; null if there is none.
const GgufType* gguf_type(std::string_view name);
/// 32-bit floats.
const GgufType& gguf_float32();

}  // namespace halftone::formats
