// SPDX-License-Identifier: Apache-2.0
// Fields of options as Python sees them.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <tuple>
#include <vector>

#include "halftone/base/fields/fields.h"

namespace halftone::python {

/// Sets a field from Python, where None unsets it.
/// @throws Error kUsage if there is no such field, or "top_k: expected at least 0, found -1"
void set_field(const Fields& fields, const std::string& name, const nanobind::object& value);

/// The fields that are set, by name, as set_field() takes them.
nanobind::dict set_values(const Fields& fields);

/// Name, kind, default, range, sentence, option, and the meaning of no value.
using FieldRow = std::tuple<std::string, std::string, nanobind::object, std::string, std::string,
                            std::string, std::string>;
/// What the reference and the tests of the package need of each field.
std::vector<FieldRow> field_rows(const Fields& fields);

/// Gives a class the method set(name, value).
/// @param fields_of  fields_of(arguments) lists the fields
template <typename Arguments, typename... Bases, typename FieldsOf>
void bind_fields(nanobind::class_<Arguments, Bases...>& bound, const FieldsOf& fields_of) {
  bound.def(
      "set",
      [fields_of](Arguments& arguments, const std::string& name, const nanobind::object& value) {
        set_field(fields_of(arguments), name, value);
      },
      nanobind::arg("name"), nanobind::arg("value").none());
}

}  // namespace halftone::python
