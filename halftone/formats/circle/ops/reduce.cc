// SPDX-License-Identifier: Apache-2.0
// Reader and writer of reductions and other operators along axes.
#include <algorithm>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/formats/circle/check.h"
#include "halftone/formats/circle/constant_tensor.h"
#include "halftone/formats/circle/exporter.h"
#include "halftone/formats/circle/importer.h"

namespace halftone::formats::circle {
namespace {

using ir::BinaryKind;
using ir::ReduceKind;
using ir::ValueId;

/// The axes that an input names, sorted and without repeats.
std::vector<std::size_t> axes_of(OperatorImport& op, std::size_t input, std::size_t rank) {
  std::vector<std::size_t> axes;
  for (const std::int64_t axis : op.integers(input)) {
    axes.push_back(ir::normalized_axis(axis, rank));
  }
  std::ranges::sort(axes);
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

template <ReduceKind kind>
void import_reduce(OperatorImport& op) {
  const auto* options = op.options<schema::ReducerOptions>();
  const ValueId x = op.numeric(0);
  std::vector<std::size_t> axes = axes_of(op, 1, op.shape(x).rank());
  if (axes.empty()) return op.alias(x);
  op.emit(ir::Reduce{kind, std::move(axes), options != nullptr && options->keep_dims()}, {x});
}

/// Emits indices, which our operators compute as int64, with the output's element type.
void emit_indices(OperatorImport& op, ValueId indices, std::size_t output) {
  const auto type = op.importer().file().tensor(op.output_tensor(output)).type();
  const auto element = element_type(type);
  if (!element || *element == ir::ElementType::kInt64) return op.alias(indices, output);
  op.emit(ir::Cast{*element}, {indices}, output);
}

template <bool largest>
void import_arg(OperatorImport& op) {
  const ValueId x = op.numeric(0);
  const std::vector<std::int64_t> axis = op.integers(1);
  check(axis.size() == 1, "expected one axis, found " + std::to_string(axis.size()));
  const ir::ArgReduce arg{ir::normalized_axis(axis[0], op.shape(x).rank()), largest, false, false};
  emit_indices(op, op.step(arg, {x}, "indices"), 0);
}

void import_top_k(OperatorImport& op) {
  const ValueId x = op.numeric(0);
  const Extents found = op.extents(1);
  const std::size_t axis = ir::normalized_axis(-1, op.shape(x).rank());
  const ir::Extent rest = ir::extent_of(op.shape(x)[axis]) - (found.size() == 1 ? found[0] : 0);
  check(found.size() == 1 && found[0].number().value_or(0) >= 0 && rest.number().value_or(0) >= 0,
        "k is out of range");
  const auto k = static_cast<std::size_t>(ir::dim_of(found[0]));
  const ValueId indices = op.step(ir::TopK{axis, k, true}, {x}, "indices");
  op.emit(ir::GatherElements{axis}, {x, indices}, 0);
  emit_indices(op, indices, 1);
}

void import_cumsum(OperatorImport& op) {
  const auto* options = op.options<schema::CumsumOptions>();
  const ValueId x = op.numeric(0);
  const std::vector<std::int64_t> axis = op.integers(1);
  check(axis.size() == 1, "expected one axis, found " + std::to_string(axis.size()));
  op.emit(ir::CumSum{ir::normalized_axis(axis[0], op.shape(x).rank()),
                     options != nullptr && options->exclusive(),
                     options != nullptr && options->reverse()},
          {x});
}

/// x / max(sqrt(sum x^2), 1e-6) along the last axis.
void import_l2_normalization(OperatorImport& op) {
  const auto* options = op.options<schema::L2NormOptions>();
  const ir::Activation activation =
      options ? fused_activation(options->fused_activation_function()) : ir::Activation{};
  const ValueId x = op.number(0);
  const std::size_t axis = ir::normalized_axis(-1, op.shape(x).rank());
  const ValueId norm = op.step(ir::Reduce{ReduceKind::kL2, {axis}, true}, {x}, "norm");
  const ValueId bounded =
      op.step(ir::Binary{BinaryKind::kMax, {}}, {norm, op.scalar(1e-6F, "least")}, "bounded");
  op.emit(ir::Binary{BinaryKind::kDiv, activation}, {x, bounded});
}

constexpr ImportEntry kReduceImports[] = {
    {OperatorCode::kMean, import_reduce<ReduceKind::kMean>},
    {OperatorCode::kSum, import_reduce<ReduceKind::kSum>},
    {OperatorCode::kReduceProd, import_reduce<ReduceKind::kProd>},
    {OperatorCode::kReduceMax, import_reduce<ReduceKind::kMax>},
    {OperatorCode::kReduceMin, import_reduce<ReduceKind::kMin>},
    {OperatorCode::kReduceAny, import_reduce<ReduceKind::kMax>},
    {OperatorCode::kReduceAll, import_reduce<ReduceKind::kMin>},
    {OperatorCode::kArgMax, import_arg<true>},
    {OperatorCode::kArgMin, import_arg<false>},
    {OperatorCode::kTopKV2, import_top_k},
    {OperatorCode::kCumsum, import_cumsum},
    {OperatorCode::kL2Normalization, import_l2_normalization},
};

void write_reduce(Exporter& exporter, const ir::Node& node, const ir::Reduce& op) {
  const auto code = [&] {
    switch (op.kind) {
      case ir::ReduceKind::kSum:
        return OperatorCode::kSum;
      case ir::ReduceKind::kMean:
        return OperatorCode::kMean;
      case ir::ReduceKind::kMax:
        return OperatorCode::kReduceMax;
      case ir::ReduceKind::kMin:
        return OperatorCode::kReduceMin;
      case ir::ReduceKind::kProd:
        return OperatorCode::kReduceProd;
      case ir::ReduceKind::kL1:
      case ir::ReduceKind::kL2:
      case ir::ReduceKind::kSumSquare:
      case ir::ReduceKind::kLogSum:
      case ir::ReduceKind::kLogSumExp:
        break;
    }
    fail(ErrorKind::kUnsupported, "no equivalent operator in the format");
  }();
  schema::ReducerOptionsT options;
  options.keep_dims = op.keep_dims;
  const std::vector<std::int64_t> axes(op.axes.begin(), op.axes.end());
  exporter.add_node(code, node, united(options), {exporter.integers(axes)});
}

void write_cumsum(Exporter& exporter, const ir::Node& node, const ir::CumSum& op) {
  schema::CumsumOptionsT options;
  options.exclusive = op.exclusive;
  options.reverse = op.reverse;
  const std::vector<std::int64_t> axis = {static_cast<std::int64_t>(op.axis)};
  exporter.add_node(OperatorCode::kCumsum, node, united(options), {exporter.integers(axis)});
}

constexpr WriterEntry kReduceWriters[] = {node_writer_entry<Exporter, ir::Reduce, write_reduce>(),
                                          node_writer_entry<Exporter, ir::CumSum, write_cumsum>()};

}  // namespace

std::span<const ImportEntry> reduce_imports() { return kReduceImports; }
std::span<const WriterEntry> reduce_writers() { return kReduceWriters; }

}  // namespace halftone::formats::circle
