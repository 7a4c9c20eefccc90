// SPDX-License-Identifier: Apache-2.0
#include "halftone/cli/field_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <type_traits>

#include "halftone/cli/command.h"
#include "halftone/cli/one_of.h"

namespace halftone::cli {
namespace {

template <typename T>
struct NumberIn {
  using Type = T;
};
template <typename T>
struct NumberIn<std::optional<T>> {
  using Type = T;
};

CLI::Validator real_in(const FieldRange& range) {
  if (range.has_high()) return number_from(range.low, range.high);
  return range.is_open ? positive_number() : non_negative_number();
}

CLI::Validator whole_in(const FieldRange& range) {
  if (range.has_high()) {
    return CLI::Range(static_cast<std::int64_t>(range.low), static_cast<std::int64_t>(range.high));
  }
  return whole_from(range.has_low() ? static_cast<std::uint64_t>(range.low) : 0);
}

/// A number in the range, or the word for 0.
CLI::Validator whole_or_word(const Field& field) {
  const auto check = [inside = whole_in(field.range), zero = field.zero_word](std::string& text) {
    if (text != zero) return inside(text);
    text = "0";
    return std::string();
  };
  const std::string range = Field{"", field.place, "", field.range}.range_text();
  return {check, "{" + range + ", " + field.zero_word + "}"};
}

CLI::Option* added(CLI::App& verb, const Field& field, bool& value) {
  const std::string name = field.option_name();
  if (field.clearing_text.empty()) return verb.add_flag(name, value, field.text);
  return verb.add_flag(name + "{false}", value, field.clearing_text);
}
CLI::Option* added(CLI::App& verb, const Field& field, std::string& value) {
  CLI::Option* option = verb.add_option(field.option_name(), value, field.help());
  if (!field.words.empty()) option->check(OneOf(field.words));
  return value.empty() ? option : option->capture_default_str();
}
CLI::Option* added(CLI::App& verb, const Field& field, std::optional<std::string>& value) {
  CLI::Option* option = verb.add_option(field.option_name(), value, field.help());
  return field.words.empty() ? option : option->check(OneOf(field.words));
}
CLI::Option* added(CLI::App& verb, const Field& field, std::optional<bool>& value) {
  return verb.add_option(field.option_name(), value, field.help());
}
CLI::Option* added(CLI::App& verb, const Field& field, std::filesystem::path& value) {
  return verb.add_option(field.option_name(), value, field.text);
}
template <typename Number>
CLI::Option* added_list(CLI::App& verb, const Field& field, std::vector<Number>& value,
                        const CLI::Validator& range) {
  return verb.add_option(field.option_name(), value, field.text)
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(range)
      ->capture_default_str();
}
CLI::Option* added(CLI::App& verb, const Field& field, std::vector<double>& value) {
  return added_list(verb, field, value, real_in(field.range));
}
CLI::Option* added(CLI::App& verb, const Field& field, std::vector<std::uint64_t>& value) {
  return added_list(verb, field, value, whole_in(field.range));
}
CLI::Option* added(CLI::App& verb, const Field& field, std::vector<std::string>& value) {
  return verb.add_option(field.option_name(), value, field.help())->delimiter(',');
}
template <typename T>
CLI::Option* added(CLI::App& verb, const Field& field, T& value) {
  constexpr bool kIsReal = std::is_same_v<typename NumberIn<T>::Type, double>;
  CLI::Option* option = verb.add_option(field.option_name(), value, field.help());
  if (!field.zero_word.empty()) return option->transform(whole_or_word(field));
  option->check(kIsReal ? real_in(field.range) : whole_in(field.range));
  return field.is_set() ? option->capture_default_str() : option;
}

}  // namespace

CLI::Option* add_field(CLI::App& verb, const Field& field) {
  return std::visit([&](auto* value) { return added(verb, field, *value); }, field.place);
}

void add_fields(CLI::App& verb, const Fields& fields,
                std::initializer_list<std::string_view> without) {
  for (const Field& field : fields) {
    if (std::ranges::count(without, field.name) == 0) add_field(verb, field);
  }
}

CLI::Option* option_of(CLI::App& verb, const Fields& fields, std::string_view name) {
  const std::string option = find_field(fields, name)->option_name();
  return verb.get_option_no_throw(option.substr(option.rfind("--")));
}

}  // namespace halftone::cli
