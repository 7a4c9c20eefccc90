// SPDX-License-Identifier: Apache-2.0
// Other tests compare a kernel with its reference in the same program; a compiler that rounds
// differently (for example by contracting a b + c) changes both. These tests compare architectures:
// the checksums are those of x86-64 and 64-bit Arm, and change only with the definition of a
// kernel.
#include <gtest/gtest.h>

#include "halftone/base/hash.h"
#include "halftone/kernels/activation/activation.h"
#include "halftone/kernels/attention/attention.h"
#include "halftone/kernels/bit_matmul/bit_matmul.h"
#include "halftone/kernels/conv/bit_conv.h"
#include "halftone/kernels/conv/byte_conv.h"
#include "halftone/kernels/conv/depthwise_conv.h"
#include "halftone/kernels/conv/float_conv.h"
#include "halftone/kernels/conv/int8_conv.h"
#include "halftone/kernels/dense/cholesky.h"
#include "halftone/kernels/dense/float_matmul.h"
#include "halftone/kernels/dense/matmul.h"
#include "halftone/kernels/encode/encode.h"
#include "halftone/kernels/int8_matmul/level_matmul.h"
#include "halftone/kernels/int8_matmul/plane_matmul.h"
#include "halftone/kernels/per_target.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

using SameBits = PerTarget;
using numerics::Granularity;

constexpr std::size_t kRows = 5;
constexpr std::size_t kInputs = 301;
constexpr std::size_t kOutputs = 70;

/// The bytes as stored in memory.
template <typename T>
void add(Hash& hash, const std::vector<T>& values) {
  hash.add(std::as_bytes(std::span(values)));
}

template <typename... T>
std::uint64_t checksum(const std::vector<T>&... values) {
  Hash hash;
  (add(hash, values), ...);
  return hash.value();
}

/// Within +-2. Not normally distributed: logarithms and cosines differ between machines.
std::vector<float> uniform_floats(Random& random, std::size_t count) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(4 * random.uniform() - 2);
  return values;
}

numerics::Basis uniform_basis(Random& random, int bits) {
  const auto a = uniform_floats(random, static_cast<std::size_t>(bits) + 1);
  return numerics::make_basis(std::span(a).subspan(1), a[0]);
}

numerics::MatrixEncoding uniform_encoding(Random& random, int bits, Granularity granularity,
                                          std::size_t inputs = kInputs) {
  numerics::MatrixEncoding encoding;
  encoding.bits = bits;
  encoding.has_offset = true;
  encoding.granularity = granularity;
  encoding.group_size = granularity == Granularity::kGroup ? 40 : 0;
  encoding.allocate(kOutputs, inputs);
  for (std::size_t i = 0; i < encoding.num_blocks(); ++i) {
    encoding.set_levels(i, uniform_basis(random, bits));
  }
  return encoding;
}

TEST_P(SameBits, Encode) {
  Random random(40);
  Hash hash;
  for (int bits = 1; bits <= numerics::kMaxBits; ++bits) {
    const EncodeTable table(uniform_basis(random, bits));
    const auto x = uniform_floats(random, kRows * kInputs);
    std::vector<std::uint64_t> planes(kRows * table.bits() * words_for_bits(kInputs));
    encode(MatrixView<const float>(x, kRows, kInputs), table, planes);
    add(hash, planes);
  }
  EXPECT_EQ(hash.value(), 0x92a397b67f909c85u);
}

TEST_P(SameBits, QuantizeRows) {
  Random random(41);
  const auto x = uniform_floats(random, kRows * kInputs);
  std::vector<std::int8_t> q(x.size());
  std::vector<float> scales(kRows);
  quantize_rows(MatrixView<const float>(x, kRows, kInputs),
                MatrixView<std::int8_t>(q, kRows, kInputs), scales);
  EXPECT_EQ(checksum(q, scales), 0xc68a31aaab7a8576u);
}

