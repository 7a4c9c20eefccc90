// SPDX-License-Identifier: Apache-2.0
#include "halftone/export_c/signed_codes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace halftone::export_c {
namespace {

using ir::ValueId;

constexpr std::int32_t kShift = 128;

bool is_unsigned(const ir::ValueType& type) { return type.is_dense(ir::ElementType::kUint8); }

/// A table of code + shift. @param lowest  of the codes
ir::Lookup shift_of(ir::ElementType element, std::int32_t lowest) {
  ir::Lookup shift{element, {}};
  for (std::size_t i = 0; i < ir::Lookup::kCodes; ++i) {
    shift.table.push_back(static_cast<std::int32_t>(i) + lowest);
  }
  return shift;
}

ir::Tensor signed_tensor(const ir::Tensor& codes) {
  ir::Tensor result(ir::ElementType::kInt8, codes.shape());
  std::ranges::transform(codes.as<std::uint8_t>(), result.as<std::int8_t>().begin(),
                         [](int code) { return static_cast<std::int8_t>(code - kShift); });
  return result;
}

void shift(std::vector<std::int32_t>& zero_points) {
  if (zero_points.empty()) zero_points.push_back(0);
  for (std::int32_t& zero : zero_points) zero -= kShift;
}

/// Which operands of a node are uint8.
struct Unsigned {
  bool first = false;
  bool second = false;
  bool output = false;
};

/// Shifts what an operator says of codes, one overload for each kind.
/// @return false if it has no form for shifted codes
struct ShiftCodes {
  Unsigned which;

  bool operator()(ir::QuantizeLinear& op) const {
    op.element = ir::ElementType::kInt8;
    shift(op.parameters.zero_points);
    return true;
  }
  bool operator()(ir::DequantizeLinear& op) const {
    shift(op.parameters.zero_points);
    return true;
  }
  bool operator()(ir::Requantize& op) const {
    op.element = ir::ElementType::kInt8;
    for (std::int32_t* each : {&op.zero_point, &op.low, &op.high}) *each -= kShift;
    return true;
  }
  /// Tables begin with the lowest code in both types.
  bool operator()(ir::Lookup& op) const {
    if (!which.output) return true;
    op.element = ir::ElementType::kInt8;
    for (std::int32_t& each : op.table) each -= kShift;
    return true;
  }
  bool operator()(ir::FullyConnected& op) const { return shift_product(op.zero_points); }
  bool operator()(ir::Conv& op) const { return shift_product(op.zero_points); }
  bool operator()(ir::Pool& op) const { return op.kind == ir::PoolKind::kMax; }
  bool operator()(ir::Resize& op) const { return op.mode == ir::Interpolation::kNearest; }
  bool operator()(ir::Softmax& /*op*/) const { return true; }
  bool operator()(ir::ArgReduce& /*op*/) const { return true; }
  bool operator()(ir::Reshape& /*op*/) const { return true; }
  bool operator()(ir::Transpose& /*op*/) const { return true; }
  bool operator()(ir::Concat& /*op*/) const { return true; }
  bool operator()(ir::Slice& /*op*/) const { return true; }
  bool operator()(ir::Pad& /*op*/) const { return true; }
  bool operator()(ir::Gather& /*op*/) const { return true; }
  bool operator()(ir::Tile& /*op*/) const { return true; }
  bool operator()(ir::BroadcastTo& /*op*/) const { return true; }
  template <typename Op>
  bool operator()(Op& /*op*/) const {
    return false;
  }

 private:
  bool shift_product(ir::ZeroPoints& zeros) const {
    if (which.first) zeros.x -= kShift;
    if (which.second) shift(zeros.w);
    return true;
  }
};

class Shifter {
 public:
  explicit Shifter(const ir::Graph& graph) : graph_(graph) {}

