// SPDX-License-Identifier: Apache-2.0
// Every operator case, with every element type that the operator takes, in every format: the file
// reads back as the same function, or nothing is written.
#include <gtest/gtest.h>

#include <cstdio>
#include <optional>

#include "halftone/base/testing.h"
#include "halftone/formats/circle/export.h"
#include "halftone/formats/circle/import.h"
#include "halftone/formats/model.h"
#include "halftone/formats/onnx/export.h"
#include "halftone/formats/onnx/import.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/ir/testing.h"
#include "halftone/ir/testing/operator_cases.h"

namespace halftone::formats {
namespace {

using ir::ElementType;
using ir::test::CaseGraph;
using ir::test::OperatorCase;

constexpr ElementType kElements[] = {
    ElementType::kFloat32, ElementType::kInt8,  ElementType::kUint8,  ElementType::kInt16,
    ElementType::kUint16,  ElementType::kInt32, ElementType::kUint32, ElementType::kInt64,
    ElementType::kUint64,  ElementType::kBool};

/// The case with the data of its first type as `to`, if the operator takes that.
std::optional<OperatorCase> with_element(OperatorCase test, ElementType to) {
  const ElementType from = test.inputs[0].type.encoding.element;
  if (to == from) return test;
  for (std::size_t i = 0; i < test.inputs.size(); ++i) {
    ir::ValueType& type = test.inputs[i].type;
    if (test.inputs[i].is_absent || !type.is_dense(from)) continue;
    if (i > 0 && ir::input_role(test.op, i) == ir::InputRole::kIndices) continue;
    type.encoding.element = to;
  }
  test.name += std::string(to_string(to));
  try {
    graph_of(test);
  } catch (const Error&) {
    return std::nullopt;
  }
  return test;
}

std::vector<OperatorCase> all_cases() {
  std::vector<OperatorCase> cases;
  for (const OperatorCase& test : ir::test::operator_cases()) {
    for (const ElementType element : kElements) {
      if (auto typed = with_element(test, element)) cases.push_back(std::move(*typed));
    }
  }
  for (const ElementType from : kElements) {
    for (const ElementType to : kElements) {
      cases.push_back({"Cast" + std::string(to_string(from)) + "To" + std::string(to_string(to)),
                       ir::Cast{to},
                       {ir::test::integers_input(from, {ir::kBatch, 7})}});
    }
  }
  return cases;
}

struct Counts {
  std::size_t read = 0;
  std::size_t refused = 0;
};

std::vector<std::byte> written(const ir::Graph& graph, ModelFormat format) {
  if (format == ModelFormat::kOnnx) return export_onnx(graph);
  return export_circle(
      graph, format == ModelFormat::kTflite ? CircleFlavor::kTflite : CircleFlavor::kCircle);
}

ir::Graph read(const std::vector<std::byte>& bytes, ModelFormat format) {
  return format == ModelFormat::kOnnx ? import_onnx(bytes, {}) : import_circle(bytes);
}

/// Checks that a file of a graph could be written and reads back, or that a message says why not.
void check(const OperatorCase& test, const CaseGraph& graph, ModelFormat format, Counts& counts) {
  const std::string file = "m." + std::string(to_string(format));
  try {
    check_model(graph.graph, file);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported) << test.name << ": " << error.what();
    // The writer itself should know what the reader does not take.
    EXPECT_EQ(std::string(error.what()).find("does not read back"), std::string::npos)
        << test.name << ": " << error.what();
    ++counts.refused;
    return;
  }
  ++counts.read;
  try {
    const auto expected = ir::test::run_reference(graph.graph, graph.inputs);
    const ir::Graph found = read(written(graph.graph, format), format);
    ir::test::expect_near(ir::test::run_reference(found, graph.inputs), expected,
                          4 * tolerance_of(graph), " of " + test.name + " in " + file);
  } catch (const Error& error) {
    ADD_FAILURE() << test.name << ' ' << file << ": " << error.what();
  }
}

TEST(OperatorFile, ReadsBackOrIsNotWritten) {
  const std::vector<OperatorCase> cases = all_cases();
  for (const ModelFormat format :
       {ModelFormat::kOnnx, ModelFormat::kTflite, ModelFormat::kCircle}) {
    Counts counts;
    for (const OperatorCase& test : cases) {
      for (const bool constants : {false, true}) {
        const CaseGraph graph =
            graph_of(test, {.batch = 2, .symbolic = !constants, .constants = constants});
        if (graph.graph.inputs().empty()) continue;
        check(test, graph, format, counts);
      }
    }
    const std::string name(to_string(format));
    std::printf("[ files    ] %s: %zu read back, %zu refused\n", name.c_str(), counts.read,
                counts.refused);
    EXPECT_GT(counts.read, 5000U) << name;
  }
}

}  // namespace
}  // namespace halftone::formats
