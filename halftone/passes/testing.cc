// SPDX-License-Identifier: Apache-2.0
#include "halftone/passes/testing.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "halftone/ir/text.h"

namespace halftone::passes::test {
namespace {

using ir::Activation;
using ir::ActivationKind;
using ir::BinaryKind;
using ir::Dim;
using ir::Graph;
using ir::kBatch;
using ir::Shape;
using ir::ValueId;

/// Grows a graph by one random step at a time from its existing values.
class Grower {
 public:
  explicit Grower(std::uint64_t seed) : random_(seed) {
    pool_.push_back(graph_.add_input("x", ir::test::float_type({kBatch, 6})));
    pool_.push_back(graph_.add_input("z", ir::test::float_type({kBatch, 2, 3})));
  }

  void step() {
    // Usually the newest value, so that chains form.
    const ValueId x = below(3) != 0 ? pool_.back() : pool_[below(pool_.size())];
    switch (below(18)) {
      case 0:
        return push(add(ir::FullyConnected{activation()}, layer_inputs(x)));
      case 1:
        return push(add(ir::MatMul{false, false}, {x, constant({width(x), some_width()})}));
      case 2:
        return push(add(ir::FullyConnected{}, {x, dequantized({some_width(), width(x)})}));
      case 3:
        return push(add(ir::MatMul{false, true}, {x, dequantized({some_width(), width(x)})}));
      case 4:
        return push(add(ir::Unary{activation()}, {x}));
      case 5:
      case 6:
        return push(with_constant(x));
      case 7:
        return push(add(ir::Binary{one_of(BinaryKind::kAdd, BinaryKind::kMax), {}}, {x, x}));
      case 8:
        return push(add(ir::Reshape{reshaped(shape(x))}, {x}));
      case 9:
        return push(add(slice(x), {x}));
      case 10:
        return push(add(ir::Concat{shape(x).rank() - 1},
                        below(2) == 0 ? std::vector<ValueId>{x} : std::vector<ValueId>{x, x}));
      case 11:
        return push(add(ir::Softmax{shape(x).rank() - 1}, {x}));
      case 12:
        return push(between_transposes(x));
      case 13:
        return push(add(ir::Binary{BinaryKind::kMax, {}}, {encoded_layer(4), encoded_layer(4)}));
      case 14:
        return push(counterparts(x));
      case 15:
        return push(add(ir::Unary{activation()}, {add(ir::FullyConnected{}, layer_inputs(x))}));
      case 16:
        return push(written_gelu(x));
      default:
        return push(with_constant(add(ir::FullyConnected{}, layer_inputs(x))));
    }
  }

  Graph finish() {
    graph_.add_output(pool_.back());
    if (below(2) == 0) graph_.add_output(pool_[below(pool_.size())]);
    if (below(4) == 0) graph_.add_output(constant({3}));
    return std::move(graph_);
  }

 private:
  std::size_t below(std::size_t bound) {
    return static_cast<std::size_t>(random_.below(static_cast<std::uint64_t>(bound)));
  }
  template <typename T>
  T one_of(T a, T b) {
    return below(2) == 0 ? a : b;
  }
  Dim some_width() { return static_cast<Dim>(1 + below(6)); }
  [[nodiscard]] const Shape& shape(ValueId id) const { return graph_.value(id).type.shape; }
  [[nodiscard]] Dim width(ValueId id) const { return shape(id).back(); }
  void push(ValueId id) { pool_.push_back(id); }

