// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/layer_arithmetic.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "halftone/ir/ops/traits.h"
#include "halftone/numerics/basis.h"
#include "halftone/numerics/vector_basis.h"

namespace halftone::ir {
namespace {

constexpr std::size_t kWeights = 1;
constexpr std::size_t kBias = 2;
constexpr std::size_t kMaxSpatialAxes = 3;

/// Maximum codes of the pixels that one line of outputs reads, held in a kernel's scratch memory.
constexpr double kMaxSeen = 1 << 26;
/// Maximum number of padding patterns of the taps, times taps: the work of packing.
constexpr double kMaxPatternTaps = 1 << 24;

const Shape& weight_shape(const Graph& graph, const Node& node) {
  return graph.value(node.inputs[kWeights]).type.shape;
}

/// Inputs of an output.
std::size_t num_inputs(const Shape& weights) { return matrix_extent(weights).cols; }
/// The same of a layer, which may have several matrices.
std::size_t num_inputs(const Graph& graph, const Node& node) {
  const Shape& weights = weight_shape(graph, node);
  const bool has_experts = std::holds_alternative<ExpertProduct>(node.op);
  return has_experts ? static_cast<std::size_t>(weights.back()) : num_inputs(weights);
}

/// The encoding of the input, or of the states.
Encoding input_encoding(const Graph& graph, const Node& node) {
  if (const auto* recurrent = std::get_if<Recurrent>(&node.op)) {
    return {ElementType::kFloat32, recurrent->state_encoding};
  }
  return graph.value(node.inputs[0]).type.encoding;
}

std::string stored_in_blocks(const LayerCodes& codes) {
  return "the weights are stored in blocks of " + std::string(codes.blocks->name);
}

std::optional<std::string> why_no_groups(const LayerCodes& codes) {
  if (codes.blocks == nullptr) return "the weights are not stored in blocks";
  if (codes.blocks->unpack == nullptr)
    return std::string(codes.blocks->name) + " has no codes of 8-bit integers";
  if (codes.input_bits != 0) return "the input is encoded";
  return std::nullopt;
}

std::optional<std::string> why_no_bits(const Operator& op, const LayerCodes& codes) {
  if (codes.input_bits == 0) {
    return is_recurrent(op) ? "the states are not encoded" : "the input is not encoded";
  }
  if (codes.blocks != nullptr) return stored_in_blocks(codes);
  if (codes.weight_bits == 0) return "the weights are not encoded";
  for (const numerics::Codebook* codebook : {codes.unsummed_input, codes.unsummed_weights}) {
    if (codebook == nullptr) continue;
    return "bits of " + codebook->name() + " are no signs of coefficients";
  }
  if (codes.group_size != 0) {
    return "weights have a scale per group of " + std::to_string(codes.group_size) + " inputs";
  }
  return std::nullopt;
}

std::optional<std::string> why_no_integers(const Operator& op, const LayerCodes& codes) {
  if (codes.blocks != nullptr) return stored_in_blocks(codes);
  if (codes.weight_bits == 0) return "the weights are not encoded";
  if (std::holds_alternative<Conv>(op) && codes.input_bits == 0) return "the input is not encoded";
  if (codes.off_grid != nullptr) {
    return "levels of " + codes.off_grid->name() + " are no 8-bit integers";
  }
  return std::nullopt;
}

/// @param wanted  kBits, kIntegers or kGroups
std::size_t max_inputs(Arithmetic wanted, const Operator& op) {
  if (wanted != Arithmetic::kBits) return kMaxIntegerInputs;
  return std::holds_alternative<Conv>(op) ? kMaxBitConvInputs : kMaxBitInputs;
}

/// Why the weights cannot be packed as codes.
std::optional<std::string> why_not_packed(const Graph& graph, const Node& node) {
  if (graph.constant(node.inputs[kWeights]) == nullptr) return "the weights are not constant";
  const bool has_bias = is_layer(node.op) && node.has_input(kBias);
  if (has_bias && graph.constant(node.inputs[kBias]) == nullptr) return "the bias is not constant";
  return std::nullopt;
}

std::optional<std::string> why_not_on_lines(const Graph& graph, const Node& node) {
  if (std::get<Conv>(node.op).window.rank() > kMaxSpatialAxes)
    return "more than three spatial axes";
  if (!has_usual_window(graph, node)) return "too many taps, or taps too far apart";
  return std::nullopt;
}

/// Why a convolution has too few outputs to share what they read, so that decoding the input and
/// convolving in float32 is as fast.
std::optional<std::string> why_narrow(const Conv& op, const Shape& weights,
                                      const LayerCodes& codes) {
  constexpr std::size_t kMinOutputs = 8;  // half a block
  constexpr std::size_t kMinGatheredWeights = 8192;
  if (is_depthwise(op, weights)) return std::nullopt;
  const auto outputs = static_cast<std::size_t>(weights[0] / op.groups);
  if (!gathers_inputs(weights, codes.group_size)) {
    return outputs < kMinOutputs ? std::optional("few outputs") : std::nullopt;
  }
  if (outputs * num_inputs(weights) >= kMinGatheredWeights) return std::nullopt;
  return "few weights to gather the inputs of a pixel for";
}

/// Whether the input is the output of a FakeQuantize: 8-bit integers would round it once more.
bool has_rounded_input(const Graph& graph, const Node& node) {
  const auto producer = graph.producer(node.inputs[0]);
  return producer && std::holds_alternative<FakeQuantize>(graph.node(*producer).op);
}

/// Why the rule avoids an arithmetic that a convolution can have.
std::optional<std::string> why_conv_avoids(Arithmetic wanted, const Graph& graph, const Node& node,
                                           const LayerCodes& codes) {
  const auto* conv = std::get_if<Conv>(&node.op);
  if (conv == nullptr) return std::nullopt;
  const Shape& weights = weight_shape(graph, node);
  if (auto reason = why_narrow(*conv, weights, codes)) return reason;
  if (wanted != Arithmetic::kBits || !is_depthwise(*conv, weights)) return std::nullopt;
  return "an output has few inputs: those of a channel";
}

}  // namespace

void LayerCodes::set_input(const numerics::MatrixEncoding& encoding) {
  input_bits = input_digits = encoding.bits;
  if (!encoding.is_summed()) unsummed_input = encoding.codebook.get();
  if (!encoding.fits_integers()) off_grid = encoding.codebook.get();
}

void LayerCodes::set_weights(const numerics::MatrixEncoding& encoding) {
  weight_bits = encoding.bits;
  if (!encoding.is_summed()) unsummed_weights = encoding.codebook.get();
  if (!encoding.fits_integers()) off_grid = encoding.codebook.get();
  const bool grouped = encoding.granularity == numerics::Granularity::kGroup;
  group_size = grouped ? encoding.group_size : 0;
}

LayerCodes layer_codes(const Graph& graph, const Node& node) {
  LayerCodes codes;
  const Encoding x = input_encoding(graph, node);
  if (!x.is_dense()) {
    codes.set_input(*x.codes);
    if (std::holds_alternative<Conv>(node.op) && x.codes->is_summed()) {
      const std::size_t inputs = num_inputs(weight_shape(graph, node));
      const auto digits = numerics::split_digits(x.codes->basis(0), inputs);
      codes.input_digits = static_cast<int>(digits.size());
    }
  }
  const Encoding& w = graph.value(node.inputs[kWeights]).type.encoding;
  codes.blocks = w.blocks.get();
  if (w.codes != nullptr) codes.set_weights(*w.codes);
  return codes;
}

double number_bits(const Graph& graph, ValueId value) {
  if (const auto producer = graph.producer(value)) {
    const Node& node = graph.node(*producer);
    if (const auto* rounding = std::get_if<FakeQuantize>(&node.op)) return rounding->bits;
    const bool is_widened = std::holds_alternative<Cast>(node.op) &&
                            is_half(graph.value(node.inputs[0]).type.encoding.element);
    if (is_widened || std::holds_alternative<DequantizeLinear>(node.op)) value = node.inputs[0];
  }
  const Encoding& encoding = graph.value(value).type.encoding;
  if (encoding.blocks != nullptr) return std::floor(encoding.blocks->bits());
  if (!encoding.is_dense()) {
    const numerics::VectorBasis* basis = encoding.codes->vectors.get();
    return basis == nullptr ? encoding.codes->bits
                            : static_cast<double>(basis->signs()) / basis->numbers();
  }
  return 8 * static_cast<double>(size_bytes(encoding.element));
}

bool is_depthwise(const Conv& op, const Shape& weights) {
  return weights.back() == 1 && weights[0] == op.groups && num_inputs(weights) <= kMaxDepthwiseTaps;
}

bool gathers_inputs(const Shape& weights, std::size_t group_size) {
  const std::size_t inputs = num_inputs(weights);
  if (inputs > kMaxIntegerConvInputs) return true;
  if (group_size == 0 || group_size >= inputs) return false;
  const auto channels = static_cast<std::size_t>(weights.back());
  return group_size % kGroupedConvChannels != 0 || channels % kGroupedConvChannels != 0;
}

bool has_usual_window(const Graph& graph, const Node& node) {
  const Window& window = std::get<Conv>(node.op).window;
  const Shape& w = weight_shape(graph, node);
  const Shape& y = graph.value(node.output).type.shape;
  double seen = static_cast<double>(graph.value(node.inputs[0]).type.shape.back());
  double pattern_taps = 1;
  for (std::size_t i = 0; i < window.rank(); ++i) {
    const auto taps = static_cast<double>(w[i + 1]);
    const auto outputs = static_cast<double>(y[i + 1]);
    double extent = (taps - 1) * static_cast<double>(window.dilations[i]) + 1;
    if (i + 1 == window.rank()) extent += outputs * static_cast<double>(window.strides[i]);
    seen *= extent;
    pattern_taps *= taps * std::min(outputs, 2 * taps + 1);
  }
  return seen <= kMaxSeen && pattern_taps <= kMaxPatternTaps;
}

std::optional<std::string> why_not(Arithmetic wanted, const Operator& op, const LayerCodes& codes) {
  if (wanted == Arithmetic::kAuto || wanted == Arithmetic::kFloat) return std::nullopt;
  if (std::holds_alternative<ConvTranspose>(op)) {
    return "a transposed convolution multiplies float32 numbers";
  }
  if (wanted == Arithmetic::kGroups) return why_no_groups(codes);
  return wanted == Arithmetic::kBits ? why_no_bits(op, codes) : why_no_integers(op, codes);
}

std::optional<std::string> why_not(Arithmetic wanted, const Graph& graph, const Node& node) {
  if (wanted == Arithmetic::kAuto || wanted == Arithmetic::kFloat) return std::nullopt;
  if (auto reason = why_not(wanted, node.op, layer_codes(graph, node))) return reason;
  if (auto reason = why_not_packed(graph, node)) return reason;
  if (const std::size_t max = max_inputs(wanted, node.op); num_inputs(graph, node) > max) {
    return "more than " + std::to_string(max) + " inputs";
  }
  if (!std::holds_alternative<Conv>(node.op)) return std::nullopt;
  return why_not_on_lines(graph, node);
}

std::optional<std::string> why_not_by_rule(Arithmetic wanted, const Graph& graph, const Node& node,
                                           bool int8_activations) {
  if (auto reason = why_not(wanted, graph, node)) return reason;
  const bool rounds_input = wanted == Arithmetic::kIntegers || wanted == Arithmetic::kGroups;
  if (rounds_input && !int8_activations) return "8-bit activations are disabled";
  if (rounds_input && has_rounded_input(graph, node)) {
    return "the input is rounded to another number system";
  }
  const LayerCodes codes = layer_codes(graph, node);
  if (auto reason = why_conv_avoids(wanted, graph, node, codes)) return reason;
  const int max_pairs = int8_activations ? kMaxBitPairs : kMaxBitPairsBesideFloat;
  if (wanted != Arithmetic::kBits || codes.bit_pairs() <= max_pairs) return std::nullopt;
  return std::to_string(codes.bit_pairs()) + " pairs of bit planes";
}

std::optional<Arithmetic> arithmetic_by_rule(const Graph& graph, const Node& node,
                                             bool int8_activations) {
  if (arithmetic(node.op) == nullptr) return std::nullopt;
  if (graph.value(node.inputs[kWeights]).type.encoding.element != ElementType::kFloat32) {
    return std::nullopt;
  }
  for (const Arithmetic each : {Arithmetic::kGroups, Arithmetic::kBits, Arithmetic::kIntegers}) {
    if (!why_not_by_rule(each, graph, node, int8_activations)) return each;
  }
  return Arithmetic::kFloat;
}

bool follows_rule(const Operator& op, bool int8_activations) {
  const Arithmetic stored = *arithmetic(op);
  const bool rounds_input = stored == Arithmetic::kIntegers || stored == Arithmetic::kGroups;
  return stored == Arithmetic::kAuto || (rounds_input && !int8_activations);
}

std::optional<Arithmetic> arithmetic_of(const Graph& graph, const Node& node,
                                        bool int8_activations) {
  const std::optional<Arithmetic> by_rule = arithmetic_by_rule(graph, node, int8_activations);
  if (!by_rule) return std::nullopt;
  return follows_rule(node.op, int8_activations) ? by_rule : *arithmetic(node.op);
}

}  // namespace halftone::ir
