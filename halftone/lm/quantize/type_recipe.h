// SPDX-License-Identifier: Apache-2.0
// Which matrix of a model gets which type.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/lm/quantize/matrix_walk.h"
#include "halftone/lm/quantize/weight_types.h"
#include "halftone/types/language_quantize.hpp"

namespace halftone::lm {

/// A type for each matrix that is to be fitted.
using TypeChoice = std::map<WeightId, const WeightType*>;

/// The word for a matrix that stays as it is.
inline constexpr std::string_view kKeepType = "keep";

/// Types for the matrices of a model; kKeepType leaves them as they are.
using v0::TypeRecipe;
using v0::TypeRule;

/// What embeddings and head get beside blocks of a type: the type itself from 4 bits on, else one
/// of 4 bits of its family that holds the rows: "2x8"; "Q4_K" or "Q4_0". Beside nested codes they
/// have one precision, "int4/64". They are read for every token, and the next word is chosen by
/// them.
const WeightType& default_table_type(const WeightType& blocks, std::size_t width);

/// What the table of blocks' inputs gets where tables get a type: the type itself, or in place of
/// one whose scales share a factor of the whole table, "Q4_K" or "Q4_0".
const WeightType& block_input_type(const WeightType& tables, std::size_t width);

/// @throws Error kUsage that names the first type of a recipe which GGUF files do not have
void require_gguf_types(const TypeRecipe& recipe);
/// The recipe of a choice, one entry for each matrix.
/// @param comments  lines in front
std::string to_toml(const Description& description, const TypeChoice& choice,
                    const std::vector<std::string>& comments);

/// The types of all matrices that are fitted; of experts as that of expert 0.
/// @param takes_any_rows  whether rows may end inside a block, because no file is to hold them
/// @throws Error kUsage for an unknown type, a rule that matches no matrix, or a type that does not
///         hold the rows of its matrix: names those that do
TypeChoice choose_types(const ModelParts& model, const TypeRecipe& recipe,
                        bool takes_any_rows = false);

}  // namespace halftone::lm
