// SPDX-License-Identifier: Apache-2.0
#include "halftone/litert/subset_network.h"

#include <algorithm>
#include <utility>

#include "halftone/api/hosted_plan.h"
#include "halftone/base/error.h"
#include "halftone/base/thread_settings.h"
#include "halftone/formats/circle/custom_options.h"
#include "halftone/formats/circle/import.h"
#include "halftone/litert/layer_file.h"

namespace halftone::litert {
namespace {

std::vector<HostTensor> tensors_of(const Host& host, const std::vector<int>& indices) {
  std::vector<HostTensor> result;
  for (const int index : indices) result.push_back(host.tensor(index));
  return result;
}

void check_count(const char* what, std::size_t expected, std::size_t found) {
  if (expected == found) return;
  fail(ErrorKind::kFormat, "expected " + std::to_string(expected) + " " + what +
                               ", which the network has, found " + std::to_string(found));
}

}  // namespace

SubsetNetwork::SubsetNetwork(const Host& host, const TfLiteDelegateParams& params, int threads)
    : threads_(threads) {
  const std::span<const int> nodes = elements(params.nodes_to_replace);
  const HostNode first = host.node(nodes.front());
  name_ = host.tensor_name(elements(first.node->outputs).front());
  with_context(name_, [&] {
    if (first.custom_name == formats::circle::kNetworkName && nodes.size() == 1) {
      read_network(first);
    } else {
      read_layers(host, params);
    }
    const ir::Graph ends = formats::circle_inputs(file_, {});
    for (const ir::ValueId id : ends.inputs()) names_.push_back(ends.value(id).name);
  });
}

void SubsetNetwork::read_network(const HostNode& node) {
  const auto tensors = [](const TfLiteIntArray* array) {
    const std::span<const int> found = elements(array);
    return std::vector<int>(found.begin(), found.end());
  };
  inputs_ = tensors(node.node->inputs);
  outputs_ = tensors(node.node->outputs);
  file_ = {nullptr, node.options()};
}

void SubsetNetwork::read_layers(const Host& host, const TfLiteDelegateParams& params) {
  const std::span<const int> nodes = elements(params.nodes_to_replace);
  for (const int node : nodes) {
    if (host.node(node).custom_name != formats::circle::kNetworkName) continue;
    fail(ErrorKind::kUnsupported, "a network as one operator: expected no layers beside it");
  }
  for (const int input : elements(params.input_tensors)) {
    if (!host.tensor(input).is_constant) inputs_.push_back(input);
  }
  const std::span<const int> outputs = elements(params.output_tensors);
  outputs_.assign(outputs.begin(), outputs.end());
  file_ = layer_file(host, nodes, {inputs_, outputs_});
}

std::vector<std::size_t> SubsetNetwork::order_of_ends(const ir::Graph& graph, bool outputs) const {
  const std::span<const ir::ValueId> ends = outputs ? graph.outputs() : graph.inputs();
  // States are in the order in which the file reads them: that of the inputs.
  std::vector<ir::ValueId> states;
  for (const ir::ValueId input : graph.inputs()) {
    const auto state = std::ranges::find(graph.states(), input, &ir::State::before);
    if (state == graph.states().end()) continue;
    const ir::ValueId end = outputs ? state->after : state->before;
    if (end != ir::kAbsent) states.push_back(end);
  }
  std::size_t next = 0;
  const std::size_t first_state = ends.size() - states.size();
  std::vector<std::size_t> result;
  for (const ir::ValueId id : ends) {
    const auto state = std::ranges::find(states, id);
    result.push_back(state == states.end()
                         ? next++
                         : first_state + static_cast<std::size_t>(state - states.begin()));
  }
  return result;
}

void SubsetNetwork::plan(const Host& host, const std::vector<HostTensor>& inputs) {
  const int threads = threads_ == 0 ? host.num_threads() : threads_;
  const bool is_planned = threads == planned_threads_ &&
                          std::ranges::equal(planned_, inputs, {}, {}, &HostTensor::extents);
  if (is_planned) return;
  session_.reset();
  planned_.clear();
  planned_threads_ = threads;
  const UseThreadSettings use({.threads = threads});
  formats::ImportOptions options;
  for (std::size_t i = 0; i < std::min(names_.size(), inputs.size()); ++i) {
    options.shapes.emplace(names_[i], ir::Shape(inputs[i].extents));
  }
  ir::Graph graph = formats::import_circle(file_, options);
  check_count("inputs", graph.inputs().size(), inputs_.size());
  check_count("outputs", graph.outputs().size(), outputs_.size());
  input_order_ = order_of_ends(graph, false);
  output_order_ = order_of_ends(graph, true);
  // To LiteRT states are inputs and outputs like others: it keeps them in variables.
  graph.untie();
  const auto plan = hosted_plan(Network(std::move(graph), name_));
  computed_ = output_extents(*plan);
  session_ = std::make_unique<runtime::Session>(plan);
  for (const HostTensor& input : inputs) planned_.push_back(input.extents);
}

void SubsetNetwork::prepare(const Host& host) {
  if (std::ranges::any_of(inputs_, [&](int input) { return host.is_dynamic(input); })) {
    for (const int output : outputs_) host.make_dynamic(output);
    return;
  }
  with_context(name_, [&] { plan(host, tensors_of(host, inputs_)); });
  for (std::size_t i = 0; i < output_order_.size(); ++i) {
    host.resize(outputs_[output_order_[i]], computed_[i]);
  }
}

void SubsetNetwork::run(const Host& host) {
  const std::vector<HostTensor> inputs = tensors_of(host, inputs_);
  with_context(name_, [&] { plan(host, inputs); });
  std::vector<std::span<const std::byte>> in;
  for (const std::size_t index : input_order_) in.emplace_back(inputs[index].bytes);
  std::vector<std::span<std::byte>> out;
  for (std::size_t i = 0; i < output_order_.size(); ++i) {
    const int output = outputs_[output_order_[i]];
    if (host.is_dynamic(output)) host.resize(output, computed_[i]);
    out.push_back(host.tensor(output).bytes);
  }
  const UseThreadSettings use({.threads = planned_threads_});
  session_->run(in, out);
}

}  // namespace halftone::litert