TEST_P(SameBits, BitMatmul) {
  Random random(42);
  const auto x = numerics::random_planes(random, kRows, kInputs, 3);
  const auto x_basis = uniform_basis(random, 3);
  const auto codes = numerics::random_planes(random, kOutputs, kInputs, 2);
  const auto encoding = uniform_encoding(random, 2, Granularity::kChannel);
  const BitMatmulWeights weights(codes, encoding, uniform_floats(random, kOutputs),
                                 preferred_bit_layout(kOutputs, kInputs));
  std::vector<float> y(kRows * kOutputs);
  bit_matmul(x.planes.words(), x_basis, weights, {0, weights.num_blocks()},
             MatrixView<float>(y, kRows, kOutputs));
  EXPECT_EQ(checksum(y), 0x64ba45fd12e7a451u);
}

/// 3 x 3 pixels of 20 channels to kOutputs, padded.
ConvShape same_bits_conv() {
  const ConvAxis axis{3, 3, 3, 1, 1, 1};
  return {1, {ConvAxis{}, axis, axis}, 20, kOutputs, 1};
}

numerics::MatrixEncoding channel_encoding(Random& random, int bits) {
  return uniform_encoding(random, bits, Granularity::kChannel);
}

TEST_P(SameBits, BitConv) {
  Random random(46);
  const ConvShape shape = same_bits_conv();
  const auto x = numerics::random_planes(random, shape.num_pixels(), shape.channels, 3);
  const auto x_basis = uniform_basis(random, 3);
  const auto codes = numerics::random_planes(random, kOutputs, shape.inputs(), 2);
  const auto encoding = channel_encoding(random, 2);
  const auto bias = uniform_floats(random, kOutputs);
  const BitConvWeights weights(shape, {codes, encoding, bias}, x_basis,
                               preferred_bit_conv_layout(shape, codes.bits));
  AlignedBuffer scratch(weights.scratch_bytes());
  std::vector<float> y(shape.num_pixels() * kOutputs);
  bit_conv(x.planes.words(), weights,
           {{0, shape.num_lines()},
            {},
            scratch.bytes(),
            MatrixView<float>(y, shape.num_pixels(), kOutputs)});
  EXPECT_EQ(checksum(y), 0x926c2ccf21ac7825u);
}

/// Outputs of byte_conv(), with pixels of the scale 0.01 and the offset 0.3.
std::vector<float> byte_conv_outputs(const ConvShape& shape, const EncodedWeights& encoded,
                                     const std::vector<std::int8_t>& q) {
  const ByteConvWeights weights(shape, encoded, {q.data(), 0.01F, 0.3F},
                                preferred_byte_layout(encoded.encoding));
  AlignedBuffer scratch(weights.scratch_bytes());
  std::vector<float> y(shape.num_pixels() * kOutputs);
  byte_conv(q.data(), weights,
            {{0, shape.num_lines()},
             {},
             scratch.bytes(),
             MatrixView<float>(y, shape.num_pixels(), kOutputs)});
  return y;
}

TEST_P(SameBits, Int8Conv) {
  Random random(47);
  const ConvShape shape = same_bits_conv();
  std::vector<std::int8_t> q(shape.num_pixels() * shape.channels);
  for (auto& v : q) v = static_cast<std::int8_t>(static_cast<int>(random.next() % 255) - 127);
  const auto codes = numerics::random_planes(random, kOutputs, shape.inputs(), 3);
  const auto encoding = channel_encoding(random, 3);
  const auto bias = uniform_floats(random, kOutputs);
  Hash hash;
  const Int8ConvWeights weights(shape, {codes, encoding, bias}, preferred_byte_levels(), 0.3F);
  AlignedBuffer scratch(weights.scratch_bytes());
  std::vector<float> y(shape.num_pixels() * kOutputs);
  int8_conv({q.data(), 0.01F, 0.3F}, weights,
            {{0, shape.num_lines()},
             {},
             scratch.bytes(),
             MatrixView<float>(y, shape.num_pixels(), kOutputs)});
  add(hash, y);
  add(hash, byte_conv_outputs(shape, {codes, encoding, bias}, q));
  EXPECT_EQ(hash.value(), 0xbc8c5021a1117d58u);
  const auto groups = uniform_encoding(random, 3, Granularity::kGroup, shape.inputs());
  EXPECT_EQ(checksum(byte_conv_outputs(shape, {codes, groups, bias}, q)), 0xa8d1ab11defa3452u);
}

