// SPDX-License-Identifier: Apache-2.0
// The statements; evaluate.cc has the expressions.
#include "halftone/lm/chat/jinja/interpreter.h"

#include <algorithm>

#include "halftone/base/error.h"
#include "halftone/lm/chat/jinja/access.h"
#include "halftone/lm/chat/jinja/filters.h"
#include "halftone/lm/chat/jinja/loop.h"

namespace halftone::lm::jinja {

const Value* Scope::find(const std::string& name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer.get()) {
    const auto found = std::ranges::find(scope->names, name, &std::pair<std::string, Value>::first);
    if (found != scope->names.end()) return &found->second;
  }
  return nullptr;
}

void Scope::set(const std::string& name, Value value) {
  const auto found = std::ranges::find(names, name, &std::pair<std::string, Value>::first);
  if (found != names.end()) {
    found->second = std::move(value);
  } else {
    names.emplace_back(name, std::move(value));
  }
}

/// A scope inside of another one, for as long as this lives.
class Interpreter::InScope {
 public:
  InScope(Interpreter& interpreter, std::shared_ptr<Scope> outer)
      : interpreter_(interpreter),
        before_(
            std::exchange(interpreter.scope_, std::make_shared<Scope>(Scope{std::move(outer)}))) {}
  explicit InScope(Interpreter& interpreter) : InScope(interpreter, interpreter.scope_) {}
  InScope(const InScope&) = delete;
  InScope& operator=(const InScope&) = delete;
  ~InScope() { interpreter_.scope_ = std::move(before_); }

 private:
  Interpreter& interpreter_;
  std::shared_ptr<Scope> before_;
};

Text Interpreter::run(const std::vector<Statement>& statements) {
  Text text;
  out_ = &text;
  try {
    run_body(statements);
  } catch (const Error& error) {
    throw Error(error.kind(), "line " + std::to_string(line_) + ": " + error.what(), error.hint());
  }
  return text;
}

Interpreter::Flow Interpreter::run_body(const std::vector<Statement>& body) {
  return machine_.deeper([&] {
    for (const Statement& statement : body) {
      machine_.work();
      line_ = statement.line;
      const Flow flow = run_statement(statement);
      if (flow != Flow::kOn) return flow;
    }
    return Flow::kOn;
  });
}

