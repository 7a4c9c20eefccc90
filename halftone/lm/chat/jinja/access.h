// SPDX-License-Identifier: Apache-2.0
// Attributes, items, slices and operators of values.
#pragma once

#include <string>
#include <vector>

#include "halftone/lm/chat/jinja/machine.h"
#include "halftone/lm/chat/jinja/value.h"

namespace halftone::lm::jinja {

/// object.name: a method of Python, else the item of this name; undefined if there is neither.
/// @throws Error kUnsupported if the object is undefined, or Python has such an attribute and
///         Halftone does not
Value attribute_of(const Value& object, const std::string& name);
/// object[key]: the item, else the attribute; undefined if there is neither.
Value item_of(const Value& object, const Value& key);
/// object[first:end:step], each an integer or None.
Value slice_of(const Value& object, const Value& first, const Value& end, const Value& step);

/// What a loop goes through: items, characters, keys. It uses a generator up.
/// @throws Error kUnsupported of what has no items
std::vector<Value> items_of(const Value& value);
/// @throws Error kUnsupported of what has no length
std::size_t length_of(const Value& value);

/// + - * / // % **
Value binary(Machine& machine, const std::string& name, const Value& a, const Value& b);
/// "x in y".
bool contains(Machine& machine, const Value& container, const Value& value);
/// == != < <= > >= in "not in".
bool compare(Machine& machine, const std::string& name, const Value& a, const Value& b);
/// "text % values"
Text formatted(Machine& machine, TextView format, const Value& values);

/// A method of a text with its text; nothing if Python has none of this name.
/// @throws Error kUnsupported if Python has it and Halftone does not
Value method_of_text(const Value& text, const std::string& name);
/// A text with < > & and quotes as HTML has them.
Text escaped(TextView text);

}  // namespace halftone::lm::jinja