TEST_P(SameBits, DepthwiseConv) {
  Random random(48);
  const ConvAxis axis{3, 3, 3, 1, 1, 1};
  const ConvShape shape{1, {ConvAxis{}, axis, axis}, kOutputs, kOutputs, kOutputs};
  std::vector<std::int8_t> q(shape.num_pixels() * shape.channels);
  for (auto& v : q) v = static_cast<std::int8_t>(static_cast<int>(random.next() % 255) - 127);
  const auto codes = numerics::random_planes(random, kOutputs, shape.inputs(), 3);
  const auto encoding = channel_encoding(random, 3);
  const DepthwiseWeights weights(shape, codes, encoding, uniform_floats(random, kOutputs),
                                 {q.data(), 0.01F, 0.3F});
  AlignedBuffer scratch(weights.scratch_bytes());
  std::vector<float> y(shape.num_pixels() * kOutputs);
  depthwise_conv(q.data(), weights,
                 {{0, shape.num_lines()},
                  {},
                  scratch.bytes(),
                  MatrixView<float>(y, shape.num_pixels(), kOutputs)});
  EXPECT_EQ(checksum(y), 0x15eaeca503bafd5fu);
}

TEST_P(SameBits, DenseProducts) {
  Random random(49);
  const auto x = uniform_floats(random, kRows * kInputs);
  const auto w = uniform_floats(random, kOutputs * kInputs);
  const MatrixView<const float> weights(w, kOutputs, kInputs);
  std::vector<float> y(kRows * kOutputs);
  matmul(MatrixView<const float>(x, kRows, kInputs), transposed(weights),
         MatrixView<float>(y, kRows, kOutputs));
  std::vector<float> gram(kInputs * kInputs);
  matmul(transposed(weights), weights, MatrixView<float>(gram, kInputs, kInputs));
  EXPECT_EQ(checksum(y, gram), 0x2ddb89ce1748cef7u);
}

TEST_P(SameBits, Cholesky) {
  Random random(50);
  std::vector<double> x(3 * kOutputs * kOutputs);
  for (double& value : x) value = 4 * random.uniform() - 2;
  const MatrixView<const double> rows(x, 3 * kOutputs, kOutputs);
  std::vector<double> u(kOutputs * kOutputs);
  const MatrixView<double> factor(u, kOutputs, kOutputs);
  matmul(transposed(rows), rows, factor, Update::kAssign, Region::kUpper);
  ASSERT_TRUE(cholesky(factor));
  std::vector<double> solved(x.begin(), x.begin() + kOutputs * 9);
  solve_transposed(factor, MatrixView<double>(solved, kOutputs, 9));
  EXPECT_EQ(checksum(u, solved), 0xea79cdc3251d0dbeu);
}

/// Checksum of the products of 8-bit activations and 3-bit weights in groups, both with offsets.
template <class Weights, class Layout, class Multiply>
std::uint64_t int8_checksum(Layout layout, Multiply multiply) {
  Random random(43);
  const auto values = uniform_floats(random, kRows * kInputs);
  std::vector<std::int8_t> q(values.size());
  std::vector<float> scales(kRows);
  quantize_rows_reference(MatrixView<const float>(values, kRows, kInputs),
                          MatrixView<std::int8_t>(q, kRows, kInputs), scales);
  const Int8Rows x{MatrixView<const std::int8_t>(q, kRows, kInputs), scales, 0.3F};
  const auto codes = numerics::random_planes(random, kOutputs, kInputs, 3);
  const auto encoding = uniform_encoding(random, 3, Granularity::kGroup);
  const Weights weights(codes, encoding, uniform_floats(random, kOutputs), layout);
  std::vector<float> y(kRows * kOutputs);
  multiply(x, weights, {0, weights.num_blocks()}, MatrixView<float>(y, kRows, kOutputs));
  return checksum(y);
}

