// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/circle/recurrent_loop.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "halftone/base/random.h"
#include "halftone/formats/circle/check.h"
#include "halftone/formats/circle/constant_tensor.h"
#include "halftone/formats/circle/importer.h"
#include "halftone/ir/evaluate_graph.h"
#include "halftone/ir/ops/traits.h"

namespace halftone::formats::circle {
namespace {

using ir::Dim;
using ir::Tensor;
using ir::ValueId;

[[noreturn]] void refuse(const std::string& why) {
  fail(ErrorKind::kUnsupported,
       "expected the loop of an LSTM, GRU or SimpleRNN of Keras, found " + why);
}

Tensor scalar(std::int32_t number) { return Tensor::from<std::int32_t>({}, std::span(&number, 1)); }

/// Sorts the loop variables by their types and by those that a step does not change.
RecurrentLoop roles_of(const FileModel& body, const std::vector<LoopVariable>& variables) {
  const auto inputs = body.graph_inputs();
  const auto outputs = body.graph_outputs();
  check(inputs.size() == outputs.size() && inputs.size() == variables.size(),
        "a loop has other variables after a step");
  RecurrentLoop loop;
  std::vector<std::size_t> states;
  std::size_t num_sequences = 0;
  std::size_t num_results = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const schema::TensorType type = body.tensor(inputs[i]).type();
    const std::size_t rank = variables[i].shape.rank();
    const bool changes = inputs[i] != outputs[i];
    if (type == schema::TensorType::INT32 && rank == 0 && (changes || variables[i].integer)) {
      (changes ? loop.counters : loop.limits).push_back(i);
    } else if (type != schema::TensorType::FLOAT32) {
      refuse("a variable that is neither a number nor the step");
    } else if (!changes && rank == 3) {
      loop.sequence = i;
      ++num_sequences;
    } else if (changes && rank == 3) {
      loop.results = i;
      ++num_results;
    } else if (changes && rank == 2) {
      states.push_back(i);
    } else {
      refuse("a variable of " + std::to_string(rank) + " axes");
    }
  }
  if (loop.counters.empty() || num_sequences != 1 || num_results != 1 || states.empty() ||
      states.size() > 2) {
    refuse("other variables");
  }
  loop.hidden = states.front();
  loop.cell = states.back();
  loop.layer.kind = states.size() == 2 ? ir::RecurrentKind::kLstm : ir::RecurrentKind::kRnn;
  loop.layer.batch_major = false;
  loop.steps = variables[loop.sequence].shape[0];
  return loop;
}

/// A loop whose layer is looked for.
struct Candidate {
  RecurrentLoop& loop;
  const std::vector<LoopVariable>& variables;
};

/// A step of the loop as a graph: of all variables, the counters and their limits are constants.
/// @param part  the body, or the condition
ir::Graph step_at(const FileModel& part, const Candidate& candidate, std::int32_t step) {
  std::map<std::size_t, Tensor> constants;
  std::map<std::size_t, ir::Shape> shapes;
  const std::vector<std::size_t> inputs = part.graph_inputs();
  check(inputs.size() == candidate.variables.size(), "the subgraphs have other variables");
  for (std::size_t i = 0; i < inputs.size(); ++i) shapes[inputs[i]] = candidate.variables[i].shape;
  for (const std::size_t i : candidate.loop.counters) constants.emplace(inputs[i], scalar(step));
  for (const std::size_t i : candidate.loop.limits) {
    constants.emplace(inputs[i],
                      scalar(static_cast<std::int32_t>(*candidate.variables[i].integer)));
  }
  const ImportOptions none;
  return Importer(part, none, nullptr).run_with(constants, std::move(shapes));
}

bool continues_at(const FileModel& condition, const Candidate& candidate, std::int32_t step) {
  const ir::Graph graph = step_at(condition, candidate, step);
  const ir::Constant* answer = graph.constant(graph.outputs()[0]);
  const auto* tensor = answer == nullptr ? nullptr : std::get_if<Tensor>(answer);
  if (tensor == nullptr || tensor->size() != 1 || tensor->element() != ir::ElementType::kBool) {
    refuse("a condition that depends on values");
  }
  return tensor->as<std::uint8_t>()[0] != 0;
}

/// The value behind changes of shape.
ValueId origin(const ir::Graph& graph, ValueId value) {
  auto producer = graph.producer(value);
  while (producer && std::holds_alternative<ir::Reshape>(graph.node(*producer).op)) {
    value = graph.node(*producer).inputs[0];
    producer = graph.producer(value);
  }
  return value;
}

const Tensor* constant_of(const ir::Graph& graph, ValueId value) {
  const ir::Constant* constant = value == ir::kAbsent ? nullptr : graph.constant(value);
  const auto* tensor = constant == nullptr ? nullptr : std::get_if<Tensor>(constant);
  return tensor != nullptr && tensor->element() == ir::ElementType::kFloat32 ? tensor : nullptr;
}

Tensor sum_of(const Tensor& a, const Tensor* b) {
  if (b == nullptr) return a.clone();
  if (b->size() != a.size()) refuse("biases of different sizes");
  Tensor sum = a.clone();
  for (std::size_t i = 0; i < sum.size(); ++i) sum.as<float>()[i] += b->as<float>()[i];
  return sum;
}

/// A matrix of a step and the vectors that are added to its product.
struct Product {
  Tensor weights;
  Tensor bias;
  bool reads_sequence = false;
};

/// The products of a step in their order. Vectors added to a sum of products count for the first.
std::vector<Product> products_of(const ir::Graph& graph) {
  std::vector<Product> products;
  std::map<ValueId, std::size_t> by_output;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (!std::holds_alternative<ir::FullyConnected>(node.op)) continue;
    const Tensor* weights = constant_of(graph, node.inputs[1]);
    if (weights == nullptr) refuse("weights that are not stored as float32");
    Product product{weights->clone(), Tensor(ir::ElementType::kFloat32, {weights->shape()[0]})};
    if (node.inputs.size() > 2) {
      product.bias = sum_of(product.bias, constant_of(graph, node.inputs[2]));
    }
    const auto source = graph.producer(origin(graph, node.inputs[0]));
    product.reads_sequence = source && std::holds_alternative<ir::Gather>(graph.node(*source).op);
    by_output.emplace(node.output, products.size());
    products.push_back(std::move(product));
  }
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    const auto* binary = std::get_if<ir::Binary>(&node.op);
    if (binary == nullptr || binary->kind != ir::BinaryKind::kAdd) continue;
    for (std::size_t i = 0; i < 2; ++i) {
      const Tensor* vector = constant_of(graph, node.inputs[i]);
      if (vector == nullptr) continue;
      const auto of = by_output.find(origin(graph, node.inputs[1 - i]));
      Product& product = products.at(of == by_output.end() ? 0 : of->second);
      // Other constants belong to a function.
      if (vector->size() == product.bias.size()) product.bias = sum_of(product.bias, vector);
    }
  }
  return products;
}

