// SPDX-License-Identifier: Apache-2.0
#include "python/src/fields.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <type_traits>

#include "halftone/base/error.h"

namespace halftone::python {
namespace {

namespace nb = nanobind;

[[noreturn]] void fail_place(const Field& field, const nb::object& value,
                             const char* any = "0 to 2^63 - 1") {
  const std::string range = field.range_text();
  fail(ErrorKind::kUsage, field.name + ": expected " + (range.empty() ? any : range) + ", found " +
                              nb::repr(value).c_str());
}

/// @throws Error kUsage if the value is none of the field's, such as a negative size
template <typename T>
void set_place(const Field& field, const nb::object& value, T& place) {
  if (value.is_none()) {
    place = T{};
  } else if (!nb::try_cast<T>(value, place)) {
    fail_place(field, value, std::is_same_v<T, int> ? "less than 2^31" : "0 to 2^63 - 1");
  }
}

nb::object value_of(const Field& field) {
  if (field.has_zero_word()) return nb::str(field.zero_word.c_str());
  return std::visit(
      [&](const auto* value) -> nb::object {
        if (!field.is_set()) return nb::none();
        return nb::cast(*value);
      },
      field.place);
}

/// Sets the number 0 where its word is given. @return whether it is
bool set_zero(const Field& field, const nb::object& value) {
  const bool is_word = !field.zero_word.empty() && nb::isinstance<nb::str>(value) &&
                       nb::cast<std::string>(value) == field.zero_word;
  if (is_word) {
    std::visit([&](auto* place) { set_place(field, nb::int_(0), *place); }, field.place);
  }
  return is_word;
}

}  // namespace

void set_field(const Fields& fields, const std::string& name, const nb::object& value) {
  const Field* field = find_field(fields, name);
  if (field == nullptr) fail(ErrorKind::kUsage, "unexpected option '" + name + "'");
  if (set_zero(*field, value)) return;
  std::visit([&](auto* place) { set_place(*field, value, *place); }, field->place);
  if (field->has_zero_word()) fail_place(*field, value);
  field->check();
}

nb::dict set_values(const Fields& fields) {
  nb::dict values;
  for (const Field& field : fields) {
    if (field.is_set()) values[field.name.c_str()] = value_of(field);
  }
  return values;
}

std::vector<FieldRow> field_rows(const Fields& fields) {
  std::vector<FieldRow> rows;
  for (const Field& field : fields) {
    rows.emplace_back(field.name, std::string(field.kind()), value_of(field), field.range_text(),
                      field.text, field.option_name(), field.usual);
  }
  return rows;
}

}  // namespace halftone::python
