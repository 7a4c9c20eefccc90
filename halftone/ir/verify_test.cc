// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/verify.h"

#include <limits>

#include "halftone/ir/testing.h"
#include "halftone/numerics/systems.h"
#include "halftone/numerics/vector_codes.h"

namespace halftone::ir {
namespace {

using test::expect_error;
using test::float_type;
using test::kRelu;

EncodedTensor encoded_weights() {
  const std::vector<float> values = {-3, -1, 1, 3, 3, 1};
  EncodedTensor encoded{{2, 3}, test::odd_encoding(), {}};
  encoded.codes = numerics::encode(MatrixView<const float>(values, 2, 3), *encoded.encoding);
  return encoded;
}

/// x [N, 3] -> fully connected -> relu.
struct Network {
  Graph graph;
  ValueId x = graph.add_input("x", float_type({kBatch, 3}));
  ValueId w;
  ValueId hidden;
  ValueId y;

  explicit Network(Constant weights = encoded_weights())
      : w(graph.add_constant("w", std::move(weights))),
        hidden(graph.add_node("dense", FullyConnected{}, {x, w})),
        y(graph.add_node("relu", kRelu, {hidden})) {
    graph.add_output(y);
  }
};

/// A codeword of 2x6 and the first number of one in each row.
EncodedTensor vector_weights() {
  const auto basis = numerics::shipped_vector_basis("2x6");
  return {{2, 3},
          std::make_shared<const numerics::MatrixEncoding>(numerics::empty_encoding(
              numerics::find_system("2x6"), 8, {numerics::Granularity::kGroup, 64}, 2, 3)),
          numerics::planes_of_vectors(std::vector<std::uint16_t>{1, 2, 3, 4}, *basis, 2, 3)};
}

void expect_rejected(const Graph& graph, ErrorKind kind, const std::string& text) {
  expect_error(kind, text, [&] { verify(graph); });
}

TEST(Verify, VectorsAreCodewords) {
  EncodedTensor weights = vector_weights();
  EXPECT_NO_THROW(verify(Network(weights).graph));
  EXPECT_EQ(storage_bytes(weights), 2U * 2 + 2 + 4);
  EXPECT_EQ(weights.type().to_string(), "2x6(8 bits, groups of 64, scales e3m5)[2, 3]");
  weights.codes.set_code(1, 0, 255);
  weights.codes.set_code(1, 1, 0);
  expect_rejected(Network(weights).graph, ErrorKind::kFormat,
                  "row 1, columns 0 to 1: no codeword of 2x6");
}

TEST(Verify, AcceptsValidGraphs) {
  verify(Network().graph);
  verify(Network(test::counting({2, 3})).graph);
  Network direct;
  direct.graph.add_output(direct.x);
  direct.graph.add_output(direct.graph.add_constant("c", test::counting({2})));
  verify(direct.graph);
}

TEST(Verify, NeedsOutputsButNoInputs) {
  Graph constant;
  constant.add_output(constant.add_constant("c", test::counting({2})));
  verify(constant);
  Graph graph;
  graph.add_input("x", float_type({1}));
  expect_rejected(graph, ErrorKind::kFormat, "the graph has no outputs");
}

TEST(Verify, NeedsInputsOfPossibleExtents) {
  Network network;
  network.graph.add_input("wide", float_type({kBatch, Dim{1} << 62}));
  expect_rejected(network.graph, ErrorKind::kShape, "input 'wide': shape [1, 4611686018427387904]");
}

TEST(Verify, NeedsEveryValueComputed) {
  Network network;
  network.graph.add_output(ValueId{99});
  expect_rejected(network.graph, ErrorKind::kFormat,
                  "an output of the graph reads a value that does not exist");
  Network removed;
  const ValueId dead = removed.graph.add_node("dead", kRelu, {removed.x});
  removed.graph.remove_unused_nodes();
  Graph as_output = removed.graph;
  as_output.add_output(dead);
  expect_rejected(as_output, ErrorKind::kFormat,
                  "an output of the graph reads 'dead', which no node computes");
  removed.graph.add_output(removed.graph.add_node("late", kRelu, {dead}));
  expect_rejected(removed.graph, ErrorKind::kFormat,
                  "node 'late' (Relu) reads 'dead', which no node computes");
}

TEST(Verify, FindsCycles) {
  Network network;
  network.graph.replace_node(*network.graph.producer(network.y), kRelu, {network.y});
  expect_rejected(network.graph, ErrorKind::kFormat, "cycle through node 'relu'");
}

TEST(Verify, NeedsTheInferredTypes) {
  Network changed;
  changed.graph.set_input_type(changed.x, float_type({5, 3}));
  expect_rejected(changed.graph, ErrorKind::kFormat,
                  "node 'dense' (FullyConnected): output: expected float32[5, 2], found "
                  "float32[N, 2]");
  changed.graph.set_input_type(changed.x, float_type({5, 4}));
  expect_rejected(changed.graph, ErrorKind::kShape,
                  "node 'dense' (FullyConnected): input [5, 4] does not fit weights [2, 3]");
  Network constant;
  constant.graph.set_input_type(constant.w, float_type({2, 3}));
  expect_rejected(constant.graph, ErrorKind::kFormat,
                  "constant 'w': holds basis(2 bits, tensor)[2, 3], declared float32[2, 3]");
}

TEST(Verify, RejectsFloat64) {
  Graph graph;
  const ValueId x = graph.add_input("x", dense_type(ElementType::kFloat64, {2}));
  graph.add_output(x);
  expect_rejected(graph, ErrorKind::kUnsupported,
                  "value 'x': elements of float64: convert them to float32");
}

TEST(Verify, ChecksAGraphAgainOnlyAfterAChange) {
  Graph graph;
  const ValueId x = graph.add_input("x", dense_type(ElementType::kFloat32, {2}));
  const ValueId w = graph.add_constant("w", Tensor(ElementType::kFloat32, {2}));
  const ValueId y = graph.add_node("y", Binary{BinaryKind::kAdd, {}}, {x, w});
  graph.add_output(y);
  const NodeId add = *graph.producer(y);
  const std::vector<std::function<void(Graph&)>> changes = {
      [](Graph& g) { g.add_input("z", dense_type(ElementType::kFloat32, {2})); },
      [](Graph& g) { g.add_constant("v", Tensor(ElementType::kFloat32, {2})); },
      [&](Graph& g) { g.add_node("more", Cast{ElementType::kInt8}, {y}); },
      [&](Graph& g) { g.add_output(x); },
      [&](Graph& g) { g.set_outputs({x}); },
      [&](Graph& g) { g.append(graph); },
      [&](Graph& g) {
        g.replace_node(add, Binary{BinaryKind::kMul, {}}, {x, w});
      },
      [&](Graph& g) { g.replace_uses(y, x); },
      [&](Graph& g) { g.set_input_type(x, dense_type(ElementType::kFloat32, {1})); },
      [&](Graph& g) { g.release_constant(w); },
      [&](Graph& g) {
        g.set_outputs({x});
        verify(g);
        g.remove_node(add);
      }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Graph changed = graph;
    EXPECT_FALSE(changed.is_verified());
    verify(changed);
    EXPECT_TRUE(changed.is_verified());
    EXPECT_TRUE(Graph(changed).is_verified());
    changed.rename(y, "sum");
    EXPECT_TRUE(changed.is_verified());
    changes[i](changed);
    EXPECT_FALSE(changed.is_verified()) << i;
  }
}

TEST(Verify, TakesFloatsOf16BitsInConstantsThatACastReads) {
  Graph input;
  input.add_output(input.add_input("x", dense_type(ElementType::kFloat16, {2})));
  expect_rejected(input, ErrorKind::kFormat, "input 'x': expected float32, found float16[2]");
  Graph graph;
  const ValueId w = graph.add_constant("w", Tensor(ElementType::kBfloat16, {2}));
  graph.add_output(graph.add_node("y", Cast{ElementType::kFloat32}, {w}));
  verify(graph);
  Graph flat;
  const ValueId v = flat.add_constant("w", Tensor(ElementType::kFloat16, {2}));
  const ValueId moved = flat.add_node("moved", Reshape{{1, 2}}, {v});
  flat.add_output(flat.add_node("y", Cast{ElementType::kFloat32}, {moved}));
  expect_rejected(flat, ErrorKind::kFormat,
                  "node 'moved' (Reshape): reads 'w': floats of 16 bits are stored in constants, "
                  "and only a Cast reads them");
}

TEST(Verify, NeedsMatchingCodes) {
  EncodedTensor other_extent = encoded_weights();
  other_extent.codes = numerics::BitPlanes(3, 2, 2);
  expect_rejected(Network(std::move(other_extent)).graph, ErrorKind::kFormat,
                  "constant 'w': codes do not fit basis(2 bits, tensor)[2, 3]");
  EncodedTensor other_planes = encoded_weights();
  other_planes.codes.planes = BitMatrix(3, 3);
  expect_rejected(Network(std::move(other_planes)).graph, ErrorKind::kFormat, "codes do not fit");
  EncodedTensor loose = encoded_weights();
  loose.codes.planes.row(1)[0] |= std::uint64_t{1} << 3;
  expect_rejected(Network(std::move(loose)).graph, ErrorKind::kFormat,
                  "constant 'w': bits past the last column are not zero");
  EncodedTensor bare = encoded_weights();
  bare.encoding = nullptr;
  expect_rejected(Network(std::move(bare)).graph, ErrorKind::kFormat,
                  "constant 'w': codes without an encoding");
}

TEST(Verify, NeedsMatchingBases) {
  EncodedTensor endless = encoded_weights();
  numerics::MatrixEncoding basis = *endless.encoding;
  basis.scales =
      numerics::StoredNumbers::of(std::vector{std::numeric_limits<float>::infinity(), 1.0F});
  endless.encoding = std::make_shared<const numerics::MatrixEncoding>(basis);
  expect_rejected(Network(std::move(endless)).graph, ErrorKind::kShape,
                  "constant 'w': encoding: a scale or offset that is not finite");
}

TEST(Verify, NeedsWholeBlocks) {
  const auto unpack = [](const numerics::BlockEncoding& /*encoding*/, const std::byte* /*bytes*/,
                         const numerics::CodeBlock& /*block*/) {};
  const numerics::BlockEncoding pairs{{.group = 2}, "pairs", 2, 3, unpack};
  const auto graph_of = [&](const Operator& op, const Shape& weights, std::size_t bytes) {
    Graph graph;
    const ValueId x =
        graph.add_input("x", float_type({1, weights.rank() == 0 ? 1 : weights.back()}));
    const ValueId w =
        graph.add_constant("w", BlockTensor{weights, numerics::without_owner(pairs),
                                            own_bytes(std::vector<std::byte>(bytes))});
    const ValueId chosen = graph.add_input("chosen", dense_type(ElementType::kInt32, {1, 2}));
    std::vector<ValueId> inputs = {x, w};
    if (std::holds_alternative<ExpertProduct>(op)) inputs.push_back(chosen);
    graph.add_output(graph.add_node("node", op, inputs));
    return graph;
  };
  verify(graph_of(ExpertProduct{}, {3, 5, 4}, 3 * 5 * 2 * 3));
  verify(graph_of(FullyConnected{}, {5, 4}, 5 * 2 * 3));
  // Six numbers for all outputs of an expert, but three for one.
  expect_rejected(graph_of(ExpertProduct{}, {3, 2, 3}, 3 * 3 * 3), ErrorKind::kFormat,
                  "constant 'w': rows of 3 elements are no whole blocks of 2");
  expect_rejected(graph_of(ExpertProduct{}, {3, 5, 4}, 5 * 2 * 3), ErrorKind::kFormat,
                  "constant 'w': blocks do not fit pairs[3, 5, 4]");
}

TEST(Verify, ChecksStates) {
  const auto with_state = [](const Shape& before, bool twice, bool is_input) {
    Graph graph;
    const ValueId x = graph.add_input("x", float_type({2, 3}));
    const ValueId h = graph.add_input("h", float_type(before));
    const ValueId y = graph.add_node("y", kRelu, {x});
    graph.tie(is_input ? h : y, y);
    if (twice) graph.tie(x, y);
    return graph;
  };
  EXPECT_NO_THROW(verify(with_state({2, 3}, false, true)));
  expect_rejected(with_state({2, 4}, false, true), ErrorKind::kFormat,
                  "state 'h': expected float32[2, 4], found float32[2, 3]");
  expect_rejected(with_state({2, 3}, true, true), ErrorKind::kFormat, "tied more than once");
  expect_rejected(with_state({2, 3}, false, false), ErrorKind::kFormat,
                  "state 'y': expected an input of the graph");
}

}  // namespace
}  // namespace halftone::ir
