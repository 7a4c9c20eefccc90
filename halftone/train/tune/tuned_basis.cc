// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/tune/tuned_basis.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "halftone/train/tune/factored_matrix.h"

namespace halftone::train {
namespace {

constexpr std::size_t kBlock = numerics::VectorEncoding::kBlock;
constexpr int kMaxRowSum = 127;

/// Sums of s dL/dw over the places of each code: [codes, d].
class CodeSums {
 public:
  explicit CodeSums(const numerics::VectorEncoding& encoding)
      : encoding_(encoding),
        d_(static_cast<std::size_t>(encoding.basis->numbers())),
        codes_(encoding.codes_per_block()),
        sums_(encoding.basis->num_codes() * d_) {}

  /// Adds a block.
  void add(const std::byte* block, std::span<const float> gradient) {
    const float scale = encoding_.factor * encoding_.unpack_codes(block, codes_);
    for (std::size_t j = 0; j < codes_.size(); ++j) {
      double* const to = sums_.data() + codes_[j] * d_;
      for (std::size_t i = 0; i < d_; ++i) {
        to[i] += static_cast<double>(scale) * static_cast<double>(gradient[j * d_ + i]);
      }
    }
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

at::Tensor basis_gradient(const ir::BlockTensor& blocks, const at::Tensor& weights) {
  const auto& encoding = static_cast<const numerics::VectorEncoding&>(*blocks.encoding);
  const at::Tensor flat = weights.contiguous();
  const float* const all = flat.data_ptr<float>();
  std::vector<CodeSums> sums(num_block_chunks(blocks), CodeSums(encoding));
  for_block_chunks(blocks, [&](std::size_t chunk, std::size_t begin, std::size_t end) {
    for (std::size_t block = begin; block < end; ++block) {
      sums[chunk].add(blocks.bytes.bytes.data() + block * encoding.block_bytes,
                      {all + block * kBlock, kBlock});
    }
  });
  for (std::size_t chunk = 1; chunk < sums.size(); ++chunk) sums[0].add(sums[chunk]);
  return sums[0].of_matrix();
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