TEST_P(SameBits, Int8Matmul) {
  EXPECT_EQ(int8_checksum<LevelMatmulWeights>(preferred_byte_levels(), level_matmul),
            0x32fa29ac6ef4e582u);
  EXPECT_EQ(int8_checksum<PlaneMatmulWeights>(preferred_plane_layout(), plane_matmul),
            0x32fa29ac6ef4e582u);
}

TEST_P(SameBits, Activations) {
  Random random(44);
  auto x = uniform_floats(random, kRows * kInputs);
  for (float& value : x) value *= 8;
  std::vector<float> y(x.size());
  exp(x, y);
  Hash hash;
  add(hash, y);
  sigmoid(x, y);
  add(hash, y);
  tanh(x, y);
  add(hash, y);
  softmax(MatrixView<const float>(x, kRows, kInputs), MatrixView<float>(y, kRows, kInputs));
  add(hash, y);
  EXPECT_EQ(hash.value(), 0xb43030e6a3c5c63eu);
}

TEST_P(SameBits, ActivationsOfRecentNetworks) {
  Random random(45);
  auto x = uniform_floats(random, kRows * kInputs);
  for (float& value : x) value *= 8;
  std::vector<float> y(x.size());
  Hash hash;
  for (const auto function : {silu, hard_swish, softplus, erf, gelu, gelu_tanh}) {
    function(x, y);
    add(hash, y);
  }
  hard_sigmoid(x, 0.2F, 0.5F, y);
  add(hash, y);
  elu(x, 1.7F, 1.1F, y);
  add(hash, y);
  EXPECT_EQ(hash.value(), 0xfa25454ab595a617u);
}

TEST_P(SameBits, FloatMatmul) {
  Random random(50);
  const auto x = uniform_floats(random, kRows * kInputs);
  const auto w = uniform_floats(random, kOutputs * kInputs);
  auto y = uniform_floats(random, kRows * kOutputs);
  const FloatMatmulWeights weights(MatrixView<const float>(w, kOutputs, kInputs));
  float_matmul(MatrixView<const float>(x, kRows, kInputs), weights,
               MatrixView<float>(y, kRows, kOutputs));
  EXPECT_EQ(checksum(y), 0x94b562be98a4f792u);
}

/// The outputs of a convolution of uniformly distributed values.
std::vector<float> same_bits_float_conv(const ConvShape& shape, Random& random) {
  const auto x = uniform_floats(random, shape.num_pixels() * shape.channels);
  const auto w = uniform_floats(random, shape.outputs * shape.inputs());
  const FloatConvWeights weights(shape, w, uniform_floats(random, shape.outputs));
  AlignedBuffer scratch(weights.scratch_bytes());
  std::vector<float> y(shape.num_pixels() * shape.outputs);
  float_conv(x.data(), weights, {0, shape.num_lines()}, scratch.bytes(),
             MatrixView<float>(y, shape.num_pixels(), shape.outputs));
  return y;
}

TEST_P(SameBits, FloatConv) {
  Random random(51);
  ConvShape shape = same_bits_conv();
  const auto dense = same_bits_float_conv(shape, random);
  shape.channels = kOutputs;
  shape.groups = kOutputs;
  EXPECT_EQ(checksum(dense, same_bits_float_conv(shape, random)), 0xa056465710ee9b6fu);
}

