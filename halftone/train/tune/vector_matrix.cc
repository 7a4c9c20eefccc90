// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/tune/vector_matrix.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "halftone/base/parallel.h"
#include "halftone/numerics/stored_numbers.h"

namespace halftone::train {
namespace {

constexpr std::size_t kBlock = numerics::VectorEncoding::kBlock;
constexpr int kMaxRowSum = 127;
/// Blocks whose gradients one call adds up: a constant, so that threads do not change sums.
constexpr std::size_t kChunkBlocks = 4096;

std::size_t num_chunks(std::size_t blocks) { return (blocks + kChunkBlocks - 1) / kChunkBlocks; }

std::shared_ptr<const numerics::VectorBasis> basis_of(const ir::BlockTensor& blocks) {
  const numerics::VectorBasis& basis = *blocks.encoding->basis;
  return std::make_shared<const numerics::VectorBasis>(basis.numbers(), basis.matrix());
}

at::Tensor logarithms(std::span<const float> start, double bound) {
  std::vector<float> result(start.size());
  std::ranges::transform(start, result.begin(), [bound](float s) {
    return static_cast<float>(std::log(bound / static_cast<double>(s)));
  });
  return at::tensor(result);
}

/// Sums of s dL/dw over the places of each code: [codes, d].
class CodeSums {
 public:
  explicit CodeSums(const numerics::VectorEncoding& encoding)
      : encoding_(encoding),
        d_(static_cast<std::size_t>(encoding.basis->numbers())),
        codes_(encoding.codes_per_block()),
        sums_(encoding.basis->num_codes() * d_) {}

  /// Adds a block.
  /// @return  the sum of w dL/dw
  float add(const std::byte* block, std::span<const float> gradient) {
    const float scale = encoding_.factor * encoding_.unpack_codes(block, codes_);
    double sum = 0;
    for (std::size_t j = 0; j < codes_.size(); ++j) {
      const auto codeword = encoding_.basis->codeword(codes_[j]);
      double* const to = sums_.data() + codes_[j] * d_;
      for (std::size_t i = 0; i < d_; ++i) {
        const double product =
            static_cast<double>(scale) * static_cast<double>(gradient[j * d_ + i]);
        to[i] += product;
        sum += product * codeword[i];
      }
    }
    return static_cast<float>(sum);
  }
  void add(const CodeSums& other) {
    for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += other.sums_[i];
  }
  /// The gradient of the matrix: [d, D].
  [[nodiscard]] at::Tensor of_matrix() const {
    const numerics::VectorBasis& basis = *encoding_.basis;
    const auto signs = static_cast<std::size_t>(basis.signs());
    std::vector<double> result(d_ * signs);
    for (std::size_t code = 0; code < basis.num_codes(); ++code) {
      for (std::size_t i = 0; i < d_; ++i) {
        const double sum = sums_[code * d_ + i];
        for (std::size_t k = 0; k < signs; ++k) {
          result[i * signs + k] += (code >> k & 1) != 0 ? sum : -sum;
        }
      }
    }
    return at::tensor(result, at::TensorOptions(at::kDouble)).reshape({basis.numbers(), -1});
  }

