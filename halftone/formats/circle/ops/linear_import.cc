// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "halftone/formats/circle/importer.h"

namespace halftone::formats::circle {
namespace {

using ir::ValueId;

void import_fully_connected(OperatorImport& op) {
  const auto* options = op.options<schema::FullyConnectedOptions>();
  if (options != nullptr &&
      options->weights_format() != schema::FullyConnectedOptionsWeightsFormat::DEFAULT) {
    fail(ErrorKind::kUnsupported,
         "weights format " + std::to_string(static_cast<int>(options->weights_format())));
  }
  ValueId x = op.number(0);
  std::vector<ValueId> inputs = {x, op.number(1)};
  const ir::Shape weights = op.shape(inputs[1]);
  const bool keeps_axes = options != nullptr && options->keep_num_dims();
  if (!keeps_axes && op.shape(x).rank() != 2 && weights.rank() == 2) {
    const std::array<std::int64_t, 2> request = {-1, weights[1]};
    inputs[0] = op.step(ir::Reshape{op.reshape_target(x, request)}, {x}, "rows");
  }
  if (op.has_input(2)) inputs.push_back(op.number(2));
  const ir::Activation activation =
      options ? fused_activation(options->fused_activation_function()) : ir::Activation{};
  op.emit(ir::FullyConnected{activation}, std::move(inputs));
}

void import_batch_matmul(OperatorImport& op) {
  const auto* options = op.options<schema::BatchMatMulOptions>();
  op.emit(ir::MatMul{options && options->adj_x(), options && options->adj_y()},
          {op.number(0), op.number(1)});
}

void import_softmax(OperatorImport& op, float beta, bool log) {
  const ValueId x = op.number(0);
  op.emit(ir::Softmax{ir::normalized_axis(-1, op.shape(x).rank()), beta, log}, {x});
}

void import_plain_softmax(OperatorImport& op) {
  const auto* options = op.options<schema::SoftmaxOptions>();
  // An absent beta reads as 0; it means 1.
  const float beta = options == nullptr || options->beta() == 0 ? 1 : options->beta();
  import_softmax(op, OperatorImport::finite(beta, "beta"), false);
}

void import_log_softmax(OperatorImport& op) { import_softmax(op, 1, true); }

constexpr ImportEntry kLinearImports[] = {
    {OperatorCode::kFullyConnected, import_fully_connected},
    {OperatorCode::kBatchMatmul, import_batch_matmul},
    {OperatorCode::kSoftmax, import_plain_softmax},
    {OperatorCode::kLogSoftmax, import_log_softmax},
};

}  // namespace

std::span<const ImportEntry> linear_imports() { return kLinearImports; }

}  // namespace halftone::formats::circle
