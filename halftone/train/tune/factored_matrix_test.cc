// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/tune/factored_matrix.h"

#include <ATen/ATen.h>

#include <cmath>
#include <string>
#include <vector>

#include "halftone/base/half.h"
#include "halftone/base/parallel.h"
#include "halftone/base/testing.h"
#include "halftone/formats/gguf/block_layout.h"
#include "halftone/formats/gguf/block_types.h"
#include "halftone/numerics/stored_numbers.h"
#include "halftone/train/tune/testing.h"

namespace halftone::train {
namespace {

constexpr std::size_t kBlocks = 6;

/// Types of GGUF whose blocks have float16 numbers, and vector bases.
std::vector<std::string> factored_types() {
  std::vector<std::string> names = {"4x8", "2x6"};
  for (const formats::GgufType& type : formats::gguf_types()) {
    if (FactoredMatrix::can_hold(type)) names.emplace_back(type.name);
  }
  return names;
}

void put_half(std::byte* to, float value) {
  const std::uint16_t half = half_from_float(value);
  to[0] = static_cast<std::byte>(half & 255);
  to[1] = static_cast<std::byte>(half >> 8);
}
float half_of(const std::byte* from) {
  return float_from_half(static_cast<std::uint16_t>(std::to_integer<unsigned>(from[0]) |
                                                    std::to_integer<unsigned>(from[1]) << 8));
}

/// Random codes. Factors are about 0.01; offsets, and each third scale, are negative.
ir::BlockTensor some_blocks(const std::string& name) {
  Random random(5);
  if (name.find('x') != std::string::npos) {
    return test::in_basis(ir::test::random_tensor({kBlocks, 64}, random), name);
  }
  const formats::GgufType& type =
      *std::ranges::find(formats::gguf_types(), name, &formats::GgufType::name);
  const std::span<const std::size_t> halves = formats::halves_of(type);
  std::vector<std::byte> bytes(kBlocks * type.block_bytes);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
  for (std::size_t b = 0; b < kBlocks; ++b) {
    for (std::size_t k = 0; k < halves.size(); ++k) {
      const float sign = (b + k) % 3 == 1 ? -1.0F : 1.0F;
      put_half(bytes.data() + b * type.block_bytes + halves[k],
               sign * (0.01F + 0.001F * static_cast<float>(b)));
    }
  }
  return {{kBlocks, static_cast<ir::Dim>(type.block)},
          numerics::without_owner(type),
          own_bytes(std::move(bytes))};
}

at::Tensor gradient_like(const at::Tensor& weights) {
  return at::arange(weights.numel(), at::kFloat).add(0.5F).sin().reshape(weights.sizes());
}

/// The parts of w = sum_k f_k part_k as columns, float64 [blocks, K, block], and f [blocks, K].
struct Parts {
  at::Tensor parts;
  at::Tensor factors;
};
Parts parts_of(const ir::BlockTensor& blocks) {
  const numerics::BlockEncoding& how = *blocks.encoding;
  const bool is_vector = how.basis != nullptr;
  const std::span<const std::size_t> halves = formats::halves_of(how);
  const std::size_t count = is_vector ? 1 : halves.size();
  std::vector<double> factors;
  std::vector<double> parts;
  for (std::size_t b = 0; b < kBlocks; ++b) {
    for (std::size_t k = 0; k < count; ++k) {
      const auto stored = blocks.bytes.bytes.subspan(b * how.block_bytes, how.block_bytes);
      std::vector<std::byte> bytes(stored.begin(), stored.end());
      double unit = 1;
      if (is_vector) {
        factors.push_back(double{numerics::e3m5_number(std::to_integer<std::uint8_t>(bytes[0]))});
        bytes[0] = std::byte{64};
        unit = double{numerics::e3m5_number(64)};
      } else {
        factors.push_back(double{half_of(bytes.data() + halves[k])});
        for (std::size_t other = 0; other < count; ++other) {
          put_half(bytes.data() + halves[other], other == k ? 1.0F : 0.0F);
        }
      }
      std::vector<float> values(how.block);
      numerics::decode_blocks(how, bytes, values);
      for (const float value : values) parts.push_back(double{value} / unit);
    }
  }
  const auto columns = static_cast<std::int64_t>(count);
  return {at::tensor(parts, at::kDouble).reshape({kBlocks, columns, -1}),
          at::tensor(factors, at::kDouble).reshape({kBlocks, columns})};
}

TEST(FactoredMatrix, KnowsTheTypesThatHaveFactors) {
  EXPECT_THAT(
      factored_types(),
      testing::ElementsAre("4x8", "2x6", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K",
                           "Q4_K", "Q5_K", "Q6_K", "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S",
                           "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS", "TQ1_0", "TQ2_0", "Q1_0", "Q2_0"));
}

TEST(FactoredMatrix, StartsAsTheFile) {
  for (const std::string& type : factored_types()) {
    const ir::BlockTensor blocks = some_blocks(type);
    FactoredMatrix matrix(blocks);
    EXPECT_TRUE(matrix.weights().equal(decoded(blocks))) << type;
    matrix.set(at::zeros({static_cast<std::int64_t>(matrix.num_factors())}));
    EXPECT_TRUE(std::ranges::equal(matrix.blocks().bytes.bytes, blocks.bytes.bytes)) << type;
  }
}

TEST(FactoredMatrix, HasTheGradientsOfSmoothNumbers) {
  for (const std::string& type : factored_types()) {
    const ir::BlockTensor blocks = some_blocks(type);
    const FactoredMatrix matrix(blocks);
    const at::Tensor gradient = gradient_like(matrix.weights());
    const Parts parts = parts_of(blocks);
    // L = sum g w for w = sum_k f_k e^v_k part_k, by libtorch.
    const at::Tensor v = at::zeros_like(parts.factors).requires_grad_();
    const at::Tensor weights = ((parts.factors * v.exp()).unsqueeze(2) * parts.parts).sum(1);
    (weights * gradient.to(at::kDouble).reshape(weights.sizes())).sum().backward();
    const at::Tensor wanted = v.grad().flatten();
    // A number is rounded twice, the sum once, all to float32.
    const at::Tensor size = ((parts.factors.unsqueeze(2) * parts.parts).abs() *
                             gradient.to(at::kDouble).reshape(weights.sizes()).abs().unsqueeze(1))
                                .sum(2)
                                .flatten();
    const at::Tensor error = (matrix.gradient(gradient).to(at::kDouble) - wanted).abs();
    EXPECT_TRUE(error.le(size * (3 * 0x1p-24)).all().item<bool>()) << type;
    EXPECT_GT(wanted.abs().min().item<double>(), 0) << type;
  }
}

TEST(FactoredMatrix, RoundsFactorsToWhatFilesHold) {
  for (const std::string& type : factored_types()) {
    const ir::BlockTensor blocks = some_blocks(type);
    const numerics::BlockEncoding& how = *blocks.encoding;
    FactoredMatrix matrix(blocks);
    const auto count = static_cast<std::int64_t>(matrix.num_factors());
    const at::Tensor v = at::arange(count, at::kFloat) * 0.01F - 0.03F;
    matrix.set(v);
    const at::Tensor before = parts_of(blocks).factors.flatten();
    const at::Tensor after = parts_of(matrix.blocks()).factors.flatten();
    const at::Tensor wanted = before * v.to(at::kDouble).exp();
    // Halves of a step: of e3m5 1/64, of float16 2^-11 of the number at most.
    const double step = how.basis != nullptr ? 0x1p-6 : 0x1.004p-11;
    EXPECT_TRUE((after - wanted).abs().le(wanted.abs() * step).all().item<bool>()) << type;
    // Codes and other bytes did not change.
    matrix.set(at::zeros({count}));
    EXPECT_TRUE(std::ranges::equal(matrix.blocks().bytes.bytes, blocks.bytes.bytes)) << type;
  }
}

TEST(FactoredMatrix, KeepsFactorsFiniteAndTheirSigns) {
  for (const std::string& type : factored_types()) {
    const ir::BlockTensor blocks = some_blocks(type);
    FactoredMatrix matrix(blocks);
    const auto count = static_cast<std::int64_t>(matrix.num_factors());
    const bool is_vector = blocks.encoding->basis != nullptr;
    const at::Tensor signs = parts_of(blocks).factors.flatten().sign();
    const double least = is_vector ? double{numerics::e3m5_number(0)} : 0x1p-24;
    const double largest = is_vector ? double{numerics::e3m5_number(255)} : 65504;
    for (const auto& [far, bound] : {std::pair(-1000.0, least), std::pair(1000.0, largest)}) {
      const at::Tensor v = at::full({count}, far, at::kFloat);
      matrix.set(v);
      EXPECT_TRUE(parts_of(matrix.blocks()).factors.flatten().equal(signs * bound)) << type;
      EXPECT_LT(v.abs().max().item<double>(), 100) << type;
    }
  }
}

TEST(FactoredMatrix, LeavesFactorsOfZeroAndInfinity) {
  ir::BlockTensor blocks = some_blocks("Q4_1");
  std::vector<std::byte> bytes(blocks.bytes.bytes.begin(), blocks.bytes.bytes.end());
  put_half(bytes.data(), 0);
  put_half(bytes.data() + 2, HUGE_VALF);
  blocks.bytes = own_bytes(std::move(bytes));
  FactoredMatrix matrix(blocks);
  const at::Tensor v = at::full({2 * kBlocks}, 0.5F);
  matrix.set(v);
  EXPECT_EQ(half_of(matrix.blocks().bytes.bytes.data()), 0);
  EXPECT_EQ(half_of(matrix.blocks().bytes.bytes.data() + 2), HUGE_VALF);
  EXPECT_EQ(v[0].item<float>(), 0);
  EXPECT_EQ(v[2].item<float>(), 0.5F);
}

TEST(FactoredMatrix, HasTheSameGradientsForAllThreads) {
  const formats::GgufType& type =
      *std::ranges::find(formats::gguf_types(), "Q4_1", &formats::GgufType::name);
  std::vector<std::byte> bytes(std::size_t{130} * 64 * type.block_bytes);
  Random random(5);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(64));
  const ir::BlockTensor blocks{
      {130, 64 * 32}, numerics::without_owner(type), own_bytes(std::move(bytes))};
  EXPECT_GT(num_block_chunks(blocks), 1U);
  const FactoredMatrix matrix(blocks);
  const at::Tensor gradient = gradient_like(matrix.weights());
  const at::Tensor many = matrix.gradient(gradient);
  const ThreadLimit limit(1);
  EXPECT_TRUE(matrix.gradient(gradient).equal(many));
}

}  // namespace
}  // namespace halftone::train
