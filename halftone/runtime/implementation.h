// SPDX-License-Identifier: Apache-2.0
// The interface of an operator's implementation.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "halftone/ir/graph.h"
#include "halftone/runtime/arithmetic.h"
#include "halftone/runtime/kernel.h"
#include "halftone/runtime/packed_weights.h"
#include "halftone/runtime/product.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {

struct LayerMethod;

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
  bool int8_activations = true;  ///< as in PlanOptions
  FloatOrder float_order = FloatOrder::kFastest;
  /// Of a layer: its kernels compute no other. Nothing for other operators, for products of
  /// integers, and if there is nothing to compute.
  std::optional<ir::Arithmetic> arithmetic{};
  std::span<const CodeLayout> layouts{};    ///< by value
  PackedWeights* packed_weights = nullptr;  ///< as in ExecutionOptions
  const LayerMethod* way =
      nullptr;  ///< to create a kernel for, see with_method(); null: by estimate
  const FusedCodes* fused = nullptr;  ///< what the kernel includes; null: nothing

  [[nodiscard]] bool has_input(std::size_t i) const {
    return i < node.inputs.size() && node.inputs[i] != ir::kAbsent;
  }
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
};

}  // namespace halftone::runtime
