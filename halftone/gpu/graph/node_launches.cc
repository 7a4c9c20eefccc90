// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/graph/node_launches.h"

#include "halftone/base/error.h"
#include "halftone/gpu/attention.h"

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
  switch (activation.kind) {  // NOLINT: a device has few of them
    case ir::ActivationKind::kIdentity:
      return Function::kNone;
    case ir::ActivationKind::kRelu:
      return Function::kRelu;
    case ir::ActivationKind::kSilu:
      return Function::kSilu;
    case ir::ActivationKind::kGelu:
      return Function::kGelu;
    case ir::ActivationKind::kGeluTanh:
      return Function::kGeluTanh;
    case ir::ActivationKind::kSigmoid:
      return Function::kSigmoid;
    case ir::ActivationKind::kTanh:
      return Function::kTanh;
    case ir::ActivationKind::kExp:
      return Function::kExp;
    default:
      return std::nullopt;
  }
}

std::optional<Operation> operation_of(ir::BinaryKind kind) {
  switch (kind) {  // NOLINT: a device has few of them
    case ir::BinaryKind::kAdd:
      return Operation::kAdd;
    case ir::BinaryKind::kSub:
      return Operation::kSub;
    case ir::BinaryKind::kMul:
      return Operation::kMul;
    case ir::BinaryKind::kDiv:
      return Operation::kDiv;
    default:
      return std::nullopt;
  }
}

void NodeLaunches::add() {
  std::visit([this](const auto& op) { add_op(op); }, node_.op);
}

template <typename Op>
void NodeLaunches::add_op(const Op& /*op*/) {
  fail(ErrorKind::kInternal, "a device has no kernel for " + describe(node_));
}

const Buffer& NodeLaunches::input(std::size_t index) {
  const ir::ValueId root = to_.memory_.root(node_.inputs[index]);
  const SharedConstant& constant = to_.graph_.value(root).constant;
  return constant != nullptr ? to_.constants_.floats(constant) : to_.memory_.of(root);
}

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
  add(combine(programs(), {*operation_of(op.kind), *function_of(op.activation)},
              {input(0), shape(0).element_count()}, {input(1), shape(1).element_count()},
              output()));
}

const GroupInputs& NodeLaunches::encoded_input(const GroupMatrix& w) {
  const ir::ValueId from = to_.memory_.root(node_.inputs[0]);
  const std::size_t rows = rows_of(shape(0)).rows;
  const GraphLaunches::EncodedKey key{w.extents().cols, w.extents().encoding(), w.extents().piece(),
                                      rows};
  GraphLaunches::Encoded& encoded = to_.encoded_[key];
  if (encoded.rows == nullptr) {
    encoded.rows = std::make_unique<GroupInputs>(programs(), rows, w.extents());
  }
  // Matrices with the same input follow each other.
  if (encoded.of != from) add(encoded.rows->encode(input(0)));
  encoded.of = from;
  return *encoded.rows;
}

void NodeLaunches::add_op(const ir::FullyConnected& op) {
  const auto [rows, cols] = rows_of(shape(0));
  const auto outputs = static_cast<std::size_t>(shape_of(node_.output).back());
  const bool has_bias = has_input(2);
  const Function f = *function_of(op.activation);
  const Buffer& y = output();
  if (blocks_of(constant(1)) == nullptr) {
    add(multiply_floats(programs(),
                        {rows, cols, outputs, to_.constants_.turned_floats(constant(1)),
                         has_bias ? &input(2) : nullptr},
                        input(0), y));
    if (f != Function::kNone) add(apply(programs(), f, y, y, rows * outputs));
    return;
  }
  const GroupMatrix& w = to_.constants_.groups(constant(1));
  add(multiply_groups(w, encoded_input(w), y));
  if (has_bias) {
    add(combine(programs(), {Operation::kAdd, f}, {y, rows * outputs}, {input(2), outputs}, y));
  } else if (f != Function::kNone) {
    add(apply(programs(), f, y, y, rows * outputs));
  }
}

void NodeLaunches::add_op(const ir::Rotary& op) {
  const auto [rows, cols] = rows_of(shape(0));
  const auto pairing = op.pairing == ir::RotaryPairing::kNeox
                           ? kernels::RotaryPairing::kNeox
                           : kernels::RotaryPairing::kInterleaved;
  add(rotate(programs(), {{op.heads, op.dims, pairing}, cols / op.heads, rows},
             {input(0), to_.memory_.of(node_.inputs[1]), input(2), input(3), output()}));
}

void NodeLaunches::add_op(const ir::AppendRows& /*op*/) {
  const runtime::CacheUse use = *runtime::cache_use(to_.graph_, node_.output);
  const Buffer& cache = to_.states_->cache(node_.output);
  to_.memory_.lend(node_.output, cache);
  add(append(programs(),
             {to_.rows_, to_.memory_.of(node_.inputs[2]), to_.memory_.of(node_.inputs[3])},
             input(1), {use.shape, use.holds_keys, cache}));
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
  const Buffer& scores =
      to_.memory_.scratch(to_.rows_ * op.heads * caches.keys.context * sizeof(float));
  add(attend(programs(), layer, {{caches.keys, true, input(1)}, {caches.values, false, input(2)}},
             {to_.rows_, input(ir::Attention::kSlots), input(ir::Attention::kPositions)},
             {input(0), sinks, scores, y}));
}

void NodeLaunches::add_op(const ir::Slice& op) {
  const auto [rows, cols] = rows_of(shape(0));
  add(copy_columns(programs(), {rows, cols, op.begin, op.count}, input(0), output()));
}

}  // namespace halftone::gpu
