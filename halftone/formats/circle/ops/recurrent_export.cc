// SPDX-License-Identifier: Apache-2.0
// Writes a recurrent layer: as an LSTM of the format with its projection, or as a custom operator.
#include <algorithm>
#include <array>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/formats/circle/constant_tensor.h"
#include "halftone/formats/circle/custom_options.h"
#include "halftone/formats/circle/exporter.h"
#include "halftone/ir/ops/traits.h"

namespace halftone::formats::circle {
namespace {

using ir::Dim;

/// Whether the format's LSTM can represent the layer: it runs forward with zero initial states.
bool is_standard(const ir::Graph& graph, const ir::Node& node) {
  const auto& op = std::get<ir::Recurrent>(node.op);
  for (std::size_t i = ir::kRecurrenceBias; i < node.inputs.size(); ++i) {
    if (i == ir::kPeepholes) continue;
    if (node.has_input(i)) return false;
  }
  if (node.has_input(ir::kPeepholes) && graph.constant(node.inputs[ir::kPeepholes]) == nullptr) {
    return false;
  }
  const ir::Activation sigmoid{ir::ActivationKind::kSigmoid, 0, 0};
  return op.kind == ir::RecurrentKind::kLstm && !op.reverse && !op.input_forget && !op.with_cell &&
         op.clip == 0 && op.state_encoding == nullptr && op.activations[0] == sigmoid &&
         op.activations[1] == op.activations[2] &&
         activation_code(op.activations[1].kind).has_value() &&
         dense_recurrence(graph, node) != nullptr && projection_of(graph, node);
}

/// Writes parts of constants.
class ConstantParts {
 public:
  ConstantParts(Exporter& exporter, std::string name)
      : exporter_(exporter), name_(std::move(name)) {}

  /// Writes rows [gate * rows, (gate + 1) * rows) of a matrix [.., cols]; of a vector if cols is 0.
  TensorIndex operator()(const char* role, std::span<const float> numbers, std::size_t gate,
                         Dim rows, Dim cols) const {
    const auto width = static_cast<std::size_t>(cols == 0 ? 1 : cols);
    const auto count = static_cast<std::size_t>(rows) * width;
    const ir::Shape shape = cols == 0 ? ir::Shape{rows} : ir::Shape{rows, cols};
    return exporter_.constant(name_ + "/" + role, schema::TensorType::FLOAT32, shape,
                              std::as_bytes(numbers.subspan(gate * count, count)));
  }

 private:
  Exporter& exporter_;
  std::string name_;
};

schema::BuiltinOptionsUnion options_of(const ir::Recurrent& op) {
  schema::UnidirectionalSequenceLSTMOptionsT options;
  options.fused_activation_function = activation_type(op.activations[1]);
  options.cell_clip = op.cell_clip;
  options.time_major = !op.batch_major;
  schema::BuiltinOptionsUnion united;
  united.Set(options);
  return united;
}

void export_standard(Exporter& exporter, const ir::Node& node) {
  const ir::Graph& graph = exporter.graph();
  const auto& op = std::get<ir::Recurrent>(node.op);
  const Projection projection = *projection_of(graph, node);
  const ir::Tensor& recurrence = *dense_recurrence(graph, node);
  const Dim hidden = recurrence.shape()[1];
  const Dim inputs = projection.weights->shape()[1];
  // Our indices of the gates in the file's order: input, forget, cell, output.
  constexpr std::array<std::size_t, 4> kGates = {0, 2, 3, 1};
  constexpr std::array<std::size_t, 3> kPeeps = {0, 2, 1};
  const ConstantParts part(exporter, node.name);
  std::vector<TensorIndex> tensors = {exporter.tensor(projection.x)};
  for (const std::size_t gate : kGates) {
    tensors.push_back(part("weights", projection.weights->as<float>(), gate, hidden, inputs));
  }
  for (const std::size_t gate : kGates) {
    tensors.push_back(part("recurrence", recurrence.as<float>(), gate, hidden, hidden));
  }
  for (const std::size_t gate : kPeeps) {
    if (!node.has_input(ir::kPeepholes)) {
      tensors.push_back(kNoTensor);
      continue;
    }
    const auto& peepholes = std::get<ir::Tensor>(*graph.constant(node.inputs[ir::kPeepholes]));
    tensors.push_back(part("peepholes", peepholes.as<float>(), gate, hidden, 0));
  }
  const std::vector<float> zeros(static_cast<std::size_t>(4 * hidden), 0.0F);
  const std::span<const float> bias =
      projection.bias != nullptr ? projection.bias->as<float>() : std::span<const float>(zeros);
  for (const std::size_t gate : kGates) tensors.push_back(part("bias", bias, gate, hidden, 0));
  tensors.insert(tensors.end(), 2, kNoTensor);  // no projection of the states
  const Dim batch = graph.value(node.output).type.shape[ir::batch_axis(op)];
  tensors.push_back(exporter.variable(node.name + "/hidden", {batch, hidden}));
  tensors.push_back(exporter.variable(node.name + "/cell", {batch, hidden}));
  tensors.insert(tensors.end(), 4, kNoTensor);  // no normalization
  exporter.add(OperatorCode::kUnidirectionalSequenceLstm, std::move(tensors), node.output,
               options_of(op));
}

void export_own(Exporter& exporter, const ir::Node& node) {
  const ir::Graph& graph = exporter.graph();
  const auto& op = std::get<ir::Recurrent>(node.op);
  const ir::ValueId weights = node.inputs[ir::kRecurrenceWeights];
  std::vector<TensorIndex> tensors = {exporter.tensor(node.inputs[ir::kGates]), kNoTensor,
                                      kNoTensor, kNoTensor};
  if (op.state_encoding != nullptr) {
    tensors[1] = scales_tensor(exporter, "state_scales", activation_scales(*op.state_encoding));
  }
  const ir::Constant* constant = graph.constant(weights);
  const auto* codes = constant == nullptr ? nullptr : std::get_if<ir::EncodedTensor>(constant);
  if (codes != nullptr) {
    const ir::Tensor planes = weight_codes(*codes);
    tensors[2] = scales_tensor(exporter, "weight_scales", weight_scales(*codes->encoding));
    tensors[3] = exporter.constant(graph.value(weights).name, schema::TensorType::UINT8,
                                   planes.shape(), planes.bytes());
  } else {
    tensors[3] = exporter.tensor(weights);
  }
  for (std::size_t i = ir::kRecurrenceBias; i < node.inputs.size(); ++i) {
    tensors.push_back(exporter.tensor(node.inputs[i]));
  }
  exporter.add_custom(std::string(kCustomRecurrentName), std::move(tensors), node.output,
                      write_recurrent_options(recurrent_fields_of(graph, node)));
}

}  // namespace

bool belongs_to_recurrent(const ir::Graph& graph, const ir::Node& node) {
  return is_merged_projection(graph, node, is_standard);
}

bool is_own_float_recurrent(const ir::Graph& graph, const ir::Node& node) {
  const auto* op = std::get_if<ir::Recurrent>(&node.op);
  return op != nullptr && op->state_encoding == nullptr &&
         dense_recurrence(graph, node) != nullptr && !is_standard(graph, node);
}

void export_recurrent(Exporter& exporter, const ir::Node& node) {
  if (is_standard(exporter.graph(), node)) {
    export_standard(exporter, node);
  } else {
    export_own(exporter, node);
  }
}

}  // namespace halftone::formats::circle