Interpreter::Flow Interpreter::run_statement(const Statement& statement) {
  switch (statement.kind) {
    case StatementKind::kText:
      write(statement.text);
      break;
    case StatementKind::kPrint:
      write(to_text(evaluate(statement.expression)));
      break;
    case StatementKind::kIf:
      return run_body(is_true(evaluate(statement.expression)) ? statement.body : statement.other);
    case StatementKind::kFor:
      return run_for(statement);
    case StatementKind::kSet:
      assign(statement.target, evaluate(statement.expression));
      break;
    case StatementKind::kSetBlock:
      assign(statement.target, filtered_text(statement));
      break;
    case StatementKind::kMacro:
      scope_->set(statement.name, macro(statement));
      break;
    case StatementKind::kCallBlock:
      run_call_block(statement);
      break;
    case StatementKind::kFilter:
      write(to_text(filtered_text(statement)));
      break;
    case StatementKind::kWith:
      run_with(statement);
      break;
    case StatementKind::kBreak:
      return Flow::kBreak;
    case StatementKind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kOn;
}

void Interpreter::write(const Text& text) {
  machine_.make(text.size());
  *out_ += text;
}

template <typename Run>
Text Interpreter::written_by(const Run& run) {
  Text text;
  Text* const before = std::exchange(out_, &text);
  run();
  out_ = before;
  return text;
}

Text Interpreter::text_of(const std::vector<Statement>& body) {
  return written_by([&] {
    const InScope inside(*this);
    run_body(body);
  });
}

Value Interpreter::filtered_text(const Statement& statement) {
  const Value text(text_of(statement.body));
  const InScope inside(*this);
  scope_->set(kFilterValue, text);
  return evaluate(statement.expression);
}

void Interpreter::run_with(const Statement& statement) {
  std::vector<Value> values;
  for (const auto& [target, expression] : statement.assignments) {
    values.push_back(evaluate(expression));
  }
  const InScope inside(*this);
  for (std::size_t i = 0; i < values.size(); ++i) assign(statement.assignments[i].first, values[i]);
  run_body(statement.body);
}

void Interpreter::run_call_block(const Statement& statement) {
  const Value caller = macro(statement);
  write(to_text(call(statement.expression, {{"caller", caller}})));
}

void Interpreter::assign(const Target& target, const Value& value) {
  if (!target.parts.empty()) {
    const std::vector<Value> items = items_of(value);
    if (items.size() != target.parts.size()) {
      fail(ErrorKind::kUnsupported, "expected " + std::to_string(target.parts.size()) +
                                        " values to assign, found " + std::to_string(items.size()));
    }
    for (std::size_t i = 0; i < items.size(); ++i) assign(target.parts[i], items[i]);
    return;
  }
  if (target.attribute.empty()) return scope_->set(target.name, value);
  const Value names = name(target.name);
  if (names.names() == nullptr) fail_type("a namespace to set an attribute of", names);
  if (value.nesting().holds_scopes) fail_type("a value in a namespace", value);
  machine_.work(names.names()->attributes.items.size());
  names.names()->attributes.set(Value::text(target.attribute), value);
}

std::vector<Value> Interpreter::loop_items(const Statement& statement, const Value& items) {
  std::vector<Value> all = items_of(items);
  machine_.work(all.size());
  if (!statement.has_condition) return all;
  std::vector<Value> kept;
  for (const Value& item : all) {
    const InScope inside(*this);
    assign(statement.target, item);
    if (is_true(evaluate(statement.condition))) kept.push_back(item);
  }
  return kept;
}

Interpreter::Flow Interpreter::run_for(const Statement& statement) {
  return run_loop(statement, evaluate(statement.expression), 0);
}

Interpreter::Flow Interpreter::run_loop(const Statement& statement, const Value& items,
                                        std::size_t depth) {
  const auto loop = std::make_shared<Loop>();
  loop->items = loop_items(statement, items);
  loop->depth = depth;
  if (loop->items.empty()) {
    const InScope inside(*this);
    return run_body(statement.other);
  }
  if (statement.is_recursive) {
    loop->again = [this, &statement, depth, outer = scope_](const Value& inner) {
      return Value(written_by([&] {
        const InScope inside(*this, outer);
        run_loop(statement, inner, depth + 1);
      }));
    };
  }
  for (; loop->index < loop->items.size(); ++loop->index) {
    const InScope inside(*this);
    scope_->set("loop", loop);
    assign(statement.target, loop->items[loop->index]);
    if (run_body(statement.body) == Flow::kBreak) break;
  }
  return Flow::kOn;
}

Value Interpreter::macro(const Statement& statement) {
  const std::weak_ptr<Scope> scope = scope_;  // which holds the macro
  return Callable{statement.name, [this, &statement, scope](Machine&, const Arguments& arguments) {
                    return call_macro(statement, scope.lock(), arguments);
                  }};
}

Value Interpreter::call_macro(const Statement& statement, const std::shared_ptr<Scope>& scope,
                              const Arguments& arguments) {
  if (scope == nullptr) fail(ErrorKind::kUnsupported, "a macro is called outside of its block");
  const std::size_t line = line_;
  Text text = written_by([&] {
    const InScope inside(*this, scope);
    bind(statement, arguments);
    run_body(statement.body);
  });
  line_ = line;
  return text;
}

void Interpreter::bind(const Statement& macro, const Arguments& arguments) {
  const auto given = [&](const std::string& wanted) {
    return std::ranges::find(arguments.named, wanted, &std::pair<std::string, Value>::first);
  };
  Dict others;
  for (const auto& [key, value] : arguments.named) {
    const auto known = std::ranges::find(macro.parameters, key, &Parameter::name);
    if (key == "caller") {
      scope_->set(key, value);
    } else if (known == macro.parameters.end()) {
      others.set(Value::text(key), value);
    }
  }
  const std::size_t count = macro.parameters.size();
  const std::vector<Value>& all = arguments.positional;
  scope_->set("kwargs", Value(std::move(others)));
  scope_->set(
      "varargs",
      Value::sequence(
          {all.begin() + static_cast<std::ptrdiff_t>(std::min(count, all.size())), all.end()},
          SequenceKind::kTuple));
  for (std::size_t i = 0; i < count; ++i) {
    const Parameter& parameter = macro.parameters[i];
    const auto named = given(parameter.name);
    if (i < all.size()) {
      scope_->set(parameter.name, all[i]);
    } else if (named != arguments.named.end()) {
      scope_->set(parameter.name, named->second);
    } else if (parameter.usual) {
      scope_->set(parameter.name, evaluate(*parameter.usual));
    } else {
      scope_->set(parameter.name,
                  Value::undefined("parameter '" + parameter.name + "' was not provided"));
    }
  }
}

}  // namespace halftone::lm::jinja
