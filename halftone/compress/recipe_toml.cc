// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/toml/field_keys.h"
#include "halftone/compress/recipe_fields.h"

namespace halftone::compress {
namespace {

using keys::fail_at;
using keys::Key;
using keys::read_table;
using keys::word;

/// Says so of settings that have no effect on the kind of network.
void refuse_other_kind(const toml::table& table, bool is_language) {
  if (is_language) {
    keys::refuse_keys(table,
                      {"activation_bits", "activation_scheme", "activation_offset",
                       "activation_scales", "activation_group_size", "weight_offset", "calibrator",
                       "percentile", "momentum", "arithmetic"},
                      "is of a recipe for other networks; activations of language models are 8-bit "
                      "integers with a scale for each group");
  } else {
    keys::refuse_keys(table, {"table_type"},
                      "is of a recipe for language models; other networks have [ends]");
  }
}

void refuse_two_systems(const toml::table& table) {
  const toml::node* type = table.get("type");
  for (const std::string_view other : {"scheme", "weight_scheme", "weight_bits", "group_size"}) {
    if (type == nullptr || table.get(other) == nullptr) continue;
    fail_at(*type, "'type' says what '" + std::string(other) + "' says: leave one of them out");
  }
}

/// A name of a system or of a type, which is an error with its line if there is none.
Key checked(Key key, const TypeCheck& check_type) {
  if (!key.name.ends_with("scheme") && key.name != "type") return key;
  const bool is_type = key.name == "type" && check_type;
  const auto check = [is_type, check_type](const std::string& name) {
    if (is_type) return check_type(name);
    if (name != "float") (void)numerics::named_system(name);
  };
  key.read = [read = std::move(key.read), inspect = word(key.name, check)](const toml::node& node) {
    inspect.read(node);
    read(node);
  };
  return key;
}

/// Reads a recipe as text and as what that means.
class Reader {
 public:
  explicit Reader(const TypeCheck& check_type) : check_type_(check_type), tables_(3) {}

  void read(const toml::table& root) {
    if (check_type_) {
      keys::refuse_keys(root, {"fit"},
                        "is of a recipe for other networks; options say how language models are "
                        "fitted");
    }
    const std::vector<Key> sections = {
        keys::section("default", [&](const toml::table& table) { read_defaults(table); }),
        keys::section("ends", [&](const toml::table& table) { read_ends(table); }),
        keys::section("fit", [&](const toml::table& table) { read_fit(table); }),
        keys::sections("layer", [&](const toml::table& table) { read_override(table); }),
    };
    read_table(root, sections, "the recipe");
    visit_useless(text_, [&](std::size_t section, const Field& field, const std::string& reason) {
      fail_at(*tables_[section]->get(field.name), "'" + field.name + "' is " + reason);
    });
  }
  [[nodiscard]] const v0::Recipe& text() const { return text_; }
  [[nodiscard]] const Recipe& recipe() const { return recipe_; }

 private:
  /// Reads the settings of layers of a section, which may have one more key.
  LayerSettings read_settings(const toml::table& table, v0::LayerSettings& text,
                              const std::optional<Key>& more, const std::string& where) {
    refuse_other_kind(table, check_type_ != nullptr);
    refuse_two_systems(table);
    const Fields fields = fields_of(text);
    std::vector<Key> keys;
    for (Key& key : keys::keys_of(fields)) keys.push_back(checked(std::move(key), check_type_));
    if (more) keys.push_back(*more);
    read_table(table, keys, where);
    try {
      return settings_of(text, check_type_);
    } catch (const Error& error) {
      fail_at(table, where + ": " + error.what());
    }
  }

  void read_override(const toml::table& table) {
    v0::LayerOverride text;
    LayerSettings settings = read_settings(
        table, text.settings, word("name", [&](const std::string& name) { text.name = name; }),
        "[[layer]]");
    if (text.name.empty()) fail_at(table, "[[layer]] needs a name, e.g. name = \"dense1\"");
    const std::string where = "line " + std::to_string(table.source().begin.line);
    recipe_.overrides.push_back({text.name, std::move(settings), where});
    text_.layers.push_back(std::move(text));
    tables_.push_back(&table);
  }

  /// Of language models [default] may have the type of the ends, which are tables.
  void read_defaults(const toml::table& table) {
    std::optional<Key> more;
    if (check_type_) {
      more = word("table_type", [&](const std::string& name) {
        check_type_(name);
        recipe_.ends.weight_type = name;
      });
    }
    tables_[0] = &table;
    recipe_.defaults = read_settings(table, text_.defaults, more, "[default]");
  }

  /// Behind [default].
  void read_ends(const toml::table& table) {
    if (!recipe_.ends.weight_type.empty()) {
      fail_at(table, "[ends] says what 'table_type' says: leave one of them out");
    }
    tables_[1] = &table;
    recipe_.ends = read_settings(table, text_.ends, {}, "[ends]");
  }

  void read_fit(const toml::table& table) {
    tables_[2] = &table;
    const Fields fields = fields_of(text_.fit);
    read_table(table, keys::keys_of(fields), "[fit]");
    recipe_.fit = options_of(text_.fit);
  }

  const TypeCheck& check_type_;
  v0::Recipe text_;
  Recipe recipe_;
  std::vector<const toml::table*> tables_;  ///< [default], [ends], [fit], and each [[layer]]
};

}  // namespace

Recipe parse_recipe(std::string_view toml_text, const std::string& name,
                    const TypeCheck& check_type) {
  Reader reader(check_type);
  keys::read_document(toml_text, name, [&](const toml::table& root) { reader.read(root); });
  Recipe recipe = reader.recipe();
  for (LayerOverride& each : recipe.overrides) each.where = name + ": " + each.where;
  return recipe;
}

v0::Recipe parse_recipe_text(std::string_view toml_text, const std::string& name) {
  const TypeCheck none;
  Reader reader(none);
  keys::read_document(toml_text, name, [&](const toml::table& root) { reader.read(root); });
  return reader.text();
}

}  // namespace halftone::compress
