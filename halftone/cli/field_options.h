// SPDX-License-Identifier: Apache-2.0
// Options of the command line that are made of the fields of structs.
#pragma once

#include <CLI/App.hpp>
#include <initializer_list>
#include <string_view>

#include "halftone/base/fields/fields.h"

namespace halftone::cli {

/// Adds an option with the name, the sentence, the range and the default of a field, which it sets.
CLI::Option* add_field(CLI::App& verb, const Field& field);
/// The same for each field.
/// @param without  names of fields that other options set
void add_fields(CLI::App& verb, const Fields& fields,
                std::initializer_list<std::string_view> without = {});
/// The option of a field.
CLI::Option* option_of(CLI::App& verb, const Fields& fields, std::string_view name);

}  // namespace halftone::cli
