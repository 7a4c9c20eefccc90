// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/chat/jinja/access.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "halftone/base/error.h"
#include "halftone/lm/chat/jinja/loop.h"

namespace halftone::lm::jinja {
namespace {

Value missing(const Value& object, const std::string& name) {
  return Value::undefined("'" + type_name(object) + "' has no attribute '" + name + "'");
}

/// What changes a list or a dict is not for templates.
Value unsafe(const Value& object, const std::string& name) {
  return Value::undefined("'" + name + "' changes a " + type_name(object) +
                          ", which templates may not");
}

bool is_one_of(const std::string& name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

Value view(std::vector<Value> items) {
  return Value::sequence(std::move(items), SequenceKind::kView);
}

Value get_of_dict(const Value& dict, const Arguments& arguments) {
  const Bound bound("get", arguments, {"key", "default"});
  const Value* found = dict.dict()->find(bound[0]);
  return found != nullptr ? *found : bound.get(1, Value(None{}));
}

/// A method of a dict; nothing if it has none of this name.
std::optional<Value> dict_method(const Value& dict, const std::string& name) {
  constexpr std::array<std::string_view, 5> kChanging = {"clear", "pop", "popitem", "setdefault",
                                                         "update"};
  if (is_one_of(name, kChanging)) return unsafe(dict, name);
  if (name == "get") {
    return Value(Callable{name, [dict](Machine& machine, const Arguments& arguments) {
                            machine.work(dict.dict()->items.size());
                            return get_of_dict(dict, arguments);
                          }});
  }
  const bool is_view = name == "items" || name == "keys" || name == "values";
  if (!is_view && name != "copy") return std::nullopt;
  return Value(Callable{
      name, [dict, name](Machine& machine, const Arguments& arguments) {
        const Bound bound(name, arguments, {});
        machine.work(dict.dict()->items.size());
        if (name == "copy") return dict;
        std::vector<Value> items;
        for (const auto& [key, value] : dict.dict()->items) {
          items.push_back(name == "keys"     ? key
                          : name == "values" ? value
                                             : Value::sequence({key, value}, SequenceKind::kTuple));
        }
        return view(std::move(items));
      }});
}

std::optional<Value> list_method(const Value& list, const std::string& name) {
  constexpr std::array<std::string_view, 8> kChanging = {"append", "clear",  "extend",  "insert",
                                                         "pop",    "remove", "reverse", "sort"};
  if (list.sequence()->kind == SequenceKind::kList && is_one_of(name, kChanging)) {
    return unsafe(list, name);
  }
  if (name == "copy" && list.sequence()->kind == SequenceKind::kList) {
    return Value(Callable{name, [list](Machine&, const Arguments&) { return list; }});
  }
  if (name != "count" && name != "index") return std::nullopt;
  return Value(
      Callable{name, [list, name](Machine& machine, const Arguments& arguments) {
                 const Bound bound(name, arguments, {"value"});
                 machine.work(list.nesting().size);
                 const std::vector<Value>& items = list.sequence()->items;
                 const auto is_it = [&](const Value& item) { return is_equal(item, bound[0]); };
                 if (name == "count") {
                   return Value(static_cast<std::int64_t>(std::ranges::count_if(items, is_it)));
                 }
                 const auto found = std::ranges::find_if(items, is_it);
                 if (found == items.end()) fail_type("a value that the list has", bound[0]);
                 return Value(static_cast<std::int64_t>(found - items.begin()));
               }});
}

/// What the type of the object has of this name; nothing if it has none.
std::optional<Value> own_attribute(const Value& object, const std::string& name) {
  if (object.string() != nullptr) {
    Value method = method_of_text(object, name);
    return method.is_undefined() ? std::nullopt : std::optional(std::move(method));
  }
  if (object.dict() != nullptr) return dict_method(object, name);
  const Sequence* sequence = object.sequence();
  if (sequence != nullptr &&
      (sequence->kind == SequenceKind::kList || sequence->kind == SequenceKind::kTuple ||
       sequence->kind == SequenceKind::kRange)) {
    return list_method(object, name);
  }
  constexpr std::array<std::string_view, 9> kOfNumbers = {
      "real",       "imag",       "numerator",        "denominator", "conjugate",
      "bit_length", "is_integer", "as_integer_ratio", "hex"};
  if (object.is_number() && is_one_of(name, kOfNumbers)) {
    fail(ErrorKind::kUnsupported, "the attribute '" + name + "' of numbers is not supported");
  }
  if (object.names() != nullptr) {
    const Value* found = object.names()->attributes.find(name);
    return found == nullptr ? std::nullopt : std::optional(*found);
  }
  if (object.loop() != nullptr) {
    Value found = loop_attribute(object.as<std::shared_ptr<Loop>>(), name);
    return found.is_undefined() ? std::nullopt : std::optional(std::move(found));
  }
  return std::nullopt;
}

/// The index of an item, counted from the end if it is negative; nothing if there is none.
std::optional<std::size_t> place_of(std::int64_t index, std::size_t size) {
  const auto count = static_cast<std::int64_t>(size);
  const std::int64_t place = index < 0 ? index + count : index;
  if (place < 0 || place >= count) return std::nullopt;
  return static_cast<std::size_t>(place);
}

/// object[key] alone; nothing if there is none.
std::optional<Value> own_item(const Value& object, const Value& key) {
  if (object.dict() != nullptr) {
    const Value* found = object.dict()->find(key);
    return found == nullptr ? std::nullopt : std::optional(*found);
  }
  if (!key.is_integer()) return std::nullopt;
  if (const String* string = object.string()) {
    const auto place = place_of(key.integer(), string->text.size());
    return place ? std::optional(Value(Text(1, string->text[*place]))) : std::nullopt;
  }
  const Sequence* sequence = object.sequence();
  const bool has_items = sequence != nullptr && sequence->kind != SequenceKind::kView &&
                         sequence->kind != SequenceKind::kGenerator;
  if (!has_items) return std::nullopt;
  const auto place = place_of(key.integer(), sequence->items.size());
  return place ? std::optional(sequence->items[*place]) : std::nullopt;
}

}  // namespace

Value attribute_of(const Value& object, const std::string& name) {
  if (object.is_undefined()) fail(ErrorKind::kUnsupported, object.as<Undefined>().what);
  if (auto own = own_attribute(object, name)) return *own;
  if (auto item = own_item(object, Value::text(name))) return *item;
  return missing(object, name);
}

Value item_of(const Value& object, const Value& key) {
  if (object.is_undefined()) fail(ErrorKind::kUnsupported, object.as<Undefined>().what);
  if (auto item = own_item(object, key)) return *item;
  if (key.string() != nullptr) {
    const std::string name = to_utf8_text(key.string()->text);
    if (auto own = own_attribute(object, name)) return *own;
    return missing(object, name);
  }
  return Value::undefined("'" + type_name(object) + "' has no such item");
}

namespace {

/// The indices of a slice, as Python's slice.indices() has them.
std::vector<std::size_t> slice_places(std::size_t size, const Value& first, const Value& end,
                                      const Value& step) {
  const auto number = [](const Value& value, std::int64_t usual) {
    if (value.is_none()) return usual;
    if (!value.is_integer()) fail_type("an integer in a slice", value);
    return value.integer();
  };
  const std::int64_t by = number(step, 1);
  if (by == 0) fail(ErrorKind::kUnsupported, "a slice has a step of zero");
  const auto count = static_cast<std::int64_t>(size);
  const std::int64_t low = by < 0 ? -1 : 0;
  const std::int64_t high = by < 0 ? count - 1 : count;
  const auto bounded = [&](const Value& value, std::int64_t usual) {
    const std::int64_t at = number(value, usual);
    if (value.is_none()) return at;
    return std::clamp(at < 0 ? std::max(at, -count - 1) + count : at, low, high);
  };
  const std::int64_t stop = bounded(end, by < 0 ? low : high);
  std::vector<std::size_t> places;
  for (std::int64_t at = bounded(first, by < 0 ? high : low); by < 0 ? at > stop : at < stop;) {
    places.push_back(static_cast<std::size_t>(at));
    if (by >= count - at) break;  // beyond the end, however large
    at += by;
  }
  return places;
}

}  // namespace

Value slice_of(const Value& object, const Value& first, const Value& end, const Value& step) {
  if (object.is_undefined()) fail(ErrorKind::kUnsupported, object.as<Undefined>().what);
  if (const String* string = object.string()) {
    Text text;
    for (const std::size_t i : slice_places(string->text.size(), first, end, step)) {
      text.push_back(string->text[i]);
    }
    return {std::move(text), string->is_markup};
  }
  const Sequence* sequence = object.sequence();
  if (sequence == nullptr || sequence->kind == SequenceKind::kView ||
      sequence->kind == SequenceKind::kGenerator) {
    return Value::undefined("a " + type_name(object) + " has no slices");
  }
  std::vector<Value> items;
  for (const std::size_t i : slice_places(sequence->items.size(), first, end, step)) {
    items.push_back(sequence->items[i]);
  }
  return Value::sequence(std::move(items), sequence->kind);
}

std::vector<Value> items_of(const Value& value) {
  std::vector<Value> items;
  if (value.is_undefined()) return items;
  if (const Sequence* sequence = value.sequence()) {
    if (sequence->is_used_up) return items;
    sequence->is_used_up = sequence->kind == SequenceKind::kGenerator;
    return sequence->items;
  }
  if (const Dict* dict = value.dict()) {
    for (const auto& [key, content] : dict->items) items.push_back(key);
    return items;
  }
  if (const String* string = value.string()) {
    check_parts(string->text.size());
    for (const char32_t c : string->text) items.emplace_back(Text(1, c));
    return items;
  }
  fail_type("something with items", value);
}

std::size_t length_of(const Value& value) {
  if (value.is_undefined()) return 0;
  if (const String* string = value.string()) return string->text.size();
  if (const Dict* dict = value.dict()) return dict->items.size();
  const Sequence* sequence = value.sequence();
  if (sequence == nullptr || sequence->kind == SequenceKind::kGenerator) {
    fail_type("something with a length", value);
  }
  return sequence->items.size();
}

}  // namespace halftone::lm::jinja
