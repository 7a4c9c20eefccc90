// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/tune/vector_matrix.h"

#include <ATen/ATen.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "halftone/base/parallel.h"
#include "halftone/base/testing.h"
#include "halftone/numerics/stored_numbers.h"
#include "halftone/train/tune/testing.h"

namespace halftone::train {
namespace {

ir::BlockTensor some_blocks(const std::string& rate) {
  Random random(5);
  return test::in_basis(ir::test::random_tensor({6, 128}, random), rate);
}

at::Tensor some_gradient() {
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

std::shared_ptr<const numerics::VectorBasis> copied(const numerics::VectorBasis& basis) {
  return std::make_shared<const numerics::VectorBasis>(basis.numbers(), basis.matrix());
}

/// sum of g w for weights without rounding: w = factor s0 e^u P b, in double.
double smooth_loss(const ir::BlockTensor& blocks, const std::vector<double>& u,
                   const std::vector<double>& matrix) {
  const auto& encoding = static_cast<const numerics::VectorEncoding&>(*blocks.encoding);
  const auto d = static_cast<std::size_t>(encoding.basis->numbers());
  const auto signs = static_cast<std::size_t>(encoding.basis->signs());
  const at::Tensor gradient = some_gradient();
  const float* g = gradient.data_ptr<float>();
  std::vector<std::uint16_t> codes(encoding.codes_per_block());
  double sum = 0;
  for (std::size_t block = 0; block < u.size(); ++block) {
    const float start =
        encoding.unpack_codes(blocks.bytes.bytes.data() + block * encoding.block_bytes, codes);
    const double scale = double{encoding.factor} * double{start} * std::exp(u[block]);
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

TEST(VectorMatrix, StartsAsTheFile) {
  for (const std::string rate : {"4x8", "2x6", "4x10"}) {
    const ir::BlockTensor blocks = some_blocks(rate);
    VectorMatrix matrix(blocks);
    const at::Tensor before = matrix.weights();
    EXPECT_TRUE(before.equal(decoded(blocks)));
    matrix.set(at::zeros({12}), copied(matrix.basis()));
    EXPECT_TRUE(std::ranges::equal(matrix.blocks().bytes.bytes, blocks.bytes.bytes)) << rate;
  }
}

TEST(VectorMatrix, HasTheGradientsOfSmoothNumbers) {
  constexpr double kStep = 1e-4;
  for (const std::string rate : {"4x8", "2x6"}) {
    const ir::BlockTensor blocks = some_blocks(rate);
    const VectorMatrix matrix(blocks);
    const VectorMatrix::Gradients found = matrix.gradients(some_gradient());
    std::vector<double> u(12, 0);
    const auto entries = matrix.basis().matrix();
    std::vector<double> p(entries.begin(), entries.end());
    const auto slope = [&](double& x) {
      const double at = x;
      x = at + kStep;
      const double above = smooth_loss(blocks, u, p);
      x = at - kStep;
      const double below = smooth_loss(blocks, u, p);
      x = at;
      return (above - below) / (2 * kStep);
    };
    // Scales and gradients are rounded to float32; e^u adds step^2 / 6 of the slope.
    for (std::size_t g = 0; g < u.size(); ++g) {
      const double wanted = slope(u[g]);
      EXPECT_NEAR(found.u[static_cast<std::int64_t>(g)].item<double>(), wanted,
                  128 * 0x1p-23 * (1 + std::fabs(wanted)));
    }
    for (std::size_t i = 0; i < p.size(); ++i) {
      const double wanted = slope(p[i]);
      EXPECT_NEAR(found.basis.flatten()[static_cast<std::int64_t>(i)].item<double>(), wanted,
                  768 * 0x1p-23 * (1 + std::fabs(wanted)));
    }
  }
}

TEST(VectorMatrix, RoundsScalesToWhatFilesHold) {
  const ir::BlockTensor blocks = some_blocks("4x8");
  VectorMatrix matrix(blocks);
  std::vector<float> u(12);
  std::iota(u.begin(), u.end(), -6.0F);
  matrix.set(at::tensor(u) * 0.01F, copied(matrix.basis()));
  const std::size_t block = blocks.encoding->block_bytes;
  for (std::size_t g = 0; g < u.size(); ++g) {
    const auto code = [&](const ir::BlockTensor& of) {
      return std::to_integer<std::uint8_t>(of.bytes.bytes[g * block]);
    };
    const double wanted =
        double{numerics::e3m5_number(code(blocks))} * std::exp(static_cast<double>(u[g] * 0.01F));
    EXPECT_EQ(code(matrix.blocks()), numerics::e3m5_code(wanted));
  }
  // At its bounds a scale is the least or the largest number.
  matrix.set(matrix.least(), copied(matrix.basis()));
  EXPECT_EQ(std::to_integer<int>(matrix.blocks().bytes.bytes[0]), 0);
  matrix.set(matrix.largest(), copied(matrix.basis()));
  EXPECT_EQ(std::to_integer<int>(matrix.blocks().bytes.bytes[0]), 255);
}

TEST(VectorMatrix, HasTheSameGradientsForAllThreads) {
  Random random(5);
  const ir::BlockTensor blocks =
      test::in_basis(ir::test::random_tensor({130, 64 * 64}, random), "2x6");
  const VectorMatrix matrix(blocks);
  const at::Tensor gradient = matrix.weights().sin();
  const VectorMatrix::Gradients many = matrix.gradients(gradient);
  const ThreadLimit limit(1);
  const VectorMatrix::Gradients one = matrix.gradients(gradient);
  EXPECT_TRUE(one.u.equal(many.u));
  EXPECT_TRUE(one.basis.equal(many.basis));
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
