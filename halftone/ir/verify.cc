// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/verify.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/ir/element.h"
#include "halftone/ir/extent.h"
#include "halftone/ir/layer_arithmetic.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/ir/stages.h"
#include "halftone/numerics/vector_codes.h"

namespace halftone::ir {
namespace {

void check(bool holds, const std::string& message) {
  if (!holds) fail(ErrorKind::kFormat, message);
}

/// Codebooks of floats have codes that name no number.
void verify_numbers(const EncodedTensor& encoded) {
  if (encoded.encoding->codebook == nullptr) return;
  const std::span<const float> levels = encoded.encoding->codebook->levels();
  if (std::ranges::all_of(levels, [](float level) { return std::isfinite(level); })) return;
  const numerics::BitPlanes& codes = encoded.codes;
  for (std::size_t row = 0; row < codes.rows; ++row) {
    for (std::size_t col = 0; col < codes.cols; ++col) {
      const numerics::Code code = codes.code(row, col);
      check(std::isfinite(levels[code]),
            "code " + std::to_string(code) + " in row " + std::to_string(row) + " is no number");
    }
  }
}

void verify_codes(const EncodedTensor& encoded) {
  check(encoded.encoding != nullptr, "codes without an encoding");
  const auto [rows, cols] = matrix_extent(encoded.shape);
  encoded.encoding->check(rows, cols);
  const numerics::BitPlanes& codes = encoded.codes;
  check(codes.rows == rows && codes.cols == cols && codes.bits == encoded.encoding->bits &&
            codes.planes.rows() == rows * static_cast<std::size_t>(codes.bits) &&
            codes.planes.cols() == cols,
        "codes do not fit " + encoded.type().to_string());
  check(codes.planes.has_clear_tails(), "bits past the last column are not zero");
  verify_numbers(encoded);
  if (encoded.encoding->vectors == nullptr) return;
  const std::string reason = numerics::why_no_vectors(codes, *encoded.encoding->vectors);
  check(reason.empty(), reason);
}

void verify_blocks(const BlockTensor& blocks) {
  check(blocks.encoding != nullptr, "blocks without an encoding");
  const numerics::BlockEncoding& encoding = *blocks.encoding;
  const auto cols = static_cast<std::size_t>(blocks.shape.rank() == 0 ? 1 : blocks.shape.back());
  check(encoding.can_decode(), "blocks of " + std::string(encoding.name) + " cannot be decoded");
  check(cols % encoding.block == 0, "rows of " + std::to_string(cols) + " elements are no whole " +
                                        "blocks of " + std::to_string(encoding.block));
  check(blocks.bytes.bytes.size() == encoding.bytes_of(blocks.shape.element_count()),
        "blocks do not fit " + blocks.type().to_string());
}

void verify_constant(const Value& value) {
  with_context("constant '" + value.name + "'", [&] {
    check(type_of(*value.constant) == value.type,
          "holds " + type_of(*value.constant).to_string() + ", declared " + value.type.to_string());
    if (const auto* encoded = std::get_if<EncodedTensor>(value.constant.get())) {
      verify_codes(*encoded);
    }
    if (const auto* blocks = std::get_if<BlockTensor>(value.constant.get())) verify_blocks(*blocks);
  });
}

void verify_readable(const Graph& graph, ValueId id, const std::string& reader) {
  check(static_cast<std::size_t>(id) < graph.num_values(),
        reader + " reads a value that does not exist");
  const bool is_input = std::ranges::count(graph.inputs(), id) > 0;
  check(is_input || graph.constant(id) != nullptr || graph.producer(id).has_value(),
        reader + " reads '" + graph.value(id).name + "', which no node computes");
}

/// A layer has the arithmetic that its attribute names.
void verify_arithmetic(const Graph& graph, const Node& node) {
  const Arithmetic* stored = arithmetic(node.op);
  if (stored == nullptr || *stored == Arithmetic::kAuto) return;
  const auto complain = [&](const std::string& reason) {
    fail(ErrorKind::kFormat,
         describe(node) + ": arithmetic " + std::string(to_string(*stored)) + ": " + reason);
  };
  if (!arithmetic_by_rule(graph, node)) complain("expected float32 operands, found integers");
  if (const auto reason = why_not(*stored, node.op, layer_codes(graph, node))) complain(*reason);
}

/// Blocks are the weights of a FullyConnected or ExpertProduct, or the table of a Gather.
void verify_reads_blocks(const Graph& graph, const Node& node, ValueId input) {
  const bool reads = std::holds_alternative<FullyConnected>(node.op) ||
                     std::holds_alternative<ExpertProduct>(node.op) || is_table(node.op);
  check(reads && node.inputs[weights_input(node.op)] == input &&
            std::ranges::count(node.inputs, input) == 1,
        describe(node) + ": reads '" + graph.value(input).name +
            "': only a FullyConnected, an ExpertProduct and a Gather along axis 0 read blocks, " +
            "as weights");
}

void verify_node(const Graph& graph, const Node& node) {
  std::vector<const ValueType*> types;
  for (const ValueId input : node.inputs) {
    if (input != kAbsent) verify_readable(graph, input, describe(node));
    if (input != kAbsent && is_half(graph.value(input).type.encoding.element)) {
      check(std::holds_alternative<Cast>(node.op) && graph.constant(input) != nullptr,
            describe(node) + ": reads '" + graph.value(input).name +
                "': floats of 16 bits are stored in constants, and only a Cast reads them");
    }
    if (input != kAbsent && graph.value(input).type.encoding.blocks != nullptr) {
      verify_reads_blocks(graph, node, input);
    }
    types.push_back(input == kAbsent ? nullptr : &graph.value(input).type);
  }
  if (const auto* loop = std::get_if<Loop>(&node.op); loop != nullptr && loop->body != nullptr) {
    with_context("the body of " + describe(node), [&] { verify(*loop->body); });
  }
  const ValueType inferred =
      with_context(describe(node), [&] { return infer_output(node.op, types); });
  check(inferred == graph.value(node.output).type, describe(node) + ": output: expected " +
                                                       inferred.to_string() + ", found " +
                                                       graph.value(node.output).type.to_string());
  verify_arithmetic(graph, node);
}

void verify_states(const Graph& graph) {
  for (const State& state : graph.states()) {
    const std::string name = "state '" + graph.value(state.before).name + "'";
    check(std::ranges::count(graph.inputs(), state.before) > 0,
          name + ": expected an input of the graph");
    const auto shares = [&](const State& other) {
      return other.before == state.before || (other.after == state.after && other.after != kAbsent);
    };
    check(std::ranges::count_if(graph.states(), shares) == 1, name + ": tied more than once");
    if (state.after == kAbsent) continue;
    check(
        std::ranges::count(graph.outputs(), state.after) > 0,
        name + ": expected an output of the graph, found '" + graph.value(state.after).name + "'");
    const ValueType& before = graph.value(state.before).type;
    const ValueType& after = graph.value(state.after).type;
    check(before == after,
          name + ": expected " + before.to_string() + ", found " + after.to_string());
  }
}

}  // namespace

void verify(const Graph& graph) {
  if (graph.is_verified()) return;
  check(!graph.outputs().empty(), "the graph has no outputs");
  for (const ValueId id : graph.inputs()) {
    const ValueType& type = graph.value(id).type;
    with_context("input '" + graph.value(id).name + "'", [&] {
      check(!is_half(type.encoding.element), "expected float32, found " + type.to_string());
      check_bounds(type.shape);
    });
  }
  for (const ValueId id : graph.outputs()) {
    verify_readable(graph, id, "an output of the graph");
    check(!is_half(graph.value(id).type.encoding.element),
          "output '" + graph.value(id).name + "': expected float32");
  }
  for (std::size_t v = 0; v < graph.num_values(); ++v) {
    const Value& value = graph.value(ValueId{static_cast<std::uint32_t>(v)});
    with_context("value '" + value.name + "'",
                 [&] { require_graph_element(value.type.encoding.element); });
    if (value.constant) verify_constant(value);
  }
  for (const NodeId id : graph.topological_order()) verify_node(graph, graph.node(id));
  verify_states(graph);
  for (const Definition& each : graph.definitions()) {
    verify_readable(graph, each.value, "extent " + each.symbol);
  }
  if (!graph.definitions().empty()) check_definitions(graph);
  graph.mark_verified();
}

}  // namespace halftone::ir
