// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/tune/tuned_basis.h"

#include <ATen/ATen.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "halftone/base/parallel.h"
#include "halftone/base/testing.h"
#include "halftone/train/tune/factored_matrix.h"
#include "halftone/train/tune/testing.h"

namespace halftone::train {
namespace {

ir::BlockTensor basis_blocks(const std::string& rate) {
  Random random(5);
  return test::in_basis(ir::test::random_tensor({6, 128}, random), rate);
}

at::Tensor basis_weights_gradient() {
  std::vector<float> values(std::size_t{6} * 128);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::sin(static_cast<float>(i) + 0.5F);
  }
  return at::tensor(values).reshape({6, 128});
}

at::Tensor matrix_of(const numerics::VectorBasis& basis) {
  std::vector<float> entries(basis.matrix().begin(), basis.matrix().end());
  return at::tensor(entries).reshape({basis.numbers(), basis.signs()});
}

/// sum of g w for weights without rounding: w = factor s P b, in double.
double smooth_loss(const ir::BlockTensor& blocks, const std::vector<double>& matrix) {
  const auto& encoding = static_cast<const numerics::VectorEncoding&>(*blocks.encoding);
  const auto d = static_cast<std::size_t>(encoding.basis->numbers());
  const auto signs = static_cast<std::size_t>(encoding.basis->signs());
  const at::Tensor gradient = basis_weights_gradient();
  const float* g = gradient.data_ptr<float>();
  std::vector<std::uint16_t> codes(encoding.codes_per_block());
  double sum = 0;
  const std::span<const std::byte> bytes = blocks.bytes.bytes;
  for (std::size_t first = 0; first < bytes.size(); first += encoding.block_bytes) {
    const double scale =
        double{encoding.factor} * double{encoding.unpack_codes(bytes.data() + first, codes)};
    for (const std::uint16_t code : codes) {
      for (std::size_t i = 0; i < d; ++i) {
        double number = 0;
        for (std::size_t k = 0; k < signs; ++k) {
          number += (code >> k & 1) != 0 ? matrix[i * signs + k] : -matrix[i * signs + k];
        }
        sum += scale * number * double{*g++};
      }
    }
  }
  return sum;
}

TEST(BasisGradient, IsThatOfSmoothNumbers) {
  for (const std::string rate : {"4x8", "2x6"}) {
    const ir::BlockTensor blocks = basis_blocks(rate);
    const at::Tensor found = basis_gradient(blocks, basis_weights_gradient()).flatten();
    const auto entries = blocks.encoding->basis->matrix();
    std::vector<double> p(entries.begin(), entries.end());
    for (std::size_t i = 0; i < p.size(); ++i) {
      // Linear in each entry.
      const double before = smooth_loss(blocks, p);
      p[i] += 1;
      const double wanted = smooth_loss(blocks, p) - before;
      p[i] -= 1;
      // Scales are rounded to float32.
      EXPECT_NEAR(found[static_cast<std::int64_t>(i)].item<double>(), wanted,
                  768 * 0x1p-23 * (1 + std::fabs(wanted)));
    }
  }
}

TEST(BasisGradient, IsTheSameForAllThreads) {
  Random random(5);
  const ir::BlockTensor blocks =
      test::in_basis(ir::test::random_tensor({130, 64 * 64}, random), "2x6");
  const at::Tensor gradient = decoded(blocks).sin();
  const at::Tensor many = basis_gradient(blocks, gradient);
  const ThreadLimit limit(1);
  EXPECT_TRUE(basis_gradient(blocks, gradient).equal(many));
}

TEST(NearestBasis, KeepsWholeNumbersAndTheBoundOfRows) {
  const auto shipped = numerics::shipped_vector_basis("4x8");
  EXPECT_EQ(*nearest_basis(matrix_of(*shipped), *shipped), *shipped);
  const auto near = nearest_basis(matrix_of(*shipped) + 0.4F, *shipped);
  EXPECT_EQ(*near, *shipped);
  // Rows of 8 entries of 15.9 round to 16, whose sum is 128: one of them becomes 15.
  const auto bounded = nearest_basis(at::full({4, 8}, 15.9F), *shipped);
  for (std::size_t row = 0; row < 4; ++row) {
    const auto entries = bounded->matrix().subspan(row * 8, 8);
    EXPECT_EQ(std::accumulate(entries.begin(), entries.end(), 0), 127);
  }
  const auto large = nearest_basis(at::full({4, 8}, -1000.0F), *shipped);
  int sum = 0;
  for (const int entry : large->matrix().first(8)) sum += std::abs(entry);
  EXPECT_EQ(sum, 127);
}

}  // namespace
}  // namespace halftone::train
