// SPDX-License-Identifier: Apache-2.0
#include "halftone/export_c/ports.h"

#include <algorithm>
#include <memory>

#include "halftone/base/error.h"
#include "halftone/kernels/int8_matmul/int8_weights.h"

namespace halftone::export_c {
namespace {

using ir::NodeId;
using ir::ValueId;

/// The levels of an Encode that all readers of a value are; empty if they are not.
std::vector<float> levels_of(const ir::Graph& graph, ValueId id) {
  std::shared_ptr<const numerics::MatrixEncoding> encoding;
  for (const NodeId reader : graph.consumers(id)) {
    const auto* encode = std::get_if<ir::Encode>(&graph.node(reader).op);
    if (encode == nullptr || (encoding != nullptr && *encoding != *encode->encoding)) return {};
    encoding = encode->encoding;
  }
  if (encoding == nullptr) return {};
  const numerics::LevelTable table(encoding->levels(0));
  return {table.levels().begin(), table.levels().end()};
}

/// What codes of bytes mean, if they are evenly spaced.
std::optional<InputCodes> input_codes(const numerics::MatrixEncoding& encoding) {
  const kernels::Int8Levels bytes(encoding.levels(0));
  const numerics::LevelTable table(encoding.levels(0));
  const auto byte = [&](std::size_t i) { return bytes.q[table.codes()[i]]; };
  for (std::size_t i = 1; i < table.size(); ++i) {
    if (byte(i) != byte(i - 1) + 1) return std::nullopt;
  }
  const auto levels = table.levels();
  return InputCodes{bytes.scale, bytes.offset, byte(0), {levels.begin(), levels.end()}};
}

/// The encoder that alone reads an input; null if there is another reader.
const ir::Node* only_encoder(const ir::Graph& graph, ValueId id) {
  const std::vector<NodeId> readers = graph.consumers(id);
  if (readers.size() != 1 || graph.num_uses(id) != 1) return nullptr;
  const ir::Node& node = graph.node(readers[0]);
  const auto* encode = std::get_if<ir::Encode>(&node.op);
  return encode != nullptr && encode->activation == ir::Activation{} ? &node : nullptr;
}

/// The codes that an input of float32 takes.
ValueId codes_of(const ir::Graph& graph, ValueId id, std::vector<NodeToWrite>& nodes) {
  const ir::Node* encoder = only_encoder(graph, id);
  const auto at = std::ranges::find_if(
      nodes, [&](const NodeToWrite& what) { return encoder != nullptr && &what.node == encoder; });
  const auto is_bytes = [&] {
    const auto layout = at->layouts[static_cast<std::size_t>(at->output)];
    return code_rows(graph, at->output, layout).is_bytes() &&
           input_codes(*std::get<ir::Encode>(encoder->op).encoding).has_value();
  };
  if (at == nodes.end() || !is_bytes()) {
    fail(ErrorKind::kUnsupported,
         "input '" + graph.value(id).name +
             "': it takes codes only if one encoder of 8 bits with evenly spaced levels reads it; "
             "quantize the first layer to 8 bits, or let it take float32");
  }
  const ValueId codes = at->output;
  std::vector<NodeToWrite> others;
  for (NodeToWrite& what : nodes) {
    if (what.output != codes) others.push_back(std::move(what));
  }
  nodes.swap(others);
  return codes;
}

}  // namespace

std::vector<PortValue> input_values(const ir::Graph& graph, bool wants_codes,
                                    std::vector<NodeToWrite>& nodes) {
  std::vector<PortValue> values;
  for (const ValueId id : graph.untied(graph.inputs())) {
    const bool takes = wants_codes && graph.value(id).type.is_dense(ir::ElementType::kFloat32);
    values.push_back({id, takes ? codes_of(graph, id, nodes) : id});
  }
  return values;
}

std::vector<PortValue> output_values(const ir::Graph& graph) {
  std::vector<PortValue> values;
  for (const ValueId id : graph.untied(graph.outputs())) values.push_back({id, id});
  return values;
}

ArenaPort port_of(const ir::Graph& graph, const PortValue& value, runtime::CodeLayout layout) {
  const ir::Value& named = graph.value(value.named);
  ArenaPort port{named.name, named.type, c_type(graph, value.stored, layout), 0, {}, {}, {}, {}};
  if (value.stored == value.named) {
    port.levels = levels_of(graph, value.named);
    return port;
  }
  port.taken = input_codes(*graph.value(value.stored).type.encoding.codes);
  port.type = ir::dense_type(ir::ElementType::kInt8, named.type.shape);
  return port;
}

}  // namespace halftone::export_c
