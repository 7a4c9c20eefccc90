// SPDX-License-Identifier: Apache-2.0
// Operators that move, repeat or pad elements.
#include <ATen/ATen.h>

#include <numeric>

#include "halftone/base/error.h"
#include "halftone/train/graph/torch_operators.h"

namespace halftone::train {
namespace {

using Dims = std::vector<std::int64_t>;

template <typename Numbers>
Dims signed_dims(const Numbers& numbers) {
  return Dims(numbers.begin(), numbers.end());
}

std::int64_t axis_of(std::size_t axis) { return static_cast<std::int64_t>(axis); }

/// Pads x along one axis by gathering the elements that a Pad repeats.
at::Tensor mirrored(const ir::Pad& op, const at::Tensor& x, std::size_t axis) {
  const std::int64_t extent = x.size(axis_of(axis));
  const auto before = static_cast<std::int64_t>(op.before[axis]);
  Dims indices;
  for (std::int64_t i = -before; i < extent + static_cast<std::int64_t>(op.after[axis]); ++i) {
    indices.push_back(ir::padded_index(op.mode, i, extent));
  }
  return x.index_select(axis_of(axis), at::tensor(indices, at::kLong).to(x.device()));
}

at::Tensor compute(const ir::Reshape& op, const TorchInputs& in) {
  return in[0].reshape(signed_dims(op.shape.dims()));
}

at::Tensor compute(const ir::Transpose& op, const TorchInputs& in) {
  return in[0].permute(signed_dims(op.permutation));
}

at::Tensor compute(const ir::Concat& op, const TorchInputs& in) {
  return at::cat(in.tensors(), axis_of(op.axis));
}

/// libtorch slices with positive steps only: negative ones slice the same indices, then flip.
at::Tensor compute(const ir::Slice& op, const TorchInputs& in) {
  const std::int64_t axis = axis_of(op.axis);
  if (op.count == 0) return in[0].narrow(axis, 0, 0);
  const auto begin = static_cast<std::int64_t>(op.begin);
  const std::int64_t end = begin + (static_cast<std::int64_t>(op.count) - 1) * op.step;
  if (op.step > 0) return in[0].slice(axis, begin, end + 1, op.step);
  return in[0].slice(axis, end, begin + 1, -op.step).flip(axis);
}

at::Tensor compute(const ir::Pad& op, const TorchInputs& in) {
  at::Tensor y = in[0];
  if (op.mode != ir::PadMode::kConstant) {
    for (std::size_t axis = 0; axis < op.before.size(); ++axis) {
      if (op.before[axis] + op.after[axis] != 0) y = mirrored(op, y, axis);
    }
    return y;
  }
  Dims list;  // from the last axis on
  for (std::size_t axis = op.before.size(); axis-- > 0;) {
    list.push_back(static_cast<std::int64_t>(op.before[axis]));
    list.push_back(static_cast<std::int64_t>(op.after[axis]));
  }
  y = at::constant_pad_nd(in[0], list);
  if (!in[1].defined()) return y;
  const at::Tensor inside = at::ones(in[0].sizes(), at::kBool);
  return at::where(at::constant_pad_nd(inside, list), y, in[1]);
}

at::Tensor compute(const ir::BroadcastTo& op, const TorchInputs& in) {
  return in[0].expand(at::infer_size(in[0].sizes(), signed_dims(op.shape.dims())));
}

at::Tensor compute(const ir::Tile& op, const TorchInputs& in) {
  return in[0].repeat(signed_dims(op.repeats));
}

/// The element at t comes from index len - 1 - t, or from t if t >= len.
at::Tensor compute(const ir::ReverseSequence& op, const TorchInputs& in) {
  const at::Tensor x = in[0];
  const std::int64_t steps = x.size(axis_of(op.time_axis));
  const at::Tensor lengths = in[1].to(at::kLong);
  if (lengths.lt(0).logical_or(lengths.gt(steps)).any().item<bool>()) {
    fail(ErrorKind::kShape, "sequence lengths: expected 0 to " + std::to_string(steps));
  }
  Dims along_time(static_cast<std::size_t>(x.dim()), 1);
  Dims along_batch = along_time;
  along_time[op.time_axis] = steps;
  along_batch[op.batch_axis] = lengths.numel();
  const at::Tensor t = at::arange(steps, lengths.options()).reshape(along_time);
  const at::Tensor length = lengths.reshape(along_batch);
  const at::Tensor indices = at::where(t < length, length - 1 - t, t);
  return x.gather(axis_of(op.time_axis), indices.expand(x.sizes()));
}

at::Tensor compute(const ir::Resize& op, const TorchInputs& in) {
  const at::Tensor x = in[0];
  const std::int64_t axis = axis_of(op.axis);
  if (op.count == 0) return x.narrow(axis, 0, 0);
  const ir::ResizeTaps taps = ir::resize_taps(op, static_cast<std::size_t>(x.size(axis)));
  Dims along(static_cast<std::size_t>(x.dim()), 1);
  along[op.axis] = static_cast<std::int64_t>(op.count);
  at::Tensor y;
  for (std::size_t t = 0; t < taps.width; ++t) {
    at::Tensor indices = at::empty({along[op.axis]}, at::kLong);
    at::Tensor weights = at::empty({along[op.axis]}, at::kFloat);
    for (std::size_t i = 0; i < op.count; ++i) {
      indices.data_ptr<std::int64_t>()[i] =
          static_cast<std::int64_t>(taps.indices[i * taps.width + t]);
      weights.data_ptr<float>()[i] = taps.weights[i * taps.width + t];
    }
    at::Tensor term = x.index_select(axis, indices.to(x.device()));
    if (op.mode != ir::Interpolation::kNearest) {
      term = term * weights.to(x.options()).reshape(along);
    }
    y = t == 0 ? term : y + term;
  }
  if (op.coordinates != ir::Coordinates::kCropAndResize) return y;
  at::Tensor outside = at::empty({along[op.axis]}, at::kBool);
  for (std::size_t i = 0; i < op.count; ++i) outside.data_ptr<bool>()[i] = taps.outside[i] != 0;
  return y.masked_fill(outside.to(x.device()).reshape(along),
                       static_cast<double>(op.extrapolation));
}

constexpr TorchEntry kMoveFunctions[] = {
    torch_entry<ir::Reshape, compute>(), torch_entry<ir::Transpose, compute>(),
    torch_entry<ir::Concat, compute>(),  torch_entry<ir::Slice, compute>(),
    torch_entry<ir::Pad, compute>(),     torch_entry<ir::BroadcastTo, compute>(),
    torch_entry<ir::Tile, compute>(),    torch_entry<ir::ReverseSequence, compute>(),
    torch_entry<ir::Resize, compute>(),
};

}  // namespace

std::span<const TorchEntry> move_functions() { return kMoveFunctions; }

}  // namespace halftone::train