/// The rows of matrices or vectors below one another.
Tensor joined(const Tensor& a, const Tensor& b) {
  return ir::evaluate_operator(ir::Concat{0}, std::vector<const Tensor*>{&a, &b});
}

/// Blocks of rows in another order.
Tensor reordered(const Tensor& tensor, const std::vector<std::size_t>& blocks) {
  const auto height = static_cast<std::size_t>(tensor.shape()[0]) / blocks.size();
  std::vector<Tensor> parts;
  std::vector<const Tensor*> pointers;
  for (const std::size_t block : blocks) {
    parts.push_back(
        ir::evaluate_operator(ir::Slice{0, block * height, 1, height}, std::vector{&tensor}));
  }
  for (const Tensor& part : parts) pointers.push_back(&part);
  return ir::evaluate_operator(ir::Concat{0}, pointers);
}

/// Keras has one bias for the inputs of the gates and, with linear_before_reset, one for the
/// recurrence, which stays inside for the last gate.
void set_gru_bias(RecurrentLoop& loop, const Tensor& inner, Dim hidden) {
  const auto size = static_cast<std::size_t>(hidden);
  Tensor outside = inner.clone();
  if (loop.layer.linear_before_reset) {
    loop.inner_bias = ir::evaluate_operator(ir::Slice{0, 2 * size, 1, size}, std::vector{&inner});
    std::ranges::fill(outside.as<float>().last(size), 0.0F);
  }
  loop.bias = sum_of(loop.bias, &outside);
}

