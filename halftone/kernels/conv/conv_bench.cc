// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include "halftone/kernels/conv/bit_conv.h"
#include "halftone/kernels/conv/conv_testing.h"
#include "halftone/kernels/conv/depthwise_conv.h"
#include "halftone/kernels/conv/float_conv.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

/// Arguments: extent of the image, channels, outputs, kernel, stride, bits of activations and of
/// weights, whether the weights have offsets, and whether the levels of the activations are evenly
/// spaced. Padding keeps the extent of the image.
void BM_BitConv(benchmark::State& state) {
  Random random(5);
  const auto arg = [&](std::size_t i) { return static_cast<std::size_t>(state.range(i)); };
  const ConvShape shape = square_shape(arg(0), arg(1), arg(2), arg(3), arg(4));
  const auto x_bits = static_cast<int>(state.range(5));
  const auto w_bits = static_cast<int>(state.range(6));
  const auto x =
      numerics::random_planes(random, shape.image_input_pixels(), shape.channels, x_bits);
  const auto codes = numerics::random_planes(random, shape.outputs, shape.inputs(), w_bits);
  const auto encoding = numerics::random_encoding(random, shape.outputs, shape.inputs(), w_bits,
                                                  arg(7) != 0, numerics::Granularity::kChannel);
  const std::vector<float> bias = numerics::random_floats(random, shape.outputs);
  const BitConvWeights weights(shape, {codes, encoding, bias},
                               arg(8) != 0 ? numerics::affine_basis(x_bits, 0.1F, 0)
                                           : numerics::random_basis(random, x_bits, true),
                               preferred_bit_conv_layout(shape, w_bits));
  AlignedBuffer scratch(weights.scratch_bytes());
  std::vector<float> y(shape.num_pixels() * shape.outputs);
  for (auto _ : state) {
    bit_conv(x.planes.words(), weights,
             {{0, shape.num_lines()},
              {.residual = {}, .low = 0},
              scratch.bytes(),
              MatrixView<float>(y, shape.num_pixels(), shape.outputs)});
    benchmark::ClobberMemory();
  }
  state.counters["binary GOP/s"] = benchmark::Counter(
      2e-9 * static_cast<double>(shape.num_pixels() * shape.inputs() * shape.outputs) * x_bits *
          w_bits,
      benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(BM_BitConv)
    ->ArgNames({"extent", "c", "o", "kernel", "stride", "x", "w", "offsets", "even"})
    ->ArgsProduct({{8}, {64}, {64}, {3}, {1}, {1}, {1}, {0, 1}, {1}})
    ->ArgsProduct({{8}, {64}, {64}, {3}, {1}, {2}, {2}, {0, 1}, {0, 1}})
    ->ArgsProduct({{16}, {32}, {32}, {3}, {1}, {1, 2}, {1, 2}, {1}, {1}})
    ->ArgsProduct({{32}, {16}, {16}, {3}, {1}, {1, 2}, {1, 2}, {1}, {1}})
    ->ArgsProduct({{32}, {16}, {32}, {3}, {2}, {1, 2}, {1, 2}, {1}, {1}})
    ->ArgsProduct({{8}, {64}, {64}, {1}, {1}, {1, 2}, {1, 2}, {1}, {1}})
    ->Unit(benchmark::kMicrosecond);

/// Arguments: extent of the image along y and x, channels, kernel, stride.
void BM_DepthwiseConv(benchmark::State& state) {
  Random random(6);
  const auto arg = [&](std::size_t i) { return static_cast<std::size_t>(state.range(i)); };
  const std::size_t pad = arg(3) / 2;
  const ConvShape shape{1,
                        {ConvAxis{}, make_axis(arg(0), arg(3), arg(4), {pad, pad}),
                         make_axis(arg(1), arg(3), arg(4), {pad, pad})},
                        arg(2),
                        arg(2),
                        arg(2)};
  std::vector<std::int8_t> q(shape.image_input_pixels() * shape.channels);
  for (auto& v : q) v = static_cast<std::int8_t>(static_cast<int>(random.next() % 255) - 127);
  const auto codes = numerics::random_planes(random, shape.outputs, shape.inputs(), 3);
  const auto encoding = numerics::random_encoding(random, shape.outputs, shape.inputs(), 3, true,
                                                  numerics::Granularity::kChannel);
  const DepthwiseWeights weights(
      shape, codes, encoding, numerics::random_floats(random, shape.outputs), {q.data(), 0.1F, 0});
  AlignedBuffer scratch(weights.scratch_bytes());
  std::vector<float> y(shape.num_pixels() * shape.outputs);
  for (auto _ : state) {
    depthwise_conv(q.data(), weights,
                   {{0, shape.num_lines()},
                    {.residual = {}, .low = 0},
                    scratch.bytes(),
                    MatrixView<float>(y, shape.num_pixels(), shape.outputs)});
    benchmark::ClobberMemory();
  }
  state.counters["GOP/s"] = benchmark::Counter(
      2e-9 * static_cast<double>(shape.num_pixels() * shape.inputs() * shape.outputs),
      benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(BM_DepthwiseConv)
    ->ArgNames({"y", "x", "c", "kernel", "stride"})
    ->Args({25, 5, 64, 3, 1})
    ->Args({48, 48, 8, 3, 1})
    ->Args({48, 48, 16, 3, 2})
    ->Args({14, 14, 128, 3, 1})
    ->Args({14, 14, 128, 3, 2})
    ->Args({14, 14, 128, 5, 1})
    ->Args({6, 6, 256, 3, 1})
    ->Args({112, 112, 32, 3, 1})
    ->Unit(benchmark::kMicrosecond);

/// Arguments: extent of the image along y and x, channels, outputs, kernel, stride, groups.
void BM_FloatConv(benchmark::State& state) {
  Random random(7);
  const auto arg = [&](std::size_t i) { return static_cast<std::size_t>(state.range(i)); };
  const std::size_t pad = arg(4) / 2;
  const ConvShape shape{1,
                        {ConvAxis{}, make_axis(arg(0), arg(4), arg(5), {pad, pad}),
                         make_axis(arg(1), arg(4), arg(5), {pad, pad})},
                        arg(2),
                        arg(3),
                        arg(6)};
  const auto x = numerics::random_floats(random, shape.image_input_pixels() * shape.channels);
  const FloatConvWeights weights(shape,
                                 numerics::random_floats(random, shape.outputs * shape.inputs()),
                                 numerics::random_floats(random, shape.outputs));
  AlignedBuffer scratch(weights.scratch_bytes());
  AlignedBuffer outputs(shape.num_pixels() * shape.outputs * sizeof(float));
  const MatrixView<float> y(outputs.as<float>(), shape.num_pixels(), shape.outputs);
  for (auto _ : state) {
    float_conv(x.data(), weights, {0, shape.num_lines()}, scratch.bytes(), y);
    benchmark::ClobberMemory();
  }
  state.counters["GFLOP/s"] = benchmark::Counter(
      2e-9 * static_cast<double>(shape.num_pixels() * shape.inputs() * shape.outputs),
      benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(BM_FloatConv)
    ->ArgNames({"y", "x", "c", "o", "kernel", "stride", "groups"})
    ->Args({8, 8, 64, 64, 3, 1, 1})
    ->Args({32, 32, 16, 16, 3, 1, 1})
    ->Args({120, 160, 16, 32, 1, 1, 1})
    ->Args({30, 40, 64, 64, 1, 1, 1})
    ->Args({240, 320, 3, 16, 3, 2, 1})
    ->Args({25, 5, 64, 64, 3, 1, 64})
    ->Args({48, 48, 8, 8, 3, 1, 8})
    ->Args({120, 160, 16, 16, 3, 1, 16})
    ->Args({30, 40, 64, 64, 3, 1, 64})
    ->Args({14, 14, 128, 128, 3, 2, 128})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace halftone::kernels
