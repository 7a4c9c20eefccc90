// SPDX-License-Identifier: Apache-2.0
// The tree of a template.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "halftone/lm/chat/jinja/value.h"

namespace halftone::lm::jinja {

enum class ExpressionKind : std::uint8_t {
  kConstant,
  kName,
  kList,
  kTuple,
  kDict,       ///< parts: key, value, key, value
  kAttribute,  ///< parts: object; name
  kItem,       ///< parts: object, key
  kSlice,      ///< parts: object, first, end, step; each constant None where left out
  kCall,       ///< parts: function, positional arguments; named
  kFilter,     ///< parts: value, positional arguments; name, named
  kTest,       ///< likewise
  kNot,
  kNegative,
  kPositive,
  kAnd,
  kOr,
  kConcatenation,  ///< ~
  kBinary,         ///< name: "+"
  kComparison,     ///< parts: operands; names: operators between them
  kCondition,      ///< parts: condition, value, other value or constant Undefined
};

struct Expression {
  ExpressionKind kind = ExpressionKind::kConstant;
  std::size_t line = 0;
  std::size_t depth = 1;  ///< expressions in each other
  Value constant{};
  std::string name{};
  std::vector<Expression> parts{};
  std::vector<std::pair<std::string, Expression>> named{};
  std::vector<std::string> names{};
};

enum class StatementKind : std::uint8_t {
  kText,       ///< text
  kPrint,      ///< expression
  kIf,         ///< expression; body; other: of elif and else
  kFor,        ///< target, expression, condition; body; other: of else; is_recursive
  kSet,        ///< target, expression
  kSetBlock,   ///< target, expression: filters of kFilterValue or nothing; body
  kMacro,      ///< parameters; name; body
  kCallBlock,  ///< parameters; expression: the call; body
  kFilter,     ///< expression: filters of kFilterValue; body
  kWith,       ///< targets and values; body
  kBreak,
  kContinue,
};

/// Where an assignment goes: a name, an attribute of a namespace, or several of them.
struct Target {
  std::string name;
  std::string attribute{};  ///< of the namespace `name`; empty: none
  std::vector<Target> parts{};
};

struct Parameter {
  std::string name;
  std::shared_ptr<const Expression> usual;  ///< null: none
};

/// The name of the text that a filter block or a set block filters.
inline constexpr const char* kFilterValue = " text";

struct Statement {
  StatementKind kind = StatementKind::kText;
  std::size_t line = 0;
  Text text{};
  std::string name{};
  Target target{};
  Expression expression{};
  bool has_condition = false;
  Expression condition{};
  bool is_recursive = false;
  std::vector<Parameter> parameters{};
  std::vector<std::pair<Target, Expression>> assignments{};
  std::vector<Statement> body{};
  std::vector<Statement> other{};
};

}  // namespace halftone::lm::jinja
