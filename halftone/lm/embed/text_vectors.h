// SPDX-License-Identifier: Apache-2.0
// Vectors of texts, by which similar ones are found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "halftone/lm/generate/token_model.h"

namespace halftone::lm {

/// Which rows of a text become its vector.
enum class Pooling : std::uint8_t { kMean, kFirst, kLast };

/// What the files of a model say: pooling_type of GGUF, 1_Pooling/config.json of a folder of the
/// package sentence-transformers; else the mean, where files say nothing.
/// @throws Error kUnsupported for another pooling; kFormat of a malformed file
Pooling pooling_of(const std::filesystem::path& path);

/// Vectors of texts, each of length 1. With hidden rows h_t behind the final norm, in float64:
///     v = sum_t h_t / T (kMean), h_1 (kFirst) or h_T (kLast); vector = v / |v|
/// Each is the same whatever the others are.
/// @param rows   gives hidden rows in place of logits, see BuildOptions::gives_rows; its sequences
///               are used
/// @param width  of the rows
/// @throws Error kUsage that names the text which has no token, or more than the context
std::vector<std::vector<float>> text_vectors(TokenModel& rows, std::size_t width, Pooling pooling,
                                             std::span<const std::vector<TokenId>> texts);

/// The first numbers of a vector, of length 1 again.
/// @param count  0: all
/// @throws Error kUsage if it has fewer
std::vector<float> shortened(std::span<const float> vector, std::size_t count);

}  // namespace halftone::lm
