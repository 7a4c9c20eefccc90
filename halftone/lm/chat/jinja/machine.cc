// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/chat/jinja/machine.h"

#include <algorithm>

#include "halftone/base/error.h"

namespace halftone::lm::jinja {

void Machine::work(std::size_t units) {
  constexpr std::size_t kMost = 20'000'000;
  work_ += units;
  if (work_ > kMost) fail(ErrorKind::kUnsupported, "the template takes too many steps");
}

void Machine::make(std::size_t characters) {
  characters_ += characters;
  check_size(characters_);
}

Machine::Level::Level(Machine& machine) : machine_(machine) {
  constexpr std::size_t kMost = 1000;
  if (++machine_.level_ <= kMost) return;
  --machine_.level_;
  fail(ErrorKind::kUnsupported, "the template calls itself too often");
}

Value Machine::call(const Value& function, const Arguments& arguments) {
  if (function.is_undefined()) fail(ErrorKind::kUnsupported, function.as<Undefined>().what);
  if (function.callable() == nullptr) fail_type("something to call", function);
  return deeper([&] { return function.callable()->call(*this, arguments); });
}

void fail_type(const std::string& what, const Value& found) {
  if (found.is_undefined()) {
    fail(ErrorKind::kUnsupported, found.as<Undefined>().what + ", expected " + what);
  }
  fail(ErrorKind::kUnsupported, "expected " + what + ", found a " + type_name(found));
}

Bound::Bound(const std::string& what, const Arguments& arguments,
             std::initializer_list<const char*> names)
    : what_(what), names_(names.begin(), names.end()), values_(names.size()) {
  if (arguments.positional.size() > names.size()) {
    fail(ErrorKind::kUnsupported, what + ": expected at most " + std::to_string(names.size()) +
                                      " arguments, found " +
                                      std::to_string(arguments.positional.size()));
  }
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) {
    values_[i] = &arguments.positional[i];
  }
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::ranges::find(names_, name);
    if (found == names_.end()) {
      fail(ErrorKind::kUnsupported, what + ": there is no argument '" + name + "'");
    }
    const Value*& place = values_[static_cast<std::size_t>(found - names_.begin())];
    if (place != nullptr) fail(ErrorKind::kUnsupported, what + ": '" + name + "' is given twice");
    place = &value;
  }
}

const Value& Bound::operator[](std::size_t i) const {
  if (!has(i)) fail(ErrorKind::kUnsupported, what_ + ": expected the argument '" + names_[i] + "'");
  return *values_[i];
}

bool Bound::flag(std::size_t i, bool usual) const { return has(i) ? is_true(*values_[i]) : usual; }

std::int64_t Bound::integer(std::size_t i, std::int64_t usual) const {
  if (!has(i)) return usual;
  if (!values_[i]->is_integer())
    fail_type(what_ + ": an integer as '" + names_[i] + "'", *values_[i]);
  return values_[i]->integer();
}

const Text& Bound::text(std::size_t i) const {
  const Value& value = (*this)[i];
  if (value.string() == nullptr) fail_type(what_ + ": a text as '" + names_[i] + "'", value);
  return value.string()->text;
}

}  // namespace halftone::lm::jinja
