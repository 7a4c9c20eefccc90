// SPDX-License-Identifier: Apache-2.0
#include "bench/convolutions.h"

#include <bit>
#include <memory>
#include <vector>

#include "halftone/kernels/conv/bit_conv.h"
#include "halftone/numerics/test_data.h"
#include "halftone/runtime/execute/session.h"
#include "halftone/runtime/onednn/onednn.h"
#include "halftone/runtime/onednn/primitive.h"
#include "halftone/runtime/test_graphs.h"

// The reference was compiled with it; without it, x86-64 has no popcount instruction.
#ifdef __x86_64__
#define HALFTONE_SSE42 [[gnu::target("sse4.2")]]
#else
#define HALFTONE_SSE42
#endif

namespace halftone::bench {
namespace {

namespace onednn = runtime::onednn;
using Tag = dnnl::memory::format_tag;
using Type = dnnl::memory::data_type;

std::size_t output_extent(const ConvLayerShape& shape) {
  return (shape.extent + 2 * (shape.kernel / 2) - shape.kernel) / shape.stride + 1;
}

/// Levels as quantize makes them: the 2-bit inputs of a convolution have a small ratio, 8 bits are
/// evenly spaced.
numerics::Basis activation_basis(int bits, Random& random) {
  if (bits == 8) return numerics::range_basis(bits, -1, 1);
  return bits == 2 ? numerics::affine_basis(bits, 0.5F, 0)
                   : numerics::random_basis(random, bits, true);
}

std::size_t num_inputs(const ConvLayerShape& shape) {
  return shape.kernel * shape.kernel * shape.channels / shape.groups;
}

Work work_of(const ConvLayerShape& shape, double per_product, Limit unit) {
  const std::size_t pixels = output_extent(shape) * output_extent(shape);
  Work work;
  work.operations = per_product * static_cast<double>(pixels * num_inputs(shape) * shape.outputs);
  work.unit = unit;
  return work;
}

ir::Constant random_weights(const ConvLayerShape& shape, const LayerFormat& format,
                            Random& random) {
  const auto dim = [](std::size_t extent) { return static_cast<ir::Dim>(extent); };
  const ir::Shape extents{dim(shape.outputs), dim(shape.kernel), dim(shape.kernel),
                          dim(shape.channels / shape.groups)};
  if (format.weight_bits == 0) return ir::test::random_tensor(extents, random);
  const std::size_t n = num_inputs(shape);
  auto encoding = std::make_shared<numerics::MatrixEncoding>(numerics::random_encoding(
      random, shape.outputs, n, format.weight_bits, true, numerics::Granularity::kChannel));
  return ir::EncodedTensor{extents, std::move(encoding),
                           numerics::random_planes(random, shape.outputs, n, format.weight_bits)};
}

kernels::ConvShape kernel_shape(const ConvLayerShape& shape) {
  const kernels::ConvAxis axis{shape.extent,    output_extent(shape), shape.kernel, shape.stride, 1,
                               shape.kernel / 2};
  return {1, {kernels::ConvAxis{}, axis, axis}, shape.channels, shape.outputs, shape.groups};
}

/// An encoded layer in the layout of the reference algorithm.
struct PlainConvLayer {
  kernels::ConvShape shape;
  std::size_t words;  ///< per plane of a pixel
  std::size_t x_bits;
  std::size_t w_bits;
  std::vector<std::uint32_t> x;  ///< [pixels, Kx, words]
  std::vector<std::uint32_t> w;  ///< [outputs, taps, Kw, words]
  std::vector<float> products;   ///< [outputs, Kx, Kw]
  std::vector<float> y;

  HALFTONE_SSE42 void run() {
    const kernels::ConvAxis& axis = shape.axes[2];
    const std::size_t pixels = axis.output * axis.output;
    for (std::size_t p = 0; p < pixels; ++p) {
      for (std::size_t o = 0; o < shape.outputs; ++o) y[p * shape.outputs + o] = output(p, o);
    }
  }