/// Fills in the matrices of a layer. Keras orders the gates of an LSTM i, f, c, o.
void set_weights(RecurrentLoop& loop, const ir::Graph& step, Dim hidden) {
  std::vector<Product> products = products_of(step);
  const auto first = std::ranges::find(products, true, &Product::reads_sequence);
  if (first == products.end() || products.size() < 2 || products.size() > 3) refuse("no layer");
  loop.weights = std::move(first->weights);
  loop.bias = std::move(first->bias);
  products.erase(first);
  if (loop.weights.shape()[0] == 3 * hidden) loop.layer.kind = ir::RecurrentKind::kGru;
  loop.layer.linear_before_reset =
      loop.layer.kind == ir::RecurrentKind::kGru && products.size() == 1;
  Product inner = std::move(products[0]);
  if (products.size() == 2) {
    inner.weights = joined(inner.weights, products[1].weights);
    inner.bias = joined(inner.bias, products[1].bias);
  }
  const auto rows = static_cast<Dim>(ir::num_gates(loop.layer.kind)) * hidden;
  if (inner.weights.shape() != ir::Shape{rows, hidden} || loop.weights.shape()[0] != rows) {
    refuse("matrices of other sizes");
  }
  loop.recurrence = std::move(inner.weights);
  if (loop.layer.kind == ir::RecurrentKind::kGru) {
    set_gru_bias(loop, inner.bias, hidden);
    return;
  }
  loop.bias = sum_of(loop.bias, &inner.bias);
  if (loop.layer.kind != ir::RecurrentKind::kLstm) return;
  for (Tensor* tensor : {&loop.weights, &loop.bias, &loop.recurrence}) {
    *tensor = reordered(*tensor, {0, 3, 1, 2});
  }
}

Tensor random_like(const ir::Shape& shape, Random& random) {
  Tensor tensor(ir::ElementType::kFloat32, shape);
  for (float& x : tensor.as<float>()) x = static_cast<float>(2 * random.uniform() - 1);
  return tensor;
}

bool is_close(std::span<const float> found, std::span<const float> expected) {
  constexpr float kTolerance = 1e-4F;  // sums in another order, and table-free functions
  return std::ranges::equal(found, expected, [](float a, float b) {
    return std::abs(a - b) <= kTolerance * (1 + std::abs(b));
  });
}

/// Computes steps of the loop and compares them with the layer.
class Trial {
 public:
  Trial(const FileModel& body, const Candidate& candidate, std::int32_t step)
      : loop_(candidate.loop),
        step_(static_cast<std::size_t>(step)),
        graph_(step_at(body, candidate, step)) {
    check_size();
    Random random(7);
    for (const ValueId id : graph_.inputs()) {
      values_.push_back(random_like(graph_.value(id).type.shape, random));
    }
    expected_ = ir::evaluate_graph(graph_, values_);
  }

  [[nodiscard]] const ir::Graph& graph() const { return graph_; }

  /// Whether the layer computes the states of the step, and the loop collects them.
  [[nodiscard]] bool agrees() const {
    for (const std::size_t i : loop_.counters) {
      if (expected_[i].as<std::int32_t>()[0] != static_cast<std::int32_t>(step_) + 1) return false;
    }
    const bool is_lstm = loop_.layer.kind == ir::RecurrentKind::kLstm;
    const std::vector<float> found = layer_states(is_lstm);
    const auto hidden = expected_[loop_.hidden].as<float>();
    std::vector<float> states;
    const auto width = static_cast<std::size_t>(expected_[loop_.hidden].shape()[1]);
    for (std::size_t row = 0; row < hidden.size(); row += width) {
      const auto append = [&](std::span<const float> all) {
        states.insert(states.end(), all.begin() + static_cast<std::ptrdiff_t>(row),
                      all.begin() + static_cast<std::ptrdiff_t>(row + width));
      };
      append(hidden);
      if (is_lstm) append(expected_[loop_.cell].as<float>());
    }
    return is_close(found, states) && collects(hidden);
  }

 private:
  /// A malformed file could ask for any amount of memory and time.
  void check_size() const {
    constexpr double kMaxWork = 0x1p28;
    double work = ir::evaluation_work(graph_);
    for (const ValueId id : graph_.inputs()) {
      work += static_cast<double>(graph_.value(id).type.shape.element_count());
    }
    if (work > kMaxWork) refuse("a step of more than 2^28 operations");
  }

  /// The value of a loop variable before the step; the graph has no inputs for the counters and
  /// their limits.
  [[nodiscard]] const Tensor& before(std::size_t variable) const {
    const auto is_before = [variable](std::size_t other) { return other < variable; };
    const auto skipped = std::ranges::count_if(loop_.counters, is_before) +
                         std::ranges::count_if(loop_.limits, is_before);
    return values_[variable - static_cast<std::size_t>(skipped)];
  }

  [[nodiscard]] std::vector<float> layer_states(bool is_lstm) const {
    ir::Graph graph;
    const Tensor* sequence = &before(loop_.sequence);
    std::vector<Tensor> values;
    values.push_back(ir::evaluate_operator(ir::Slice{0, step_, 1, 1}, {&sequence, 1}));
    values.push_back(before(loop_.hidden).clone());
    if (is_lstm) values.push_back(before(loop_.cell).clone());
    std::vector<ValueId> inputs;
    for (const Tensor& value : values) inputs.push_back(graph.add_input("x", value.type()));
    inputs.resize(3, ir::kAbsent);
    graph.add_output(add_layer(graph, loop_, "layer", inputs, is_lstm));
    const Tensor states = std::move(ir::evaluate_graph(graph, values)[0]);
    return {states.as<float>().begin(), states.as<float>().end()};
  }

