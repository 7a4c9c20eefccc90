// SPDX-License-Identifier: Apache-2.0
// The expressions of an interpreter.
#include "halftone/base/error.h"
#include "halftone/lm/chat/jinja/access.h"
#include "halftone/lm/chat/jinja/filters.h"
#include "halftone/lm/chat/jinja/interpreter.h"
#include "halftone/lm/chat/jinja/loop.h"

namespace halftone::lm::jinja {

Value Interpreter::evaluate(const Expression& expression) {
  machine_.work();
  line_ = expression.line == 0 ? line_ : expression.line;
  return machine_.deeper([&] { return evaluate_here(expression); });
}

Value Interpreter::evaluate_here(const Expression& expression) {
  using Kind = ExpressionKind;
  const Kind kind = expression.kind;
  if (kind == Kind::kConstant) return expression.constant;
  if (kind == Kind::kName) return name(expression.name);
  if (kind == Kind::kList || kind == Kind::kTuple) return list(expression);
  if (kind == Kind::kDict) return dict(expression);
  if (kind == Kind::kSlice) return slice(expression);
  if (kind == Kind::kCall) return call(expression, {});
  if (kind == Kind::kNegative || kind == Kind::kPositive) return signed_number(expression);
  if (kind == Kind::kConcatenation) return concatenation(expression);
  if (kind == Kind::kComparison) return comparison(expression);
  return operation(expression);
}

Value Interpreter::operation(const Expression& expression) {
  using Kind = ExpressionKind;
  const Kind kind = expression.kind;
  const auto part = [&](std::size_t i) { return evaluate(expression.parts[i]); };
  Value first = part(0);
  if (kind == Kind::kAttribute) return attribute_of(first, expression.name);
  if (kind == Kind::kItem) return item_of(first, part(1));
  if (kind == Kind::kFilter) {
    return filtered(machine_, expression.name, first, arguments_of(expression));
  }
  if (kind == Kind::kTest) {
    return passes(machine_, expression.name, first, arguments_of(expression));
  }
  if (kind == Kind::kNot) return !is_true(first);
  if (kind == Kind::kAnd) return is_true(first) ? part(1) : first;
  if (kind == Kind::kOr) return is_true(first) ? first : part(1);
  if (kind == Kind::kCondition) return part(is_true(first) ? 1 : 2);
  return binary(machine_, expression.name, first, part(1));
}

Value Interpreter::name(const std::string& name) const {
  const Value* found = scope_->find(name);
  return found != nullptr ? *found : global_function(name);
}

Value Interpreter::list(const Expression& expression) {
  std::vector<Value> items;
  for (const Expression& part : expression.parts) items.push_back(evaluate(part));
  const bool is_tuple = expression.kind == ExpressionKind::kTuple;
  return Value::sequence(std::move(items), is_tuple ? SequenceKind::kTuple : SequenceKind::kList);
}

Value Interpreter::dict(const Expression& expression) {
  Dict dict;
  for (std::size_t i = 0; i + 1 < expression.parts.size(); i += 2) {
    Value key = evaluate(expression.parts[i]);
    const bool is_key = key.string() != nullptr || key.is_number() || key.is_none() ||
                        (key.sequence() != nullptr && key.sequence()->kind == SequenceKind::kTuple);
    if (!is_key) fail_type("a key", key);
    machine_.work(dict.items.size());
    dict.set(std::move(key), evaluate(expression.parts[i + 1]));
  }
  return dict;
}

Arguments Interpreter::arguments_of(const Expression& expression) {
  Arguments arguments;
  for (std::size_t i = 1; i < expression.parts.size(); ++i) {
    arguments.positional.push_back(evaluate(expression.parts[i]));
  }
  for (const auto& [name, value] : expression.named) {
    arguments.named.emplace_back(name, evaluate(value));
  }
  return arguments;
}

Value Interpreter::call(const Expression& expression,
                        const std::vector<std::pair<std::string, Value>>& more) {
  const Value function = evaluate(expression.parts[0]);
  Arguments arguments = arguments_of(expression);
  arguments.named.insert(arguments.named.end(), more.begin(), more.end());
  const Loop* loop = function.loop();
  if (loop == nullptr) return machine_.call(function, arguments);
  if (!loop->again) fail(ErrorKind::kUnsupported, "the loop is not recursive");
  const Bound bound("loop", arguments, {"iterable"});
  return machine_.deeper([&] { return loop->again(bound[0]); });
}

Value Interpreter::signed_number(const Expression& expression) {
  const Value value = evaluate(expression.parts[0]);
  if (!value.is_number()) fail_type("a number behind a sign", value);
  const bool is_negative = expression.kind == ExpressionKind::kNegative;
  if (value.is_integer()) return binary(machine_, is_negative ? "-" : "+", std::int64_t{0}, value);
  return is_negative ? -value.number() : value.number();
}

Value Interpreter::concatenation(const Expression& expression) {
  Text text;
  for (const Expression& part : expression.parts) {
    text += to_text(evaluate(part));
    check_size(text.size());
  }
  machine_.make(text.size());
  return text;
}

Value Interpreter::comparison(const Expression& expression) {
  Value left = evaluate(expression.parts[0]);
  for (std::size_t i = 0; i < expression.names.size(); ++i) {
    Value right = evaluate(expression.parts[i + 1]);
    if (!compare(machine_, expression.names[i], left, right)) return false;
    left = std::move(right);
  }
  return true;
}

Value Interpreter::slice(const Expression& expression) {
  std::vector<Value> parts;
  for (const Expression& part : expression.parts) parts.push_back(evaluate(part));
  machine_.work(
      parts[0].is_undefined() || parts[0].callable() != nullptr ? 1 : parts[0].nesting().size);
  Value result = slice_of(parts[0], parts[1], parts[2], parts[3]);
  if (result.string() != nullptr) machine_.make(result.string()->text.size());
  return result;
}

}  // namespace halftone::lm::jinja
