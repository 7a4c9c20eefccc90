// SPDX-License-Identifier: Apache-2.0
// Weights in floats of 16 bits stay as they are in every format, and are read where they lie.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "halftone/api/inspection.h"
#include "halftone/base/file.h"
#include "halftone/base/testing.h"
#include "halftone/formats/model.h"
#include "halftone/ir/element.h"
#include "halftone/ir/test_data.h"
#include "halftone/ir/testing.h"
#include "halftone/passes/simplify.h"

namespace halftone {
namespace {

using ir::ElementType;
using ir::Graph;
using ir::ValueId;

constexpr ir::Dim kLayerInputs = 300;
constexpr ir::Dim kLayerOutputs = 70;

/// A fully connected layer and a convolution, with weights stored as `element`.
Graph network(ElementType element) {
  Random random(5);
  Graph graph;
  const auto weights = [&](const std::string& name, const ir::Shape& shape) {
    const ValueId stored =
        graph.add_constant(name, ir::test::random_tensor(shape, random).cast(element));
    if (element == ElementType::kFloat32) return stored;
    return graph.add_node(name, ir::Cast{ElementType::kFloat32}, {stored});
  };
  const ValueId x = graph.add_input("x", ir::test::float_type({ir::kBatch, kLayerInputs}));
  graph.add_output(
      graph.add_node("y", ir::FullyConnected{}, {x, weights("w", {kLayerOutputs, kLayerInputs})}));
  const ValueId image = graph.add_input("image", ir::test::float_type({ir::kBatch, 8, 8, 20}));
  const ir::Conv conv{
      .window = {
          .strides = {1, 1}, .dilations = {1, 1}, .pads_before = {1, 1}, .pads_after = {1, 1}}};
  graph.add_output(graph.add_node("features", conv, {image, weights("kernels", {40, 3, 3, 20})}));
  return graph;
}

/// The element types of the weights, and whether all are views.
struct Found {
  std::set<ElementType> elements;
  bool all_views = true;
};

Found constants_of(const Graph& graph) {
  Found found;
  for (std::size_t v = 0; v < graph.num_values(); ++v) {
    const ir::Constant* constant = graph.constant(ValueId{static_cast<std::uint32_t>(v)});
    if (constant == nullptr) continue;
    const auto& tensor = std::get<ir::Tensor>(*constant);
    if (tensor.shape().rank() < 2) continue;  // a bias
    found.elements.insert(tensor.element());
    found.all_views = found.all_views && tensor.is_view();
  }
  return found;
}

class StoredWeights : public WithFolder, public testing::WithParamInterface<const char*> {};

TEST_P(StoredWeights, OfSixteenBitsStayAndTakeHalfTheBytes) {
  const std::string wide_file = path("float32") + GetParam();
  formats::save_model(network(ElementType::kFloat32), wide_file);
  for (const ElementType element : {ElementType::kFloat16, ElementType::kBfloat16}) {
    const Graph graph = network(element);
    const std::string file = path(std::string(to_string(element))) + GetParam();
    formats::save_model(graph, file);
    EXPECT_LT(static_cast<double>(std::filesystem::file_size(file)),
              0.55 * static_cast<double>(std::filesystem::file_size(wide_file)));
    Graph found = formats::load_model(file);
    passes::simplify(found);
    EXPECT_EQ(constants_of(found).elements, std::set<ElementType>{element}) << file;
    for (const LayerInfo& layer : inspect(found, "", 0).layers) {
      EXPECT_EQ(layer.weight_bits, 16) << layer.name;
      EXPECT_GE(layer.weight_bytes, std::size_t{14400}) << layer.name;
    }
    ir::test::expect_same_function(found, graph);
    // Prepared to run, the weights are float32.
    passes::simplify_to_run(found);
    EXPECT_EQ(constants_of(found).elements, std::set<ElementType>{ElementType::kFloat32});
    ir::test::expect_same_function(found, graph);
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, StoredWeights, testing::Values(".onnx", ".tflite", ".circle"),
                         [](const auto& test) { return std::string(test.param).substr(1); });

class MappedWeights : public WithFolder {};

TEST_F(MappedWeights, OfCircleFilesAreViewsThatOutliveTheFile) {
  for (const ElementType element : {ElementType::kFloat32, ElementType::kFloat16}) {
    const Graph graph = network(element);
    const std::string file = path("mapped.circle");
    formats::save_model(graph, file);
    const Graph found = formats::load_model(file);
    EXPECT_TRUE(constants_of(found).all_views);
    std::filesystem::remove(file);
    ir::test::expect_same_function(found, graph);
  }
}

TEST_F(MappedWeights, StayWhenTheFileIsWrittenAgain) {
  const std::string file = path("replaced.circle");
  formats::save_model(network(ElementType::kFloat16), file);
  const Graph found = formats::load_model(file);
  formats::save_model(found, file);
  ir::test::expect_same_function(formats::load_model(file), found);
}

}  // namespace
}  // namespace halftone
