// SPDX-License-Identifier: Apache-2.0
// Operators of classical machine learning that scale features.
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/registry.h"

namespace halftone::formats::onnx {
namespace {

using ir::BinaryKind;
using ir::ValueId;

/// A list of one number, or of one for each feature, the last axis.
ValueId features(NodeBuilder& node, const char* attribute, float otherwise) {
  std::vector<float> numbers =
      node.floats_attribute(attribute).value_or(std::vector<float>{otherwise});
  const ir::Shape& x = node.input_type(0).shape;
  const bool fits =
      numbers.size() == 1 || (x.rank() > 0 && x.back() == static_cast<ir::Dim>(numbers.size()));
  if (!fits) {
    fail(ErrorKind::kShape, std::string(attribute) +
                                ": expected one number or one for each feature of " +
                                x.to_string() + ", found " + std::to_string(numbers.size()));
  }
  const ir::Shape shape = numbers.size() == 1 ? ir::Shape{} : ir::Shape{std::ssize(numbers)};
  return node.add_constant(ir::Tensor::from<float>(shape, numbers));
}

/// y = (x - offset) scale
void build_scaler(NodeBuilder& node) {
  const ValueId x = node.as_float(node.input(0));
  const ValueId centered = emit_binary(node, BinaryKind::kSub, x, features(node, "offset", 0));
  node.set_output(0, emit_binary(node, BinaryKind::kMul, centered, features(node, "scale", 1)));
}

/// y = x / n, where n = max x, sum |x| or sqrt(sum x^2) over the features; 1 if that is 0.
void build_normalizer(NodeBuilder& node) {
  const ValueId x = node.as_float(node.input(0));
  const std::string norm = node.choice_attribute("norm", "MAX", {"MAX", "L1", "L2"});
  const ir::ReduceKind kind = norm == "MAX"  ? ir::ReduceKind::kMax
                              : norm == "L1" ? ir::ReduceKind::kL1
                                             : ir::ReduceKind::kL2;
  const std::size_t rank = node.type(x).shape.rank();
  if (rank == 0) fail(ErrorKind::kShape, "expected features, found a scalar");
  const ValueId size = emit_reduce(node, kind, {rank - 1}, true, x);
  const ValueId is_zero = emit_binary(node, BinaryKind::kEqual, size, node.add_scalar(0));
  const ValueId divisor = emit_where(node, is_zero, node.add_scalar(1), size);
  node.set_output(0, emit_binary(node, BinaryKind::kDiv, x, divisor));
}

/// 1 where x is above the threshold, else 0.
void build_binarizer(NodeBuilder& node) {
  const ValueId x = node.as_float(node.input(0));
  const ValueId threshold = node.add_scalar(node.float_attribute("threshold", 0));
  node.set_output(0, node.as_float(emit_binary(node, BinaryKind::kGreater, x, threshold)));
}

constexpr ReaderEntry kMlReaders[] = {
    {kMlDomain, "Binarizer", build_binarizer},
    {kMlDomain, "Normalizer", build_normalizer},
    {kMlDomain, "Scaler", build_scaler},
};

}  // namespace

std::span<const ReaderEntry> ml_readers() { return kMlReaders; }

}  // namespace halftone::formats::onnx
