// SPDX-License-Identifier: Apache-2.0
// The grammar of Halftone's TOML files as tables of keys: types, ranges, errors with line numbers.
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halftone/base/error.h"

namespace halftone::keys {

/// @throws Error kUsage "line 3: " and the message; nodes that no file has have no line
[[noreturn]] void fail_at(const toml::node& node, const std::string& message);
/// @throws Error kUsage "'key': expected a number, found string"
[[noreturn]] void fail_type(const toml::node& node, std::string_view key, const char* expected);

/// The type of a key and its destination. One table of these per section is the whole grammar.
struct Key {
  std::string_view name;
  std::function<void(const toml::node&)> read;
  bool required = false;
};

Key flag(std::string_view key, std::function<void(bool)> store);
/// A whole number from `low` to `high`.
Key whole(std::string_view key, std::int64_t low, std::int64_t high,
          std::function<void(std::int64_t)> store);
/// A number from `low` to `high`, not NaN.
Key real(std::string_view key, double low, double high, std::function<void(double)> store);
/// A string. Errors of `store` get the line and the key in front.
Key word(std::string_view key, std::function<void(const std::string&)> store);
/// A list of strings, stored one by one.
Key words(std::string_view key, std::function<void(const std::string&)> store);
/// A [table].
Key section(std::string_view key, std::function<void(const toml::table&)> store);
/// A list of [[tables]], stored one by one.
Key sections(std::string_view key, std::function<void(const toml::table&)> store);
/// The same key, without which a table is an error.
Key required(Key key);

/// The value of a name.
/// @throws Error kUsage with the list of names if it is none of them
template <typename T>
T choice(const std::string& found, std::initializer_list<std::pair<const char*, T>> choices) {
  std::string list;
  for (const auto& [name, value] : choices) {
    if (found == name) return value;
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  fail(ErrorKind::kUsage, "expected one of " + list + ", found '" + found + "'");
}

/// @param message  behind the key
/// @throws Error kUsage "line 3: 'key' MESSAGE" if a table has one of these keys, of another
/// grammar
void refuse_keys(const toml::table& table, std::initializer_list<std::string_view> names,
                 const std::string& message);

/// Reads every entry of a table with its key.
/// @param where  the table in messages: "[fit]"
/// @throws Error kUsage for an unknown key, a missing required one, and as the keys
void read_table(const toml::table& table, const std::vector<Key>& keys, const std::string& where);

/// Parses a document and reads its root.
/// @param name  put before messages, the file
/// @throws Error kUsage if it is no TOML, and as `read`
void read_document(std::string_view text, const std::string& name,
                   const std::function<void(const toml::table&)>& read);

/// A string as documents have it: in quotes, with what TOML does not allow in them escaped.
std::string quoted(std::string_view text);

}  // namespace halftone::keys
