// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/type_recipe.h"

#include <algorithm>

#include "halftone/base/error.h"
#include "halftone/base/shell_pattern.h"

namespace halftone::lm {
namespace {

constexpr double kTableBits = 4;

/// Null for a matrix that stays as it is.
const WeightType* type_or_keep(const std::string& name) {
  return name.empty() || name == kKeepType ? nullptr : &weight_type(name);
}

/// "blk.*.attn_q.weight" of "blk.7.attn_q.weight".
std::string pattern_of(const std::string& name) {
  const auto first = std::ranges::find_if(name, [](char c) { return c >= '0' && c <= '9'; });
  const auto last = std::find(first, name.end(), '.');
  return std::string(name.begin(), first) + (first == name.end() ? "" : "*") +
         std::string(last, name.end());
}

void check_rows(const std::string& name, const WeightType& type, std::size_t cols) {
  if (type.can_hold(cols)) return;
  std::string names;
  std::string similar(kKeepType);  // the first that every file has, with as many bits
  for (const WeightType& other : weight_types()) {
    if (!other.can_hold(cols)) continue;
    const bool is_similar = other.gguf != nullptr && other.bits() >= type.bits();
    if (is_similar && similar == kKeepType) similar = other.name;
    names += other.name + ", ";
  }
  fail(ErrorKind::kUsage,
       name + ": " + type.name + " has blocks of " + std::to_string(type.encoding->block) +
           " weights, rows have " + std::to_string(cols) + "; types for such rows: " + names +
           "keep; a rule chooses one: '" + pattern_of(name) + "=" + similar + "'");
}

void check_looked_up(const std::string& name, const WeightType& type) {
  if (!numerics::has_tensor_factor(type.encoding->scales)) return;
  fail(ErrorKind::kUsage, name +
                              ": expected a type without a factor of the whole table, such as "
                              "Q4_0, found " +
                              type.name);
}

void check_rules(const TypeRecipe& recipe, const std::vector<std::string>& names) {
  for (const TypeRule& rule : recipe.rules) {
    const bool is_used = std::ranges::any_of(
        names, [&](const std::string& name) { return matches_pattern(rule.pattern, name); });
    if (is_used) continue;
    fail(ErrorKind::kUsage, (rule.where.empty() ? "" : rule.where + ": ") + "pattern '" +
                                rule.pattern + "' matches no matrix; names are like " + names[0] +
                                ", " + names.back());
  }
}

}  // namespace

const WeightType& default_table_type(const WeightType& blocks, std::size_t width) {
  if (blocks.is_nested()) return default_table_type(weight_type("int4/64"), width);
  if (blocks.bits() >= kTableBits && blocks.can_hold(width)) return blocks;
  if (blocks.is_vector()) return weight_type("2x8");
  const WeightType& k_type = weight_type("Q4_K");
  return k_type.can_hold(width) ? k_type : weight_type("Q4_0");
}

const WeightType& block_input_type(const WeightType& tables, std::size_t width) {
  if (!numerics::has_tensor_factor(tables.encoding->scales)) return tables;
  const WeightType& large = weight_type("Q4_K");
  return large.can_hold(width) ? large : weight_type("Q4_0");
}

void require_gguf_types(const TypeRecipe& recipe) {
  const auto require = [](const std::string& name, const std::string& where) {
    const WeightType* type = type_or_keep(name);
    if (type == nullptr || type->gguf != nullptr) return;
    fail(ErrorKind::kUsage,
         where + "GGUF has no type " + type->name + "; write a .safetensors file");
  };
  require(recipe.type, "matrices in blocks: ");
  require(recipe.table_type, "embedding and head: ");
  for (const TypeRule& rule : recipe.rules) {
    require(rule.type, (rule.where.empty() ? "" : rule.where + ": ") + "'" + rule.pattern + "': ");
  }
}

std::string to_toml(const Description& description, const TypeChoice& choice,
                    const std::vector<std::string>& comments) {
  std::string text;
  for (const std::string& comment : comments) text += "# " + comment + "\n";
  for (const auto& [id, type] : choice) {
    text += "[[layer]]\nname = \"" + canonical_name(description, id) + "\"\ntype = \"" +
            type->name + "\"\n";
  }
  return text;
}

TypeChoice choose_types(const ModelParts& model, const TypeRecipe& recipe, bool takes_any_rows) {
  const Description& d = model.description;
  const std::vector<WeightId> ids = matrices_to_fit(d);
  std::vector<std::string> names;
  for (const WeightId& id : ids) names.push_back(canonical_name(d, id));
  check_rules(recipe, names);
  const WeightType* blocks = type_or_keep(recipe.type);
  const WeightType* tables = type_or_keep(recipe.table_type);
  if (recipe.table_type.empty() && blocks != nullptr)
    tables = &default_table_type(*blocks, d.width);
  TypeChoice choice;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const WeightType* type = is_table(ids[i]) ? tables : blocks;
    const bool is_looked_up = ids[i].role == WeightRole::kBlockInputTable;
    if (is_looked_up && type != nullptr) {
      type = &block_input_type(*type, model.weights.at(ids[i]).inputs());
    }
    for (const TypeRule& rule : recipe.rules) {
      if (matches_pattern(rule.pattern, names[i])) type = type_or_keep(rule.type);
    }
    if (type == nullptr) continue;
    if (is_looked_up) check_looked_up(names[i], *type);
    if (!takes_any_rows) check_rows(names[i], *type, model.weights.at(ids[i]).inputs());
    choice.emplace(ids[i], type);
  }
  return choice;
}

}  // namespace halftone::lm
