// SPDX-License-Identifier: Apache-2.0
// Layers of ir::Arithmetic::kBits: bit planes, exclusive or and numbers of ones.
#include <bit>
#include <utility>

#include "halftone/base/bits.h"
#include "halftone/gpu/network/layer_parts.h"
#include "halftone/gpu/texts.h"
#include "halftone/kernels/conv/conv_shape.h"
#include "halftone/numerics/basis.h"
#include "halftone/runtime/linear/linear.h"

namespace halftone::gpu {
namespace {

using kernels::ConvShape;

constexpr std::size_t kWordBits = 32;
// As in text/window_bits.cl.
constexpr std::uint32_t kHasOffsets = 4;
constexpr std::uint32_t kHasSums = 8;
constexpr std::uint32_t kHasBias = 16;

/// A layer, and what its kernel reads besides the inputs.
struct BitLayer {
  ConvShape shape;
  bool is_dense = false;  ///< a FullyConnected
  const numerics::BitPlanes& codes;
  const numerics::MatrixEncoding& encoding;
  std::span<const float> bias;
  numerics::Basis x;
  std::vector<numerics::Digit> digits;

  [[nodiscard]] numerics::Basis basis(std::size_t output) const {
    return encoding.basis(output, 0, codes.cols);
  }
  /// Words of a group of channels, which may begin and end within words.
  [[nodiscard]] std::size_t span() const {
    std::size_t words = 0;
    for (std::size_t g = 0; g < shape.groups; ++g) {
      const std::size_t bits = g * shape.group_channels() % kWordBits + shape.group_channels();
      words = std::max(words, (bits + kWordBits - 1) / kWordBits);
    }
    return words;
  }
  /// The word and bit of a channel of the group of an output.
  [[nodiscard]] std::pair<std::size_t, std::size_t> place(std::size_t group,
                                                          std::size_t channel) const {
    const std::size_t bit = group * shape.group_channels() % kWordBits + channel;
    return {bit / kWordBits, bit % kWordBits};
  }
};

BitLayer bit_layer_of(const runtime::NodeContext& context) {
  const auto& weights = std::get<ir::EncodedTensor>(*context.constant(1));
  BitLayer layer{layer_shape(context),
                 std::holds_alternative<ir::FullyConnected>(context.node.op),
                 weights.codes,
                 *weights.encoding,
                 runtime::constant_floats(context, 2),
                 context.input(0).encoding.codes->basis(0),
                 {}};
  if (!layer.is_dense) {
    layer.digits = numerics::split_digits(layer.x, layer.shape.inputs());
    return layer;
  }
  for (std::size_t i = 0; i < layer.x.a().size(); ++i) {
    layer.digits.push_back({{i, 0}, {1, 0}, layer.x.a()[i]});
  }
  return layer;
}

std::vector<std::uint32_t> masks_of(const BitLayer& layer) {
  const std::size_t span = layer.span();
  std::vector<std::uint32_t> masks(layer.shape.groups * span);
  for (std::size_t g = 0; g < layer.shape.groups; ++g) {
    for (std::size_t c = 0; c < layer.shape.group_channels(); ++c) {
      const auto [word, bit] = layer.place(g, c);
      masks[g * span + word] |= 1U << bit;
    }
  }
  return masks;
}

/// [planes, taps, words of a group, outputs]
std::vector<std::uint32_t> planes_of(const BitLayer& layer) {
  const ConvShape& shape = layer.shape;
  const std::size_t span = layer.span();
  const auto bits = static_cast<std::size_t>(layer.codes.bits);
  std::vector<std::uint32_t> planes(bits * shape.taps() * span * shape.outputs);
  for (std::size_t o = 0; o < shape.outputs; ++o) {
    for (std::size_t i = 0; i < shape.inputs(); ++i) {
      const std::size_t tap = i / shape.group_channels();
      const auto [word, bit] = layer.place(o / shape.group_outputs(), i % shape.group_channels());
      for (std::size_t j = 0; j < bits; ++j) {
        const std::size_t row = layer.codes.plane(o, static_cast<int>(j));
        if (!layer.codes.planes.test(row, i)) continue;
        planes[((j * shape.taps() + tap) * span + word) * shape.outputs + o] |= 1U << bit;
      }
    }
  }
  return planes;
}

std::vector<std::uint32_t> digits_of(const BitLayer& layer) {
  std::vector<std::uint32_t> numbers = {
      number(layer.digits.size()), number(2 * words_for_bits(layer.shape.channels)),
      number(layer.span()), static_cast<std::uint32_t>(layer.x.bits)};
  for (const numerics::Digit& digit : layer.digits) {
    numbers.push_back(std::bit_cast<std::uint32_t>(digit.unit));
    numbers.push_back(number(digit.num_planes()));
    for (std::size_t k = 0; k < 2; ++k) {
      numbers.push_back(number(digit.planes[k]));
      numbers.push_back(static_cast<std::uint32_t>(digit.multiples[k]));
    }
  }
  return numbers;
}

/// Products of coefficients [digits, planes, outputs] and offsets [outputs]; of a FullyConnected
/// also what the offset of the inputs adds, and the bias.
std::vector<float> floats_of(const BitLayer& layer) {
  std::vector<float> floats;
  const std::size_t outputs = layer.shape.outputs;
  for (const numerics::Digit& digit : layer.digits) {
    for (std::size_t j = 0; j < static_cast<std::size_t>(layer.codes.bits); ++j) {
      for (std::size_t o = 0; o < outputs; ++o) {
        floats.push_back(digit.unit * layer.basis(o).a()[j]);
      }
    }
  }
  for (std::size_t o = 0; o < outputs; ++o) floats.push_back(layer.basis(o).offset);
  if (!layer.is_dense) return floats;
  for (std::size_t o = 0; o < outputs; ++o) {
    const numerics::Basis basis = layer.basis(o);
    float sum = 0;
    for (std::size_t j = 0; j < basis.a().size(); ++j) {
      const std::size_t ones = layer.codes.planes.count(layer.codes.plane(o, static_cast<int>(j)));
      sum += basis.a()[j] * static_cast<float>(2 * static_cast<std::int64_t>(ones) -
                                               static_cast<std::int64_t>(layer.codes.cols));
    }
    floats.push_back(layer.x.offset * sum);
  }
  for (std::size_t o = 0; o < outputs; ++o)
    floats.push_back(layer.bias.empty() ? 0 : layer.bias[o]);
  return floats;
}

/// [patterns, outputs]
std::vector<float> bases_of(const BitLayer& layer) {
  if (layer.is_dense) return {};
  const kernels::PaddingPatterns patterns(layer.shape);
  std::vector<float> base(patterns.count() * layer.shape.outputs);
  std::vector<double> bases(patterns.count());
  for (std::size_t o = 0; o < layer.shape.outputs; ++o) {
    const double bias = layer.bias.empty() ? 0 : layer.bias[o];
    kernels::padded_bases(patterns, kernels::tap_sums(layer.shape, layer.codes, o, layer.basis(o)),
                          {bias, layer.x.offset, layer.x.value(0)}, bases);
    for (std::size_t p = 0; p < bases.size(); ++p) {
      base[p * layer.shape.outputs + o] = static_cast<float>(bases[p]);
    }
  }
  return base;
}

std::uint32_t flags_of(const BitLayer& layer) {
  std::uint32_t flags = layer.encoding.is_centred() ? 0 : kHasOffsets;
  if (!layer.is_dense) return flags;
  if (layer.x.offset != 0) flags |= kHasSums;
  if (!layer.bias.empty()) flags |= kHasBias;
  return flags;
}

}  // namespace

runtime::DeviceChoice make_bit_layer(StepMaker& maker) {
  const runtime::NodeContext& context = maker.context();
  const bool is_conv = std::holds_alternative<ir::Conv>(context.node.op);
  if (!is_conv && !std::holds_alternative<ir::FullyConnected>(context.node.op)) {
    return refused("no kernel of bits computes " + maker.step().op);
  }
  if (std::string why = LayerEnd::refusal(context, is_conv); !why.empty()) {
    return refused(std::move(why));
  }
  const BitLayer layer = bit_layer_of(context);
  const LayerEnd end(maker, is_conv);
  const std::string macros = "#define W_BITS " + std::to_string(layer.codes.bits) + "\n" +
                             (layer.is_dense ? "#define DENSE\n" : "");
  Kernel& kernel =
      maker.programs().kernel(program_text(macros, {"window", "window_bits"}), "multiply_bits");
  const Buffer& weights = maker.constant(planes_of(layer));
  const Buffer& masks = maker.constant(masks_of(layer));
  const Buffer& shape = maker.constant(shape_numbers(layer.shape));
  const Buffer& patterns = maker.constant(pixel_patterns(layer.shape));
  const Buffer& digits = maker.constant(digits_of(layer));
  const Buffer& base = maker.constant(bases_of(layer));
  const Buffer& floats = maker.constant(floats_of(layer));
  const std::size_t count = layer.shape.num_pixels() * layer.shape.outputs;
  const float added = static_cast<float>(layer.shape.inputs()) * layer.x.offset;
  return maker.made([end, count, added, flags = flags_of(layer) | end.flags(), k = &kernel,
                     w = &weights, m = &masks, s = &shape, p = &patterns, d = &digits, b = &base,
                     f = &floats](const StepMemory& memory) {
    std::vector<Launch> launches = {
        {k,
         grid_of(count),
         {*memory.inputs[0], *w, *m, *s, *p, *d, *b, *f, end.residual(memory), end.sums(memory),
          number(count), flags, added, end.low(), end.high()}}};
    end.follow(memory, launches);
    return launches;
  });
}

}  // namespace halftone::gpu
