// SPDX-License-Identifier: Apache-2.0
// Values as JSON, and from it.
#pragma once

#include <string_view>

#include "halftone/lm/chat/jinja/machine.h"

namespace halftone::lm::jinja {

/// How json.dumps() writes.
struct JsonStyle {
  bool ascii = false;
  bool has_indent = false;
  Text indent{};
  Text item_separator{};
  Text key_separator{};
  bool sorts_keys = false;
};

/// As json.dumps() of Python. @throws Error kUnsupported of what JSON cannot have
Text to_json(Machine& machine, const Value& value, const JsonStyle& style);

/// The value that a JSON text has.
/// @param from_message  whether its texts come from a message; keys do not
/// @throws Error kFormat of what is no JSON, or too deep
Value from_json(std::string_view text, bool from_message);

}  // namespace halftone::lm::jinja
