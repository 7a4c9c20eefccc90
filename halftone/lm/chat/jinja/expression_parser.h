// SPDX-License-Identifier: Apache-2.0
// Reads expressions from the tokens of a template, with the precedences of Jinja 3.1.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/lm/chat/jinja/lexer.h"
#include "halftone/lm/chat/jinja/syntax.h"

namespace halftone::lm::jinja {

/// The tokens that are left.
class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  [[nodiscard]] const Token& current() const { return tokens_[at_]; }
  [[nodiscard]] const Token& next() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  Token take();
  [[nodiscard]] bool is(TokenKind kind) const { return current().kind == kind; }
  [[nodiscard]] bool is_name(std::string_view name) const;
  [[nodiscard]] bool is_operator(std::string_view text) const;
  bool skip_name(std::string_view name);
  bool skip_operator(std::string_view text);
  void expect_operator(std::string_view text);
  std::string expect_name();
  [[noreturn]] void fail_here(const std::string& what) const;

 private:
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

  /// @throws Error kFormat, as all members
  Expression parse();
  /// Without the condition of "a if b": in front of the "if" of a loop.
  Expression parse_or();
  /// One expression, or a tuple of several with commas between them.
  /// @param takes_conditions  as parse(), else as parse_or()
  Expression parse_tuple(bool takes_conditions);
  /// "|name(...)" any number of times.
  Expression parse_filters(Expression value);
  /// "name(...)|other", as {% filter %} has it.
  Expression parse_first_filter(Expression value);

 private:
  class Depth;

  Expression parse_postfix(Expression value);
  Expression parse_primary();
  Expression parse_call(Expression function);

  Expression parse_and();
  Expression parse_not();
  Expression parse_comparison();
  Expression parse_sum();
  Expression parse_concatenation();
  Expression parse_product();
  Expression parse_power();
  Expression parse_unary(bool takes_filters);
  Expression parse_name();
  Expression parse_number();
  Expression parse_parentheses();
  Expression parse_list();
  Expression parse_dict();
  Expression parse_attribute(Expression object);
  Expression parse_subscript(Expression object);
  Expression parse_key();
  Expression parse_named_filter(Expression value);
  Expression parse_test(Expression value);
  void parse_arguments(Expression& call);
  [[nodiscard]] bool is_tuple_end() const;
  /// Sets the depth. @throws Error kFormat above 500
  void settle(Expression& expression) const;
  [[nodiscard]] Expression make(ExpressionKind kind, std::vector<Expression> parts = {}) const;

  TokenStream& tokens_;
  std::size_t depth_ = 0;
};

}  // namespace halftone::lm::jinja
