// SPDX-License-Identifier: Apache-2.0
#include "halftone/export_c/vectors.h"

#include "halftone/base/error.h"
#include "halftone/runtime/execute/session.h"
#include "halftone/runtime/plan/plan.h"

namespace halftone::export_c {
namespace {

class Generator {
 public:
  std::uint32_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 17;
    state_ ^= state_ << 5;
    return state_;
  }

  ir::Tensor tensor(const ir::ValueType& type, const ArenaPort& port) {
    ir::Tensor tensor(type.encoding.element, type.shape);
    if (port.taken) {
      const std::vector<float>& levels = port.taken->levels;
      for (auto& each : tensor.as<float>()) each = levels[(next() >> 24) * levels.size() >> 8];
    } else if (type.is_dense(ir::ElementType::kInt8)) {
      for (auto& each : tensor.as<std::int8_t>()) each = static_cast<std::int8_t>(next() >> 24);
    } else if (type.is_dense(ir::ElementType::kUint8)) {
      for (auto& each : tensor.as<std::uint8_t>()) each = static_cast<std::uint8_t>(next() >> 24);
    } else if (type.is_dense(ir::ElementType::kBool)) {
      for (auto& each : tensor.as<std::uint8_t>()) each = static_cast<std::uint8_t>(next() >> 31);
    } else if (type.is_dense(ir::ElementType::kInt32)) {
      for (auto& each : tensor.as<std::int32_t>()) each = static_cast<std::int32_t>(next() >> 16);
    } else if (type.is_dense(ir::ElementType::kInt64)) {
      for (auto& each : tensor.as<std::int64_t>()) each = next() >> 16;
    } else {
      for (auto& each : tensor.as<float>()) {
        constexpr std::int32_t kHalf = 1 << 23;
        each = static_cast<float>(static_cast<std::int32_t>(next() >> 8) - kHalf) / kHalf;
      }
    }
    return tensor;
  }

 private:
  std::uint32_t state_ = kSeed;
};

}  // namespace

std::vector<std::vector<ir::Tensor>> run_vectors(const ir::Graph& graph,
                                                 std::span<const ArenaPort> ports,
                                                 std::size_t count) {
  runtime::PlanSettings options;
  options.execution.float_order = runtime::FloatOrder::kFixed;
  const auto plan = runtime::make_plan(graph, options);
  runtime::Session session(plan);
  Generator generator;
  std::vector<std::vector<ir::Tensor>> outputs;
  for (std::size_t v = 0; v < count; ++v) {
    std::vector<ir::Tensor> inputs;
    for (std::size_t i = 0; i < ports.size(); ++i) {
      inputs.push_back(generator.tensor(plan->graph().value(plan->inputs()[i]).type, ports[i]));
    }
    outputs.push_back(session.run(inputs));
  }
  return outputs;
}

}  // namespace halftone::export_c
