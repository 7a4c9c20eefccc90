// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>

#include "halftone/accel/accelerator_toml.h"
#include "halftone/accel/presets.h"
#include "halftone/base/toml/keys.h"

namespace halftone::accel {
namespace {

std::optional<std::string> name_of(const toml::node& part) {
  const toml::table* table = part.as_table();
  return table == nullptr ? std::nullopt : (*table)["name"].value<std::string>();
}

void merge(toml::table& into, const toml::table& own);

/// A part of the same name takes the keys; any other is added.
void merge_parts(toml::array& into, const toml::array& own) {
  for (const toml::node& part : own) {
    toml::table* found = nullptr;
    for (toml::node& each : into) {
      if (name_of(part) && name_of(each) == name_of(part)) found = each.as_table();
    }
    if (found == nullptr) {
      into.push_back(part);
    } else {
      merge(*found, *part.as_table());
    }
  }
}

void merge(toml::table& into, const toml::table& own) {
  for (const auto& [key, node] : own) {
    toml::node* found = into.get(key);
    const bool are_tables = found != nullptr && found->is_table() && node.is_table();
    // Lists of tables are parts, except the rates of a unit, which stay together.
    const bool are_parts = found != nullptr && found->is_array_of_tables() &&
                           node.is_array_of_tables() && key != "rates";
    if (are_tables) {
      merge(*found->as_table(), *node.as_table());
    } else if (are_parts) {
      merge_parts(*found->as_array(), *node.as_array());
    } else {
      into.insert_or_assign(key, node);
    }
  }
}

}  // namespace

toml::table with_base(const toml::table& root) {
  const toml::node* base = root.get("base");
  if (base == nullptr) return root;
  if (!base->is_string()) keys::fail_type(*base, "base", "a string");
  const std::string name = base->as_string()->get();
  const EmbeddedText* text = find_text(presets(), name);
  if (text == nullptr) {
    keys::fail_at(*base, "'base': no description '" + name + "' in the program: known are " +
                             names_of(presets()));
  }
  toml::table merged = with_base(toml::parse(text->text));
  merge(merged, root);
  merged.erase("base");
  // What was compared is another description.
  if (!root.contains("comparison")) merged.erase("comparison");
  return merged;
}

}  // namespace halftone::accel
