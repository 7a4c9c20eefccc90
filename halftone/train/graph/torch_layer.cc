// SPDX-License-Identifier: Apache-2.0
// Matrix products and convolutions. Images are channels last in the graph and channels first in
// libtorch. A permuted view converts them without a copy; its strides are those that libtorch calls
// channels_last.
#include <ATen/ATen.h>

#include "halftone/train/graph/torch_operators.h"

namespace halftone::train {
namespace {

using Dims = std::vector<std::int64_t>;

/// libtorch supports convolutions over up to three axes.
constexpr std::size_t kMaxSpatialAxes = 3;

/// [N, spatial..., C] seen as [N, C, spatial...].
at::Tensor channels_first(const at::Tensor& image) { return image.movedim(-1, 1); }
at::Tensor channels_last(const at::Tensor& image) { return image.movedim(1, -1); }

/// The padding of constant_pad_nd(), last axis first, for an image that is channels first.
Dims padding_list(const Dims& before, const Dims& after) {
  Dims list;
  for (std::size_t i = before.size(); i-- > 0;) list.insert(list.end(), {before[i], after[i]});
  return list;
}

/// Converts weights [O, kernel..., C / groups] to libtorch's layout for transposed convolutions,
/// [C, O / groups, kernel...].
at::Tensor transposed_weights(const at::Tensor& w, std::int64_t groups) {
  if (groups == 1) return w.movedim(-1, 0);
  const at::Tensor by_group = w.unflatten(0, at::IntArrayRef({groups, w.size(0) / groups}));
  return by_group.movedim(-1, 1).flatten(0, 1);
}

bool is_known(const ir::FullyConnected& op) { return is_differentiable(op.activation); }

at::Tensor compute(const ir::FullyConnected& op, const TorchInputs& in) {
  const at::Tensor bias = in[2];
  return activate(op.activation, in.product(bias.defined() ? at::linear(in[0], in[1], bias)
                                                           : at::linear(in[0], in[1])));
}

at::Tensor compute(const ir::MatMul& op, const TorchInputs& in) {
  return at::matmul(op.transpose_a ? in[0].transpose(-1, -2) : in[0],
                    op.transpose_b ? in[1].transpose(-1, -2) : in[1]);
}

bool is_known(const ir::Conv& op) {
  return op.window.rank() <= kMaxSpatialAxes && is_differentiable(op.activation);
}

at::Tensor compute(const ir::Conv& op, const TorchInputs& in) {
  const ir::Window& window = op.window;
  const Dims none(window.rank(), 0);
  const bool is_symmetric = window.pads_before == window.pads_after;
  at::Tensor x = channels_first(in[0]);
  if (!is_symmetric) {
    x = at::constant_pad_nd(x, padding_list(window.pads_before, window.pads_after));
  }
  at::Tensor y = in.product(channels_last(at::convolution(
      x, channels_first(in[1]), in[2], window.strides, is_symmetric ? window.pads_before : none,
      window.dilations, false, none, op.groups)));
  if (in[3].defined()) y = y + in[3];
  y = activate(op.activation, y);
  return op.codes != nullptr ? in.encoded(op.codes.get(), y) : y;
}

bool is_known(const ir::ConvTranspose& op) {
  return op.window.rank() <= kMaxSpatialAxes && is_differentiable(op.activation);
}

/// Without padding, libtorch computes every output that a tap reaches. Padding then removes
/// outputs, and output_padding adds some that no tap reaches.
at::Tensor compute(const ir::ConvTranspose& op, const TorchInputs& in) {
  const Dims none(op.window.rank(), 0);
  at::Tensor y =
      at::convolution(channels_first(in[0]), transposed_weights(in[1], op.groups), {},
                      op.window.strides, none, op.window.dilations, true, none, op.groups);
  Dims before;
  Dims after;
  for (std::size_t i = 0; i < op.window.rank(); ++i) {
    before.push_back(-op.window.pads_before[i]);
    after.push_back(op.output_padding[i] - op.window.pads_after[i]);
  }
  if (before != none || after != none) y = at::constant_pad_nd(y, padding_list(before, after));
  y = channels_last(y);
  return activate(op.activation, in.product(in[2].defined() ? y + in[2] : y));
}

constexpr TorchEntry kLayerFunctions[] = {
    torch_entry<ir::FullyConnected, compute, is_known>(),
    torch_entry<ir::MatMul, compute>(),
    torch_entry<ir::Conv, compute, is_known>(),
    torch_entry<ir::ConvTranspose, compute, is_known>(),
};

}  // namespace

std::span<const TorchEntry> layer_functions() { return kLayerFunctions; }

}  // namespace halftone::train
