// SPDX-License-Identifier: Apache-2.0
// Operators that read or write at indices from other tensors.
#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include "halftone/base/error.h"
#include "halftone/train/graph/torch_operators.h"

namespace halftone::train {
namespace {

using Dims = std::vector<std::int64_t>;

std::int64_t product(at::IntArrayRef extents) {
  std::int64_t result = 1;
  for (const std::int64_t extent : extents) result *= extent;
  return result;
}

Dims joined(at::IntArrayRef first, at::IntArrayRef second) {
  Dims result = first.vec();
  result.insert(result.end(), second.begin(), second.end());
  return result;
}

/// Indices [..., depth] along the axes of x from `first` on, as indices into these axes flattened.
at::Tensor flat_places(const at::Tensor& indices, const at::Tensor& x, std::int64_t first) {
  const std::int64_t depth = indices.size(-1);
  at::Tensor flat = at::zeros(indices.sizes().slice(0, indices.sizes().size() - 1),
                              indices.options().dtype(at::kLong));
  for (std::int64_t d = 0; d < depth; ++d) {
    const std::int64_t extent = x.size(first + d);
    flat = flat * extent + resolved_indices(indices.select(-1, d), extent);
  }
  return flat;
}

std::size_t count_of(std::int64_t number) { return static_cast<std::size_t>(number); }

/// Drops warnings: a library does not print.
class Silence : public c10::WarningHandler {
 public:
  void process(const c10::SourceLocation& /*where*/, const std::string& /*text*/,
               const bool /*verbatim*/) override {}
};

/// Combines updates into x; libtorch warns that this operator may change in later versions.
at::Tensor scatter_reduced(const at::Tensor& x, std::int64_t axis, const at::Tensor& places,
                           const at::Tensor& updates, c10::string_view reduction) {
  Silence silence;
  const c10::Warning::WarningHandlerGuard guard(&silence);
  return x.scatter_reduce(axis, places, updates, reduction);
}

/// Writes updates into x along an axis.
/// @param places  resolved, of the updates' shape
at::Tensor scattered(ir::Scatter reduction, const at::Tensor& x, std::int64_t axis,
                     const at::Tensor& places, const at::Tensor& updates) {
  switch (reduction) {
    case ir::Scatter::kReplace:
      break;
    case ir::Scatter::kAdd:
      return x.scatter_add(axis, places, updates);
    case ir::Scatter::kMul:
      return scatter_reduced(x, axis, places, updates, "prod");
    case ir::Scatter::kMax:
      return scatter_reduced(x, axis, places, updates, "amax");
    case ir::Scatter::kMin:
      return scatter_reduced(x, axis, places, updates, "amin");
  }
  // If several updates have the same index, only the last one counts and has a gradient. libtorch
  // guarantees neither, so the last update of each index is determined first.
  Dims along(count_of(x.dim()), 1);
  along[count_of(axis)] = places.size(axis);
  const at::Tensor order =
      at::arange(places.size(axis), places.options()).reshape(along).expand(places.sizes());
  const at::Tensor last =
      scatter_reduced(at::full(x.sizes(), -1, places.options()), axis, places, order, "amax");
  const at::Tensor is_last = last.gather(axis, places) == order;
  // Each written element has exactly one last update, so the sum equals that update.
  const at::Tensor written = at::zeros_like(x).scatter_add(
      axis, places, at::where(is_last, updates, at::zeros({}, updates.options())));
  return at::where(last >= 0, written, x);
}

at::Tensor compute(const ir::Gather& op, const TorchInputs& in) {
  const at::Tensor x = in[0];
  const auto axis = static_cast<std::int64_t>(op.axis);
  const at::Tensor places = resolved_indices(in[1], x.size(axis));
  Dims shape = joined(x.sizes().slice(0, op.axis), places.sizes());
  shape = joined(shape, x.sizes().slice(op.axis + 1));
  return x.index_select(axis, places.reshape({-1})).reshape(shape);
}

at::Tensor compute(const ir::GatherElements& op, const TorchInputs& in) {
  const auto axis = static_cast<std::int64_t>(op.axis);
  return in[0].gather(axis, resolved_indices(in[1], in[0].size(axis)));
}

/// The first batch_dims axes are flattened into one.
at::Tensor compute(const ir::GatherND& op, const TorchInputs& in) {
  const at::Tensor x = in[0];
  const auto first = static_cast<std::int64_t>(op.batch_dims);
  const auto depth = in[1].size(-1);
  const auto rest = x.sizes().slice(op.batch_dims + count_of(depth));
  const std::int64_t samples = product(x.sizes().slice(0, op.batch_dims));
  const std::int64_t positions = product(x.sizes().slice(op.batch_dims, count_of(depth)));
  const at::Tensor places = flat_places(in[1], x, first);
  const Dims shape = joined(places.sizes(), rest);
  const std::int64_t reads = product(places.sizes().slice(op.batch_dims));
  const at::Tensor offsets = at::arange(samples, places.options()).unsqueeze(1) * positions;
  const at::Tensor rows = (places.reshape({samples, reads}) + offsets).reshape({-1});
  return x.reshape({samples * positions, product(rest)}).index_select(0, rows).reshape(shape);
}

at::Tensor compute(const ir::ScatterElements& op, const TorchInputs& in) {
  const auto axis = static_cast<std::int64_t>(op.axis);
  return scattered(op.reduction, in[0], axis, resolved_indices(in[1], in[0].size(axis)), in[2]);
}

at::Tensor compute(const ir::ScatterND& op, const TorchInputs& in) {
  const at::Tensor x = in[0];
  const std::size_t depth = count_of(in[1].size(-1));
  const std::int64_t width = product(x.sizes().slice(depth));
  const at::Tensor places = flat_places(in[1], x, 0).reshape({-1, 1});
  const Dims extents{places.size(0), width};
  return scattered(op.reduction, x.reshape({product(x.sizes().slice(0, depth)), width}), 0,
                   places.expand(extents), in[2].reshape(extents))
      .reshape(x.sizes());
}

constexpr TorchEntry kIndexFunctions[] = {
    torch_entry<ir::Gather, compute>(),    torch_entry<ir::GatherElements, compute>(),
    torch_entry<ir::GatherND, compute>(),  torch_entry<ir::ScatterElements, compute>(),
    torch_entry<ir::ScatterND, compute>(),
};

}  // namespace

std::span<const TorchEntry> index_functions() { return kIndexFunctions; }

}  // namespace halftone::train
