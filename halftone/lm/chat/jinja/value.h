// SPDX-License-Identifier: Apache-2.0
// The values of templates, which are those of Python.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "halftone/lm/chat/jinja/text.h"

namespace halftone::lm::jinja {

class Value;
class Machine;

/// What a call is given.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

/// Something that can be called: a macro, a method with its object, a function.
struct Callable {
  std::string name;
  std::function<Value(Machine&, const Arguments&)> call;
};

/// A name or an attribute that is not there. It prints as nothing, is false, and is otherwise an
/// error.
struct Undefined {
  std::string what;  ///< "'x' is undefined"
};
struct None {};

/// A text; `is_markup` says that `|safe` or `|escape` gave it.
struct String {
  Text text;
  bool is_markup = false;
};

/// What a value holds. It is bounded, since what goes through values calls itself, and a list may
/// hold another one often.
struct Nesting {
  std::size_t depth = 0;  ///< lists and dicts in each other
  std::size_t size = 1;   ///< values in all, one counted as often as it is held; texts by length
  bool holds_scopes = false;  ///< a namespace, a loop or a function, which may hold this one
};

enum class SequenceKind : std::uint8_t { kList, kTuple, kRange, kView, kGenerator };

/// A list and what behaves like one. A generator can be gone through once, has no length, and is
/// true even if it is empty.
struct Sequence {
  std::vector<Value> items;
  SequenceKind kind = SequenceKind::kList;
  Nesting nesting{};
  mutable bool is_used_up = false;
};

/// Keys in the order in which they came.
struct Dict {
  std::vector<std::pair<Value, Value>> items;
  Nesting nesting{};
  [[nodiscard]] const Value* find(const Value& key) const;
  [[nodiscard]] const Value* find(std::string_view key) const;
  void set(Value key, Value value);
};

/// What namespace() makes: the only thing that templates change.
struct Namespace {
  Dict attributes;
};

/// What `loop` is: attributes that depend on the place.
struct Loop;

class Value {
 public:
  using Storage = std::variant<Undefined, None, bool, std::int64_t, double,
                               std::shared_ptr<const String>, std::shared_ptr<const Sequence>,
                               std::shared_ptr<const Dict>, std::shared_ptr<Namespace>,
                               std::shared_ptr<Loop>, std::shared_ptr<const Callable>>;

  Value() = default;
  Value(None none) : storage_(none) {}            // NOLINT(google-explicit-constructor)
  template <std::same_as<bool> Bool>              // no pointers
  Value(Bool value) : storage_(value) {}          // NOLINT(google-explicit-constructor)
  Value(std::int64_t value) : storage_(value) {}  // NOLINT(google-explicit-constructor)
  Value(double value) : storage_(value) {}        // NOLINT(google-explicit-constructor)
  Value(Text text, bool is_markup = false)        // NOLINT(google-explicit-constructor)
      : storage_(std::make_shared<const String>(String{std::move(text), is_markup})) {}
  Value(Dict dict);          // NOLINT(google-explicit-constructor)
  Value(Callable callable);  // NOLINT(google-explicit-constructor)
  Value(std::shared_ptr<Namespace> names) : storage_(std::move(names)) {}  // NOLINT
  Value(std::shared_ptr<Loop> loop) : storage_(std::move(loop)) {}         // NOLINT
  /// @throws Error kUnsupported of more than 200 lists and dicts in each other, or too much in all
  static Value sequence(std::vector<Value> items, SequenceKind kind = SequenceKind::kList);
  static Value undefined(std::string what) { return Value(Storage(Undefined{std::move(what)})); }
  /// Of the template, in UTF-8.
  static Value text(std::string_view utf8) { return {from_utf8(utf8)}; }

  template <typename T>
  [[nodiscard]] bool is() const {
    return std::holds_alternative<T>(storage_);
  }
  template <typename T>
  [[nodiscard]] const T& as() const {
    return std::get<T>(storage_);
  }

  [[nodiscard]] bool is_undefined() const { return is<Undefined>(); }
  [[nodiscard]] bool is_none() const { return is<None>(); }
  /// Null unless it is one.
  [[nodiscard]] const String* string() const;
  [[nodiscard]] const Sequence* sequence() const;
  [[nodiscard]] const Dict* dict() const;
  [[nodiscard]] Namespace* names() const;
  [[nodiscard]] const Loop* loop() const;
  [[nodiscard]] const Callable* callable() const;

  /// Of a number that is none of float: bool counts as 0 or 1, as in Python.
  [[nodiscard]] bool is_integer() const { return is<bool>() || is<std::int64_t>(); }
  [[nodiscard]] bool is_number() const { return is_integer() || is<double>(); }
  [[nodiscard]] std::int64_t integer() const;  ///< @pre is_integer()
  [[nodiscard]] double number() const;         ///< @pre is_number()
  [[nodiscard]] Nesting nesting() const;

 private:
  explicit Value(Storage storage) : storage_(std::move(storage)) {}
  Storage storage_;
};

/// The name of Python's type: "str", "dict".
std::string type_name(const Value& value);

/// As bool() says.
bool is_true(const Value& value);
/// As == says.
bool is_equal(const Value& a, const Value& b);
/// As < says. @throws Error kUnsupported of values without an order
bool is_less(const Value& a, const Value& b);
/// As str() says: what a template prints.
/// @throws Error kUnsupported of generators and functions, and of texts that become too large
Text to_text(const Value& value);

/// Characters of all texts that a template may make.
inline constexpr std::size_t kMaxCharacters = std::size_t{1} << 26;
/// @throws Error kUnsupported of a text that is larger
void check_size(std::size_t characters);
/// A float as Python prints it.
std::string float_text(double value);
/// As C formats %.*f, %.*e, %.*E, %.*g or %.*G; with a point in any locale.
/// @param precision  0 to 100
std::string printf_text(double value, char letter, int precision);

}  // namespace halftone::lm::jinja