  ValueId add(ir::Operator op, std::vector<ValueId> inputs) {
    return graph_.add_node("n" + std::to_string(graph_.num_values()), std::move(op),
                           std::move(inputs));
  }
  ValueId constant(const Shape& extents) {
    return graph_.add_constant("c" + std::to_string(graph_.num_values()),
                               random_tensor(extents, random_.next()));
  }
  Activation activation() {
    const Activation choices[] = {
        {}, {ActivationKind::kRelu}, {ActivationKind::kTanh}, {ActivationKind::kLeakyRelu, 0.1F}};
    return choices[below(4)];
  }
  std::vector<ValueId> layer_inputs(ValueId x) {
    const Dim outputs = some_width();
    std::vector<ValueId> inputs = {x, constant({outputs, width(x)})};
    if (below(2) == 0) inputs.push_back(constant({outputs}));
    return inputs;
  }
  ValueId dequantized(const Shape& extents) {
    ir::AffineParameters parameters{{0.25F}, {1}, 0};
    if (below(2) == 0) {
      parameters.axis = below(2);
      parameters.scales.assign(static_cast<std::size_t>(extents[parameters.axis]), 0.5F);
      parameters.scales[0] = 0.25F;
      parameters.zero_points.assign(parameters.scales.size(), -1);
    }
    const ValueId codes =
        graph_.add_constant("q" + std::to_string(graph_.num_values()),
                            random_tensor(extents, random_.next()).cast(ir::ElementType::kInt8));
    return add(ir::DequantizeLinear{parameters}, {codes});
  }
  /// x combined with a constant on either side: random, neutral or computed.
  ValueId with_constant(ValueId x) {
    const Shape extents[] = {{}, {1}, {width(x)}, {1, width(x)}};
    ValueId c = constant(extents[below(4)]);
    if (below(3) == 0) c = add(ir::Unary{{ActivationKind::kTanh}}, {c});
    const bool neutral = below(3) == 0;
    if (neutral) c = graph_.add_constant("neutral", ir::test::floats({}, {one_of(0.0F, 1.0F)}));
    const BinaryKind kinds[] = {BinaryKind::kAdd, BinaryKind::kSub, BinaryKind::kMul};
    const BinaryKind kind = kinds[below(3)];
    const bool constant_first = below(3) == 0;
    return add(ir::Binary{kind, activation()},
               constant_first ? std::vector<ValueId>{c, x} : std::vector<ValueId>{x, c});
  }
  static Shape reshaped(const Shape& from) {
    Dim count = 1;
    for (std::size_t i = 1; i < from.rank(); ++i) count *= from[i];
    if (from.rank() != 2) return {kBatch, count};
    return count % 2 == 0 ? Shape{kBatch, 2, count / 2} : Shape{kBatch, 1, count};
  }
  ir::Slice slice(ValueId x) {
    const auto extent = static_cast<std::size_t>(width(x));
    const std::size_t begin = below(2) == 0 ? 0 : below(extent);
    return {shape(x).rank() - 1, begin, 1, extent - begin};
  }
  /// Transpose, elementwise operators, and a transpose back or to another order.
  ValueId between_transposes(ValueId x) {
    std::vector<std::size_t> there(shape(x).rank());
    std::iota(there.begin(), there.end(), std::size_t{0});
    std::rotate(there.begin(), there.begin() + 1, there.end());
    std::vector<std::size_t> back(there.size());
    for (std::size_t i = 0; i < there.size(); ++i) back[there[i]] = i;
    ValueId y = add(ir::Transpose{there}, {x});
    if (below(2) == 0) y = add(ir::Unary{activation()}, {y});
    const Dim first = shape(y)[0];
    std::vector<Dim> along_first(shape(y).rank(), 1);
    along_first[0] = first;
    if (below(2) == 0) y = add(ir::Binary{BinaryKind::kAdd, {}}, {y, constant(Shape(along_first))});
    if (below(2) == 0) y = add(ir::Softmax{0}, {y});
    return add(ir::Transpose{back}, {y});
  }
  /// Encodes an input directly, so that rounding cannot change a code.
  ValueId encoded_layer(Dim outputs) {
    const ValueId codes = add(ir::Encode{ir::test::odd_encoding()}, {pool_[0]});
    return add(ir::FullyConnected{}, {codes, constant({outputs, width(pool_[0])})});
  }
  /// Concatenates two identical computations.
  ValueId counterparts(ValueId x) {
    const ir::Unary unary{activation()};
    return add(ir::Concat{shape(x).rank() - 1}, {add(unary, {x}), add(unary, {x})});
  }
  /// x (1 + erf(x / sqrt 2)) / 2, step by step.
  ValueId written_gelu(ValueId x) {
    const auto with = [&](BinaryKind kind, ValueId a, float number) {
      const ValueId c = graph_.add_constant("c" + std::to_string(graph_.num_values()),
                                            ir::test::floats({}, {number}));
      return add(ir::Binary{kind, {}},
                 below(2) == 0 ? std::vector<ValueId>{a, c} : std::vector<ValueId>{c, a});
    };
    const ValueId scaled = with(BinaryKind::kMul, x, 0.70710678F);
    const ValueId sum = with(BinaryKind::kAdd, add(ir::Unary{{ActivationKind::kErf}}, {scaled}), 1);
    if (below(2) == 0)
      return add(ir::Binary{BinaryKind::kMul, {}}, {with(BinaryKind::kMul, x, 0.5F), sum});
    return with(BinaryKind::kMul, add(ir::Binary{BinaryKind::kMul, {}}, {x, sum}), 0.5F);
  }

