// SPDX-License-Identifier: Apache-2.0
// Which matrix of a model gets which type.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/lm/quantize/matrix_walk.h"
#include "halftone/lm/quantize/weight_types.h"

namespace halftone::lm {

/// A type for each matrix that is to be fitted.
using TypeChoice = std::map<WeightId, const WeightType*>;

/// The word for a matrix that stays as it is.
inline constexpr std::string_view kKeepType = "keep";

/// A type for the matrices whose name matches a shell pattern: * ? [...].
struct TypeRule {
  std::string pattern;  ///< of the name in GGUF: "blk.*.attn_v.weight"
  std::string type;     ///< of weight_types(), or kKeepType
  std::string where{};  ///< the place of the rule, for messages: "types.toml: line 3"
};

/// Types for the matrices of a model. A later rule overrides the types before it.
struct TypeRecipe {
  std::string blocks{};  ///< of the matrices of blocks; empty: they stay as they are
  std::string tables{};  ///< of embeddings and the head; empty: default_table_type()
  std::vector<TypeRule> rules{};
};

/// What embeddings and head get beside blocks of a type: the type itself from 4 bits on, else one
/// of 4 bits of its family that holds the rows: "2x8"; "Q4_K" or "Q4_0". They are read for every
/// token, and the next word is chosen by them.
const WeightType& default_table_type(const WeightType& blocks, std::size_t width);

/// What the table of blocks' inputs gets where tables get a type: the type itself, or in place of
/// one whose scales share a factor of the whole table, "Q4_K" or "Q4_0".
const WeightType& block_input_type(const WeightType& tables, std::size_t width);

/// Reads a recipe:
///
///     [default]
///     type = "4x8"
///     table_type = "2x8"
///     [[layer]]
///     name = "blk.*.attn_v.weight"
///     type = "2x7"
///
/// @param name  of the file, for messages
/// @throws Error kUsage "NAME: line 3: ..." if the text is no such recipe
TypeRecipe parse_type_recipe(std::string_view toml, const std::string& name);
/// @throws Error kUsage that names the first type of a recipe which GGUF files do not have
void require_gguf_types(const TypeRecipe& recipe);
/// The recipe of a choice, one entry for each matrix; parse_type_recipe() reads it.
/// @param comments  lines in front
std::string to_toml(const Description& description, const TypeChoice& choice,
                    const std::vector<std::string>& comments);

/// The types of all matrices that are fitted; of experts as that of expert 0.
/// @param takes_any_rows  whether rows may end inside a block, because no file is to hold them
/// @throws Error kUsage for an unknown type, a rule that matches no matrix, or a type that does not
///         hold the rows of its matrix: names those that do
TypeChoice choose_types(const Model& model, const TypeRecipe& recipe, bool takes_any_rows = false);

}  // namespace halftone::lm
