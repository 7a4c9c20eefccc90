// SPDX-License-Identifier: Apache-2.0
// Filters of sequences.
#include <algorithm>
#include <array>
#include <functional>

#include "halftone/base/error.h"
#include "halftone/lm/chat/jinja/access.h"
#include "halftone/lm/chat/jinja/filters.h"

namespace halftone::lm::jinja {
namespace {

std::vector<Value> counted_items(Machine& machine, const Value& value) {
  std::vector<Value> items = items_of(value);
  machine.work(items.size());
  return items;
}

Value generator(std::vector<Value> items) {
  return Value::sequence(std::move(items), SequenceKind::kGenerator);
}

/// "a.b.0" of an item, as Jinja's make_attrgetter() takes it.
Value path_of(const Value& item, const Value& path) {
  if (path.is_integer()) return item_of(item, path);
  if (path.string() == nullptr) fail_type("the name of an attribute", path);
  Value found = item;
  for (const Text& part : split(path.string()->text, U".", -1, false)) {
    const bool is_number =
        !part.empty() && std::ranges::all_of(part, is_decimal) && part.size() < 10;
    found = item_of(found,
                    is_number ? Value(std::int64_t{std::stoll(to_utf8_text(part))}) : Value(part));
  }
  return found;
}

Value without_case(const Value& value) {
  return value.string() != nullptr ? Value(lower(value.string()->text)) : value;
}

/// What sorts an item: an attribute, or several with commas between them, in one case or not.
std::vector<Value> keys_of(const Value& item, const Value& attribute, bool has_case) {
  std::vector<Value> keys;
  if (attribute.is_none()) {
    keys.push_back(item);
  } else if (attribute.string() != nullptr) {
    for (const Text& each : split(attribute.string()->text, U",", -1, false)) {
      keys.push_back(path_of(item, Value(each)));
    }
  } else {
    keys.push_back(path_of(item, attribute));
  }
  if (!has_case) std::ranges::transform(keys, keys.begin(), without_case);
  return keys;
}

bool is_before(const std::vector<Value>& a, const std::vector<Value>& b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (!is_equal(a[i], b[i])) return is_less(a[i], b[i]);
  }
  return a.size() < b.size();
}

std::vector<Value> sorted(Machine& machine, const std::vector<Value>& items, bool reverse,
                          const std::function<std::vector<Value>(const Value&)>& keys) {
  std::vector<std::pair<std::vector<Value>, Value>> all;
  for (const Value& item : items) {
    machine.work(item.nesting().size * 8);  // some ten comparisons of each
    all.emplace_back(keys(item), item);
  }
  std::ranges::stable_sort(all, [&](const auto& a, const auto& b) {
    return reverse ? is_before(b.first, a.first) : is_before(a.first, b.first);
  });
  std::vector<Value> result;
  for (auto& [key, item] : all) result.push_back(std::move(item));
  return result;
}

Value length(Machine& /*machine*/, const std::string& name, const Value& value,
             const Arguments& arguments) {
  filter_arguments(name, arguments, {});
  return static_cast<std::int64_t>(length_of(value));
}

Value end_item(Machine& machine, const std::string& name, const Value& value,
               const Arguments& arguments) {
  filter_arguments(name, arguments, {});
  if (name == "last" && value.sequence() != nullptr &&
      value.sequence()->kind == SequenceKind::kGenerator) {
    fail_type("filter last: a sequence with an end", value);
  }
  const std::vector<Value> items = counted_items(machine, value);
  if (items.empty())
    return Value::undefined("there is no " + name + " item, the sequence is empty");
  return name == "first" ? items.front() : items.back();
}

Value list_items(Machine& machine, const std::string& name, const Value& value,
                 const Arguments& arguments) {
  filter_arguments(name, arguments, {});
  return Value::sequence(counted_items(machine, value));
}

Value join_items(Machine& machine, const std::string& name, const Value& value,
                 const Arguments& arguments) {
  const Bound bound = filter_arguments(name, arguments, {"d", "attribute"});
  const Text between = bound.has(0) ? to_text(bound[0]) : Text();
  Text text;
  bool is_first = true;
  for (const Value& item : counted_items(machine, value)) {
    if (!is_first) text += between;
    is_first = false;
    text += to_text(bound.has(1) && !bound[1].is_none() ? path_of(item, bound[1]) : item);
    check_size(text.size());
  }
  machine.make(text.size());
  return text;
}

Value reverse(Machine& machine, const std::string& name, const Value& value,
              const Arguments& arguments) {
  filter_arguments(name, arguments, {});
  if (value.string() != nullptr) {
    Text text = value.string()->text;
    std::ranges::reverse(text);
    machine.make(text.size());
    return text;
  }
  std::vector<Value> items = counted_items(machine, value);
  std::ranges::reverse(items);
  return generator(std::move(items));
}

Value sort(Machine& machine, const std::string& name, const Value& value,
           const Arguments& arguments) {
  const Bound bound = filter_arguments(name, arguments, {"reverse", "case_sensitive", "attribute"});
  const Value attribute = bound.get(2, None{});
  return Value::sequence(
      sorted(machine, counted_items(machine, value), bound.flag(0),
             [&](const Value& item) { return keys_of(item, attribute, bound.flag(1)); }));
}

Value dictsort(Machine& machine, const std::string& name, const Value& value,
               const Arguments& arguments) {
  const Bound bound = filter_arguments(name, arguments, {"case_sensitive", "by", "reverse"});
  if (value.dict() == nullptr) fail_type("filter dictsort: a dict", value);
  const std::string by = bound.has(1) ? to_utf8_text(bound.text(1)) : "key";
  if (by != "key" && by != "value")
    fail(ErrorKind::kUnsupported, "filter dictsort: expected 'key' or 'value' as 'by'");
  std::vector<Value> items;
  for (const auto& [key, each] : value.dict()->items) {
    items.push_back(Value::sequence({key, each}, SequenceKind::kTuple));
  }
  return Value::sequence(sorted(machine, items, bound.flag(2), [&](const Value& item) {
    const Value& key = item.sequence()->items[by == "key" ? 0 : 1];
    return std::vector<Value>{bound.flag(0) ? key : without_case(key)};
  }));
}

Value items(Machine& machine, const std::string& name, const Value& value,
            const Arguments& arguments) {
  filter_arguments(name, arguments, {});
  if (value.is_undefined()) return generator({});
  if (value.dict() == nullptr) fail_type("filter items: a dict", value);
  std::vector<Value> pairs;
  for (const auto& [key, each] : value.dict()->items) {
    pairs.push_back(Value::sequence({key, each}, SequenceKind::kTuple));
  }
  machine.work(pairs.size());
  return generator(std::move(pairs));
}

Value unique(Machine& machine, const std::string& name, const Value& value,
             const Arguments& arguments) {
  const Bound bound = filter_arguments(name, arguments, {"case_sensitive", "attribute"});
  std::vector<std::vector<Value>> seen;
  std::vector<Value> result;
  for (const Value& item : counted_items(machine, value)) {
    std::vector<Value> keys = keys_of(item, bound.get(1, None{}), bound.flag(0));
    machine.work(seen.size() + item.nesting().size);
    const bool is_new = std::ranges::none_of(
        seen, [&](const auto& known) { return std::ranges::equal(known, keys, is_equal); });
    if (!is_new) continue;
    result.push_back(item);
    seen.push_back(std::move(keys));
  }
  return generator(std::move(result));
}

Value extreme(Machine& machine, const std::string& name, const Value& value,
              const Arguments& arguments) {
  const Bound bound = filter_arguments(name, arguments, {"case_sensitive", "attribute"});
  const std::vector<Value> all = counted_items(machine, value);
  if (all.empty()) return Value::undefined("there is no " + name + " of nothing");
  const auto keys = [&](const Value& item) {
    return keys_of(item, bound.get(1, None{}), bound.flag(0));
  };
  Value best = all.front();
  for (const Value& item : all) {
    machine.work(item.nesting().size);
    if (name == "max" ? is_before(keys(best), keys(item)) : is_before(keys(item), keys(best)))
      best = item;
  }
  return best;
}

Value sum(Machine& machine, const std::string& name, const Value& value,
          const Arguments& arguments) {
  const Bound bound = filter_arguments(name, arguments, {"attribute", "start"});
  Value total = bound.get(1, std::int64_t{0});
  for (const Value& item : counted_items(machine, value)) {
    total = binary(machine, "+", total,
                   bound.has(0) && !bound[0].is_none() ? path_of(item, bound[0]) : item);
  }
  return total;
}

Value batch(Machine& machine, const std::string& name, const Value& value,
            const Arguments& arguments) {
  const Bound bound = filter_arguments(name, arguments, {"linecount", "fill_with"});
  const std::int64_t count = bound.integer(0, 0);
  if (count < 1 || count > 100'000)
    fail(ErrorKind::kUnsupported, "filter batch: expected 1 to 100000 items");
  const auto size = static_cast<std::size_t>(count);
  std::vector<Value> batches;
  std::vector<Value> current;
  for (const Value& item : counted_items(machine, value)) {
    if (current.size() == size) batches.push_back(Value::sequence(std::exchange(current, {})));
    current.push_back(item);
  }
  if (!current.empty()) {
    if (bound.has(1) && !bound[1].is_none()) current.resize(size, bound[1]);
    batches.push_back(Value::sequence(std::move(current)));
  }
  return generator(std::move(batches));
}

/// The arguments behind the first ones.
Arguments without_first(const Arguments& arguments, std::size_t count) {
  Arguments rest = arguments;
  const auto end = rest.positional.begin() +
                   static_cast<std::ptrdiff_t>(std::min(count, rest.positional.size()));
  rest.positional.erase(rest.positional.begin(), end);
  return rest;
}

Value map(Machine& machine, const std::string& name, const Value& value,
          const Arguments& arguments) {
  std::vector<Value> result;
  if (!is_true(value)) return generator({});  // even of what has no items, as in Jinja
  const std::vector<Value> all = counted_items(machine, value);
  if (arguments.positional.empty()) {
    const Bound bound = filter_arguments(name, arguments, {"attribute", "default"});
    for (const Value& item : all) {
      const Value found = path_of(item, bound[0]);
      result.push_back(found.is_undefined() && bound.has(1) ? bound[1] : found);
    }
    return generator(std::move(result));
  }
  if (arguments.positional[0].string() == nullptr)
    fail_type("filter map: the name of a filter", arguments.positional[0]);
  const std::string filter = to_utf8_text(arguments.positional[0].string()->text);
  const Arguments rest = without_first(arguments, 1);
  for (const Value& item : all) {
    result.push_back(machine.deeper([&] { return filtered(machine, filter, item, rest); }));
  }
  return generator(std::move(result));
}

/// select, reject, selectattr, rejectattr.
Value choose(Machine& machine, const std::string& name, const Value& value,
             const Arguments& arguments) {
  if (!is_true(value)) return generator({});  // as in map()
  const bool has_attribute = name.ends_with("attr");
  const std::size_t used = has_attribute ? 1 : 0;
  if (arguments.positional.size() < used)
    fail(ErrorKind::kUnsupported, "filter " + name + ": expected an attribute");
  const Value path = has_attribute ? arguments.positional[0] : Value();
  const bool has_test = arguments.positional.size() > used;
  if (has_test && arguments.positional[used].string() == nullptr)
    fail_type("filter " + name + ": the name of a test", arguments.positional[used]);
  const std::string test = has_test ? to_utf8_text(arguments.positional[used].string()->text) : "";
  const Arguments rest = without_first(arguments, used + 1);
  std::vector<Value> result;
  for (const Value& item : counted_items(machine, value)) {
    const Value tested = has_attribute ? path_of(item, path) : item;
    const bool is_right = has_test ? passes(machine, test, tested, rest) : is_true(tested);
    if (is_right == name.starts_with("select")) result.push_back(item);
  }
  return generator(std::move(result));
}

struct SequenceFilter {
  std::string_view name;
  Filter run;
};

constexpr std::array<SequenceFilter, 20> kSequenceFilters = {{
    {"batch", batch},       {"count", length},      {"dictsort", dictsort}, {"first", end_item},
    {"items", items},       {"join", join_items},   {"last", end_item},     {"length", length},
    {"list", list_items},   {"map", map},           {"max", extreme},       {"min", extreme},
    {"reject", choose},     {"rejectattr", choose}, {"reverse", reverse},   {"select", choose},
    {"selectattr", choose}, {"sort", sort},         {"sum", sum},           {"unique", unique},
}};

}  // namespace

Filter sequence_filter(const std::string& name) {
  const auto* found = std::ranges::find(kSequenceFilters, name, &SequenceFilter::name);
  return found == kSequenceFilters.end() ? nullptr : found->run;
}

}  // namespace halftone::lm::jinja
