// SPDX-License-Identifier: Apache-2.0
// WHILE as a loop over its body. Where its condition counts iterations, so does the loop.
#include <algorithm>
#include <memory>
#include <utility>

#include "halftone/formats/circle/check.h"
#include "halftone/formats/circle/counted_loop.h"
#include "halftone/formats/circle/graph_part.h"
#include "halftone/formats/circle/importer.h"

namespace halftone::formats::circle {
namespace {

using ir::ElementType;
using ir::ValueId;

std::size_t subgraph_index(int index) {
  check(index > 0, "has no subgraphs");
  return static_cast<std::size_t>(index);
}

class LoopImport {
 public:
  LoopImport(OperatorImport& op, const schema::WhileOptions& options)
      : op_(op), name_(op.importer().file().tensor_name(op.output_tensor(0))) {
    const std::size_t body_index = subgraph_index(options.body_subgraph_index());
    classify(op.importer().file().subgraph(body_index));
    // First the condition, which may count samples.
    condition_ = op.importer().run_subgraph(subgraph_index(options.cond_subgraph_index()),
                                            constants_, shapes_);
    iteration_ = op.importer().run_subgraph(body_index, constants_, shapes_);
    check(condition_.outputs().size() == 1 &&
              condition_.inputs().size() == iteration_.inputs().size() &&
              is_flag(condition_.value(condition_.outputs()[0]).type),
          "expected one boolean of the condition");
    check(iteration_.inputs().size() == variables_.size() &&
              iteration_.outputs().size() == op.num_inputs(),
          "the body has other variables");
  }

  void run() {
    find_end();
    ir::Loop loop{.body = make_body(), .is_while = is_while()};
    loop.keeps.assign(kept_.size(), true);
    loop.max_iterations = op_.importer().options().max_iterations;
    if (end_ && end_->trips) loop.trips = *end_->trips;
    std::vector<ValueId> inputs = {begins(), limit()};
    for (const auto* list : {&kept_, &captured_}) {
      for (const std::size_t i : *list) inputs.push_back(values_[i]);
    }
    emit(loop, op_.graph().add_node(name_, loop, std::move(inputs)));
  }

 private:
  /// Splits the variables into constants, states and values that no iteration changes.
  void classify(const FileModel& body) {
    const std::vector<std::size_t> before = body.graph_inputs();
    const std::vector<std::size_t> after = body.graph_outputs();
    check(op_.num_inputs() == op_.num_outputs() && op_.num_inputs() == before.size() &&
              before.size() == after.size(),
          "the subgraphs have other variables");
    for (std::size_t i = 0; i < before.size(); ++i) {
      values_.push_back(op_.raw(i));
      shapes_.push_back(op_.shape(values_[i]));
      const ir::Constant* constant = op_.graph().constant(values_[i]);
      const bool changes = before[i] != after[i];
      if (op_.importer().counts_samples(values_[i])) {
        op_.importer().refuse_count(op_.graph().value(values_[i]).name);
      }
      if (!changes && constant != nullptr) {
        constants_[i] = std::get<ir::Tensor>(*constant).clone();
        continue;
      }
      variables_.push_back(i);
      (changes ? states_ : captured_).push_back(i);
    }
  }

  void find_end() {
    std::vector<bool> zeros;
    for (const ValueId id : values_) {
      const ir::Constant* constant = op_.graph().constant(id);
      const auto* tensor = constant == nullptr ? nullptr : std::get_if<ir::Tensor>(constant);
      zeros.push_back(tensor != nullptr && tensor->size() == 1 &&
                      std::ranges::count(tensor->bytes(), std::byte{0}) ==
                          std::ssize(tensor->bytes()));
    }
    end_ = known_end({condition_, iteration_, variables_, states_, zeros});
    for (const std::size_t i : states_) {
      const bool counts = end_ && std::ranges::count(end_->counters, i) > 0;
      const bool is_known = counts || (end_ && end_->flag == i);
      if (!is_known || op_.is_read(i)) kept_.push_back(i);
    }
  }

  /// Whether the body computes a condition.
  [[nodiscard]] bool is_while() const {
    return !end_ || (end_->flag && std::ranges::count(states_, *end_->flag) > 0);
  }

  /// Those of some values that are inputs of a subgraph.
  [[nodiscard]] std::vector<ValueId> operands(const std::vector<ValueId>& values) const {
    std::vector<ValueId> result;
    for (const std::size_t i : variables_) result.push_back(values[i]);
    return result;
  }

