// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "halftone/accel/explore/description.h"
#include "halftone/accel/explore/space.h"
#include "halftone/base/error.h"
#include "halftone/base/toml/keys.h"
#include "halftone/numerics/codebook.h"

namespace halftone::accel {
namespace {

using keys::Key;
using keys::required;

/// A list of numbers of bits, stored one by one.
Key bit_list(std::string_view key, std::vector<int>& store) {
  return {key, [key, &store](const toml::node& node) {
            if (!node.is_array() || node.as_array()->empty()) {
              keys::fail_type(node, key, "a list of bits");
            }
            const Key each = keys::whole(key, 1, numerics::kMaxCodeBits, [&](std::int64_t value) {
              store.push_back(static_cast<int>(value));
            });
            for (const toml::node& entry : *node.as_array()) each.read(entry);
          }};
}

/// Bits of weights and inputs: each with each, or pairs of equal ones.
std::vector<BitPair> pairs_from(const std::vector<int>& weights, const std::vector<int>& inputs) {
  std::set<BitPair> pairs;
  for (const int weight : weights) {
    if (inputs.empty()) pairs.insert({weight, weight});
    for (const int input : inputs) pairs.insert({weight, input});
  }
  return {pairs.begin(), pairs.end()};
}

SettingValue read_value(const toml::node& node) {
  if (node.is_integer()) return node.as_integer()->get();
  if (node.is_floating_point()) return node.as_floating_point()->get();
  if (node.is_string()) return node.as_string()->get();
  keys::fail_type(node, "values", "numbers or strings");
}

std::vector<SettingValue> read_row(const toml::node& node, std::size_t num_keys) {
  std::vector<SettingValue> row;
  if (node.is_array()) {
    for (const toml::node& entry : *node.as_array()) row.push_back(read_value(entry));
  } else {
    row.push_back(read_value(node));
  }
  if (row.size() != num_keys) {
    keys::fail_at(node, "'values': expected a value for each of the " + std::to_string(num_keys) +
                            " keys, found " + std::to_string(row.size()));
  }
  return row;
}

Parameter read_parameter(const toml::table& table, const Description& description) {
  Parameter parameter;
  const toml::array* values = nullptr;
  const auto add_key = [&](const std::string& key) {
    Description(description).set({key, std::int64_t{1}});  // fails if there is no such place
    parameter.keys.push_back(key);
  };
  keys::read_table(table,
                   {keys::word("key", add_key), keys::words("keys", add_key),
                    required({"values",
                              [&](const toml::node& node) {
                                values = node.as_array();
                                if (values == nullptr || values->empty()) {
                                  keys::fail_type(node, "values", "a list");
                                }
                              }})},
                   "[[parameter]]");
  if (parameter.keys.empty() || (table.contains("key") && table.contains("keys"))) {
    keys::fail_at(table, "[[parameter]] needs 'key' or 'keys', one of both");
  }
  for (const toml::node& node : *values) {
    parameter.rows.push_back(read_row(node, parameter.keys.size()));
  }
  return parameter;
}

AreaTerm read_area(const toml::table& table) {
  AreaTerm term;
  keys::read_table(table,
                   {keys::words("of", [&](const std::string& key) { term.of.push_back(key); }),
                    required(keys::real("mm2", 0, 1e30, [&](double value) { term.mm2 = value; }))},
                   "[[area]]");
  return term;
}

std::string line_of(const std::string& name, const toml::node& node) {
  return name + ": line " + std::to_string(node.source().begin.line);
}

LayerBits read_layer(const toml::table& table, const std::string& name) {
  LayerBits layer{.where = line_of(name, table)};
  std::vector<int> weights;
  std::vector<int> inputs;
  keys::read_table(
      table,
      {required(keys::word("name", [&](const std::string& text) { layer.pattern = text; })),
       required(bit_list("weight_bits", weights)), bit_list("activation_bits", inputs)},
      "[[layer]]");
  layer.pairs = pairs_from(weights, inputs);
  return layer;
}

Tie read_tie(const toml::table& table, const std::string& name) {
  Tie tie{.where = line_of(name, table)};
  keys::read_table(table,
                   {required(keys::words(
                       "layers", [&](const std::string& text) { tie.patterns.push_back(text); }))},
                   "[[tie]]");
  if (tie.patterns.empty()) keys::fail_at(table, "[[tie]] names no layers");
  return tie;
}

void check_count(const toml::table& root, const Space& space) {
  double count = 1;
  for (const Parameter& each : space.parameters) count *= static_cast<double>(each.rows.size());
  if (count <= static_cast<double>(kMaxHardware)) return;
  keys::fail_at(root, "the parameters have more than " + std::to_string(kMaxHardware) +
                          " combinations: leave out values");
}

void check_keys(const toml::table& root, const Space& space, Description description) {
  std::set<std::string> seen;
  for (const Parameter& parameter : space.parameters) {
    for (const std::string& key : parameter.keys) {
      if (!seen.insert(key).second) keys::fail_at(root, "two parameters change '" + key + "'");
    }
  }
  for (const AreaTerm& term : space.area) {
    for (const std::string& key : term.of) {
      if (seen.contains(key)) continue;
      static_cast<void>(description.number(key));
    }
  }
}

Space read_space(const toml::table& root, const std::string& name) {
  Space space;
  std::vector<int> weights;
  std::vector<int> inputs;
  // Parameters are checked against the description, which is read first.
  const std::optional<std::string> wanted = root["accelerator"].value<std::string>();
  if (wanted) space.accelerator_text = accelerator_text(*wanted);
  const Description description(space.accelerator_text, wanted.value_or(""));
  keys::read_table(
      root,
      {required(
           keys::word("accelerator", [&](const std::string& text) { space.accelerator = text; })),
       required(bit_list("weight_bits", weights)), bit_list("activation_bits", inputs),
       keys::sections("parameter",
                      [&](const toml::table& table) {
                        space.parameters.push_back(read_parameter(table, description));
                      }),
       keys::sections("area",
                      [&](const toml::table& table) { space.area.push_back(read_area(table)); }),
       keys::sections(
           "layer",
           [&](const toml::table& table) { space.layers.push_back(read_layer(table, name)); }),
       keys::sections(
           "tie", [&](const toml::table& table) { space.ties.push_back(read_tie(table, name)); })},
      "the space");
  space.pairs = pairs_from(weights, inputs);
  check_count(root, space);
  check_keys(root, space, description);
  return space;
}

}  // namespace

Space parse_space(std::string_view toml_text, const std::string& name) {
  Space space;
  keys::read_document(toml_text, name,
                      [&](const toml::table& root) { space = read_space(root, name); });
  return space;
}

}  // namespace halftone::accel
