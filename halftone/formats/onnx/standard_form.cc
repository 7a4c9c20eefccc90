// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/standard_form.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/formats/low_bit_layer.h"
#include "halftone/formats/onnx/exporter.h"
#include "halftone/formats/onnx/standard_weight.h"
#include "halftone/ir/layer_arithmetic.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/ir/rounding_nodes.h"
#include "halftone/numerics/systems.h"

namespace halftone::formats {
namespace {

using ir::Node;
using ir::NodeId;
using ir::ValueId;
using numerics::Granularity;

constexpr std::size_t kMaxNamed = 8;

/// What has no standard form, by reason.
class Problems {
 public:
  void add(const std::string& reason, const std::string& what) { names_[reason].push_back(what); }

  /// @throws Error kUnsupported if there are any
  void check() const {
    if (names_.empty()) return;
    std::string text;
    for (const auto& [reason, names] : names_) {
      text += (text.empty() ? "" : "; ") + reason + " (";
      for (std::size_t i = 0; i < std::min(names.size(), kMaxNamed); ++i) {
        text += (i == 0 ? "'" : ", '") + names[i] + "'";
      }
      if (names.size() > kMaxNamed) {
        text += " and " + std::to_string(names.size() - kMaxNamed) + " more";
      }
      text += ")";
    }
    fail(ErrorKind::kUnsupported,
         "operators of ONNX alone cannot hold " + text + "; Halftone's own operators do");
  }

 private:
  std::map<std::string, std::vector<std::string>> names_;
};

std::string form_of(const numerics::MatrixEncoding& encoding) {
  return std::string(numerics::system_name(encoding)) + " of " + std::to_string(encoding.bits) +
         (encoding.bits == 1 ? " bit" : " bits");
}

/// The levels, ascending, without those at the ends that no number takes: a code of int_narrow.
std::span<const float> reachable_levels(const numerics::Codebook& codebook) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  std::span<const float> levels = codebook.sorted();
  std::span<const float> thresholds = codebook.thresholds();
  while (!thresholds.empty() && thresholds.front() <= -kLargest) {
    levels = levels.subspan(1);
    thresholds = thresholds.subspan(1);
  }
  while (!thresholds.empty() && thresholds.back() >= kLargest) {
    levels = levels.first(levels.size() - 1);
    thresholds = thresholds.first(thresholds.size() - 1);
  }
  return levels;
}

class StandardForm {
 public:
  StandardForm(const ir::Graph& graph, const ExportOptions& options)
      : graph_(graph), options_(options) {}

  ir::Graph build() {
    const std::vector<NodeId> order = graph_.topological_order();
    for (const NodeId id : order) replace(id);
    problems_.check();
    graph_.infer_all();
    for (const NodeId id : graph_.topological_order()) set_arithmetic(id);
    graph_.remove_unused_nodes();
    return std::move(graph_);
  }

 private:
  void replace(NodeId id) {
    const Node node = graph_.node(id);
    if (std::holds_alternative<ir::Encode>(node.op)) {
      replace_rounding(node);
    } else if (std::holds_alternative<ir::FakeQuantize>(node.op)) {
      problems_.add("rounding with scales computed at run time", node.name);
    } else if (const auto* recurrent = std::get_if<ir::Recurrent>(&node.op)) {
      if (recurrent->state_encoding != nullptr) {
        problems_.add("states of a recurrent layer in " + form_of(*recurrent->state_encoding),
                      node.name);
      }
      replace_weights(id, node, ir::kRecurrenceWeights);
    } else if (ir::is_layer(node.op) || ir::is_table(node.op)) {
      replace_weights(id, node, weights_input(node.op));
    }
  }

  void replace_rounding(const Node& node) {
    const auto& op = std::get<ir::Encode>(node.op);
    const numerics::MatrixEncoding& encoding = *op.encoding;
    const auto step_by_step = [&] {
      graph_.replace_uses(node.output, ir::add_encode(graph_, node.name, op, node.inputs[0]));
    };
    if (encoding.codebook == nullptr) return step_by_step();
    if (const auto* floats = onnx::standard_floats(*encoding.codebook)) {
      return replace_float_rounding(node, *floats);
    }
    const auto multiples = onnx::multiples_of(*encoding.codebook);
    if (!multiples) return step_by_step();
    const std::span<const float> levels = reachable_levels(*encoding.codebook);
    const auto low = static_cast<int>(levels.front() / multiples->step);
    const auto high = static_cast<int>(levels.back() / multiples->step);
    if (levels.size() != static_cast<std::size_t>(high - low) + 1) return step_by_step();
    const auto zero = onnx::zero_point(encoding, 0, multiples->step);
    const float scale = encoding.scales[0] * multiples->step;
    const Range range = Range::of(scale, low - zero.value_or(0), high - zero.value_or(0));
    if (zero && range.fits()) return round_to_integers(node, range);
    const Range shifted = Range::of(scale, low, high);
    if (!encoding.has_offset || !shifted.fits()) return step_by_step();
    round_to_integers(node, shifted, encoding.offsets[0]);
  }

