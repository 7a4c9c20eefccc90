// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/toml/field_keys.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <type_traits>

namespace halftone::keys {
namespace {

template <typename T>
struct ValueIn {
  using Type = T;
};
template <typename T>
struct ValueIn<std::optional<T>> {
  using Type = T;
};

/// @throws Error kUsage with the list of words if this is none of them
void check_word(const Field& field, const std::string& found) {
  if (field.words.empty() || std::ranges::count(field.words, found) > 0) return;
  std::string list;
  for (const std::string& each : field.words) list += (list.empty() ? "" : ", ") + each;
  fail(ErrorKind::kUsage, "expected one of " + list + ", found '" + found + "'");
}

template <typename T>
Key key_at(const Field& field, T* place) {
  using Value = typename ValueIn<T>::Type;
  const FieldRange& range = field.range;
  if constexpr (std::is_same_v<Value, bool>) {
    return flag(field.name, [place](bool value) { *place = value; });
  } else if constexpr (std::is_same_v<Value, double>) {
    return real(field.name, range.low, range.high, [place](double value) { *place = value; });
  } else if constexpr (std::is_integral_v<Value>) {
    const auto low = range.has_low() ? static_cast<std::int64_t>(range.low) : 0;
    const auto high = range.has_high() ? static_cast<std::int64_t>(range.high)
                                       : std::numeric_limits<std::int64_t>::max();
    return whole(field.name, low, high,
                 [place](std::int64_t value) { *place = static_cast<Value>(value); });
  } else if constexpr (std::is_same_v<Value, std::string>) {
    return word(field.name, [place, &field](const std::string& text) {
      check_word(field, text);
      *place = text;
    });
  } else {
    fail(ErrorKind::kInternal, field.name + ": no key of a TOML file");
  }
}

template <typename T>
void clear_number(T* place) {
  if constexpr (std::is_arithmetic_v<typename ValueIn<T>::Type>) *place = 0;
}

Key key_of(const Field& field) {
  Key key = std::visit([&](auto* place) { return key_at(field, place); }, field.place);
  if (field.zero_word.empty()) return key;
  key.read = [&field, read = std::move(key.read)](const toml::node& node) {
    if (!node.is_string()) return read(node);
    if (node.as_string()->get() != field.zero_word) {
      const std::string low_to_high = Field{field.name, field.place, "", field.range}.range_text();
      fail_type(node, field.name, (low_to_high + ", or \"" + field.zero_word + "\"").c_str());
    }
    std::visit([](auto* place) { clear_number(place); }, field.place);
  };
  return key;
}

}  // namespace

std::vector<Key> keys_of(const Fields& fields) {
  std::vector<Key> keys;
  for (const Field& field : fields) keys.push_back(key_of(field));
  return keys;
}

std::string lines_of(const Fields& fields) {
  std::string lines;
  for (const Field& field : fields) {
    if (!field.is_set()) continue;
    const bool is_text = field.kind() == "str" || field.has_zero_word();
    lines += field.name + " = " +
             (is_text ? keys::quoted(field.value_text()) : field.value_text()) + "\n";
  }
  return lines;
}

}  // namespace halftone::keys
