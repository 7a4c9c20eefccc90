// SPDX-License-Identifier: Apache-2.0
// Runs the tree of a template.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "halftone/lm/chat/jinja/machine.h"
#include "halftone/lm/chat/jinja/syntax.h"

namespace halftone::lm::jinja {

/// Names with their values, inside of other names.
struct Scope {
  std::shared_ptr<Scope> outer;
  std::vector<std::pair<std::string, Value>> names{};

  [[nodiscard]] const Value* find(const std::string& name) const;
  void set(const std::string& name, Value value);
};

class Interpreter {
 public:
  Interpreter(const std::vector<std::pair<std::string, Value>>& variables, const std::tm& now)
      : machine_(now), scope_(std::make_shared<Scope>(Scope{nullptr, variables})) {}

  /// Called once. @throws Error as Template::render()
  Text run(const std::vector<Statement>& statements);

 private:
  enum class Flow { kOn, kBreak, kContinue };
  class InScope;

  Flow run_body(const std::vector<Statement>& body);
  Flow run_statement(const Statement& statement);
  Flow run_for(const Statement& statement);
  /// A loop, or one of a recursive loop over the items of another.
  Flow run_loop(const Statement& statement, const Value& items, std::size_t depth);
  std::vector<Value> loop_items(const Statement& statement, const Value& items);
  void run_with(const Statement& statement);
  void run_call_block(const Statement& statement);
  /// What a step writes. An error ends all, so that nothing is put back then.
  template <typename Run>
  Text written_by(const Run& run);
  /// What a body writes, in a scope of its own.
  Text text_of(const std::vector<Statement>& body);
  /// A body's text, through filters.
  Value filtered_text(const Statement& statement);
  void write(const Text& text);
  void assign(const Target& target, const Value& value);
  Value macro(const Statement& statement);
  Value call_macro(const Statement& statement, const std::shared_ptr<Scope>& scope,
                   const Arguments& arguments);
  void bind(const Statement& macro, const Arguments& arguments);

  Value evaluate(const Expression& expression);
  Value evaluate_here(const Expression& expression);
  /// Of what evaluates its first part first.
  Value operation(const Expression& expression);
  Value name(const std::string& name) const;
  Value list(const Expression& expression);
  Value dict(const Expression& expression);
  Value call(const Expression& expression, const std::vector<std::pair<std::string, Value>>& more);
  Arguments arguments_of(const Expression& expression);
  Value signed_number(const Expression& expression);
  Value concatenation(const Expression& expression);
  Value comparison(const Expression& expression);
  Value slice(const Expression& expression);

  Machine machine_;
  std::shared_ptr<Scope> scope_;
  Text* out_ = nullptr;
  std::size_t line_ = 0;
};

}  // namespace halftone::lm::jinja
