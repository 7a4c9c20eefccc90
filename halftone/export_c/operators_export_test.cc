// SPDX-License-Identifier: Apache-2.0
// Each operator as C gives the bits of the runtime, or is refused in one line.
#include <optional>
#include <set>

#include "halftone/export_c/testing.h"
#include "halftone/ir/operators_page.h"
#include "halftone/ir/testing/operator_cases.h"

namespace halftone::export_c {
namespace {

using ir::test::OperatorCase;

ir::Graph graph_of(const OperatorCase& test, bool constants) {
  return ir::test::graph_of(test, {.batch = 1, .constants = constants}).graph;
}

/// Nothing if C has the operator of a graph, else why not.
std::optional<std::string> refusal_of(const ir::Graph& graph) {
  try {
    program_sizes(graph);
    return std::nullopt;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported) << error.what();
    return error.what();
  }
}

class OperatorExport : public testing::WithPrograms {
 protected:
  /// All cases that C has are one program, which is compiled once.
  void expect_cases(bool constants) {
    ir::Graph all;
    for (const OperatorCase& test : ir::test::operator_cases()) {
      SCOPED_TRACE(ir::test::describe(test));
      const ir::Graph one = graph_of(test, constants);
      if (const auto refusal = refusal_of(one)) {
        EXPECT_EQ(refusal->find('\n'), std::string::npos) << *refusal;
      } else {
        all.append(one);
      }
    }
    EXPECT_GT(all.outputs().size(), 300U);
    expect_runs(export_network(all, {}), "-O0");
  }
};

TEST_F(OperatorExport, CasesHaveTheBitsOfTheRuntimeOrAreRefused) { expect_cases(true); }

TEST_F(OperatorExport, SoHaveThoseWithoutConstants) { expect_cases(false); }

/// Whether C has an operator in one of its cases.
TEST(CExportOperatorsPage, NamesOperatorsThatCHas) {
  // Outputs of their cases are none of a program: codes, and sums that do not become codes.
  std::set<std::size_t> found = {ir::Operator(ir::Encode{}).index(),
                                 ir::Operator(ir::Requantize{}).index()};
  for (const OperatorCase& test : ir::test::operator_cases()) {
    if (!refusal_of(graph_of(test, true))) found.insert(test.op.index());
  }
  ir::test::expect_operator_column(
      "C", [&](const ir::Operator& op) { return found.contains(op.index()); });
}

}  // namespace
}  // namespace halftone::export_c
