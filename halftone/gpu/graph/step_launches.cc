// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/graph/step_launches.h"

#include <utility>

#include "halftone/gpu/graph/uses.h"
#include "halftone/gpu/norms.h"

namespace halftone::gpu {
namespace {

kernels::GroupExtents extents_of(const ir::BlockTensor& weights) {
  return {static_cast<std::size_t>(weights.shape.back()), weights.encoding->group,
          weights.encoding->vector()};
}

}  // namespace

void StepLaunches::add() {
  std::visit([this](const auto& step) { add_step(step); }, step_.what);
}

void StepLaunches::add_step(const PlainStep& /*step*/) { NodeLaunches(to_, step_.nodes[0]).add(); }

Tails StepLaunches::tails_of(const RowsStep& step) {
  Tails tails;
  for (const TailNode& each : step.tails) {
    Tail tail{.op = each.op, .f = each.f};
    if (each.operand != ir::kAbsent) {
      tail.operand = &to_.floats_of(each.operand);
      tail.count = to_.shape_of(each.operand).element_count();
    }
    tails.push_back(tail);
  }
  return tails;
}

void StepLaunches::add_step(const RowsStep& step) {
  const Tails tails = tails_of(step);
  const ir::Node& first = node(step_.nodes[0]);
  if (const auto* norm = std::get_if<ir::Normalize>(&first.op)) return add_norm(*norm, tails);
  const GroupMatrix& w = to_.constants_.groups(constant(step_.nodes[0], 1));
  const Buffer& y = make(step_.output);
  const ProductInput x = to_.product_input(first.inputs[0], w.extents());
  to_.launches_.push_back(multiply_groups(w, x, y, tails));
}

void StepLaunches::add_norm(const ir::Normalize& op, const Tails& tails) {
  const ir::ValueId x = node(step_.nodes[0]).inputs[0];
  const ir::Shape shape = to_.shape_of(x);
  const auto cols = static_cast<std::size_t>(shape.back());
  const NormShape norm{cols == 0 ? 0 : shape.element_count() / cols, cols, op.epsilon,
                       op.subtract_mean};
  const Buffer& y = make(step_.output);
  const auto extents = read_extents(step_.output);
  if (!extents || extents->cols != cols) {
    to_.launches_.push_back(normalize(to_.programs(), norm, to_.floats_of(x), y, tails));
    return;
  }
  GraphLaunches::Encoded& encoded = to_.encoded(norm.rows, *extents);
  to_.launches_.push_back(
      normalize_and_encode(to_.programs(), norm, to_.floats_of(x), {y, *encoded.rows}, tails));
  encoded.of = to_.memory_.root(step_.output);
}

std::optional<kernels::GroupExtents> StepLaunches::read_extents(ir::ValueId value) const {
  for (const ir::NodeId id : to_.uses_.readers(value)) {
    const ir::Node& reader = node(id);
    const bool is_product = std::holds_alternative<ir::FullyConnected>(reader.op) ||
                            std::holds_alternative<ir::ExpertProduct>(reader.op);
    if (!is_product || to_.memory_.root(reader.inputs[0]) != to_.memory_.root(value)) continue;
    const ir::Constant* weights = to_.graph_.constant(reader.inputs[1]);
    const auto* blocks = weights == nullptr ? nullptr : std::get_if<ir::BlockTensor>(weights);
    if (blocks != nullptr) return extents_of(*blocks);
  }
  return std::nullopt;
}

std::vector<SharedConstant> StepLaunches::constants(const std::vector<ir::NodeId>& nodes,
                                                    std::size_t input) const {
  std::vector<SharedConstant> found;
  for (const ir::NodeId id : nodes) found.push_back(constant(id, input));
  return found;
}

void StepLaunches::add_step(const JoinedStep& /*step*/) {
  const GroupMatrix* w = to_.constants_.joined(constants(step_.nodes, 1));
  const bool has_bias = node(step_.nodes[0]).inputs.size() > 2;
  if (w == nullptr) {
    for (const ir::NodeId id : step_.nodes) {
      RowsStep alone;
      if (has_bias) alone.tails.push_back({Operation::kAdd, node(id).inputs[2]});
      StepLaunches(to_, {{id}, node(id).output, alone}).add();
    }
    return;
  }
  Tails tails;
  if (has_bias) {
    tails.push_back(
        {Operation::kAdd, &to_.constants_.joined_floats(constants(step_.nodes, 2), *w), w->rows()});
  }
  const ProductInput x = to_.product_input(node(step_.nodes[0]).inputs[0], w->extents());
  const ir::ValueId first = node(step_.nodes[0]).output;
  const Buffer& y = to_.memory_.make(first, x.rows() * w->rows() * sizeof(float));
  for (std::size_t i = 0; i < step_.nodes.size(); ++i) {
    const ir::ValueId output = node(step_.nodes[i]).output;
    if (i != 0) to_.memory_.lend(output, y);
    to_.within_[to_.memory_.root(output)] = {w->first_row(i), w->rows()};
  }
  to_.launches_.push_back(multiply_groups(*w, x, y, tails));
}

void StepLaunches::add_step(const GatedStep& step) {
  const bool is_one = step.products.size() == 1;
  const GroupMatrix* w = is_one ? &to_.constants_.groups(constant(step.products[0], 1))
                                : to_.constants_.joined(constants(step.products, 1));
  if (w == nullptr) return add_apart(step);
  const Gate gate{step.outputs, is_one ? step.up_row : w->first_row(1), step.f};
  const Buffer& y = make(step_.output);
  const ProductInput x = to_.product_input(node(step.products[0]).inputs[0], w->extents());
  if (x.rows() < kManyRows) {
    to_.launches_.push_back(multiply_gated(*w, x, gate, y));
    return;
  }
  const Buffer& both = to_.memory_.scratch(x.rows() * w->rows() * sizeof(float));
  to_.launches_.push_back(multiply_groups(*w, x, both));
  to_.launches_.push_back(combine_gated(
      to_.programs(), {x.rows(), w->rows(), gate.outputs, gate.up_row, gate.f}, both, y));
}

void StepLaunches::add_apart(const GatedStep& step) {
  const Buffer& y = make(step_.output);
  const std::size_t count = to_.shape_of(step_.output).element_count();
  const Buffer& gate = to_.memory_.scratch(count * sizeof(float));
  const Tails tails[] = {{{.f = step.f}}, {{Operation::kMul, &gate, count}}};
  for (const std::size_t i : {0U, 1U}) {
    const GroupMatrix& w = to_.constants_.groups(constant(step.products[i], 1));
    const ProductInput x = to_.product_input(node(step.products[i]).inputs[0], w.extents());
    to_.launches_.push_back(multiply_groups(w, x, i == 0 ? gate : y, tails[i]));
  }
}

HeadRows StepLaunches::heads_of(const HeadSource& source) {
  const auto found = to_.within_.find(source.base);
  const std::size_t width = to_.shape_of(source.base).element_count() / to_.rows_;
  const GraphLaunches::Within within =
      found != to_.within_.end() ? found->second : GraphLaunches::Within{0, width};
  HeadRows rows{{to_.memory_.of(source.base), within.begin + source.begin, within.stride}};
  if (source.gain != ir::kAbsent) rows.norm = {&to_.floats_of(source.gain), source.epsilon};
  return rows;
}

void StepLaunches::add_step(const HeadsStep& step) {
  const ir::Node& attention = node(step.attention);
  const auto& op = std::get<ir::Attention>(attention.op);
  const runtime::AttentionCaches shapes = *runtime::caches_of(to_.graph_, attention);
  const auto cache = [&](ir::ValueId value) -> const Buffer& {
    const ir::ValueId after = to_.memory_.root(value);
    const Buffer& bytes = to_.states_->cache(after);
    to_.memory_.lend(after, bytes);
    return bytes;
  };
  const CachePair caches{{shapes.keys, true, cache(attention.inputs[1])},
                         {shapes.values, false, cache(attention.inputs[2])}};
  PlacedHeads placed{op.heads, heads_of(step.queries), heads_of(step.keys),
                     heads_of(step.values).rows};
  if (step.queries.rotary) {
    const ir::Node& rotary = node(*step.queries.rotary);
    const auto& turn = std::get<ir::Rotary>(rotary.op);
    const auto pairing = turn.pairing == ir::RotaryPairing::kNeox
                             ? kernels::RotaryPairing::kNeox
                             : kernels::RotaryPairing::kInterleaved;
    placed.angles = {{turn.heads, turn.dims, pairing},
                     &to_.floats_of(rotary.inputs[2]),
                     &to_.floats_of(rotary.inputs[3])};
  }
  const Buffer& queries = to_.memory_.hold(to_.rows_ * op.heads * shapes.keys.size * sizeof(float));
  to_.queries_[step.attention] = &queries;
  to_.launches_.push_back(
      place_heads(to_.programs(), placed, caches,
                  {to_.rows_, to_.memory_.of(attention.inputs[ir::Attention::kSlots]),
                   to_.memory_.of(attention.inputs[ir::Attention::kPositions])},
                  queries));
}

}  // namespace halftone::gpu