  ir::Graph take() {
    for (const ValueId id : graph_.inputs()) {
      const ir::Value& value = graph_.value(id);
      plain_[id] = result_.add_input(value.name, value.type);
    }
    for (const ir::NodeId id : graph_.topological_order()) add(graph_.node(id));
    for (const ValueId id : graph_.untied(graph_.outputs())) result_.add_output(plain(id));
    for (const ir::State& state : graph_.states()) {
      // A state without a next value stays zero, as one that becomes itself.
      const ValueId after = state.after == ir::kAbsent ? state.before : state.after;
      result_.tie(plain(state.before), plain(after));
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] const ir::ValueType& type_of(ValueId id) const { return graph_.value(id).type; }
  [[nodiscard]] bool is_shifted(ValueId id) const {
    return id != ir::kAbsent && is_unsigned(type_of(id));
  }

  /// A value of the new graph as it is in the old one.
  ValueId plain(ValueId id) {
    if (id == ir::kAbsent) return id;
    const auto found = plain_.find(id);
    if (found != plain_.end()) return found->second;
    const ir::Value& value = graph_.value(id);
    const ValueId made =
        value.constant
            ? result_.add_constant(value.name, value.constant)
            : result_.add_node(value.name, shift_of(ir::ElementType::kUint8, 0), {signed_.at(id)});
    return plain_[id] = made;
  }

  /// The same less 128, if it is uint8.
  ValueId less(ValueId id) {
    if (!is_shifted(id)) return plain(id);
    const auto found = signed_.find(id);
    if (found != signed_.end()) return found->second;
    const ir::Value& value = graph_.value(id);
    const std::string name = value.name + "/signed";
    const ValueId made =
        value.constant
            ? result_.add_constant(name, signed_tensor(std::get<ir::Tensor>(*value.constant)))
            : result_.add_node(name, shift_of(ir::ElementType::kInt8, -kShift), {plain_.at(id)});
    return signed_[id] = made;
  }

  void add(const ir::Node& node) {
    const auto is_shifted_input = [&](std::size_t i) {
      return i < node.inputs.size() && is_shifted(node.inputs[i]);
    };
    const Unsigned which{is_shifted_input(0), is_shifted_input(1), is_shifted(node.output)};
    ir::Operator op = node.op;
    const bool any = which.output ||
                     std::ranges::any_of(node.inputs, [&](ValueId id) { return is_shifted(id); });
    const bool shifts = any && std::visit(ShiftCodes{which}, op);
    std::vector<ValueId> inputs;
    for (const ValueId id : node.inputs) inputs.push_back(shifts ? less(id) : plain(id));
    const auto* pad = std::get_if<ir::Pad>(&op);
    const bool pads_zeros =
        pad != nullptr && pad->mode == ir::PadMode::kConstant && !node.has_input(1);
    if (shifts && pads_zeros) {
      inputs.resize(2);
      inputs[1] = result_.add_constant(
          node.name + "/edge", signed_tensor(ir::Tensor(ir::ElementType::kUint8, ir::Shape{})));
    }
    const std::string& name = graph_.value(node.output).name;
    const bool is_less = shifts && which.output;
    const ValueId made = result_.add_node(node.name, std::move(op), std::move(inputs),
                                          is_less ? name + "/signed" : name);
    (is_less ? signed_ : plain_)[node.output] = made;
  }

  const ir::Graph& graph_;
  ir::Graph result_;
  std::map<ValueId, ValueId> plain_;
  std::map<ValueId, ValueId> signed_;
};

}  // namespace

ir::Graph with_signed_codes(const ir::Graph& graph) {
  bool any = false;
  for (std::size_t i = 0; i < graph.num_values() && !any; ++i) {
    const ir::Value& value = graph.value(static_cast<ValueId>(i));
    any = value.constant == nullptr && is_unsigned(value.type);
  }
  return any ? Shifter(graph).take() : graph;
}

bool shifts_codes(const ir::Lookup& op) {
  const std::int32_t lowest = op.element == ir::ElementType::kInt8 ? -kShift : 0;
  return op.element != ir::ElementType::kInt32 && op.table == shift_of(op.element, lowest).table;
}

}  // namespace halftone::export_c
