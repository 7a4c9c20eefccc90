// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/tune/factored_matrix.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "halftone/base/half.h"
#include "halftone/base/parallel.h"
#include "halftone/formats/gguf/block_layout.h"
#include "halftone/numerics/stored_numbers.h"

namespace halftone::train {
namespace {

/// Elements of the blocks of a chunk.
constexpr std::size_t kChunkElements = std::size_t{1} << 18;

/// How a block stores a factor.
struct FactorType {
  std::size_t bytes = 0;
  double least = 0;  ///< magnitude that is not 0
  double largest = 0;
  float (*read)(const std::byte* from) = nullptr;
  void (*write)(double factor, std::byte* to) = nullptr;
};

float read_half(const std::byte* from) {
  const auto low = std::to_integer<unsigned>(from[0]);
  return float_from_half(static_cast<std::uint16_t>(low | std::to_integer<unsigned>(from[1]) << 8));
}
void write_half(double factor, std::byte* to) {
  const std::uint16_t half = half_from_float(static_cast<float>(factor));
  to[0] = static_cast<std::byte>(half & 255);
  to[1] = static_cast<std::byte>(half >> 8);
}
float read_e3m5(const std::byte* from) {
  return numerics::e3m5_number(std::to_integer<std::uint8_t>(*from));
}
void write_e3m5(double factor, std::byte* to) {
  *to = static_cast<std::byte>(numerics::e3m5_code(factor));
}

FactorType type_of(const numerics::BlockEncoding& encoding) {
  if (encoding.scales != numerics::GroupScales::kE3m5) {
    return {2, 0x1p-24, 65504, read_half, write_half};
  }
  return {1, static_cast<double>(numerics::e3m5_number(0)),
          static_cast<double>(numerics::e3m5_number(255)), read_e3m5, write_e3m5};
}

/// Where the factors of a block begin.
std::span<const std::size_t> places_of(const numerics::BlockEncoding& encoding) {
  static constexpr std::size_t kFirst = 0;
  if (encoding.scales == numerics::GroupScales::kE3m5) return {&kFirst, 1};
  return formats::halves_of(encoding);
}

std::size_t num_blocks(const ir::BlockTensor& blocks) {
  return blocks.bytes.bytes.size() / blocks.encoding->block_bytes;
}
std::size_t chunk_blocks(const ir::BlockTensor& blocks) {
  return kChunkElements / blocks.encoding->block;
}

/// Blocks in which all factors but one are 0.
std::vector<std::byte> with_factor_alone(const numerics::BlockEncoding& encoding,
                                         std::span<const std::byte> blocks, std::size_t kept) {
  const std::size_t size = type_of(encoding).bytes;
  const std::span<const std::size_t> places = places_of(encoding);
  std::vector<std::byte> result(blocks.begin(), blocks.end());
  for (std::size_t first = 0; first < result.size(); first += encoding.block_bytes) {
    for (std::size_t k = 0; k < places.size(); ++k) {
      if (k != kept) std::fill_n(result.data() + first + places[k], size, std::byte{});
    }
  }
  return result;
}

double dot(std::span<const float> a, const float* b) {
  double sum = 0;
  for (const float x : a) sum += static_cast<double>(x) * static_cast<double>(*b++);
  return sum;
}

}  // namespace

std::size_t num_block_chunks(const ir::BlockTensor& blocks) {
  const std::size_t size = chunk_blocks(blocks);
  return (num_blocks(blocks) + size - 1) / size;
}

void for_block_chunks(const ir::BlockTensor& blocks,
                      const std::function<void(std::size_t, std::size_t, std::size_t)>& body) {
  const std::size_t size = chunk_blocks(blocks);
  parallel_for(num_block_chunks(blocks), [&](std::size_t chunk) {
    body(chunk, chunk * size, std::min((chunk + 1) * size, num_blocks(blocks)));
  });
}

bool FactoredMatrix::can_hold(const numerics::BlockEncoding& encoding) {
  return encoding.unpack != nullptr && !places_of(encoding).empty();
}

FactoredMatrix::FactoredMatrix(const ir::BlockTensor& blocks)
    : shape_(blocks.shape),
      bytes_(blocks.bytes.bytes.begin(), blocks.bytes.bytes.end()),
      encoding_(blocks.encoding) {
  const FactorType type = type_of(*encoding_);
  for (std::size_t first = 0; first < bytes_.size(); first += encoding_->block_bytes) {
    for (const std::size_t place : places_of(*encoding_)) {
      start_.push_back(type.read(bytes_.data() + first + place));
    }
  }
}

void FactoredMatrix::set(const at::Tensor& v) {
  const FactorType type = type_of(*encoding_);
  float* each = v.data_ptr<float>();
  const float* start = start_.data();
  for (std::size_t first = 0; first < bytes_.size(); first += encoding_->block_bytes) {
    for (const std::size_t place : places_of(*encoding_)) {
      const double factor = *start++;
      float& logarithm = *each++;
      const double magnitude = std::fabs(factor);
      if (magnitude == 0 || !std::isfinite(factor)) {
        logarithm = 0;
        continue;
      }
      logarithm = std::clamp(logarithm, static_cast<float>(std::log(type.least / magnitude)),
                             static_cast<float>(std::log(type.largest / magnitude)));
      type.write(factor * std::exp(static_cast<double>(logarithm)), bytes_.data() + first + place);
    }
  }
}

at::Tensor FactoredMatrix::weights() const { return decoded(blocks()); }

at::Tensor FactoredMatrix::gradient(const at::Tensor& weights) const {
  const std::size_t block = encoding_->block;
  const std::size_t bytes = encoding_->block_bytes;
  const std::size_t num_factors = places_of(*encoding_).size();
  const at::Tensor flat = weights.contiguous();
  at::Tensor result = at::empty({static_cast<std::int64_t>(start_.size())});
  const float* const gradients = flat.data_ptr<float>();
  float* const sums = result.data_ptr<float>();
  for_block_chunks(blocks(), [&](std::size_t /*chunk*/, std::size_t begin, std::size_t end) {
    const auto stored = std::span(bytes_).subspan(begin * bytes, (end - begin) * bytes);
    std::vector<float> part((end - begin) * block);
    for (std::size_t k = 0; k < num_factors; ++k) {
      numerics::decode_blocks(*encoding_, with_factor_alone(*encoding_, stored, k), part);
      for (std::size_t b = begin; b < end; ++b) {
        sums[b * num_factors + k] = static_cast<float>(
            dot({part.data() + (b - begin) * block, block}, gradients + b * block));
      }
    }
  });
  return result;
}

at::Tensor decoded(const ir::BlockTensor& blocks) {
  std::vector<std::int64_t> extents(blocks.shape.dims().begin(), blocks.shape.dims().end());
  at::Tensor result = at::empty(extents);
  const std::size_t bytes = blocks.encoding->block_bytes;
  const std::size_t block = blocks.encoding->block;
  const std::span<const std::byte> all = blocks.bytes.bytes;
  const std::span<float> values(result.data_ptr<float>(), num_blocks(blocks) * block);
  for_block_chunks(blocks, [&](std::size_t /*chunk*/, std::size_t begin, std::size_t end) {
    const std::size_t count = end - begin;
    numerics::decode_blocks(*blocks.encoding, all.subspan(begin * bytes, count * bytes),
                            values.subspan(begin * block, count * block));
  });
  return result;
}

}  // namespace halftone::train
