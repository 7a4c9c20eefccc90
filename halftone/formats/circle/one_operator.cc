// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/circle/one_operator.h"

#include <algorithm>
#include <array>

#include "halftone/formats/circle/check.h"
#include "halftone/formats/circle/constant_tensor.h"
#include "halftone/formats/circle/custom_options.h"
#include "halftone/formats/circle/exporter.h"

namespace halftone::formats::circle {
namespace {

bool is_network(const FileModel& file, std::size_t op) {
  return file.code(op) == OperatorCode::kCustom && file.custom_name(op) == kNetworkName;
}

/// The operator of a file that has the network; nullopt if none has it.
std::optional<std::size_t> network_operator(const FileModel& file) {
  for (std::size_t op = 0; op < file.num_operators(); ++op) {
    if (is_network(file, op)) return op;
  }
  return std::nullopt;
}

void check_alone(const FileModel& file, std::size_t network) {
  constexpr std::array kOfStates = {OperatorCode::kCallOnce, OperatorCode::kVarHandle,
                                    OperatorCode::kReadVariable, OperatorCode::kAssignVariable};
  for (std::size_t op = 0; op < file.num_operators(); ++op) {
    const OperatorCode code = file.code(op);
    check(op == network || std::ranges::count(kOfStates, code) != 0,
          "a network as one operator: expected no operators beside it, found " + name_of(code));
  }
}

}  // namespace

std::optional<SharedBytes> network_in(const FileModel& file) {
  const auto op = network_operator(file);
  if (!op) return std::nullopt;
  check_alone(file, *op);
  const SharedBytes found = file.shared_options(*op);
  with_context("the network in the operator", [&] {
    check(!network_operator(FileModel(found)), "expected its layers, found one operator again");
  });
  return found;
}

void Exporter::add_network(std::span<const std::byte> network) {
  // Each output gets a tensor that the operator computes, even one that is an input or a constant,
  // and variables are assigned from those: a runtime has no memory for what nothing reads.
  const auto result_tensor = [this](ir::ValueId id) {
    if (graph_.producer(id) && !tensors_.contains(id)) return tensor(id);
    const ir::Value& value = graph_.value(id);
    return tensors_[id] = computed_tensor(value.name, value.type);
  };
  std::vector<TensorIndex> inputs;
  for (const ir::ValueId id : graph_.untied(graph_.inputs())) inputs.push_back(tensor(id));
  for (const ir::State& state : graph_.states()) inputs.push_back(tensor(state.before));
  std::vector<TensorIndex> outputs;
  for (const ir::ValueId id : graph_.untied(graph_.outputs())) {
    outputs_.push_back(outputs.emplace_back(result_tensor(id)));
  }
  for (const ir::State& state : graph_.states()) {
    if (state.after != ir::kAbsent) outputs.push_back(result_tensor(state.after));
  }
  file_->data_bytes += network.size();
  check_data_size(file_->data_bytes);
  schema::OperatorT& op = append_operator(std::move(inputs), kNoTensor);
  op.outputs = std::move(outputs);
  op.opcode_index = operator_code(OperatorCode::kCustom, std::string(kNetworkName));
  const auto* data = reinterpret_cast<const std::uint8_t*>(network.data());
  op.custom_options.assign(data, data + network.size());
}

}  // namespace halftone::formats::circle
