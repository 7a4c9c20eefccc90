// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/type_recipe.h"

#include <algorithm>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/shell_pattern.h"
#include "halftone/base/toml/keys.h"

namespace halftone::lm {
namespace {

constexpr double kTableBits = 4;

/// Null for a matrix that stays as it is.
const WeightType* type_or_keep(const std::string& name) {
  return name.empty() || name == kKeepType ? nullptr : &weight_type(name);
}

void check_rows(const std::string& name, const WeightType& type, std::size_t cols) {
  if (type.can_hold(cols)) return;
  std::string names;
  for (const WeightType& other : weight_types()) {
    if (other.can_hold(cols)) names += other.name + ", ";
  }
  fail(ErrorKind::kUsage, name + ": " + type.name + " has blocks of " +
                              std::to_string(type.encoding->block) + " weights, rows have " +
                              std::to_string(cols) + "; types for such rows: " + names + "keep");
}

void check_looked_up(const std::string& name, const WeightType& type) {
  if (!numerics::has_tensor_factor(type.encoding->scales)) return;
  fail(ErrorKind::kUsage, name +
                              ": expected a type without a factor of the whole table, such as "
                              "Q4_0, found " +
                              type.name);
}

constexpr const char* kOfNetworks =
    "is of a recipe for other networks; language models have type, and table_type in [default]";

/// Says so of a layer of a recipe for other networks.
void refuse_settings(const toml::table& table) {
  keys::refuse_keys(table,
                    {"weight_bits", "activation_bits", "scheme", "weight_scheme",
                     "activation_scheme", "granularity", "group_size", "skip", "arithmetic"},
                    kOfNetworks);
}

TypeRule read_rule(const toml::table& table) {
  refuse_settings(table);
  TypeRule rule;
  keys::read_table(
      table,
      {keys::required(keys::word("name", [&](const std::string& name) { rule.pattern = name; })),
       keys::required(keys::word("type",
                                 [&](const std::string& name) {
                                   (void)type_or_keep(name);
                                   rule.type = name;
                                 }))},
      "[[layer]]");
  rule.where = "line " + std::to_string(table.source().begin.line);
  return rule;
}

TypeRecipe read_type_recipe(const toml::table& root) {
  keys::refuse_keys(root, {"ends", "fit"}, kOfNetworks);
  TypeRecipe recipe;
  const auto type_key = [](std::string_view key, std::string& store) {
    return keys::word(key, [&store](const std::string& name) {
      (void)type_or_keep(name);
      store = name;
    });
  };
  keys::read_table(
      root,
      {keys::section("default",
                     [&](const toml::table& table) {
                       refuse_settings(table);
                       keys::read_table(
                           table,
                           {type_key("type", recipe.blocks), type_key("table_type", recipe.tables)},
                           "[default]");
                     }),
       keys::sections("layer",
                      [&](const toml::table& table) { recipe.rules.push_back(read_rule(table)); })},
      "the recipe");
  return recipe;
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

TypeRecipe parse_type_recipe(std::string_view toml, const std::string& name) {
  TypeRecipe recipe;
  keys::read_document(toml, name,
                      [&](const toml::table& root) { recipe = read_type_recipe(root); });
  for (TypeRule& rule : recipe.rules) rule.where = name + ": " + rule.where;
  return recipe;
}

void require_gguf_types(const TypeRecipe& recipe) {
  const auto require = [](const std::string& name, const std::string& where) {
    const WeightType* type = type_or_keep(name);
    if (type == nullptr || type->gguf != nullptr) return;
    fail(ErrorKind::kUsage,
         where + "GGUF has no type " + type->name + "; write a .safetensors file");
  };
  require(recipe.blocks, "matrices in blocks: ");
  require(recipe.tables, "embedding and head: ");
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

TypeChoice choose_types(const Model& model, const TypeRecipe& recipe, bool takes_any_rows) {
  const Description& d = model.description;
  const std::vector<WeightId> ids = matrices_to_fit(d);
  std::vector<std::string> names;
  for (const WeightId& id : ids) names.push_back(canonical_name(d, id));
  check_rules(recipe, names);
  const WeightType* blocks = type_or_keep(recipe.blocks);
  const WeightType* tables = type_or_keep(recipe.tables);
  if (recipe.tables.empty() && blocks != nullptr) tables = &default_table_type(*blocks, d.width);
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
