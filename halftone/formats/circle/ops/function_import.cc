// SPDX-License-Identifier: Apache-2.0
// Functions of elements that are built from several operators of a graph.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "halftone/formats/circle/check.h"
#include "halftone/formats/circle/importer.h"

namespace halftone::formats::circle {
namespace {

using ir::ActivationKind;
using ir::BinaryKind;
using ir::Dim;
using ir::ElementType;
using ir::ValueId;

template <BinaryKind kind>
void import_bits(OperatorImport& op) {
  op.emit(ir::Binary{kind, {}}, {op.raw(0), op.raw(1)});
}

void import_atan2(OperatorImport& op) { op.alias(angle_of(op, op.number(0), op.number(1))); }

/// How many boundaries, which ascend, an element has reached.
void import_bucketize(OperatorImport& op) {
  const auto* options = op.options<schema::BucketizeOptions>();
  const auto boundaries =
      options == nullptr ? std::span<const float>() : elements(options->boundaries());
  check(std::ranges::is_sorted(boundaries) && boundaries.size() <= FileModel::kMaxOperands,
        "expected at most " + std::to_string(FileModel::kMaxOperands) + " ascending boundaries");
  for (const float boundary : boundaries) OperatorImport::finite(boundary, "boundary");
  ValueId x = op.numeric(0);
  const ir::Shape shape = op.shape(x);
  if (!op.graph().value(x).type.is_dense(ElementType::kFloat32)) {
    x = op.step(ir::Cast{ElementType::kFloat32}, {x}, "numbers");
  }
  std::vector<Dim> column(shape.dims().begin(), shape.dims().end());
  column.push_back(1);
  x = op.step(ir::Reshape{ir::Shape(std::move(column))}, {x}, "column");
  const ValueId ends = op.graph().add_constant(
      "boundaries", ir::Tensor::from<float>({static_cast<Dim>(boundaries.size())}, boundaries));
  const ValueId reached =
      op.step(ir::Binary{BinaryKind::kGreaterOrEqual, {}}, {x, ends}, "reached");
  const ValueId ones = op.step(ir::Cast{ElementType::kInt32}, {reached}, "ones");
  op.emit(ir::Reduce{ir::ReduceKind::kSum, {shape.rank()}, false}, {ones});
}

/// The numbers that a FAKE_QUANT rounds to: low + scale q.
struct RoundedRange {
  float low = 0;
  float high = 0;
  float scale = 0;
};

/// Moves the range so that 0 is a step. Source: NudgeQuantizationRange() of TensorFlow Lite.
RoundedRange rounded_range(const schema::FakeQuantOptions& options) {
  const float low = OperatorImport::finite(options.min(), "min");
  const float high = OperatorImport::finite(options.max(), "max");
  check(low <= 0 && high >= 0 && low < high && options.num_bits() >= 2 && options.num_bits() <= 16,
        "expected a range that holds 0, and 2 to 16 bits");
  const float first = options.narrow_range() ? 1 : 0;
  const float last = std::ldexp(1.0F, options.num_bits()) - 1;
  const float scale = (high - low) / (last - first);
  const float zero = std::clamp(std::round(first - low / scale), first, last);
  return {(first - zero) * scale, (last - zero) * scale, scale};
}

void import_fake_quant(OperatorImport& op) {
  const auto* options = op.options<schema::FakeQuantOptions>();
  check(options != nullptr, "has no options");
  const RoundedRange steps = rounded_range(*options);
  const auto binary = [&](BinaryKind kind, ValueId a, float b, const char* name) {
    return op.step(ir::Binary{kind, {}}, {a, op.scalar(b, name)}, name);
  };
  const ir::Activation clip{ActivationKind::kClip, steps.low, steps.high};
  const ValueId clipped = op.step(ir::Unary{clip}, {op.number(0)}, "clipped");
  const ValueId above = binary(BinaryKind::kSub, clipped, steps.low, "above");
  const ValueId scaled = binary(BinaryKind::kMul, above, 1 / steps.scale, "scaled");
  const ValueId half = binary(BinaryKind::kAdd, scaled, 0.5F, "half");
  const ValueId codes = op.step(ir::Unary{{ActivationKind::kFloor, 0, 0}}, {half}, "codes");
  const ValueId sizes = binary(BinaryKind::kMul, codes, steps.scale, "sizes");
  op.emit(ir::Binary{BinaryKind::kAdd, {}}, {sizes, op.scalar(steps.low, "low")});
}

void import_local_normalization(OperatorImport& op) {
  const auto* options = op.options<schema::LocalResponseNormalizationOptions>();
  check(options != nullptr && options->radius() >= 0, "expected a radius of at least 0");
  const ValueId x = op.number(0);
  const auto radius = static_cast<std::size_t>(options->radius());
  op.emit(ir::LocalNormalize{ir::normalized_axis(-1, op.shape(x).rank()), radius, radius,
                             OperatorImport::finite(options->alpha(), "alpha"),
                             OperatorImport::finite(options->beta(), "beta"),
                             OperatorImport::finite(options->bias(), "bias")},
          {x});
}

constexpr ImportEntry kFunctionImports[] = {
    {OperatorCode::kBitwiseXor, import_bits<BinaryKind::kXor>},
    {OperatorCode::kRightShift, import_bits<BinaryKind::kShiftRight>},
    {OperatorCode::kAtan2, import_atan2},
    {OperatorCode::kBucketize, import_bucketize},
    {OperatorCode::kFakeQuant, import_fake_quant},
    {OperatorCode::kLocalResponseNormalization, import_local_normalization},
};

}  // namespace

/// The angle of (|x|, |y|), turned by the signs.
ValueId angle_of(OperatorImport& op, ValueId y, ValueId x) {
  const auto unary = [&](ActivationKind kind, ValueId a, const char* name) {
    return op.step(ir::Unary{{kind, 0, 0}}, {a}, name);
  };
  const auto binary = [&](BinaryKind kind, ValueId a, ValueId b, const char* name) {
    return op.step(ir::Binary{kind, {}}, {a, b}, name);
  };
  const auto positive = [&](ValueId a, const char* name) {
    return binary(BinaryKind::kMin, unary(ActivationKind::kAbs, a, name),
                  op.scalar(std::numeric_limits<float>::max(), "largest"), name);
  };
  const ValueId zero = op.scalar(0, "zero");
  const ValueId height = positive(y, "height");
  const ValueId is_flat = binary(BinaryKind::kEqual, height, zero, "flat");
  const ValueId quotient = binary(BinaryKind::kDiv, height, positive(x, "width"), "quotient");
  const ValueId steep = unary(ActivationKind::kAtan, quotient, "steep");
  const ValueId angle = op.step(ir::Where{}, {is_flat, zero, steep}, "angle");
  const auto is_negative = [&](ValueId a, const char* name) {
    return binary(BinaryKind::kGreater, unary(ActivationKind::kSignBit, a, name), zero, name);
  };
  const ValueId left =
      binary(BinaryKind::kSub, op.scalar(std::numbers::pi_v<float>, "pi"), angle, "left");
  const ValueId half = op.step(ir::Where{}, {is_negative(x, "is left"), left, angle}, "half");
  const ValueId below = unary(ActivationKind::kNeg, half, "below");
  return op.step(ir::Where{}, {is_negative(y, "is below"), below, half}, "turned");
}

std::span<const ImportEntry> function_imports() { return kFunctionImports; }

}  // namespace halftone::formats::circle