 private:
  const numerics::VectorEncoding& encoding_;
  std::size_t d_;
  std::vector<std::uint16_t> codes_;
  std::vector<double> sums_;
};

/// Rounds a row of a basis.
void round_row(std::span<const float> row, std::span<std::int8_t> rounded) {
  int sum = 0;
  for (std::size_t k = 0; k < row.size(); ++k) {
    const double nearest = std::nearbyint(std::clamp(static_cast<double>(row[k]), -127.0, 127.0));
    rounded[k] = static_cast<std::int8_t>(nearest);
    sum += std::abs(rounded[k]);
  }
  // What moving an entry towards 0 adds to the squared error grows with |row| - |rounded|.
  for (; sum > kMaxRowSum; --sum) {
    std::size_t best = row.size();
    double least = 0;
    for (std::size_t k = 0; k < row.size(); ++k) {
      const double cost = std::fabs(static_cast<double>(row[k])) - std::abs(rounded[k]);
      if (rounded[k] == 0 || (best < row.size() && cost >= least)) continue;
      best = k;
      least = cost;
    }
    rounded[best] =
        static_cast<std::int8_t>(rounded[best] > 0 ? rounded[best] - 1 : rounded[best] + 1);
  }
}

}  // namespace

VectorMatrix::VectorMatrix(const ir::BlockTensor& blocks)
    : shape_(blocks.shape),
      bytes_(blocks.bytes.bytes.begin(), blocks.bytes.bytes.end()),
      encoding_(std::make_shared<const numerics::VectorEncoding>(basis_of(blocks),
                                                                 blocks.encoding->factor)),
      start_(bytes_.size() / encoding_->block_bytes) {
  for (std::size_t g = 0; g < start_.size(); ++g) {
    start_[g] =
        numerics::e3m5_number(std::to_integer<std::uint8_t>(bytes_[g * encoding_->block_bytes]));
  }
}

at::Tensor VectorMatrix::least() const {
  return logarithms(start_, static_cast<double>(numerics::e3m5_number(0)));
}

at::Tensor VectorMatrix::largest() const {
  return logarithms(start_, static_cast<double>(numerics::e3m5_number(255)));
}

void VectorMatrix::set(const at::Tensor& u, std::shared_ptr<const numerics::VectorBasis> basis) {
  if (*basis != *encoding_->basis) {
    encoding_ =
        std::make_shared<const numerics::VectorEncoding>(std::move(basis), encoding_->factor);
  }
  const at::Tensor flat = u.detach().contiguous();
  const std::span logarithm(flat.data_ptr<float>(), start_.size());
  for (std::size_t g = 0; g < start_.size(); ++g) {
    const double scale =
        static_cast<double>(start_[g]) * std::exp(static_cast<double>(logarithm[g]));
    bytes_[g * encoding_->block_bytes] = static_cast<std::byte>(numerics::e3m5_code(scale));
  }
}

ir::BlockTensor VectorMatrix::blocks() const { return {shape_, encoding_, {nullptr, bytes_}}; }

at::Tensor VectorMatrix::weights() const { return decoded(blocks()); }

VectorMatrix::Gradients VectorMatrix::gradients(const at::Tensor& weights) const {
  const at::Tensor flat = weights.contiguous();
  const std::span<const float> all(flat.data_ptr<float>(), start_.size() * kBlock);
  Gradients result{at::empty({static_cast<std::int64_t>(start_.size())}), {}};
  const std::span<float> u(result.u.data_ptr<float>(), start_.size());
  std::vector<CodeSums> sums(num_chunks(start_.size()), CodeSums(*encoding_));
  parallel_for(sums.size(), [&](std::size_t chunk) {
    const std::size_t end = std::min(start_.size(), (chunk + 1) * kChunkBlocks);
    for (std::size_t g = chunk * kChunkBlocks; g < end; ++g) {
      u[g] = sums[chunk].add(bytes_.data() + g * encoding_->block_bytes,
                             all.subspan(g * kBlock, kBlock));
    }
  });
  for (std::size_t chunk = 1; chunk < sums.size(); ++chunk) sums[0].add(sums[chunk]);
  result.basis = sums[0].of_matrix();
  return result;
}

at::Tensor decoded(const ir::BlockTensor& blocks) {
  std::vector<std::int64_t> extents(blocks.shape.dims().begin(), blocks.shape.dims().end());
  at::Tensor result = at::empty(extents);
  const std::size_t bytes = blocks.encoding->block_bytes;
  const std::size_t block = blocks.encoding->block;
  const std::span<const std::byte> all = blocks.bytes.bytes;
  const std::span<float> values(result.data_ptr<float>(), all.size() / bytes * block);
  parallel_for(num_chunks(all.size() / bytes), [&](std::size_t chunk) {
    const std::size_t begin = chunk * kChunkBlocks;
    const std::size_t count = std::min(kChunkBlocks, all.size() / bytes - begin);
    numerics::decode_blocks(*blocks.encoding, all.subspan(begin * bytes, count * bytes),
                            values.subspan(begin * block, count * block));
  });
  return result;
}

std::shared_ptr<const numerics::VectorBasis> nearest_basis(const at::Tensor& matrix,
                                                           const numerics::VectorBasis& like) {
  const at::Tensor flat = matrix.detach().to(at::kFloat).contiguous();
  const std::span<const float> entries(flat.data_ptr<float>(), like.matrix().size());
  std::vector<std::int8_t> rounded(entries.size());
  const auto signs = static_cast<std::size_t>(like.signs());
  for (std::size_t first = 0; first < entries.size(); first += signs) {
    round_row(entries.subspan(first, signs), std::span(rounded).subspan(first, signs));
  }
  return std::make_shared<const numerics::VectorBasis>(like.numbers(), rounded);
}

}  // namespace halftone::train
