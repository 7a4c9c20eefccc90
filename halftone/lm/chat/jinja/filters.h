// SPDX-License-Identifier: Apache-2.0
// The filters, tests and functions of Jinja 3.1 that chat templates use, and those that
// transformers adds: tojson, raise_exception, strftime_now. Source: Jinja's documentation, "List of
// Builtin Filters", "List of Builtin Tests", "List of Global Functions".
#pragma once

#include <string>
#include <vector>

#include "halftone/lm/chat/jinja/machine.h"

namespace halftone::lm::jinja {

/// "value|name(arguments)".
/// @throws Error kUnsupported of an unknown filter, and of one that Halftone does not have
Value filtered(Machine& machine, const std::string& name, const Value& value,
               const Arguments& arguments);

/// "value is name(arguments)". @throws Error kUnsupported likewise
bool passes(Machine& machine, const std::string& name, const Value& value,
            const Arguments& arguments);

/// The arguments of a filter; its name is in messages.
Bound filter_arguments(const std::string& name, const Arguments& arguments,
                       std::initializer_list<const char*> names);

/// A filter of texts or numbers, or one of sequences; null: none of this name.
using Filter = Value (*)(Machine& machine, const std::string& name, const Value& value,
                         const Arguments& arguments);
Filter value_filter(const std::string& name);
Filter sequence_filter(const std::string& name);
bool is_test(const std::string& name);

/// range(), namespace() and the others; undefined if there is none of this name.
Value global_function(const std::string& name);

}  // namespace halftone::lm::jinja
