// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "halftone/base/toml/field_keys.h"
#include "halftone/compress/recipe_fields.h"

namespace halftone::compress {
namespace {

/// A table with this heading, if it has any lines.
std::string table(const std::string& heading, const std::string& lines) {
  return lines.empty() ? "" : heading + "\n" + lines + "\n";
}

}  // namespace

std::string to_toml(const v0::Recipe& recipe) {
  v0::Recipe copy = recipe;
  std::string text = table("[default]", keys::lines_of(fields_of(copy.defaults)));
  text += table("[ends]", keys::lines_of(fields_of(copy.ends)));
  text += table("[fit]", keys::lines_of(fields_of(copy.fit)));
  for (v0::LayerOverride& each : copy.layers) {
    text += table("[[layer]]", "name = " + keys::quoted(each.name) + "\n" +
                                   keys::lines_of(fields_of(each.settings)));
  }
  if (text.ends_with("\n\n")) text.pop_back();
  return text;
}

std::string to_toml(const Recipe& recipe) { return to_toml(text_of(recipe)); }

}  // namespace halftone::compress
