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

/// @throws Error kUsage if the value is none of the field's, such as a negative size
template <typename T>
void set_place(const Field& field, const nb::object& value, T& place) {
  if (value.is_none()) {
    place = T{};
  } else if (!nb::try_cast<T>(value, place)) {
    constexpr const char* kAny = std::is_same_v<T, int> ? "less than 2^31" : "0 to 2^63 - 1";
    const std::string range = field.range_text();
    fail(ErrorKind::kUsage, field.name + ": expected " + (range.empty() ? kAny : range) +
                                ", found " + nb::str(value).c_str());
  }
}

nb::object default_of(const Field& field) {
  return std::visit(
      [&](const auto* value) -> nb::object {
        if (field.value_text() == "none") return nb::none();
        return nb::cast(*value);
      },
      field.place);
}

}  // namespace

void set_field(const Fields& fields, const std::string& name, const nb::object& value) {
  const Field* field = find_field(fields, name);
  if (field == nullptr) fail(ErrorKind::kUsage, "unexpected option '" + name + "'");
  std::visit([&](auto* place) { set_place(*field, value, *place); }, field->place);
  field->check();
}

std::vector<FieldRow> field_rows(const Fields& fields) {
  std::vector<FieldRow> rows;
  for (const Field& field : fields) {
    rows.emplace_back(field.name, std::string(field.kind()), default_of(field), field.range_text(),
                      field.text, field.option_name());
  }
  return rows;
}

}  // namespace halftone::python
