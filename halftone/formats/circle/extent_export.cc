// SPDX-License-Identifier: Apache-2.0
// Extents as tensors: of the batch from the shape of an input, of computed symbols from the numbers
// that define them.
#include <algorithm>
#include <array>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/formats/circle/exporter.h"
#include "halftone/ir/extent.h"

namespace halftone::formats::circle {

TensorIndex Exporter::batch() {
  for (const ir::ValueId input : graph_.inputs()) {
    const auto dims = graph_.value(input).type.shape.dims();
    const auto axis = std::ranges::find(dims, ir::kBatch) - dims.begin();
    if (axis == std::ssize(dims)) continue;
    schema::ShapeOptionsT options;
    options.out_type = schema::TensorType::INT32;
    const TensorIndex all =
        computed(OperatorCode::kShape, {tensor(input)}, std::ssize(dims), united(options));
    const std::array<std::int64_t, 1> begin = {axis};
    const std::array<std::int64_t, 1> count = {1};
    return computed(OperatorCode::kSlice, {all, integers(begin), integers(count)}, 1);
  }
  fail(ErrorKind::kUnsupported, "the batch is not an extent of an input");
}

TensorIndex Exporter::symbol(const std::string& name) {
  if (name == ir::kBatchSymbol) return batch();
  for (const ir::Definition& each : graph_.definitions()) {
    if (each.symbol != name) continue;
    const TensorIndex wide =
        computed_tensor("extent", ir::dense_type(ir::ElementType::kInt64, {1}));
    const std::array<std::int64_t, 1> one = {1};
    add(OperatorCode::kReshape, {tensor(each.value), integers(one)},
        std::vector<TensorIndex>{wide});
    schema::CastOptionsT cast;
    cast.in_data_type = schema::TensorType::INT64;
    cast.out_data_type = schema::TensorType::INT32;
    return computed(OperatorCode::kCast, {wide}, 1, united(cast));
  }
  fail(ErrorKind::kUnsupported, "an extent '" + name + "' that nothing computes");
}

TensorIndex Exporter::atom(const ir::Extent::Atom& atom) {
  using AtomKind = ir::Extent::Atom::Kind;
  if (atom.kind == AtomKind::kSymbol) return symbol(atom.text);
  if (atom.kind > AtomKind::kGreatest) {
    fail(ErrorKind::kUnsupported, "an extent that floats compute: " + atom.text);
  }
  const OperatorCode code = atom.kind == AtomKind::kQuotient ? OperatorCode::kFloorDiv
                            : atom.kind == AtomKind::kLeast  ? OperatorCode::kMinimum
                                                             : OperatorCode::kMaximum;
  const TensorIndex a = extent(atom.a);
  return computed(code, {a, extent(atom.b)}, 1);
}

TensorIndex Exporter::extent(const ir::Extent& extent) {
  const auto known = extents_.find(extent.text());
  if (known != extents_.end()) return known->second;
  TensorIndex sum = kNoTensor;
  const auto add_to_sum = [&](TensorIndex part) {
    sum = sum == kNoTensor ? part : computed(OperatorCode::kAdd, {sum, part}, 1);
  };
  for (const auto& [text, term] : extent.terms()) {
    TensorIndex product = kNoTensor;
    for (const auto& each : term.atoms) {
      const TensorIndex factor = atom(*each);
      product = product == kNoTensor ? factor : computed(OperatorCode::kMul, {product, factor}, 1);
    }
    const std::array<std::int64_t, 1> number = {term.factor};
    if (product == kNoTensor) {
      product = integers(number);
    } else if (term.factor != 1) {
      product = computed(OperatorCode::kMul, {product, integers(number)}, 1);
    }
    add_to_sum(product);
  }
  const std::array<std::int64_t, 1> zero = {0};
  if (sum == kNoTensor) sum = integers(zero);
  return extents_[extent.text()] = sum;
}

TensorIndex Exporter::list(std::vector<TensorIndex> parts) {
  if (parts.size() == 1) return parts[0];
  const auto count = static_cast<ir::Dim>(parts.size());
  return computed(OperatorCode::kConcatenation, std::move(parts), count,
                  united(schema::ConcatenationOptionsT()));
}

TensorIndex Exporter::extents(const ir::Shape& shape) {
  if (shape.is_static()) return integers(shape.dims());
  std::vector<TensorIndex> parts;
  for (const ir::Dim dim : shape.dims()) parts.push_back(extent(ir::extent_of(dim)));
  return list(std::move(parts));
}

}  // namespace halftone::formats::circle