  /// The evenly spaced numbers scale q, low <= q <= high.
  struct Range {
    float scale;
    int low;
    int high;

    /// Of levels low to high. Fits may choose a negative scale, for the longer side of two's
    /// complement.
    static Range of(float scale, int low, int high) {
      return scale < 0 ? Range{-scale, -high, -low} : Range{scale, low, high};
    }

    /// Whether zero is near enough to be a code of 8 bits.
    [[nodiscard]] bool fits() const { return std::max(high, 0) - std::min(low, 0) <= 255; }
    [[nodiscard]] bool is_signed() const { return low >= -128 && high <= 127; }
    [[nodiscard]] float at(int q) const { return scale * static_cast<float>(q); }
  };

  void replace_float_rounding(const Node& node, const numerics::NumberSystem& floats) {
    const numerics::MatrixEncoding& old = *std::get<ir::Encode>(node.op).encoding;
    for (const NodeId reader : graph_.consumers(node.output)) {
      if (!is_float(graph_.node(reader))) continue;
      return problems_.add("inputs of a recurrent layer in " + form_of(old),
                           graph_.node(reader).name);
    }
    const bool overflows = old.codebook->beyond().has_value();
    const std::string suffix(overflows ? numerics::kOverflowSuffix : "");
    auto encoding = std::make_shared<numerics::MatrixEncoding>();
    encoding->bits = old.bits;
    encoding->codebook =
        numerics::codebook_of(numerics::find_system(std::string(floats.name) + suffix), old.bits);
    // The levels are symmetric.
    const float scale = std::abs(old.scales[0]);
    encoding->scales = numerics::StoredNumbers::of({&scale, 1});
    graph_.replace_uses(node.output,
                        graph_.add_node(node.name, ir::Encode{encoding}, {node.inputs[0]}));
  }

  /// Rounds to int8 with zero point 0, or to uint8.
  /// @param offset  of the numbers: subtracted before and added behind
  void round_to_integers(const Node& node, const Range& range, float offset = 0) {
    const bool is_signed = range.is_signed();
    const int first = is_signed ? -128 : 0;
    const int zero = is_signed ? 0 : -std::min(range.low, 0);
    ValueId x = node.inputs[0];
    const auto shift = [&](const char* what, ir::BinaryKind kind) {
      if (offset == 0) return;
      const ValueId by = graph_.add_constant(node.name + "/" + what + "/offset",
                                             ir::Tensor::from<float>({}, {&offset, 1}));
      x = graph_.add_node(node.name + "/" + what, ir::Binary{kind, {}}, {x, by});
    };
    shift("centred", ir::BinaryKind::kSub);
    if (range.low + zero != first || range.high + zero != first + 255) {
      const ir::Activation clip{ir::ActivationKind::kClip, range.at(range.low),
                                range.at(range.high)};
      x = graph_.add_node(node.name + "/clip", ir::Unary{clip}, {x});
    }
    const ir::AffineParameters parameters{{range.scale}, {zero}, 0};
    const auto element = is_signed ? ir::ElementType::kInt8 : ir::ElementType::kUint8;
    x = graph_.add_node(node.name + "/codes", ir::QuantizeLinear{parameters, element}, {x});
    x = graph_.add_node(node.name, ir::DequantizeLinear{parameters}, {x});
    shift("shifted", ir::BinaryKind::kAdd);
    graph_.replace_uses(node.output, x);
  }

  void replace_weights(NodeId id, const Node& node, std::size_t input) {
    const ValueId old = node.inputs[input];
    const ir::Constant* constant = graph_.constant(old);
    const auto* weights = constant ? std::get_if<ir::EncodedTensor>(constant) : nullptr;
    if (weights == nullptr) return;
    const bool for_nbits = becomes_nbits(node, *weights);
    const auto key = std::pair(old, for_nbits);
    auto found = replaced_.find(key);
    if (found == replaced_.end()) {
      const auto value =
          is_float(node) ? add_decoded(old, *weights) : add_weights(node, old, for_nbits);
      if (!value) return;
      found = replaced_.emplace(key, *value).first;
    }
    std::vector<ValueId> inputs = node.inputs;
    inputs[input] = found->second;
    graph_.replace_node(id, without_arithmetic(node.op), std::move(inputs));
  }

