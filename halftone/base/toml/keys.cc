// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/toml/keys.h"

#include <algorithm>
#include <sstream>

#include "halftone/base/near_names.h"
#include "halftone/base/printable.h"

namespace halftone::keys {
namespace {

/// The shortest form: 1e-09, not 0.000000.
std::string text_of(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

/// Rejects lines with many dots: each may nest a table, and toml++ destroys nested tables
/// recursively. It limits the nesting of brackets itself.
void check_nesting(std::string_view text) {
  constexpr int kMaxDots = 32;
  int line = 1;
  int dots = 0;
  char before = ' ';
  for (const char c : text) {
    if (c == '\n') {
      ++line;
      dots = 0;
    }
    // No key has two dots in a row, but comments may.
    const bool is_first_dot = c == '.' && before != '.';
    before = c;
    if (!is_first_dot || ++dots <= kMaxDots) continue;
    fail(ErrorKind::kUsage, "line " + std::to_string(line) + ": expected at most " +
                                std::to_string(kMaxDots) + " dots in a line, found more");
  }
}

/// Documents are UTF-8: other bytes as printable() shows them.
std::string valid_utf8(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
    std::size_t end = i + 1;
    while (end < text.size() && is_ascii(text[end]) == is_ascii(text[i])) ++end;
    const std::string_view run = text.substr(i, end - i);
    result += is_ascii(text[i]) ? std::string(run) : printable(run);
    i = end;
  }
  return result;
}

[[noreturn]] void fail_missing(const toml::table& table, const Key& key, const std::string& where) {
  fail_at(table, where + " needs '" + std::string(key.name) + "': add it");
}

}  // namespace

void fail_at(const toml::node& node, const std::string& message) {
  const auto line = node.source().begin.line;
  if (line == 0) fail(ErrorKind::kUsage, message);
  fail(ErrorKind::kUsage, "line " + std::to_string(line) + ": " + message);
}

void fail_type(const toml::node& node, std::string_view key, const char* expected) {
  std::ostringstream found;
  found << node.type();
  fail_at(node, "'" + std::string(key) + "': expected " + expected + ", found " + found.str());
}

Key flag(std::string_view key, std::function<void(bool)> store) {
  return {key, [key, store = std::move(store)](const toml::node& node) {
            if (!node.is_boolean()) fail_type(node, key, "true or false");
            store(node.as_boolean()->get());
          }};
}

Key whole(std::string_view key, std::int64_t low, std::int64_t high,
          std::function<void(std::int64_t)> store) {
  return {key, [key, low, high, store = std::move(store)](const toml::node& node) {
            if (!node.is_integer()) fail_type(node, key, "a whole number");
            const std::int64_t value = node.as_integer()->get();
            if (value < low || value > high) {
              fail_at(node, "'" + std::string(key) + "': expected " + std::to_string(low) + " to " +
                                std::to_string(high) + ", found " + std::to_string(value));
            }
            store(value);
          }};
}

Key real(std::string_view key, double low, double high, std::function<void(double)> store) {
  return {key, [key, low, high, store = std::move(store)](const toml::node& node) {
            if (!node.is_number()) fail_type(node, key, "a number");
            // toml++ gives no float64 of an integer that float64 cannot hold.
            const double value = node.is_integer() ? static_cast<double>(node.as_integer()->get())
                                                   : node.as_floating_point()->get();
            if (!(value >= low && value <= high)) {
              fail_at(node, "'" + std::string(key) + "': expected " + text_of(low) + " to " +
                                text_of(high) + ", found " + text_of(value));
            }
            store(value);
          }};
}

Key word(std::string_view key, std::function<void(const std::string&)> store) {
  return {key, [key, store = std::move(store)](const toml::node& node) {
            if (!node.is_string()) fail_type(node, key, "a string");
            try {
              store(node.as_string()->get());
            } catch (const Error& error) {
              fail_at(node, "'" + std::string(key) + "': " + error.what());
            }
          }};
}

Key words(std::string_view key, std::function<void(const std::string&)> store) {
  return {key, [key, each = word(key, std::move(store))](const toml::node& node) {
            if (!node.is_array()) fail_type(node, key, "a list of strings");
            for (const toml::node& entry : *node.as_array()) each.read(entry);
          }};
}

Key section(std::string_view key, std::function<void(const toml::table&)> store) {
  return {key, [key, store = std::move(store)](const toml::node& node) {
            if (!node.is_table()) fail_type(node, key, "a table");
            store(*node.as_table());
          }};
}

Key sections(std::string_view key, std::function<void(const toml::table&)> store) {
  return {key, [key, each = section(key, std::move(store))](const toml::node& node) {
            if (!node.is_array()) {
              fail_type(node, key, ("[[" + std::string(key) + "]] tables").c_str());
            }
            for (const toml::node& entry : *node.as_array()) each.read(entry);
          }};
}

Key required(Key key) {
  key.required = true;
  return key;
}

void refuse_keys(const toml::table& table, std::initializer_list<std::string_view> names,
                 const std::string& message) {
  for (const std::string_view name : names) {
    const toml::node* node = table.get(name);
    if (node != nullptr) fail_at(*node, "'" + std::string(name) + "' " + message);
  }
}

void read_table(const toml::table& table, const std::vector<Key>& keys, const std::string& where) {
  for (const auto& [name, node] : table) {
    const auto known = std::ranges::find(keys, name.str(), &Key::name);
    if (known == keys.end()) {
      std::string list;
      std::vector<std::string> names;
      for (const Key& key : keys) {
        list.append(list.empty() ? "" : ", ").append(key.name);
        names.emplace_back(key.name);
      }
      fail_at(node, "unknown key '" + std::string(name.str()) + "' in " + where +
                        "; known are: " + list + meant_name(name.str(), names));
    }
    known->read(node);
  }
  for (const Key& key : keys) {
    if (key.required && !table.contains(key.name)) fail_missing(table, key, where);
  }
}

void read_document(std::string_view text, const std::string& name,
                   const std::function<void(const toml::table&)>& read) {
  with_context(name, [&] {
    check_nesting(text);
    try {
      read(toml::parse(text));
    } catch (const toml::parse_error& error) {
      fail(ErrorKind::kUsage, "line " + std::to_string(error.source().begin.line) + ": " +
                                  std::string(error.description()));
    }
  });
}

std::string quoted(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string result = "\"";
  for (const char c : valid_utf8(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      result += {'\\', 'u', '0', '0', kDigits[byte / 16], kDigits[byte % 16]};
      continue;
    }
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

}  // namespace halftone::keys
