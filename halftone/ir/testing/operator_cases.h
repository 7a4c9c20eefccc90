// SPDX-License-Identifier: Apache-2.0
// For tests: one table of operators with their inputs. The reference implementation, the runtime,
// the tape and libtorch run all of it, each except what it says it does not support.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::ir::test {

/// The random values of a float32 input. They keep away from zero, where functions have kinks.
enum class Domain : std::uint8_t {
  kAnywhere,  ///< 0.1 <= |x| <= 2.5
  kPositive,  ///< 0.5 <= x <= 2.5
  kSmall,     ///< 0.1 <= |x| <= 0.8
  kAboveOne,  ///< 1.2 <= x <= 3
};

struct CaseInput {
  ValueType type;
  Domain domain = Domain::kAnywhere;
  std::vector<float> values{};  ///< the elements; empty: random ones
  bool is_absent = false;

  [[nodiscard]] bool is_float() const { return !is_absent && type.is_dense(ElementType::kFloat32); }
};

/// One node. Shapes and attributes may have the batch.
struct OperatorCase {
  std::string name;  ///< letters and digits, unique
  Operator op;
  std::vector<CaseInput> inputs;
};

/// All cases: at least one for each operator of the variant and each of its kinds.
const std::vector<OperatorCase>& operator_cases();

// The families.
std::vector<OperatorCase> layer_cases();
std::vector<OperatorCase> recurrent_cases();
std::vector<OperatorCase> elementwise_cases();
std::vector<OperatorCase> statistic_cases();
std::vector<OperatorCase> layout_cases();
std::vector<OperatorCase> indexing_cases();
std::vector<OperatorCase> resampling_cases();
std::vector<OperatorCase> integer_cases();
std::vector<OperatorCase> selection_cases();
std::vector<OperatorCase> sequence_cases();
std::vector<OperatorCase> control_cases();

CaseInput numbers_input(Shape shape, Domain domain = Domain::kAnywhere);
/// @param values  empty: random ones from -20 to 20, or from 0 to 40 for types without a sign
CaseInput integers_input(ElementType element, Shape shape, std::vector<float> values = {});
CaseInput absent_input();

/// How a case becomes a graph.
struct CaseOptions {
  std::size_t batch = 2;
  bool symbolic = false;   ///< the graph keeps the batch; else it has `batch` samples
  bool constants = false;  ///< float32 inputs without the batch are constants, except the first
  /// What only indexes is always a constant.
};

/// A graph of one node with values for its inputs.
struct CaseGraph {
  Graph graph;
  NodeId node{};
  std::size_t batch = 1;
  std::vector<Tensor> inputs;           ///< of the graph
  std::vector<ValueId> float_inputs{};  ///< the inputs of the graph that are float32
};
CaseGraph graph_of(const OperatorCase& test, const CaseOptions& options = {});

/// Whether the output is smooth in float32 inputs: no integers, and no rounding to levels. It may
/// still be flat, or have kinks.
bool has_slopes(const CaseGraph& graph);

/// A bound on how far two correct computations of a case in float32 differ, relative to 1 + |y|:
/// each value is a sum of n terms t_i, off by (n + 8) eps sum |t_i| at most, where 8 units in the
/// last place are the worst of the functions of halftone/kernels. 0 for integers. The sum of |t_i|
/// is what the operator gives for the absolute values of its inputs.
/// Source: Higham, Accuracy and Stability of Numerical Algorithms, 2002, Sec. 3.1.
float tolerance_of(const CaseGraph& graph);
/// n of tolerance_of().
double terms_of(const Operator& op, const std::vector<const Tensor*>& inputs);

/// "MatMulVectors: MatMul transpose_a [4] [4, 5]"
std::string describe(const OperatorCase& test);
/// The same, for GoogleTest.
inline void PrintTo(const OperatorCase& test, std::ostream* out) { *out << describe(test); }

}  // namespace halftone::ir::test
