// SPDX-License-Identifier: Apache-2.0
// Kernels of operators, and what all of them share: costs, the division of work, and kernels that
// accept every node.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "halftone/base/parallel.h"
#include "halftone/ir/graph.h"
#include "halftone/kernels/block_range.h"
#include "halftone/kernels/targets.h"
#include "halftone/runtime/execution_options.h"
#include "halftone/runtime/kernel.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {

using kernels::Core;

struct LayerMethod;
struct PlanSettings;

/// Conversions that a step computes together with its node; null where there is none.
struct FusedCodes {
  const ir::Requantize* requantize =
      nullptr;                             ///< of the sums of a layer, or of a Binary, of integers
  const ir::Lookup* a_integers = nullptr;  ///< of the operands of such a Binary
  const ir::Lookup* b_integers = nullptr;
  const ir::DequantizeLinear* a = nullptr;  ///< of the operands of another Binary
  const ir::DequantizeLinear* b = nullptr;
  const ir::QuantizeLinear* quantize = nullptr;  ///< of its result
};

/// The information available to an implementation. All extents are known.
struct NodeContext {
  const ir::Graph& graph;
  const ir::Node& node;
  int threads = 1;
  bool int8_activations = true;  ///< as in PlanSettings
  FloatOrder float_order = FloatOrder::kFastest;
  /// Of a layer: its kernels compute no other. Nothing for other operators, for products of
  /// integers, and if there is nothing to compute.
  std::optional<ir::Arithmetic> arithmetic{};
  std::span<const CodeLayout> layouts{};    ///< by value
  PackedWeights* packed_weights = nullptr;  ///< as in ExecutionOptions
  const LayerMethod* way =
      nullptr;  ///< to create a kernel for, see with_method(); null: by estimate
  const PlanSettings* settings = nullptr;  ///< for kernels that make plans of their own
  const FusedCodes* fused = nullptr;       ///< what the kernel includes; null: nothing

  [[nodiscard]] bool has_input(std::size_t i) const { return node.has_input(i); }
  [[nodiscard]] const ir::ValueType& input(std::size_t i) const {
    return graph.value(node.inputs[i]).type;
  }
  [[nodiscard]] const ir::ValueType& output() const { return graph.value(node.output).type; }
  [[nodiscard]] CodeLayout input_layout(std::size_t i) const {
    return layouts[static_cast<std::size_t>(node.inputs[i])];
  }
  [[nodiscard]] CodeLayout output_layout() const {
    return layouts[static_cast<std::size_t>(node.output)];
  }
  /// The constant that an input holds; null if it is computed or absent.
  [[nodiscard]] const ir::Constant* constant(std::size_t i) const {
    return has_input(i) ? graph.constant(node.inputs[i]) : nullptr;
  }
  /// The packed form of a constant input, shared with other plans if the options say so. Memory
  /// that a mapped file takes for the constant is given back.
  /// @param make  gives a T
  template <typename T, typename Make>
  [[nodiscard]] std::shared_ptr<const T> packed(std::size_t i, Make&& make) const {
    const auto pack = [&] {
      T form = make();
      ir::release_pages(*constant(i));
      return form;
    };
    if (packed_weights == nullptr) return std::make_shared<const T>(pack());
    return packed_weights->get<T>(graph.value(node.inputs[i]).constant, pack);
  }
  template <typename Op>
  [[nodiscard]] const Op& op() const {
    return std::get<Op>(node.op);
  }
};

/// Estimated times of one thread on the processor at hand, in microseconds.
struct Speed {
  double us = 0;
  double float_us = 0;  ///< of the same layer in float32, without codes
};

/// Whether an implementation accepts a node, and why.
struct Verdict {
  bool accepted = false;
  std::string reason;
  std::optional<Speed> speed{};  ///< of a layer of codes
};
inline Verdict accept(std::string reason, std::optional<Speed> speed = {}) {
  return {true, std::move(reason), speed};
}
inline Verdict refuse(std::string reason) { return {false, std::move(reason)}; }

/// An implementation of an operator. The source that defines it also holds its costs.
struct Implementation {
  std::string_view name;
  /// Whether it can compute a node of its arithmetic, regardless of code layouts.
  Verdict (*judge)(const NodeContext&);
  Kernel (*create)(const NodeContext&);  ///< @pre judge() accepted and the code layouts match
  KernelArithmetic arithmetic = KernelArithmetic::kOperator;
  /// The layout it requires for the codes of its first input.
  CodeLayout reads = CodeLayout::kPlanes;
  /// The layout in which it writes the codes of its output; none if it supports every layout.
  std::optional<CodeLayout> writes{};
  /// Whether it can add a residual and encode its output, which saves separate nodes.
  bool finishes_output = false;
  /// The methods that can compute an accepted node, all with the same bits; null: one.
  std::vector<Product> (*products)(const NodeContext&) = nullptr;

  /// Floats summed in a fixed order.
  static constexpr Implementation fixed_float(Verdict (*judge)(const NodeContext&),
                                              Kernel (*create)(const NodeContext&)) {
    return {"fixed_order_f32", judge, create, KernelArithmetic::kFixedFloat};
  }
  /// Floats on oneDNN.
  static constexpr Implementation onednn_float(Verdict (*judge)(const NodeContext&),
                                               Kernel (*create)(const NodeContext&)) {
    return {"onednn_f32", judge, create, KernelArithmetic::kFastestFloat};
  }
};

/// The family of processors whose costs a plan uses: kernels::current_core(), unless it is
/// replaced.
Core cost_core() noexcept;

/// Replaces cost_core() in the whole process while it lives, so that a test can show that costs
/// change no result.
class ReplacedCosts {
 public:
  explicit ReplacedCosts(Core core) noexcept;
  ReplacedCosts(const ReplacedCosts&) = delete;
  ReplacedCosts& operator=(const ReplacedCosts&) = delete;
  ~ReplacedCosts();
};

/// Calls body(share, range) for equal parts of [0, count), on up to `threads` threads; for one part
/// on the calling thread. It must not matter how they are divided. Allocates nothing.
template <typename Body>
void divide(std::size_t count, std::size_t threads, const Body& body) {
  const std::size_t shares = std::clamp<std::size_t>(count, 1, std::max<std::size_t>(threads, 1));
  const auto share = [&](std::size_t s) {
    body(s, kernels::BlockRange{count * s / shares, count * (s + 1) / shares});
  };
  if (shares == 1) return share(0);
  parallel_for(shares, std::ref(share));
}

/// "the weights are decoded; ", or what else of a float32 layer has codes; empty if nothing has.
std::string_view decoded_text(const NodeContext& context);

/// Wraps the kernel of a node that reads input 0 as dense float32: if the input is codes, every run
/// decodes them first.
Kernel with_decoded_input(const NodeContext& context, Kernel kernel);

/// ir::evaluate_operator() on copies of the inputs. Every run allocates.
extern const Implementation kReference;
/// Reshape: the output shares the memory of the input.
extern const Implementation kAlias;

}  // namespace halftone::runtime
