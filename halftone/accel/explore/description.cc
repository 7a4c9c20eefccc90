// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/explore/description.h"

#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/toml/keys.h"

namespace halftone::accel {

Description::Description(std::string_view toml_text, std::string name) : name_(std::move(name)) {
  keys::read_document(toml_text, name_,
                      [&](const toml::table& table) { root_ = with_base(table); });
}

Description::Place Description::place_of(const std::string& key) {
  const std::size_t first = key.find('.');
  if (first == std::string::npos) return {&root_, key};
  const std::size_t last = key.rfind('.');
  const std::string kind = key.substr(0, first);
  if (last == first || (kind != "unit" && kind != "memory")) {
    fail(ErrorKind::kUsage, "'" + key +
                                "': expected a key of the description, unit.NAME.KEY or "
                                "memory.NAME.KEY");
  }
  const std::string wanted = key.substr(first + 1, last - first - 1);
  std::string list;
  if (toml::array* tables = root_[kind].as_array()) {
    for (toml::node& node : *tables) {
      toml::table* table = node.as_table();
      const auto found = table == nullptr ? std::nullopt : (*table)["name"].value<std::string>();
      if (!found) continue;
      if (*found == wanted) return {table, key.substr(last + 1)};
      list += (list.empty() ? "" : ", ") + *found;
    }
  }
  fail(ErrorKind::kUsage,
       "'" + key + "': " + name_ + " has no " + kind + " '" + wanted + "'; it has: " + list);
}

void Description::set(const Setting& setting) {
  const Place place = place_of(setting.key);
  std::visit([&](const auto& value) { place.table->insert_or_assign(place.key, value); },
             setting.value);
}

double Description::number(const std::string& key) {
  const Place place = place_of(key);
  const toml::node* node = place.table->get(place.key);
  if (node == nullptr || !node->is_number()) {
    fail(ErrorKind::kUsage, "'" + key + "': " + name_ + " has no such number: add it there");
  }
  return node->is_integer() ? static_cast<double>(node->as_integer()->get())
                            : node->as_floating_point()->get();
}

}  // namespace halftone::accel
