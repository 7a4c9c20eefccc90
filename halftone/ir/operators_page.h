// SPDX-License-Identifier: Apache-2.0
// For tests: docs/operators.md. Each module checks what the page says of it, so that no test needs
// all modules. With HALFTONE_WRITE_OPERATORS in the environment the tests rewrite the page instead;
// they must not run at the same time then.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "halftone/ir/operator.h"

namespace halftone::ir::test {

/// One operator of each type, with the attributes it has by default.
std::vector<Operator> all_operators();

/// Expects the table of operators to say "yes" in a column exactly where `has` holds.
void expect_operator_column(const std::string& column,
                            const std::function<bool(const Operator&)>& has);

/// Expects the table under a heading to list exactly these names, one row per initial.
void expect_operator_names(const std::string& heading, std::vector<std::string> names);

}  // namespace halftone::ir::test
