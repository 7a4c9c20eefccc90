// SPDX-License-Identifier: Apache-2.0
// Options as lists of fields. The command line, Python and the pages of reference are made of these
// lists; the value that a field has in a new struct is its default.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace halftone {

/// Numbers that a field may have.
struct FieldRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool is_open = false;  ///< `low` is none of them

  [[nodiscard]] bool has_low() const { return low > -std::numeric_limits<double>::infinity(); }
  [[nodiscard]] bool has_high() const { return high < std::numeric_limits<double>::infinity(); }
  /// False for NaN.
  [[nodiscard]] bool contains(double value) const;

  static FieldRange from(double low) { return {.low = low}; }
  static FieldRange above(double low) { return {.low = low, .is_open = true}; }
  static FieldRange between(double low, double high) { return {low, high}; }
};

/// Where a field lies in a struct. Sizes are std::uint64_t too.
using FieldPlace =
    std::variant<bool*, int*, std::uint64_t*, double*, std::string*, std::filesystem::path*,
                 std::vector<double>*, std::vector<std::string>*, std::optional<bool>*,
                 std::optional<int>*, std::optional<std::int64_t>*, std::optional<std::uint64_t>*,
                 std::optional<double>*, std::optional<std::string>*, std::vector<std::uint64_t>*>;

/// A field of some options. It refers to them.
struct Field {
  /// As an argument in Python, "top_k". The option is "--top-k".
  std::string name;
  FieldPlace place;
  /// A sentence for people, without a full stop. Other fields are named as options.
  std::string text;
  FieldRange range{};                ///< of numbers, also in lists
  std::vector<std::string> words{};  ///< that a text may be; empty: any
  std::string option{};              ///< "-n,--tokens", where it is not that of the name
  /// Of a flag that clears the field: its sentence. Empty: the flag sets it.
  std::string clearing_text{};
  /// What an unset field means, for people: "3". A number that has this is unset at 0, a text if it
  /// is empty.
  std::string usual{};
  std::string zero_word{};  ///< that means the number 0, which has no other name: "none"

  /// One of some words.
  static Field word(std::string name, std::string* place, std::string text,
                    std::vector<std::string> words) {
    return {std::move(name), place, std::move(text), {}, std::move(words)};
  }
  /// A field that is true by default, with the flag that clears it.
  static Field clearable(std::string name, bool* place, std::string text, std::string option,
                         std::string clearing_text) {
    return {std::move(name),         place, std::move(text), {}, {}, std::move(option),
            std::move(clearing_text)};
  }
  /// The same field with an option of another name.
  [[nodiscard]] Field as(std::string name_of_option) && {
    option = std::move(name_of_option);
    return std::move(*this);
  }
  /// The same field, of which no value means this.
  [[nodiscard]] Field usually(std::string meaning) && {
    usual = std::move(meaning);
    return std::move(*this);
  }
  /// The same field with a word for the number 0.
  [[nodiscard]] Field with_zero(std::string word) && {
    zero_word = std::move(word);
    return std::move(*this);
  }

  [[nodiscard]] std::string option_name() const;  ///< "--top-k", with short forms if it has any
  /// What the field may be: "1 to 16", "a number above 0", "at least 0", "adam or sgd"; empty:
  /// anything.
  [[nodiscard]] std::string range_text() const;
  /// "0.95", "adam", "false"; "none" of what is not set.
  [[nodiscard]] std::string value_text() const;
  /// What an option is without it: the value of a new struct, or `usual`.
  [[nodiscard]] std::string default_text() const;
  /// The sentence, with the meaning of no value behind it: "Bits per weight (default 3)".
  [[nodiscard]] std::string help() const;
  /// "bool", "int", "float", "str", "path", "floats", "texts" or "ints"; a size is an "int".
  [[nodiscard]] std::string_view kind() const;
  /// Whether it may be unset: an empty path, no number, no text or no texts.
  [[nodiscard]] bool is_optional() const;
  /// Whether it has a value, which nothing empty is.
  [[nodiscard]] bool is_set() const;
  /// Whether it is the number that has a word.
  [[nodiscard]] bool has_zero_word() const;
  /// Makes an optional field unset.
  void reset() const;
  /// @throws Error kUsage "top_p: expected 0 to 1, found 2" if its value is out of range
  void check() const;
};

using Fields = std::vector<Field>;

/// The field of a name; null if there is none.
const Field* find_field(const Fields& fields, std::string_view name);
/// One list after another.
Fields joined(Fields first, Fields second);

}  // namespace halftone
