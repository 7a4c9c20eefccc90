// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/graph/node_launches.h"

#include <utility>

#include "halftone/base/error.h"
#include "halftone/gpu/attention.h"
#include "halftone/gpu/choice.h"
#include "halftone/ir/strides.h"

namespace halftone::gpu {
namespace {

/// The last extent, and the product of those before it.
ir::MatrixExtent rows_of(const ir::Shape& shape) {
  const auto cols = static_cast<std::size_t>(shape.back());
  return {cols == 0 ? 0 : shape.element_count() / cols, cols};
}

const ir::BlockTensor* blocks_of(const SharedConstant& constant) {
  return constant == nullptr ? nullptr : std::get_if<ir::BlockTensor>(constant.get());
}

}  // namespace

std::optional<Function> function_of(const ir::Activation& activation) {
  using enum ir::ActivationKind;
  constexpr std::pair<ir::ActivationKind, Function> kFunctions[] = {
      {kIdentity, Function::kNone},     {kRelu, Function::kRelu},
      {kSilu, Function::kSilu},         {kGelu, Function::kGelu},
      {kGeluTanh, Function::kGeluTanh}, {kSigmoid, Function::kSigmoid},
      {kTanh, Function::kTanh},         {kExp, Function::kExp}};
  for (const auto& [kind, function] : kFunctions) {
    if (kind == activation.kind) return function;
  }
  return std::nullopt;
}

std::optional<Operation> operation_of(ir::BinaryKind kind) {
  using enum ir::BinaryKind;
  constexpr std::pair<ir::BinaryKind, Operation> kOperations[] = {{kAdd, Operation::kAdd},
                                                                  {kSub, Operation::kSub},
                                                                  {kMul, Operation::kMul},
                                                                  {kDiv, Operation::kDiv}};
  for (const auto& [known, operation] : kOperations) {
    if (known == kind) return operation;
  }
  return std::nullopt;
}

void NodeLaunches::add() {
  std::visit([this](const auto& op) { add_op(op); }, node_.op);
}

template <typename Op>
void NodeLaunches::add_op(const Op& /*op*/) {
  fail(ErrorKind::kInternal, "a device has no kernel for " + describe(node_));
}

const Buffer& NodeLaunches::input(std::size_t index) { return to_.floats_of(node_.inputs[index]); }

const Buffer& NodeLaunches::output() {
  return to_.memory_.make(node_.output, shape_of(node_.output).element_count() * sizeof(float));
}

void NodeLaunches::add_op(const ir::Gather& /*op*/) {
  const std::size_t count = shape(1).element_count();
  const Buffer& ids = to_.memory_.of(node_.inputs[1]);
  if (blocks_of(constant(0)) != nullptr) {
    add(decode_rows(to_.constants_.groups(constant(0)), ids, count, output()));
  } else {
    const std::size_t cols = rows_of(shape(0)).cols;
    add(gather_rows(programs(), {input(0), cols}, ids, count, output()));
  }
}

void NodeLaunches::add_op(const ir::Normalize& op) {
  const auto [rows, cols] = rows_of(shape(0));
  add(normalize(programs(), {rows, cols, op.epsilon, op.subtract_mean}, input(0), output()));
}

void NodeLaunches::add_op(const ir::Unary& op) {
  const std::size_t count = shape(0).element_count();
  add(apply(programs(), *function_of(op.activation), input(0), output(), count));
}

void NodeLaunches::add_op(const ir::Binary& op) {
  add(combine(programs(), {*operation_of(op.kind), *function_of(op.activation)}, operand(0),
              operand(1), output()));
}

Operand NodeLaunches::operand(std::size_t index) {
  const ir::Shape own = shape(index);
  const ir::Shape whole = shape_of(node_.output);
  const bool is_column = own.rank() == whole.rank() && own.rank() > 0 && own.back() == 1 &&
                         whole.back() != 1 && own.element_count() != 1;
  const std::size_t step = is_column ? static_cast<std::size_t>(whole.back()) : 1;
  return {input(index), own.element_count(), step};
}

// Products with groups are steps.
void NodeLaunches::add_op(const ir::FullyConnected& op) {
  const auto [rows, cols] = rows_of(shape(0));
  const auto outputs = static_cast<std::size_t>(shape_of(node_.output).back());
  const Function f = *function_of(op.activation);
  const Buffer& y = output();
  add(multiply_floats(programs(),
                      {rows, cols, outputs, to_.constants_.turned_floats(constant(1)),
                       has_input(2) ? &input(2) : nullptr},
                      input(0), y));
  if (f != Function::kNone) add(apply(programs(), f, y, y, rows * outputs));
}

void NodeLaunches::add_op(const ir::Rotary& op) {
  const auto [rows, cols] = rows_of(shape(0));
  const auto pairing = op.pairing == ir::RotaryPairing::kNeox
                           ? kernels::RotaryPairing::kNeox
                           : kernels::RotaryPairing::kInterleaved;
  add(rotate(programs(), {{op.heads, op.dims, pairing}, cols / op.heads, rows},
             {input(0), to_.memory_.of(node_.inputs[1]), input(2), input(3), output()}));
}

const Buffer& NodeLaunches::rotated(const kernels::CacheShape& cache, const BlockRows& rows,
                                    const Buffer& x) {
  if (!kernels::is_rotated(cache.type)) return x;
  const Buffer& y = to_.memory_.hold(rows.count * rows.heads * rows.size * sizeof(float));
  add(rotate_blocks(programs(), rows, x, y));
  return y;
}

void NodeLaunches::add_op(const ir::AppendRows& /*op*/) {
  const runtime::CacheUse use = *runtime::cache_use(to_.graph_, node_.output);
  const Buffer& cache = to_.states_->cache(node_.output);
  to_.memory_.lend(node_.output, cache);
  const Buffer& x = rotated(use.shape, {use.shape.heads, use.shape.size, to_.rows_}, input(1));
  add(append(programs(),
             {to_.rows_, to_.memory_.of(node_.inputs[2]), to_.memory_.of(node_.inputs[3])}, x,
             {use.shape, use.holds_keys, cache}));
  if (&x != &input(1)) to_.memory_.release(x);
}

void NodeLaunches::add_op(const ir::Attention& op) {
  const runtime::AttentionCaches caches = *runtime::caches_of(to_.graph_, node_);
  const kernels::AttentionShape layer{.heads = op.heads,
                                      .kv_heads = op.kv_heads,
                                      .key_size = caches.keys.size,
                                      .value_size = caches.values.size,
                                      .scale = op.scale,
                                      .softcap = op.softcap,
                                      .window = op.window};
  const Buffer* sinks = has_input(ir::Attention::kSinks) ? &input(ir::Attention::kSinks) : nullptr;
  const Buffer& y = output();
  const auto placed = to_.queries_.find(id_);
  const bool is_placed = placed != to_.queries_.end();  // input(0) is nowhere else then
  const Buffer& queries =
      is_placed ? *placed->second
                : rotated(caches.keys, {op.heads, caches.keys.size, to_.rows_}, input(0));
  const Buffer& scores =
      to_.memory_.scratch(to_.rows_ * op.heads * score_size(caches.keys.context) * sizeof(float));
  add(attend(programs(), layer, {{caches.keys, true, input(1)}, {caches.values, false, input(2)}},
             {to_.rows_, input(ir::Attention::kSlots), input(ir::Attention::kPositions)},
             {queries, sinks, scores, y}));
  if (is_placed || &queries != &input(0)) to_.memory_.release(queries);
  if (kernels::is_rotated(caches.values.type)) {
    add(rotate_blocks(programs(), {op.heads, caches.values.size, to_.rows_}, y, y));
  }
}

void NodeLaunches::add_op(const ir::Softmax& /*op*/) {
  const auto [rows, cols] = rows_of(shape(0));
  add(softmax(programs(), {rows, cols}, input(0), output()));
}

void NodeLaunches::add_op(const ir::TopK& op) {
  const auto [rows, cols] = rows_of(shape(0));
  add(top_k(programs(), {rows, cols}, op.k, input(0), output()));
}

void NodeLaunches::add_op(const ir::GatherElements& /*op*/) {
  const auto [rows, cols] = rows_of(shape(0));
  add(gather_elements(programs(), {rows, cols, rows_of(shape(1)).cols, input(1)}, input(0),
                      output()));
}

void NodeLaunches::add_op(const ir::Reduce& op) {
  const ir::AxisView view = ir::axis_view(shape(0), op.axes[0]);
  add(sum_axis(programs(), {view.outer, view.extent, view.inner}, input(0), output()));
}

void NodeLaunches::add_op(const ir::ExpertProduct& op) {
  const GroupMatrix& w = to_.constants_.groups(constant(1));
  const auto [pairs, outputs] = rows_of(shape_of(node_.output));
  const Buffer& y = output();
  add(multiply_experts(w, to_.product_input(node_.inputs[0], w.extents()),
                       {pairs, outputs, input(2)}, y, {{.f = *function_of(op.activation)}}));
}

void NodeLaunches::add_op(const ir::Slice& op) {
  const auto [rows, cols] = rows_of(shape(0));
  add(copy_columns(programs(), {rows, cols, op.begin, op.count}, input(0), output()));
}

}  // namespace halftone::gpu
