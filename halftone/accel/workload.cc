// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/workload.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "halftone/accel/tensor_pairs.h"
#include "halftone/ir/work.h"

namespace halftone::accel {
namespace {

Number number_of(const ir::Encoding& encoding) {
  if (encoding.blocks != nullptr) return {static_cast<int>(encoding.blocks->bits()), false};
  if (!encoding.is_dense()) return {encoding.codes->bits, false};
  const auto bits = static_cast<int>(8 * size_bytes(encoding.element));
  return {bits, !is_integer(encoding.element) && encoding.element != ir::ElementType::kBool};
}

double sum_bytes(const std::vector<Transfer>& transfers) {
  double sum = 0;
  for (const Transfer& each : transfers) sum += each.bytes;
  return sum;
}

std::string operator_name(const ir::Node& node, const ir::Work& work) {
  const bool is_depthwise =
      std::holds_alternative<ir::Conv>(node.op) && work.count > 1 && work.cols == 1;
  return is_depthwise ? "DepthwiseConv" : std::string(name_of(node.op));
}

Product product_of(const ir::Work& work) {
  if (work.products() == 0) return {};
  Product product;
  product.count = work.count;
  product.rows = work.rows;
  product.inner = work.inner;
  product.cols = work.cols;
  product.x = number_of(work.x);
  product.w = number_of(work.w);
  product.y_bits = number_of(work.writes.encoding).bits;
  product.taps = work.taps;
  const double matrix = static_cast<double>(work.count * work.rows * work.inner);
  product.x_reuse = std::min(1.0, 8 * work.reads[0].bytes / (matrix * product.x.bits));
  return product;
}

/// Whether it has weights that training changes: a matrix, or the table of an embedding.
bool learns(const Operation& operation) {
  const bool has_weights = std::ranges::any_of(
      operation.reads, [](const Transfer& each) { return each.role == TensorRole::kWeights; });
  return has_weights && (operation.has_product() || operation.op == ir::Gather::kName);
}

}  // namespace

std::string to_string(const Number& number) {
  return (number.is_float ? "float" : "int") + std::to_string(number.bits);
}

std::string_view to_string(TensorRole role) {
  switch (role) {
    case TensorRole::kWeights:
      return "weights";
    case TensorRole::kInputs:
      return "inputs";
    case TensorRole::kOutputs:
      return "outputs";
    case TensorRole::kStates:
      return "states";
    case TensorRole::kGradients:
      return "gradients";
    case TensorRole::kOptimizer:
      return "optimizer";
  }
  return "";
}

double Operation::bytes_read() const { return sum_bytes(reads); }
double Operation::bytes_written() const { return sum_bytes(writes); }

double Workload::products() const {
  double sum = 0;
  for (const Operation& each : operations) sum += each.product.products();
  return sum;
}

double Workload::bytes(TensorRole role) const {
  double sum = 0;
  for (const Operation& each : operations) {
    for (const auto* list : {&each.reads, &each.writes}) {
      for (const Transfer& transfer : *list) {
        if (transfer.role == role) sum += transfer.bytes;
      }
    }
  }
  return sum;
}

double Workload::weight_bytes() const {
  double sum = 0;
  for (const Operation& each : operations) {
    if (each.is_backward) continue;
    for (const Transfer& transfer : each.reads) {
      if (transfer.role == TensorRole::kWeights) sum += transfer.bytes;
    }
  }
  return sum;
}

Workload workload_of(const Product& product) {
  const auto count = [&](std::size_t a, std::size_t b) {
    return static_cast<double>(product.count) * static_cast<double>(a) * static_cast<double>(b);
  };
  Operation operation{.name = "product", .op = "MatMul"};
  operation.product = product;
  operation.outputs = count(product.rows, product.cols);
  operation.reads = {
      {TensorRole::kInputs, count(product.rows, product.inner) * product.x.bits / 8},
      {TensorRole::kWeights, count(product.inner, product.cols) * product.w.bits / 8}};
  operation.writes = {{TensorRole::kOutputs, operation.outputs * product.y_bits / 8}};
  const std::string name = std::to_string(product.rows) + " x " + std::to_string(product.inner) +
                           " x " + std::to_string(product.cols);
  return {name, 1, {operation}};
}

Operation operation_of(const ir::Graph& graph, const ir::Node& node, std::size_t batch) {
  const ir::Work work = ir::work_of(graph, node, batch);
  Operation operation{.name = node.name, .op = operator_name(node, work)};
  operation.product = product_of(work);
  if (std::holds_alternative<ir::Encode>(node.op)) {
    operation.product.w = operation.product.x = number_of(work.writes.encoding);
  }
  operation.operations = work.elements.operations;
  operation.functions = work.elements.functions;
  const ir::Shape& shape = graph.value(node.output).type.shape;
  operation.outputs = static_cast<double>(shape.with_batch(batch).element_count());
  for (const ir::Traffic& each : work.reads) {
    const bool is_constant = graph.constant(each.value) != nullptr;
    operation.reads.push_back(
        {is_constant ? TensorRole::kWeights : TensorRole::kInputs, each.bytes});
  }
  operation.writes.push_back({TensorRole::kOutputs, work.writes.bytes});
  return operation;
}

Workload workload_of(const ir::Graph& graph, std::string name, std::size_t batch) {
  Workload workload{std::move(name), batch, {}};
  std::set<ir::ValueId> learned;  // values that depend on weights
  std::map<ir::NodeId, std::size_t> places;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    Operation operation = operation_of(graph, node, batch);
    operation.needs_input_gradient = std::ranges::any_of(
        node.inputs, [&](const ir::ValueId input) { return learned.contains(input); });
    if (operation.needs_input_gradient || learns(operation)) learned.insert(node.output);
    if (std::holds_alternative<ir::Reshape>(node.op)) continue;
    places[id] = workload.operations.size();
    workload.operations.push_back(std::move(operation));
  }
  std::map<ir::NodeId, Operation*> operations;
  for (const auto& [id, place] : places) operations[id] = &workload.operations[place];
  mark_tensor_pairs(graph, operations);
  return workload;
}

}  // namespace halftone::accel
