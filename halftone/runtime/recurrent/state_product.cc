// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <utility>

#include "halftone/base/bits.h"
#include "halftone/kernels/encode/encode.h"
#include "halftone/runtime/recurrent/recurrent.h"

namespace halftone::runtime {
namespace {

float* floats(std::byte* data) { return reinterpret_cast<float*>(data); }

std::variant<kernels::FloatMatmulWeights, kernels::BitMatmulWeights, kernels::PlaneMatmulWeights,
             kernels::LevelMatmulWeights>
pack(Product way, const ir::Constant& weights) {
  const auto codes = [&]() -> const ir::EncodedTensor& {
    return std::get<ir::EncodedTensor>(weights);
  };
  switch (way) {
    case Product::kBits:
      return kernels::BitMatmulWeights(codes().codes, *codes().encoding, {}, bit_layout(codes()));
    case Product::kPlanes:
      return kernels::PlaneMatmulWeights(codes().codes, *codes().encoding, {},
                                         kernels::preferred_plane_layout());
    case Product::kNibbles:
    case Product::kBytes:
      return kernels::LevelMatmulWeights(codes().codes, *codes().encoding, {}, level_layout(way));
    case Product::kFloat:
      break;
  }
  const ir::Tensor decoded = ir::to_float(weights);
  const auto [rows, cols] = ir::matrix_extent(decoded.shape());
  return kernels::FloatMatmulWeights({decoded.as<float>(), rows, cols});
}

void add_rows(MatrixView<const float> from, MatrixView<float> to) {
  for (std::size_t r = 0; r < to.rows(); ++r) {
    const auto term = from.row(r);
    const auto sum = to.row(r);
    for (std::size_t o = 0; o < sum.size(); ++o) sum[o] += term[o];
  }
}

}  // namespace

StateProduct::StateProduct(Product way, const ir::Constant& weights,
                           const numerics::MatrixEncoding* states)
    : outputs_(ir::matrix_extent(ir::type_of(weights).shape).rows),
      inputs_(ir::matrix_extent(ir::type_of(weights).shape).cols),
      weights_(pack(way, weights)) {
  if (states == nullptr) return;
  if (way == Product::kFloat) {
    levels_.emplace(states->levels(0));
    return;
  }
  table_.emplace(states->levels(0));
  if (way == Product::kBits) basis_ = states->basis(0);
  if (way != Product::kBits) int8_table_.emplace(*table_);
}

std::size_t StateProduct::size_bytes() const {
  return std::visit([](const auto& held) { return held.size_bytes(); }, weights_);
}

std::size_t StateProduct::scratch_bytes(std::size_t rows) const {
  if (std::holds_alternative<kernels::FloatMatmulWeights>(weights_)) {
    return levels_ ? AlignedBuffer::rounded_up(rows * inputs_ * sizeof(float)) : 0;
  }
  // Scratch memory: the product, the scales of the rows, and the states as integers or bits.
  const std::size_t codes = table_ && !int8_table_
                                ? table_->bits() * words_for_bits(inputs_) * sizeof(std::uint64_t)
                                : inputs_;
  return AlignedBuffer::rounded_up(rows * outputs_ * sizeof(float)) +
         AlignedBuffer::rounded_up(rows * sizeof(float)) + AlignedBuffer::rounded_up(rows * codes);
}

void StateProduct::add_floats(MatrixView<const float> h, MatrixView<float> y,
                              std::byte* scratch) const {
  const auto& weights = *std::get_if<kernels::FloatMatmulWeights>(&weights_);
  if (!levels_) return kernels::float_matmul(h, weights, y);
  const MatrixView<float> encoded(floats(scratch), h.rows(), inputs_, inputs_);
  for (std::size_t r = 0; r < h.rows(); ++r) {
    std::ranges::transform(h.row(r), encoded.row(r).begin(),
                           [this](float value) { return levels_->nearest(value); });
  }
  kernels::float_matmul(encoded, weights, y);
}

void StateProduct::multiply_bits(MatrixView<const float> h, MatrixView<float> y,
                                 std::byte* scratch) const {
  const auto& weights = *std::get_if<kernels::BitMatmulWeights>(&weights_);
  const std::size_t words = h.rows() * table_->bits() * weights.words();
  const std::span planes(reinterpret_cast<std::uint64_t*>(scratch), words);
  kernels::encode(h, *table_, planes);
  kernels::bit_matmul(planes, *basis_, weights, {0, weights.num_blocks()}, y);
}

void StateProduct::multiply_int8(MatrixView<const float> h, MatrixView<float> y,
                                 std::byte* scratch) const {
  const std::span scales(floats(scratch), h.rows());
  auto* data =
      reinterpret_cast<std::int8_t*>(scratch + AlignedBuffer::rounded_up(scales.size_bytes()));
  const MatrixView<std::int8_t> q(data, h.rows(), inputs_, inputs_);
  if (int8_table_) {
    kernels::encode_int8(h, *int8_table_, q);
    std::ranges::fill(scales, int8_table_->levels().scale);
  } else {
    kernels::quantize_rows(h, q, scales);
  }
  const kernels::Int8Rows x{q, scales, int8_table_ ? int8_table_->levels().offset : 0};
  if (const auto* planes = std::get_if<kernels::PlaneMatmulWeights>(&weights_)) {
    kernels::plane_matmul(x, *planes, {0, planes->num_blocks()}, y);
  } else {
    const auto& levels = *std::get_if<kernels::LevelMatmulWeights>(&weights_);
    kernels::level_matmul(x, levels, {0, levels.num_blocks()}, y);
  }
}

void StateProduct::add(MatrixView<const float> h, MatrixView<float> y,
                       std::byte* scratch) const noexcept {
  if (std::holds_alternative<kernels::FloatMatmulWeights>(weights_)) {
    return add_floats(h, y, scratch);
  }
  const MatrixView<float> product(floats(scratch), h.rows(), outputs_, outputs_);
  std::byte* rest = scratch + AlignedBuffer::rounded_up(product.size() * sizeof(float));
  if (std::holds_alternative<kernels::BitMatmulWeights>(weights_)) {
    multiply_bits(h, product, rest);
  } else {
    multiply_int8(h, product, rest);
  }
  add_rows(product, y);
}

ir::Constant rows_of(const ir::Constant& weights, std::size_t first, std::size_t count) {
  if (const auto* dense = std::get_if<ir::Tensor>(&weights)) {
    const std::size_t cols = ir::matrix_extent(dense->shape()).cols;
    return ir::Tensor::from<float>({static_cast<ir::Dim>(count), static_cast<ir::Dim>(cols)},
                                   dense->as<float>().subspan(first * cols, count * cols));
  }
  const auto& codes = std::get<ir::EncodedTensor>(weights);
  const std::size_t cols = codes.codes.cols;
  numerics::MatrixEncoding encoding = *codes.encoding;
  if (encoding.granularity != numerics::Granularity::kTensor) {
    const std::size_t groups = encoding.groups_per_row(cols);
    encoding = encoding.slice(first * groups, count * groups);
  }
  return ir::EncodedTensor{{static_cast<ir::Dim>(count), static_cast<ir::Dim>(cols)},
                           std::make_shared<const numerics::MatrixEncoding>(std::move(encoding)),
                           codes.codes.slice(first, count)};
}

}  // namespace halftone::runtime