  /// An iteration, and whether to go on behind it.
  std::shared_ptr<const ir::Graph> make_body() {
    auto body = std::make_shared<ir::Graph>();
    const ValueId count =
        body->add_input("iteration", ir::dense_type(ElementType::kInt64, ir::Shape{}));
    std::vector<ValueId> values(values_.size(), ir::kAbsent);
    for (const auto* list : {&kept_, &captured_}) {
      for (const std::size_t i : *list) {
        const auto at = std::ranges::find(variables_, i) - variables_.begin();
        const ir::Value& input =
            iteration_.value(iteration_.inputs()[static_cast<std::size_t>(at)]);
        values[i] = body->add_input(input.name, input.type);
      }
    }
    add_known(*body, count, values);
    const auto next = add_part(*body, iteration_, operands(values), name_ + "/");
    for (const std::size_t i : states_) values[i] = next[i];
    if (is_while() && end_) {
      body->add_output(next[*end_->flag]);
    } else if (is_while()) {
      body->add_output(add_part(*body, condition_, operands(values), name_ + "/go/")[0]);
    }
    for (const std::size_t i : kept_) body->add_output(next[i]);
    return body;
  }

  /// Counters and flags that are no states: the number of the iteration, and true.
  void add_known(ir::Graph& body, ValueId count, std::vector<ValueId>& values) const {
    for (const std::size_t i : states_) {
      if (values[i] != ir::kAbsent) continue;
      const ir::ValueType& type = op_.graph().value(values_[i]).type;
      if (end_->flag == i) {
        ir::Tensor flag(ElementType::kBool, type.shape);
        std::ranges::fill(flag.bytes(), std::byte{1});
        values[i] = body.add_constant("true", std::move(flag));
        continue;
      }
      values[i] = count;
      if (type.encoding.element != ElementType::kInt64) {
        values[i] = body.add_node(name_ + "/count" + std::to_string(i),
                                  ir::Cast{type.encoding.element}, {values[i]});
      }
      if (type.shape.rank() != 0) {
        values[i] = body.add_node(name_ + "/shaped" + std::to_string(i), ir::Reshape{type.shape},
                                  {values[i]});
      }
    }
  }

  /// Whether there is a first iteration.
  ValueId begins() {
    if (end_ && end_->flag) return values_[*end_->flag];
    if (!end_) {
      return add_part(op_.graph(), condition_, operands(values_), name_ + "/begin/")[0];
    }
    ir::Tensor always(ElementType::kBool, {});
    always.bytes()[0] = std::byte{1};
    return op_.graph().add_constant("true", std::move(always));
  }

  ValueId limit() {
    if (!end_ || !end_->limit) return ir::kAbsent;
    const ValueId value = values_[*end_->limit];
    if (op_.graph().value(value).type.encoding.element == ElementType::kInt64) return value;
    return op_.step(ir::Cast{ElementType::kInt64}, {value}, "limit");
  }

  void emit(const ir::Loop& loop, ValueId record) {
    const std::vector<ir::LoopResult> results = ir::results_of(loop);
    for (std::size_t s = 0; s < kept_.size(); ++s) op_.emit(results[s], {record}, kept_[s]);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (std::ranges::count(kept_, i) == 0) op_.alias(values_[i], i);
    }
  }

  OperatorImport& op_;
  std::string name_;
  std::vector<ValueId> values_;                  ///< before the loop, by variable
  std::vector<ir::Shape> shapes_;                ///< by variable
  std::map<std::size_t, ir::Tensor> constants_;  ///< that no iteration changes
  std::vector<std::size_t> variables_;           ///< the others
  std::vector<std::size_t> states_;
  std::vector<std::size_t> captured_;  ///< computed, but no iteration changes them
  std::vector<std::size_t> kept_;      ///< states of the loop
  ir::Graph iteration_;
  ir::Graph condition_;
  std::optional<LoopEnd> end_;
};

}  // namespace

bool is_flag(const ir::ValueType& type) {
  return type.is_dense(ElementType::kBool) && type.shape.is_static() &&
         type.shape.element_count() == 1;
}

void import_loop(OperatorImport& op) { LoopImport(op, *op.options<schema::WhileOptions>()).run(); }

}  // namespace halftone::formats::circle