TEST_P(SameBits, FloatConvTranspose) {
  Random random(52);
  const ConvAxis axis{5, 10, 4, 2, 1, 1};
  Hash hash;
  for (const std::size_t groups : {std::size_t{1}, kOutputs}) {
    const ConvShape shape{1, {ConvAxis{}, axis, axis}, kOutputs, kOutputs, groups};
    const auto x = uniform_floats(random, shape.image_input_pixels() * shape.channels);
    const auto w = uniform_floats(random, shape.outputs * shape.inputs());
    const FloatConvTransposeWeights weights(shape, w, uniform_floats(random, shape.outputs));
    AlignedBuffer scratch(weights.scratch_bytes());
    std::vector<float> y(shape.num_pixels() * shape.outputs);
    float_conv_transpose(x.data(), weights, {0, shape.num_pixels()}, scratch.bytes(),
                         MatrixView<float>(y, shape.num_pixels(), shape.outputs));
    add(hash, y);
  }
  EXPECT_EQ(hash.value(), 0xc21625c55ac294abu);
}

/// The outputs of attention inside a sample whose keys and values are stored as `type`.
std::vector<float> same_bits_attention(CacheType type, Random& random) {
  constexpr std::size_t kTokens = 37;
  AttentionShape shape{4, 2, 20, 12, 0.25F, 3, 30};
  const CacheShape key_shape{1, kTokens, 2, 20, type};
  const CacheShape value_shape{1, kTokens, 2, 12, type};
  AlignedBuffer keys(key_shape.bytes());
  AlignedBuffer values(value_shape.bytes());
  const std::vector<std::int32_t> slots(kTokens, 0);
  std::vector<std::int32_t> positions;
  for (std::size_t t = 0; t < kTokens; ++t) positions.push_back(static_cast<std::int32_t>(t));
  const CacheRows rows{slots, positions};
  const auto k = uniform_floats(random, kTokens * 2 * 20);
  const auto v = uniform_floats(random, kTokens * 2 * 12);
  const auto q = uniform_floats(random, kTokens * 4 * 20);
  append_keys(key_shape, MatrixView<const float>(k, kTokens, 2 * 20), rows, {0, 2}, keys.bytes());
  append_values(value_shape, MatrixView<const float>(v, kTokens, 2 * 12), rows, {0, 2},
                values.bytes());
  AlignedBuffer scratch(attend_scratch_bytes(shape, kTokens));
  std::vector<float> out(kTokens * 4 * 12);
  attend({shape,
          MatrixView<const float>(q, kTokens, 4 * 20),
          {key_shape, keys.bytes()},
          {value_shape, values.bytes()},
          rows},
         {0, 2 * kTokens}, scratch.bytes(), MatrixView<float>(out, kTokens, 4 * 12));
  return out;
}

TEST_P(SameBits, Attention) {
  Random random(53);
  Hash hash;
  for (const CacheType type :
       {CacheType::kFloat32, CacheType::kFloat16, CacheType::kInt8, CacheType::kInt4}) {
    add(hash, same_bits_attention(type, random));
  }
  EXPECT_EQ(hash.value(), 0xdc3b5bc58d73c311u);
  add(hash, same_bits_attention(CacheType::kInt6, random));
  EXPECT_EQ(hash.value(), 0x872b48783c70a14eu);
}

TEST_P(SameBits, Rotary) {
  Random random(54);
  Hash hash;
  const auto table = uniform_floats(random, 2 * 22);
  const RotaryTables tables{MatrixView<const float>(table.data(), 1, 22, 22),
                            MatrixView<const float>(table.data() + 22, 1, 22, 22)};
  const std::int32_t position = 0;
  for (const RotaryPairing pairing : {RotaryPairing::kInterleaved, RotaryPairing::kNeox}) {
    auto x = uniform_floats(random, 3 * 50);
    const MatrixView<float> view(x, 1, 3 * 50);
    rotate({3, 44, pairing}, view, {&position, 1}, tables, view);
    add(hash, x);
  }
  EXPECT_EQ(hash.value(), 0x73cd4eb0910af75au);
}

HALFTONE_INSTANTIATE_PER_TARGET(SameBits);

}  // namespace
}  // namespace halftone::kernels