  /// Whether the results hold the state: alone, or in the row of the step.
  [[nodiscard]] bool collects(std::span<const float> hidden) const {
    const Tensor& after = expected_[loop_.results];
    std::vector<float> wanted(hidden.begin(), hidden.end());
    if (after.size() != hidden.size()) {
      const auto old = before(loop_.results).as<float>();
      if (after.size() != old.size() || old.size() < (step_ + 1) * hidden.size()) return false;
      wanted.assign(old.begin(), old.end());
      std::ranges::copy(hidden,
                        wanted.begin() + static_cast<std::ptrdiff_t>(step_ * hidden.size()));
    }
    return std::ranges::equal(after.as<float>(), wanted);
  }

  const RecurrentLoop& loop_;
  std::size_t step_;
  ir::Graph graph_;
  std::vector<Tensor> values_;
  std::vector<Tensor> expected_;
};

/// Functions of Keras, also those that files compose of several operators, and those of a step.
std::vector<ir::Activation> functions_of(const ir::Graph& step) {
  using Function = ir::ActivationKind;
  std::vector<ir::Activation> functions = {
      {Function::kSigmoid},  {Function::kTanh}, {Function::kHardSigmoid, 1.0F / 6, 0.5F},
      {Function::kSoftsign}, {Function::kRelu}, {Function::kHardSigmoid, 0.2F, 0.5F}};
  constexpr std::size_t kMaxFunctions = 9;
  for (const ir::NodeId id : step.topological_order()) {
    const ir::Operator& op = step.node(id).op;
    const auto* unary = std::get_if<ir::Unary>(&op);
    const ir::Activation* function =
        unary != nullptr ? &unary->activation : ir::fused_activation(op);
    const bool is_new = function != nullptr && std::ranges::count(functions, *function) == 0;
    if (is_new && functions.size() < kMaxFunctions) functions.push_back(*function);
  }
  return functions;
}

/// Tries the functions for gates and states.
bool finds_functions(RecurrentLoop& loop, const Trial& first, const Trial& last) {
  const std::vector<ir::Activation> functions = functions_of(first.graph());
  const bool has_gates = loop.layer.kind != ir::RecurrentKind::kRnn;
  for (const ir::Activation& gates : functions) {
    for (const ir::Activation& states : functions) {
      loop.layer.activations = {has_gates ? gates : states, states, states};
      if (first.agrees() && last.agrees()) return true;
    }
    if (!has_gates) return false;
  }
  return false;
}

}  // namespace

RecurrentLoop recognized_loop(const FileModel& condition, const FileModel& body,
                              const std::vector<LoopVariable>& variables) {
  RecurrentLoop loop = roles_of(body, variables);
  const Candidate candidate{loop, variables};
  const auto steps = static_cast<std::int32_t>(loop.steps);
  if (steps < 1 || !continues_at(condition, candidate, steps - 1) ||
      continues_at(condition, candidate, steps)) {
    refuse("another number of steps than the sequence has");
  }
  const Trial first(body, candidate, 0);
  const Trial last(body, candidate, steps - 1);
  const Dim hidden = variables[loop.hidden].shape[1];
  set_weights(loop, first.graph(), hidden);
  if (!finds_functions(loop, first, last)) refuse("another computation");
  return loop;
}

ValueId add_layer(ir::Graph& graph, const RecurrentLoop& loop, const std::string& name,
                  const std::vector<ValueId>& inputs, bool with_cell) {
  const ValueId gates =
      graph.add_node(name + "/gates", ir::FullyConnected{},
                     {inputs[0], graph.add_constant(name + "/kernel", loop.weights.clone()),
                      graph.add_constant(name + "/bias", loop.bias.clone())});
  ir::Recurrent layer = loop.layer;
  layer.with_cell = with_cell;
  const bool is_lstm = layer.kind == ir::RecurrentKind::kLstm;
  const ValueId inner = layer.linear_before_reset
                            ? graph.add_constant(name + "/recurrent_bias", loop.inner_bias.clone())
                            : ir::kAbsent;
  std::vector<ValueId> operands = {
      gates, graph.add_constant(name + "/recurrent_kernel", loop.recurrence.clone()), inner,
      inputs[1]};
  if (is_lstm) operands.push_back(inputs[2]);
  return graph.add_node(name + "/layer", std::move(layer), std::move(operands));
}

}  // namespace halftone::formats::circle
