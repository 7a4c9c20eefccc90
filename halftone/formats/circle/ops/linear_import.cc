// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "halftone/formats/circle/check.h"
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

using ir::Dim;
using ir::ValueId;

/// The inputs of the operator.
enum SvdfInput : std::size_t { kX, kFeatureWeights, kTimeWeights, kBias, kState };

/// What the filters gave in the last runs, the oldest first, [B, filters, runs]; with this run.
ValueId remembered(OperatorImport& op, ValueId now, const ir::Shape& shape) {
  Importer::Variable& state = op.importer().own_variable(op.input_tensor(kState), shape);
  const auto kept = static_cast<std::size_t>(shape[2]) - 1;
  const ValueId last = op.step(ir::Reshape{{shape[0], shape[1], 1}}, {now}, "now");
  if (kept == 0) return state.now = last;
  const ValueId older = op.step(ir::Slice{2, 1, 1, kept}, {state.before}, "older");
  return state.now = op.step(ir::Concat{2}, {older, last}, "remembered");
}

void import_svdf(OperatorImport& op) {
  const auto* options = op.options<schema::SVDFOptions>();
  const Dim rank = options == nullptr ? 1 : options->rank();
  const ValueId x = op.number(kX);
  const ValueId features = op.number(kFeatureWeights);
  const ValueId time = op.number(kTimeWeights);
  const ir::Shape weights = op.shape(time);
  check(op.shape(x).rank() == 2 && weights.rank() == 2 && weights[1] > 0 && rank > 0 &&
            weights[0] % rank == 0,
        "expected a matrix, weights over time and a rank that divides their filters");
  const Dim batch = op.shape(x)[0];
  if (ir::is_open(batch)) fail(ErrorKind::kShape, "a state of every sample");
  const Dim filters = weights[0];
  const ValueId now = op.step(ir::FullyConnected{}, {x, features}, "features");
  const ValueId runs = remembered(op, now, {batch, filters, weights[1]});
  const ValueId weighted = op.step(ir::Binary{ir::BinaryKind::kMul, {}}, {runs, time}, "weighted");
  ValueId sums = op.step(ir::Reduce{ir::ReduceKind::kSum, {2}, false}, {weighted}, "time");
  if (rank > 1) {
    sums = op.step(ir::Reshape{{batch, filters / rank, rank}}, {sums}, "ranks");
    sums = op.step(ir::Reduce{ir::ReduceKind::kSum, {2}, false}, {sums}, "rank");
  }
  const ir::Activation activation =
      options ? fused_activation(options->fused_activation_function()) : ir::Activation{};
  if (!op.has_input(kBias)) return op.emit(ir::Unary{activation}, {sums});
  op.emit(ir::Binary{ir::BinaryKind::kAdd, activation}, {sums, op.number(kBias)});
}

constexpr ImportEntry kSvdfImports[] = {{OperatorCode::kSvdf, import_svdf}};

}  // namespace

std::span<const ImportEntry> linear_imports() { return kLinearImports; }

std::span<const ImportEntry> svdf_imports() { return kSvdfImports; }

}  // namespace halftone::formats::circle
