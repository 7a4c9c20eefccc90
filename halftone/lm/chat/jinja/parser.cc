// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/chat/jinja/parser.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "halftone/base/error.h"
#include "halftone/lm/chat/jinja/expression_parser.h"

namespace halftone::lm::jinja {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view source) : tokens_(tokens_of(source)), expressions_(tokens_) {}

  std::vector<Statement> run() {
    std::vector<Statement> all = parse_until({});
    if (!tokens_.is(TokenKind::kEnd)) tokens_.fail_here("expected the end of the template");
    return all;
  }

 private:
  /// Statements up to one of these tags, whose name is the current token then, or the end.
  std::vector<Statement> parse_until(std::initializer_list<std::string_view> ends) {
    constexpr std::size_t kMost = 200;
    if (++depth_ > kMost) tokens_.fail_here("expected at most 200 blocks in each other");
    std::vector<Statement> body;
    while (!tokens_.is(TokenKind::kEnd)) {
      if (tokens_.is(TokenKind::kData)) {
        body.push_back(make(StatementKind::kText));
        body.back().text = from_utf8(tokens_.take().text);
      } else if (tokens_.is(TokenKind::kVariableBegin)) {
        tokens_.take();
        body.push_back(make(StatementKind::kPrint));
        body.back().expression = expressions_.parse_tuple(true);
        expect(TokenKind::kVariableEnd, "expected '}}'");
      } else {
        expect(TokenKind::kBlockBegin, "expected a tag");
        if (std::ranges::any_of(ends, [&](auto end) { return tokens_.is_name(end); })) break;
        parse_tag(body);
      }
    }
    if (tokens_.is(TokenKind::kEnd) && ends.size() > 0) {
      tokens_.fail_here("expected {% " + std::string(*(ends.end() - 1)) + " %}");
    }
    --depth_;
    return body;
  }

  [[nodiscard]] Statement make(StatementKind kind) const {
    Statement statement;
    statement.kind = kind;
    statement.line = tokens_.current().line;
    return statement;
  }

  void expect(TokenKind kind, const char* what) {
    if (!tokens_.is(kind)) tokens_.fail_here(what);
    tokens_.take();
  }
  void expect_block_end() { expect(TokenKind::kBlockEnd, "expected '%}'"); }

  /// Statements up to this tag, with the tag.
  std::vector<Statement> parse_body(std::string_view end) {
    expect_block_end();
    std::vector<Statement> body = parse_until({end});
    tokens_.take();
    expect_block_end();
    return body;
  }

  void parse_tag(std::vector<Statement>& body) {
    const std::string tag = tokens_.is(TokenKind::kName) ? tokens_.current().text : "";
    if (tag == "generation") {  // of transformers: marks what the model writes
      tokens_.take();
      std::ranges::move(parse_body("endgeneration"), std::back_inserter(body));
      return;
    }
    struct Tag {
      std::string_view name;
      Statement (Parser::*parse)();
    };
    static constexpr std::array<Tag, 9> kTags = {{{"if", &Parser::parse_if},
                                                  {"for", &Parser::parse_for},
                                                  {"set", &Parser::parse_set},
                                                  {"macro", &Parser::parse_macro},
                                                  {"call", &Parser::parse_call_block},
                                                  {"filter", &Parser::parse_filter_block},
                                                  {"with", &Parser::parse_with},
                                                  {"break", &Parser::parse_jump},
                                                  {"continue", &Parser::parse_jump}}};
    const auto* found = std::ranges::find(kTags, tag, &Tag::name);
    if (found == kTags.end()) refuse(tag);
    body.push_back((this->*found->parse)());
  }

  [[noreturn]] void refuse(const std::string& tag) {
    constexpr std::array<std::string_view, 9> kOthers = {
        "include", "import", "from", "extends", "block", "autoescape", "trans", "do", "debug"};
    if (std::ranges::find(kOthers, tag) == kOthers.end())
      tokens_.fail_here("expected a tag of Jinja");
    fail(ErrorKind::kUnsupported, "line " + std::to_string(tokens_.current().line) + ": the tag '" +
                                      tag + "' is not supported in chat templates");
  }

  Statement parse_if() {
    Statement statement = make(StatementKind::kIf);
    tokens_.take();
    statement.expression = expressions_.parse_tuple(false);
    expect_block_end();
    statement.body = parse_until({"elif", "else", "endif"});
    if (tokens_.is_name("elif")) {
      constexpr std::size_t kMost = 200;
      if (++depth_ > kMost) tokens_.fail_here("expected at most 200 blocks in each other");
      statement.other.push_back(parse_if());
      --depth_;
      return statement;
    }
    if (tokens_.skip_name("else")) {
      statement.other = parse_body("endif");
      return statement;
    }
    tokens_.take();
    expect_block_end();
    return statement;
  }

  Statement parse_for() {
    Statement statement = make(StatementKind::kFor);
    tokens_.take();
    statement.target = parse_target(false);
    if (!tokens_.skip_name("in")) tokens_.fail_here("expected 'in'");
    statement.expression = expressions_.parse_tuple(false);
    statement.has_condition = tokens_.skip_name("if");
    if (statement.has_condition) statement.condition = expressions_.parse();
    statement.is_recursive = tokens_.skip_name("recursive");
    expect_block_end();
    ++loops_;
    statement.body = parse_until({"else", "endfor"});
    --loops_;
    if (tokens_.skip_name("else")) {
      statement.other = parse_body("endfor");
      return statement;
    }
    tokens_.take();
    expect_block_end();
    return statement;
  }

  Statement parse_jump() {
    const bool is_break = tokens_.is_name("break");
    if (loops_ == 0) tokens_.fail_here("expected this tag in a loop only");
    tokens_.take();
    Statement statement = make(is_break ? StatementKind::kBreak : StatementKind::kContinue);
    expect_block_end();
    return statement;
  }

  Target parse_one_target(bool takes_attributes) {
    if (tokens_.skip_operator("(")) {
      Target all = parse_target(takes_attributes);
      tokens_.expect_operator(")");
      return all;
    }
    Target target{tokens_.expect_name()};
    if (takes_attributes && tokens_.skip_operator(".")) target.attribute = tokens_.expect_name();
    return target;
  }

  Target parse_target(bool takes_attributes) {
    Target first = parse_one_target(takes_attributes);
    if (!tokens_.is_operator(",")) return first;
    Target all{""};
    all.parts.push_back(std::move(first));
    while (tokens_.skip_operator(",")) {
      if (!tokens_.is(TokenKind::kName) || tokens_.is_name("in")) break;
      all.parts.push_back(parse_one_target(takes_attributes));
    }
    return all;
  }

  /// The text of a block, with the filters that follow.
  Expression parse_text_filters() {
    Expression text;
    text.kind = ExpressionKind::kName;
    text.name = kFilterValue;
    text.line = tokens_.current().line;
    return expressions_.parse_filters(std::move(text));
  }

  Statement parse_set() {
    Statement statement = make(StatementKind::kSet);
    tokens_.take();
    statement.target = parse_target(true);
    if (tokens_.skip_operator("=")) {
      statement.expression = expressions_.parse_tuple(true);
      expect_block_end();
      return statement;
    }
    statement.kind = StatementKind::kSetBlock;
    statement.expression = parse_text_filters();
    statement.body = parse_body("endset");
    return statement;
  }

  std::vector<Parameter> parse_parameters() {
    std::vector<Parameter> parameters;
    tokens_.expect_operator("(");
    while (!tokens_.is_operator(")")) {
      if (!parameters.empty()) tokens_.expect_operator(",");
      if (tokens_.is_operator(")")) break;
      Parameter parameter{tokens_.expect_name(), nullptr};
      if (tokens_.skip_operator("=")) {
        parameter.usual = std::make_shared<const Expression>(expressions_.parse());
      } else if (!parameters.empty() && parameters.back().usual) {
        tokens_.fail_here("expected a value for a parameter behind one that has one");
      }
      parameters.push_back(std::move(parameter));
    }
    tokens_.expect_operator(")");
    return parameters;
  }

  /// The body of a macro, which is in no loop.
  std::vector<Statement> parse_function_body(std::string_view end) {
    const std::size_t loops = std::exchange(loops_, 0);
    std::vector<Statement> body = parse_body(end);
    loops_ = loops;
    return body;
  }

  Statement parse_macro() {
    Statement statement = make(StatementKind::kMacro);
    tokens_.take();
    statement.name = tokens_.expect_name();
    statement.parameters = parse_parameters();
    statement.body = parse_function_body("endmacro");
    return statement;
  }

  Statement parse_call_block() {
    Statement statement = make(StatementKind::kCallBlock);
    tokens_.take();
    if (tokens_.is_operator("(")) statement.parameters = parse_parameters();
    statement.expression = expressions_.parse();
    if (statement.expression.kind != ExpressionKind::kCall) tokens_.fail_here("expected a call");
    statement.body = parse_function_body("endcall");
    return statement;
  }

  Statement parse_filter_block() {
    Statement statement = make(StatementKind::kFilter);
    tokens_.take();
    Expression text;
    text.kind = ExpressionKind::kName;
    text.name = kFilterValue;
    statement.expression = expressions_.parse_first_filter(std::move(text));
    statement.body = parse_body("endfilter");
    return statement;
  }

  Statement parse_with() {
    Statement statement = make(StatementKind::kWith);
    tokens_.take();
    while (!tokens_.is(TokenKind::kBlockEnd)) {
      if (!statement.assignments.empty()) tokens_.expect_operator(",");
      Target target = parse_target(false);
      tokens_.expect_operator("=");
      statement.assignments.emplace_back(std::move(target), expressions_.parse());
    }
    statement.body = parse_body("endwith");
    return statement;
  }

  TokenStream tokens_;
  ExpressionParser expressions_;
  std::size_t depth_ = 0;
  std::size_t loops_ = 0;
};

}  // namespace

std::vector<Statement> parse(std::string_view source) { return Parser(source).run(); }

}  // namespace halftone::lm::jinja