  /// Whether a layer is written with float weights: a recurrent layer or its projection.
  [[nodiscard]] bool is_float(const Node& node) const {
    const auto reads_gates = [&](NodeId reader) {
      return std::holds_alternative<ir::Recurrent>(graph_.node(reader).op);
    };
    const auto readers = graph_.consumers(node.output);
    return std::holds_alternative<ir::Recurrent>(node.op) ||
           (!readers.empty() && std::ranges::all_of(readers, reads_gates));
  }

  [[nodiscard]] bool becomes_nbits(const Node& node, const ir::EncodedTensor& weights) const {
    return options_.matmul_nbits && std::holds_alternative<ir::FullyConnected>(node.op) &&
           onnx::has_nbits_groups(*weights.encoding) && !is_float(node);
  }

  /// Weights that are looked up in a table, unless that would be no smaller than float32.
  ValueId add_table(ValueId old, const ir::EncodedTensor& weights) {
    const std::size_t count = weights.codes.rows * weights.codes.cols;
    if (onnx::table_bits(weights) >= 32 * count) return add_decoded(old, weights);
    return onnx::add_table(graph_, graph_.value(old).name, weights);
  }

  ValueId add_decoded(ValueId old, const ir::EncodedTensor& weights) {
    return graph_.add_constant(graph_.value(old).name, ir::to_float(weights));
  }

  std::optional<ValueId> add_weights(const Node& node, ValueId old, bool for_nbits) {
    const auto& weights = std::get<ir::EncodedTensor>(*graph_.constant(old));
    const auto refuse = [&](const std::string& reason) {
      problems_.add("weights in " + form_of(*weights.encoding) + ": " + reason, node.name);
      return std::nullopt;
    };
    if (const auto* op = std::get_if<ir::ConvTranspose>(&node.op); op != nullptr) {
      if (op->groups != 1) return refuse("groups of a transposed convolution");
    }
    const onnx::StandardWeight found = onnx::standard_weight(weights, for_nbits);
    if (!found.weight) {
      const bool is_transposed = std::holds_alternative<ir::ConvTranspose>(node.op);
      const std::string reason = is_transposed ? found.reason : onnx::why_no_table(weights);
      return reason.empty() ? std::optional(add_table(old, weights)) : refuse(reason);
    }
    const onnx::QuantizedWeight& weight = *found.weight;
    const std::size_t bits =
        static_cast<std::size_t>(weight.bits) * weight.size() + 32 * weight.scales.size();
    if (bits >= 32 * weight.size()) return add_decoded(old, weights);
    ir::EncodedTensor encoded = *onnx::encode(weight);
    if (for_nbits) encoded.encoding = in_groups(*encoded.encoding, *weights.encoding);
    return graph_.add_constant(graph_.value(old).name, std::move(encoded));
  }

  /// The encoding with the groups of another, also where a group is a row.
  static std::shared_ptr<const numerics::MatrixEncoding> in_groups(
      numerics::MatrixEncoding encoding, const numerics::MatrixEncoding& other) {
    encoding.granularity = Granularity::kGroup;
    encoding.group_size = other.group_size;
    return std::make_shared<const numerics::MatrixEncoding>(std::move(encoding));
  }

  static ir::Operator without_arithmetic(ir::Operator op) {
    if (ir::Arithmetic* arithmetic = ir::arithmetic(op)) *arithmetic = ir::Arithmetic::kAuto;
    return op;
  }

  void set_arithmetic(NodeId id) {
    const Node node = graph_.node(id);
    if (ir::arithmetic(node.op) == nullptr) return;
    ir::Operator op = without_arithmetic(node.op);
    if (ir::layer_codes(graph_, node).any()) *ir::arithmetic(op) = ir::Arithmetic::kFloat;
    graph_.replace_node(id, std::move(op), node.inputs);
  }

  ir::Graph graph_;
  ExportOptions options_;
  Problems problems_;
  std::map<std::pair<ValueId, bool>, ValueId> replaced_;
};

}  // namespace

ir::Graph standard_form(const ir::Graph& graph, const ExportOptions& options) {
  return StandardForm(graph, options).build();
}

}  // namespace halftone::formats
