// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/chat/jinja/loop.h"

#include <algorithm>
#include <array>

#include "halftone/base/error.h"
#include "halftone/lm/chat/jinja/machine.h"

namespace halftone::lm::jinja {
namespace {

Value number(std::size_t value) { return static_cast<std::int64_t>(value); }

Value neighbour(const Loop& loop, bool is_before) {
  const bool is_there = is_before ? loop.index > 0 : loop.index + 1 < loop.items.size();
  if (!is_there)
    return Value::undefined(is_before ? "there is no previous item" : "there is no next item");
  return loop.items[is_before ? loop.index - 1 : loop.index + 1];
}

Value cycle(const Loop& loop, const Arguments& arguments) {
  if (arguments.positional.empty()) fail(ErrorKind::kUnsupported, "cycle: expected items");
  return arguments.positional[loop.index % arguments.positional.size()];
}

Value changed(Loop& loop, const Arguments& arguments) {
  for (const Value& each : arguments.positional) {
    if (each.nesting().holds_scopes) fail_type("changed: values", each);
  }
  const bool is_same =
      loop.changed && std::ranges::equal(*loop.changed, arguments.positional, is_equal);
  loop.changed = arguments.positional;
  return !is_same;
}

}  // namespace

Value loop_attribute(const std::shared_ptr<Loop>& loop, const std::string& name) {
  const std::size_t size = loop->items.size();
  if (name == "index") return number(loop->index + 1);
  if (name == "index0") return number(loop->index);
  if (name == "revindex") return number(size - loop->index);
  if (name == "revindex0") return number(size - loop->index - 1);
  if (name == "first") return loop->index == 0;
  if (name == "last") return loop->index + 1 == size;
  if (name == "length") return number(size);
  if (name == "depth") return number(loop->depth + 1);
  if (name == "depth0") return number(loop->depth);
  if (name == "previtem") return neighbour(*loop, true);
  if (name == "nextitem") return neighbour(*loop, false);
  if (name == "cycle") {
    return Callable{name, [loop](Machine&, const Arguments& a) { return cycle(*loop, a); }};
  }
  if (name == "changed") {
    return Callable{name, [loop](Machine&, const Arguments& a) { return changed(*loop, a); }};
  }
  return Value::undefined("loop has no attribute '" + name + "'");
}

}  // namespace halftone::lm::jinja
