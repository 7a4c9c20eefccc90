// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/chat/jinja/expression_parser.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "halftone/base/error.h"

namespace halftone::lm::jinja {

Token TokenStream::take() {
  Token token = current();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool TokenStream::is_name(std::string_view name) const {
  return is(TokenKind::kName) && current().text == name;
}
bool TokenStream::is_operator(std::string_view text) const {
  return is(TokenKind::kOperator) && current().text == text;
}
bool TokenStream::skip_name(std::string_view name) {
  const bool is_here = is_name(name);
  if (is_here) take();
  return is_here;
}
bool TokenStream::skip_operator(std::string_view text) {
  const bool is_here = is_operator(text);
  if (is_here) take();
  return is_here;
}
void TokenStream::expect_operator(std::string_view text) {
  if (!skip_operator(text)) fail_here("expected '" + std::string(text) + "'");
}
std::string TokenStream::expect_name() {
  if (!is(TokenKind::kName)) fail_here("expected a name");
  return take().text;
}

void TokenStream::fail_here(const std::string& what) const {
  const Token& token = current();
  std::string found = "'" + token.text + "'";
  if (token.kind == TokenKind::kEnd) found = "the end of the template";
  if (token.kind == TokenKind::kBlockEnd) found = "'%}'";
  if (token.kind == TokenKind::kVariableEnd) found = "'}}'";
  if (token.kind == TokenKind::kData) found = "text";
  fail(ErrorKind::kFormat, "line " + std::to_string(token.line) + ": " + what + ", found " + found);
}

/// Bounds how deep expressions are in each other.
class ExpressionParser::Depth {
 public:
  explicit Depth(ExpressionParser& parser) : parser_(parser) {
    constexpr std::size_t kMost = 100;
    if (++parser_.depth_ > kMost) {
      --parser_.depth_;
      parser_.tokens_.fail_here("expected at most 100 expressions in each other");
    }
  }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;
  ~Depth() { --parser_.depth_; }

 private:
  ExpressionParser& parser_;
};

Expression ExpressionParser::make(ExpressionKind kind, std::vector<Expression> parts) const {
  Expression expression;
  expression.kind = kind;
  expression.line = tokens_.current().line;
  expression.parts = std::move(parts);
  settle(expression);
  return expression;
}

void ExpressionParser::settle(Expression& expression) const {
  constexpr std::size_t kMost = 500;
  for (const Expression& part : expression.parts) {
    expression.depth = std::max(expression.depth, part.depth + 1);
  }
  for (const auto& [name, part] : expression.named) {
    expression.depth = std::max(expression.depth, part.depth + 1);
  }
  if (expression.depth > kMost) tokens_.fail_here("expected at most 500 operators in each other");
}

namespace {

std::vector<Expression> list_of(Expression a) {
  std::vector<Expression> list;
  list.push_back(std::move(a));
  return list;
}
std::vector<Expression> list_of(Expression a, Expression b) {
  std::vector<Expression> list = list_of(std::move(a));
  list.push_back(std::move(b));
  return list;
}

}  // namespace

Expression ExpressionParser::parse() {
  const Depth depth(*this);
  Expression value = parse_or();
  while (tokens_.skip_name("if")) {
    Expression condition = make(ExpressionKind::kCondition, list_of(parse_or()));
    condition.parts.push_back(std::move(value));
    if (tokens_.skip_name("else")) {
      condition.parts.push_back(parse());
    } else {
      Expression nothing = make(ExpressionKind::kConstant);
      nothing.constant = Value::undefined("a condition without else");
      condition.parts.push_back(std::move(nothing));
    }
    settle(condition);
    value = std::move(condition);
  }
  return value;
}

Expression ExpressionParser::parse_or() {
  Expression left = parse_and();
  while (tokens_.skip_name("or")) {
    left = make(ExpressionKind::kOr, list_of(std::move(left), parse_and()));
  }
  return left;
}

Expression ExpressionParser::parse_and() {
  Expression left = parse_not();
  while (tokens_.skip_name("and")) {
    left = make(ExpressionKind::kAnd, list_of(std::move(left), parse_not()));
  }
  return left;
}

Expression ExpressionParser::parse_not() {
  const Depth depth(*this);
  if (tokens_.is_name("not")) {
    tokens_.take();
    return make(ExpressionKind::kNot, list_of(parse_not()));
  }
  return parse_comparison();
}

Expression ExpressionParser::parse_comparison() {
  constexpr std::array<std::string_view, 6> kOperators = {"==", "!=", "<", "<=", ">", ">="};
  Expression comparison = make(ExpressionKind::kComparison, list_of(parse_sum()));
  while (true) {
    const auto found = std::ranges::find_if(
        kOperators, [&](std::string_view each) { return tokens_.is_operator(each); });
    if (found != kOperators.end()) {
      comparison.names.emplace_back(*found);
      tokens_.take();
    } else if (tokens_.skip_name("in")) {
      comparison.names.emplace_back("in");
    } else if (tokens_.is_name("not") && tokens_.next().kind == TokenKind::kName &&
               tokens_.next().text == "in") {
      tokens_.take();
      tokens_.take();
      comparison.names.emplace_back("not in");
    } else {
      break;
    }
    comparison.parts.push_back(parse_sum());
  }
  if (comparison.names.empty()) return Expression(std::move(comparison.parts.front()));
  settle(comparison);
  return comparison;
}

Expression ExpressionParser::parse_sum() {
  Expression left = parse_concatenation();
  while (tokens_.is_operator("+") || tokens_.is_operator("-")) {
    std::string name = tokens_.take().text;
    left = make(ExpressionKind::kBinary, list_of(std::move(left), parse_concatenation()));
    left.name = std::move(name);
  }
  return left;
}

Expression ExpressionParser::parse_concatenation() {
  Expression first = parse_product();
  if (!tokens_.is_operator("~")) return first;
  Expression all = make(ExpressionKind::kConcatenation, list_of(std::move(first)));
  while (tokens_.skip_operator("~")) all.parts.push_back(parse_product());
  settle(all);
  return all;
}

Expression ExpressionParser::parse_product() {
  constexpr std::array<std::string_view, 4> kOperators = {"*", "/", "//", "%"};
  Expression left = parse_power();
  while (std::ranges::any_of(kOperators,
                             [&](std::string_view each) { return tokens_.is_operator(each); })) {
    std::string name = tokens_.take().text;
    left = make(ExpressionKind::kBinary, list_of(std::move(left), parse_power()));
    left.name = std::move(name);
  }
  return left;
}

Expression ExpressionParser::parse_power() {
  Expression left = parse_unary(true);
  while (tokens_.skip_operator("**")) {
    left = make(ExpressionKind::kBinary, list_of(std::move(left), parse_unary(true)));
    left.name = "**";
  }
  return left;
}

Expression ExpressionParser::parse_unary(bool takes_filters) {
  const Depth depth(*this);
  Expression value;
  if (tokens_.skip_operator("-")) {
    value = make(ExpressionKind::kNegative, list_of(parse_unary(false)));
  } else if (tokens_.skip_operator("+")) {
    value = make(ExpressionKind::kPositive, list_of(parse_unary(false)));
  } else {
    value = parse_primary();
  }
  value = parse_postfix(std::move(value));
  return takes_filters ? parse_filters(std::move(value)) : value;
}

Expression ExpressionParser::parse_primary() {
  if (tokens_.is(TokenKind::kName)) return parse_name();
  if (tokens_.is(TokenKind::kInteger) || tokens_.is(TokenKind::kFloat)) return parse_number();
  if (tokens_.is(TokenKind::kString)) {
    Expression text = make(ExpressionKind::kConstant);
    std::string all;
    while (tokens_.is(TokenKind::kString)) all += tokens_.take().text;
    text.constant = Value::text(all);
    return text;
  }
  if (tokens_.is_operator("(")) return parse_parentheses();
  if (tokens_.is_operator("[")) return parse_list();
  if (tokens_.is_operator("{")) return parse_dict();
  tokens_.fail_here("expected an expression");
}

Expression ExpressionParser::parse_name() {
  Expression expression = make(ExpressionKind::kConstant);
  const std::string name = tokens_.take().text;
  if (name == "true" || name == "True") {
    expression.constant = Value(true);
  } else if (name == "false" || name == "False") {
    expression.constant = Value(false);
  } else if (name == "none" || name == "None") {
    expression.constant = Value(None{});
  } else {
    expression.kind = ExpressionKind::kName;
    expression.name = name;
  }
  return expression;
}

Expression ExpressionParser::parse_number() {
  Expression expression = make(ExpressionKind::kConstant);
  const std::string& text = tokens_.current().text;
  const char* end = text.data() + text.size();
  if (tokens_.is(TokenKind::kInteger)) {
    std::int64_t value = 0;
    if (std::from_chars(text.data(), end, value).ec != std::errc()) {
      tokens_.fail_here("expected an integer of 64 bits");
    }
    expression.constant = Value(value);
  } else {
    double value = 0;
    if (std::from_chars(text.data(), end, value).ec != std::errc()) {
      tokens_.fail_here("expected a number of float64");
    }
    expression.constant = Value(value);
  }
  tokens_.take();
  return expression;
}

bool ExpressionParser::is_tuple_end() const {
  return tokens_.is(TokenKind::kVariableEnd) || tokens_.is(TokenKind::kBlockEnd) ||
         tokens_.is_operator(")") || tokens_.is_name("recursive");
}

Expression ExpressionParser::parse_tuple(bool takes_conditions) {
  std::vector<Expression> parts;
  bool is_tuple = false;
  while (!is_tuple_end()) {
    parts.push_back(takes_conditions ? parse() : parse_or());
    if (!tokens_.skip_operator(",")) break;
    is_tuple = true;
  }
  if (is_tuple) return make(ExpressionKind::kTuple, std::move(parts));
  if (parts.empty()) tokens_.fail_here("expected an expression");
  return Expression(std::move(parts.front()));
}

Expression ExpressionParser::parse_parentheses() {
  tokens_.expect_operator("(");
  Expression value = tokens_.is_operator(")") ? make(ExpressionKind::kTuple) : parse_tuple(true);
  tokens_.expect_operator(")");
  return value;
}

Expression ExpressionParser::parse_list() {
  Expression list = make(ExpressionKind::kList);
  tokens_.expect_operator("[");
  while (!tokens_.is_operator("]")) {
    if (!list.parts.empty()) tokens_.expect_operator(",");
    if (tokens_.is_operator("]")) break;
    list.parts.push_back(parse());
  }
  tokens_.expect_operator("]");
  settle(list);
  return list;
}

Expression ExpressionParser::parse_dict() {
  Expression dict = make(ExpressionKind::kDict);
  tokens_.expect_operator("{");
  while (!tokens_.is_operator("}")) {
    if (!dict.parts.empty()) tokens_.expect_operator(",");
    if (tokens_.is_operator("}")) break;
    dict.parts.push_back(parse());
    tokens_.expect_operator(":");
    dict.parts.push_back(parse());
  }
  tokens_.expect_operator("}");
  settle(dict);
  return dict;
}

Expression ExpressionParser::parse_postfix(Expression value) {
  while (true) {
    if (tokens_.is_operator(".")) {
      value = parse_attribute(std::move(value));
    } else if (tokens_.is_operator("[")) {
      value = parse_subscript(std::move(value));
    } else if (tokens_.is_operator("(")) {
      value = parse_call(std::move(value));
    } else {
      return value;
    }
  }
}

Expression ExpressionParser::parse_attribute(Expression object) {
  tokens_.expect_operator(".");
  if (tokens_.is(TokenKind::kInteger)) {
    Expression key = parse_number();
    return make(ExpressionKind::kItem, list_of(std::move(object), std::move(key)));
  }
  Expression attribute = make(ExpressionKind::kAttribute, list_of(std::move(object)));
  attribute.name = tokens_.expect_name();
  return attribute;
}

Expression ExpressionParser::parse_subscript(Expression object) {
  tokens_.expect_operator("[");
  const auto nothing = [&] {
    Expression none = make(ExpressionKind::kConstant);
    none.constant = Value(None{});
    return none;
  };
  const auto is_end = [&] { return tokens_.is_operator("]") || tokens_.is_operator(":"); };
  Expression first = is_end() ? nothing() : parse();
  if (tokens_.skip_operator("]")) {
    return make(ExpressionKind::kItem, list_of(std::move(object), std::move(first)));
  }
  tokens_.expect_operator(":");
  Expression slice = make(ExpressionKind::kSlice, list_of(std::move(object), std::move(first)));
  slice.parts.push_back(is_end() ? nothing() : parse());
  const bool has_step = tokens_.skip_operator(":");
  slice.parts.push_back(!has_step || is_end() ? nothing() : parse());
  tokens_.expect_operator("]");
  settle(slice);
  return slice;
}

void ExpressionParser::parse_arguments(Expression& call) {
  tokens_.expect_operator("(");
  bool is_first = true;
  while (!tokens_.is_operator(")")) {
    if (!is_first) tokens_.expect_operator(",");
    is_first = false;
    if (tokens_.is_operator(")")) break;
    if (tokens_.is_operator("*") || tokens_.is_operator("**")) {
      fail(ErrorKind::kUnsupported, "line " + std::to_string(tokens_.current().line) +
                                        ": arguments with * are not supported");
    }
    const bool is_named = tokens_.is(TokenKind::kName) &&
                          tokens_.next().kind == TokenKind::kOperator && tokens_.next().text == "=";
    if (is_named) {
      std::string name = tokens_.take().text;
      tokens_.take();
      call.named.emplace_back(std::move(name), parse());
    } else if (call.named.empty()) {
      call.parts.push_back(parse());
    } else {
      tokens_.fail_here("expected NAME=VALUE behind such an argument");
    }
  }
  tokens_.expect_operator(")");
  settle(call);
}

Expression ExpressionParser::parse_call(Expression function) {
  Expression call = make(ExpressionKind::kCall, list_of(std::move(function)));
  parse_arguments(call);
  return call;
}

Expression ExpressionParser::parse_filters(Expression value) {
  while (true) {
    if (tokens_.skip_operator("|")) {
      value = parse_named_filter(std::move(value));
    } else if (tokens_.is_name("is")) {
      value = parse_test(std::move(value));
    } else if (tokens_.is_operator("(")) {
      value = parse_call(std::move(value));
    } else {
      return value;
    }
  }
}

Expression ExpressionParser::parse_first_filter(Expression value) {
  return parse_filters(parse_named_filter(std::move(value)));
}

Expression ExpressionParser::parse_named_filter(Expression value) {
  Expression filter = make(ExpressionKind::kFilter, list_of(std::move(value)));
  filter.name = tokens_.expect_name();
  if (tokens_.is_operator("(")) parse_arguments(filter);
  return filter;
}

Expression ExpressionParser::parse_test(Expression value) {
  tokens_.take();
  const bool is_negated = tokens_.skip_name("not");
  Expression test = make(ExpressionKind::kTest, list_of(std::move(value)));
  test.name = tokens_.expect_name();
  const bool has_value = (tokens_.is(TokenKind::kName) && !tokens_.is_name("else") &&
                          !tokens_.is_name("or") && !tokens_.is_name("and")) ||
                         tokens_.is(TokenKind::kString) || tokens_.is(TokenKind::kInteger) ||
                         tokens_.is(TokenKind::kFloat) || tokens_.is_operator("[") ||
                         tokens_.is_operator("{");
  if (tokens_.is_operator("(")) {
    parse_arguments(test);
  } else if (has_value) {
    if (tokens_.is_name("is")) tokens_.fail_here("expected one test");
    test.parts.push_back(parse_postfix(parse_primary()));
    settle(test);
  }
  return is_negated ? make(ExpressionKind::kNot, list_of(std::move(test))) : test;
}

}  // namespace halftone::lm::jinja