  HALFTONE_SSE42 float output(std::size_t pixel, std::size_t o) const {
    const kernels::ConvAxis& axis = shape.axes[2];
    const kernels::TapRange in_y = axis.inside(pixel / axis.output);
    const kernels::TapRange in_x = axis.inside(pixel % axis.output);
    float sum = 0;
    for (std::size_t i = 0; i < x_bits; ++i) {
      for (std::size_t j = 0; j < w_bits; ++j) {
        int count = 0;
        int bits = 0;
        for (std::size_t ky = in_y.begin; ky < in_y.end; ++ky) {
          for (std::size_t kx = in_x.begin; kx < in_x.end; ++kx) {
            const std::size_t iy = pixel / axis.output * axis.stride + ky - axis.pad_before;
            const std::size_t ix = pixel % axis.output * axis.stride + kx - axis.pad_before;
            const std::uint32_t* a = &x[((iy * axis.input + ix) * x_bits + i) * words];
            const std::uint32_t* b =
                &w[((o * shape.taps() + ky * axis.kernel + kx) * w_bits + j) * words];
            for (std::size_t v = 0; v < words; ++v) count += std::popcount(a[v] ^ b[v]);
            bits += static_cast<int>(shape.channels);
          }
        }
        sum += products[(o * x_bits + i) * w_bits + j] * static_cast<float>(bits - 2 * count);
      }
    }
    return sum;
  }
};

dnnl::memory::dim dim(std::size_t n) { return static_cast<dnnl::memory::dim>(n); }

/// Weights [groups if several, outputs, inputs, rows, columns], stored as [outputs, rows, columns,
/// inputs].
struct OneDnnKernel {
  dnnl::memory::dims dims;
  dnnl::memory::dims strides;
};

OneDnnKernel onednn_kernel(const ConvLayerShape& shape) {
  dnnl::memory::dims dims = {dim(shape.outputs), dim(shape.channels / shape.groups),
                             dim(shape.kernel), dim(shape.kernel)};
  dnnl::memory::dims strides = {dim(num_inputs(shape)), 1, dim(shape.kernel) * dims[1], dims[1]};
  if (shape.groups > 1) {
    dims[0] /= dim(shape.groups);
    dims.insert(dims.begin(), dim(shape.groups));
    strides.insert(strides.begin(), dims[1] * strides[0]);
  }
  return {dims, strides};
}

dnnl::convolution_forward::primitive_desc onednn_conv(const ConvLayerShape& shape,
                                                      const dnnl::memory::dims& w_dims, bool int8) {
  const auto in = dim(shape.extent);
  const auto out = dim(output_extent(shape));
  const auto pad = dim(shape.kernel / 2);
  dnnl::primitive_attr attributes = onednn::attributes();
  if (int8) {
    attributes.set_output_scales(1 << 1, std::vector<float>(shape.outputs, 1.0F / 4096));
  }
  return {
      {dnnl::prop_kind::forward_inference,
       dnnl::algorithm::convolution_direct,
       dnnl::memory::desc({1, dim(shape.channels), in, in}, int8 ? Type::u8 : Type::f32, Tag::nhwc),
       dnnl::memory::desc(w_dims, int8 ? Type::s8 : Type::f32, Tag::any),
       onednn::floats({1, dim(shape.outputs), out, out}, Tag::nhwc),
       {dim(shape.stride), dim(shape.stride)},
       {pad, pad},
       {pad, pad}},
      attributes,
      onednn::engine()};
}

AlignedBuffer onednn_input(std::size_t size_bytes, bool int8) {
  AlignedBuffer x(size_bytes);
  std::uint8_t next = 0;
  if (int8) {
    for (std::uint8_t& value : x.as<std::uint8_t>()) value = next++ & 127;
  } else {
    for (float& value : x.as<float>()) value = 0.01F * static_cast<float>(next++);
  }
  return x;
}

}  // namespace

std::string to_string(const ConvLayerShape& shape) {
  const auto times = [](std::size_t n) { return std::to_string(n) + "x" + std::to_string(n); };
  return times(shape.kernel) + (shape.stride == 1 ? "" : "/" + std::to_string(shape.stride)) + " " +
         std::to_string(shape.channels) + "-" + std::to_string(shape.outputs) + " on " +
         times(shape.extent) + (shape.groups == 1 ? "" : " groups " + std::to_string(shape.groups));
}

Prepared prepare_conv(const ConvLayerShape& shape, const LayerFormat& format, int threads) {
  Random random(1);
  ir::Graph graph;
  const auto extent = static_cast<ir::Dim>(shape.extent);
  ir::ValueId x = graph.add_input(
      "x", ir::dense_type(ir::ElementType::kFloat32,
                          {ir::kBatch, extent, extent, static_cast<ir::Dim>(shape.channels)}));
  if (format.input_bits != 0) {
    ir::Encode encode;
    encode.encoding = std::make_shared<numerics::MatrixEncoding>(
        numerics::tensor_encoding(activation_basis(format.input_bits, random)));
    x = graph.add_node("encode", encode, {x});
  }
  const auto w = graph.add_constant("w", random_weights(shape, format, random));
  const auto pad = static_cast<ir::Dim>(shape.kernel / 2);
  const auto stride = static_cast<ir::Dim>(shape.stride);
  ir::Conv conv;
  conv.window = {{stride, stride}, {1, 1}, {pad, pad}, {pad, pad}};
  conv.groups = static_cast<ir::Dim>(shape.groups);
  graph.add_output(graph.add_node("layer", conv, {x, w}));
  const auto session = std::make_shared<runtime::Session>(
      runtime::make_plan(graph, {.batch = 1, .threads = threads}));
  for (float& value : session->input_as<float>(0)) value = static_cast<float>(random.uniform());
  const std::string kernel = session->plan().steps().back().kernel;
  Work work = work_of(shape, 2, Limit::kFloat);
  if (kernel == "int8_conv") work.unit = Limit::kInt8;
  if (kernel == "bit_conv") {
    work = work_of(shape, 2.0 * format.weight_bits * format.input_bits, Limit::kBinary);
  }
  return {[session] { session->run(); }, kernel, work};
}

Prepared prepare_bit_conv(const ConvLayerShape& shape, const LayerFormat& format) {
  Random random(1);
  const kernels::ConvShape extents = kernel_shape(shape);
  const auto weights = random_weights(shape, format, random);
  const auto& codes = std::get<ir::EncodedTensor>(weights);
  struct Layer {
    numerics::BitPlanes x;
    kernels::BitConvWeights weights;
    AlignedBuffer scratch;
    std::vector<float> y;
  };
  const auto layer = std::make_shared<Layer>(
      Layer{numerics::random_planes(random, extents.image_input_pixels(), shape.channels,
                                    format.input_bits),
            kernels::BitConvWeights(extents, {codes.codes, *codes.encoding},
                                    activation_basis(format.input_bits, random),
                                    kernels::preferred_bit_conv_layout(extents, codes.codes.bits)),
            {},
            std::vector<float>(extents.num_pixels() * shape.outputs)});
  layer->scratch = AlignedBuffer(layer->weights.scratch_bytes());
  const auto run = [layer] {
    const kernels::ConvShape& s = layer->weights.shape();
    kernels::bit_conv(layer->x.planes.words(), layer->weights,
                      {{0, s.num_lines()},
                       {},
                       layer->scratch.bytes(),
                       MatrixView<float>(layer->y, s.num_pixels(), s.outputs)});
  };
  return {run, "bit_conv",
          work_of(shape, 2.0 * format.weight_bits * format.input_bits, Limit::kBinary)};
}

Prepared prepare_onednn_conv(const ConvLayerShape& shape, bool int8, int threads) {
  return onednn::translated([&]() -> Prepared {
    const runtime::OneDnnThreads guard(threads);
    const OneDnnKernel kernel = onednn_kernel(shape);
    const dnnl::convolution_forward::primitive_desc desc = onednn_conv(shape, kernel.dims, int8);
    struct Layer {
      AlignedBuffer x;
      AlignedBuffer y;
      AlignedBuffer scratch;
      onednn::PackedMatrix weights;
      runtime::Call call;
    };
    auto layer = std::make_shared<Layer>();
    layer->x = onednn_input(desc.src_desc().get_size(), int8);
    layer->y = AlignedBuffer(desc.dst_desc().get_size());
    layer->scratch = AlignedBuffer(desc.scratchpad_desc().get_size());
    Random random(3);
    auto numbers = numerics::random_floats(random, shape.outputs * num_inputs(shape));
    for (float& number : numbers) number *= int8 ? 40.0F : 1.0F;
    layer->weights = onednn::pack(dnnl::memory::desc(kernel.dims, Type::f32, kernel.strides),
                                  numbers.data(), desc.weights_desc());
    const std::array arguments = {
        onednn::PrimitiveArgument{DNNL_ARG_SRC, desc.src_desc(), layer->x.data()},
        onednn::PrimitiveArgument{DNNL_ARG_WEIGHTS, layer->weights.desc,
                                  layer->weights.buffer->data()},
        onednn::PrimitiveArgument{DNNL_ARG_DST, desc.dst_desc(), layer->y.data()},
        onednn::PrimitiveArgument{DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc(),
                                  layer->scratch.data()}};
    layer->call = onednn::bind(dnnl::convolution_forward(desc), arguments);
    const auto run = [layer, threads] {
      const runtime::OneDnnThreads in_run(threads);
      layer->call();
    };
    return {run, desc.impl_info_str(), work_of(shape, 2, int8 ? Limit::kInt8 : Limit::kFloat)};
  });
}

Prepared prepare_plain_conv(const ConvLayerShape& shape, const LayerFormat& format) {
  Random random(1);
  PlainConvLayer layer;
  layer.shape = kernel_shape(shape);
  layer.words = (shape.channels + 31) / 32;
  layer.x_bits = static_cast<std::size_t>(format.input_bits);
  layer.w_bits = static_cast<std::size_t>(format.weight_bits);
  layer.x.resize(layer.shape.image_input_pixels() * layer.x_bits * layer.words);
  layer.w.resize(shape.outputs * layer.shape.taps() * layer.w_bits * layer.words);
  for (auto& word : layer.x) word = static_cast<std::uint32_t>(random.next());
  for (auto& word : layer.w) word = static_cast<std::uint32_t>(random.next());
  layer.products = numerics::random_floats(random, shape.outputs * layer.x_bits * layer.w_bits);
  layer.y.resize(layer.shape.num_pixels() * shape.outputs);
  const auto shared = std::make_shared<PlainConvLayer>(std::move(layer));
  return {[shared] { shared->run(); }, "plain loops", std::nullopt};
}

}  // namespace halftone::bench