  Graph graph_;
  std::vector<ValueId> pool_;
  Random random_;
};

std::vector<std::string> names_and_types(const Graph& graph) {
  std::vector<std::string> result;
  for (const auto ids : {graph.inputs(), graph.outputs()}) {
    for (const ValueId id : ids) {
      result.push_back(graph.value(id).name + ": " + graph.value(id).type.to_string());
    }
  }
  return result;
}

void expect_close(const ir::Tensor& found, const ir::Tensor& expected, const std::string& context) {
  ASSERT_EQ(found.type(), expected.type()) << context;
  const auto a = found.as<float>();
  const auto b = expected.as<float>();
  float largest = 1;
  for (const float number : b) largest = std::max(largest, std::abs(number));
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_LE(std::abs(a[i] - b[i]), 1e-5F * largest) << "element " << i << context;
  }
}

/// The graph with the elements of its constants, for comparing graphs.
std::string content_of(const Graph& graph) {
  std::string content = ir::to_text(graph);
  for (std::size_t v = 0; v < graph.num_values(); ++v) {
    const ir::Constant* constant = graph.constant(ValueId{static_cast<std::uint32_t>(v)});
    const auto* dense = constant == nullptr ? nullptr : std::get_if<ir::Tensor>(constant);
    if (dense == nullptr) continue;
    const auto bytes = dense->bytes();
    content.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return content;
}

/// The outputs for normally distributed inputs.
std::vector<ir::Tensor> outputs_of(const Graph& graph) {
  Random random(100);
  std::vector<ir::Tensor> inputs;
  for (const ValueId id : graph.inputs()) {
    inputs.push_back(random_tensor(graph.value(id).type.shape.with_batch(3), random));
  }
  return ir::test::run_reference(graph, inputs);
}

}  // namespace

bool run_checked(Graph& graph, const Pass& pass) {
  const std::string before = ir::to_text(graph);
  const std::string content = content_of(graph);
  const std::vector<std::string> names = names_and_types(graph);
  const std::vector<ir::Tensor> expected = outputs_of(graph);
  const bool changed = pass(graph);
  ir::verify(graph);
  const std::string after = ir::to_text(graph);
  const std::string context = "\nbefore:\n" + before + "after:\n" + after;
  EXPECT_EQ(names_and_types(graph), names) << context;
  EXPECT_EQ(changed, content != content_of(graph)) << context;
  const std::vector<ir::Tensor> found = outputs_of(graph);
  for (std::size_t i = 0; i < expected.size(); ++i) expect_close(found[i], expected[i], context);
  return changed;
}

Graph random_graph(std::uint64_t seed, int steps) {
  Grower grower(seed);
  for (int i = 0; i < steps; ++i) grower.step();
  return grower.finish();
}

void expect_safe_on_random_graphs(const Pass& pass, std::uint64_t num_graphs) {
  int changes = 0;
  for (std::uint64_t seed = 0; seed < num_graphs; ++seed) {
    Graph graph = random_graph(seed, 12);
    graph.remove_unused_nodes();
    int rounds = 0;
    while (run_checked(graph, pass)) {
      ++changes;
      ASSERT_LT(++rounds, 20) << "does not settle on seed " << seed;
    }
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
  }
  EXPECT_GT(changes, 20);
}

std::vector<std::string> operators(const Graph& graph) {
  std::vector<std::string> names;
  for (const ir::NodeId id : graph.topological_order()) {
    names.emplace_back(ir::name_of(graph.node(id).op));
  }
  return names;
}

std::vector<float> constant_floats(const Graph& graph, ValueId id) {
  return ir::test::elements<float>(ir::to_float(*graph.constant(id)));
}

const ir::Node& output_node(const Graph& graph) {
  return graph.node(graph.producer(graph.outputs()[0]).value());
}

}  // namespace halftone::passes::test
