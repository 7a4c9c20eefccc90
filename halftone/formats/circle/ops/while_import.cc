// SPDX-License-Identifier: Apache-2.0
// Loops over the steps of a sequence, which are recurrent layers. Others are import_loop().
#include <algorithm>
#include <optional>

#include "halftone/formats/circle/check.h"
#include "halftone/formats/circle/importer.h"
#include "halftone/formats/circle/recurrent_loop.h"
#include "halftone/ir/extent.h"

namespace halftone::formats::circle {
namespace {

using ir::ValueId;

/// A state before the first step; kAbsent for zeros.
ValueId state_before(OperatorImport& op, std::size_t variable) {
  const ValueId value = op.number(variable);
  const ir::Constant* constant = op.graph().constant(value);
  if (constant == nullptr) return value;
  const auto numbers = std::get<ir::Tensor>(*constant).as<float>();
  const bool is_zero = std::ranges::all_of(numbers, [](float x) { return x == 0; });
  return is_zero ? ir::kAbsent : value;
}

/// Features [first, first + count) of the states of the last step, [1, B, count].
ValueId last_states(OperatorImport& op, ValueId states, std::size_t first, std::size_t count) {
  const auto steps = static_cast<std::size_t>(op.shape(states)[0]);
  const ValueId last = op.step(ir::Slice{0, steps - 1, 1, 1}, {states}, "last");
  return op.step(ir::Slice{2, first, 1, count}, {last}, "part" + std::to_string(first));
}

void emit_results(OperatorImport& op, const RecurrentLoop& loop, ValueId states) {
  const auto hidden = static_cast<std::size_t>(loop.recurrence.shape()[1]);
  const ir::Shape shape = op.shape(states);
  const bool keeps_all = op.shape(op.raw(loop.results))[0] != 1;
  const ValueId all = shape[2] == static_cast<ir::Dim>(hidden)
                          ? states
                          : op.step(ir::Slice{2, 0, 1, hidden}, {states}, "hidden");
  op.alias(keeps_all ? all : last_states(op, states, 0, hidden), loop.results);
  const ir::Shape state{shape[1], static_cast<ir::Dim>(hidden)};
  op.emit(ir::Reshape{state}, {last_states(op, states, 0, hidden)}, loop.hidden);
  if (loop.cell == loop.hidden) return;
  const bool has_cells = shape[2] != static_cast<ir::Dim>(hidden);
  const ValueId cell = last_states(op, states, has_cells ? hidden : 0, hidden);
  op.emit(ir::Reshape{state}, {cell}, loop.cell);
}

/// The variables of the loop before the first step; nothing if one has an extent without a number.
std::optional<std::vector<LoopVariable>> variables_of(OperatorImport& op) {
  std::vector<LoopVariable> variables;
  for (std::size_t i = 0; i < op.num_inputs(); ++i) {
    const ValueId value = op.raw(i);
    const ir::Shape example = op.importer().with_example(op.shape(value));
    if (!example.is_static()) return std::nullopt;
    const ir::ValueType& type = op.graph().value(value).type;
    variables.push_back({example, std::nullopt});
    const bool is_integer = type.is_dense(ir::ElementType::kInt32) && type.shape.rank() == 0;
    if (!is_integer || op.graph().constant(value) == nullptr) continue;
    variables.back().integer = op.integers(i)[0];
  }
  return variables;
}

/// The layer that a loop computes; nothing if it computes something else.
std::optional<RecurrentLoop> layer_of(OperatorImport& op, const FileModel& condition,
                                      const FileModel& body) {
  const auto variables = variables_of(op);
  if (!variables || variables->size() != body.graph_inputs().size()) return std::nullopt;
  try {
    return recognized_loop(condition, body, *variables);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUnsupported) throw;
    return std::nullopt;
  }
}

void import_while(OperatorImport& op) {
  const auto* options = op.options<schema::WhileOptions>();
  check(options != nullptr && options->cond_subgraph_index() > 0 &&
            options->body_subgraph_index() > 0,
        "has no subgraphs");
  const FileModel& file = op.importer().file();
  if (!file.is_main()) return import_loop(op);
  const FileModel body = file.subgraph(static_cast<std::size_t>(options->body_subgraph_index()));
  const auto found =
      layer_of(op, file.subgraph(static_cast<std::size_t>(options->cond_subgraph_index())), body);
  if (!found) return import_loop(op);
  const RecurrentLoop& loop = *found;
  check(op.num_inputs() == op.num_outputs() && op.num_inputs() == body.graph_inputs().size(),
        "the subgraphs have other variables");
  for (const std::size_t counter : loop.counters) {
    if (op.integers(counter) != std::vector<std::int64_t>{0}) {
      fail(ErrorKind::kUnsupported, "a loop that does not begin with the first step");
    }
  }
  const bool is_lstm = loop.layer.kind == ir::RecurrentKind::kLstm;
  const std::vector<ValueId> inputs = {op.number(loop.sequence), state_before(op, loop.hidden),
                                       is_lstm ? state_before(op, loop.cell) : ir::kAbsent};
  op.importer().charge(loop.weights.bytes().size() + loop.recurrence.bytes().size());
  const std::string name = file.tensor_name(op.output_tensor(loop.results));
  const ValueId states =
      add_layer(op.graph(), loop, name, inputs, is_lstm && op.is_read(loop.cell));
  emit_results(op, loop, states);
  op.alias(inputs[0], loop.sequence);
  for (const std::size_t counter : loop.counters) op.alias(op.raw(counter), counter);
  for (const std::size_t limit : loop.limits) op.alias(op.raw(limit), limit);
}

constexpr ImportEntry kWhileImports[] = {{OperatorCode::kWhile, import_while}};

}  // namespace

std::span<const ImportEntry> while_imports() { return kWhileImports; }

}  // namespace halftone::formats::circle
