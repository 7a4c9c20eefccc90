// SPDX-License-Identifier: Apache-2.0
// GroupQueryAttention of ONNX Runtime, as a function of ONNX's Attention, RotaryEmbedding and
// TensorScatter.
#include <algorithm>
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/exporter.h"
#include "halftone/formats/onnx/function.h"
#include "halftone/formats/onnx/registry.h"

namespace halftone::formats::onnx {
namespace {

using ir::Dim;
using onnx_pb::NodeProto;
using onnx_pb::TensorProto;

/// Inputs of GroupQueryAttention.
namespace gqa {
enum : std::size_t {
  kQuery,
  kKey,
  kValue,
  kPastKey,
  kPastValue,
  kLastKeys,
  kTotal,
  kCos,
  kSin,
  kPositions,
  kScores,
  kSink,
  kRest
};
}  // namespace gqa

/// Attributes and extents of GroupQueryAttention.
struct GroupedHeads {
  Dim heads = 0;
  Dim kv_heads = 0;
  Dim size = 0;  ///< numbers of a head
  Dim steps = 0;
  Dim past = 0;   ///< extent of the cache
  Dim total = 0;  ///< keys of the longest sample behind this run
  [[nodiscard]] bool is_first() const { return past == 0 || total == steps; }
};

GroupedHeads grouped_heads(NodeBuilder& node) {
  refuse_inputs(node, gqa::kRest, "codes in the cache and normalized heads");
  refuse_attributes(node, {"qk_output", "kv_cache_bit_width", "sliding_window_cache"});
  GroupedHeads n;
  n.heads = node.int_attribute("num_heads", 0);
  n.kv_heads = node.int_attribute("kv_num_heads", 0);
  const ir::Shape query = shape_of(node, gqa::kQuery, 3);
  const Dim columns = node.has_input(gqa::kKey) ? n.heads : n.heads + 2 * n.kv_heads;
  if (n.heads < 1 || n.kv_heads < 1 || n.heads % n.kv_heads != 0 || query[2] % columns != 0) {
    fail(ErrorKind::kShape, std::to_string(n.heads) + " heads and " + std::to_string(n.kv_heads) +
                                " of keys do not fit " + query.to_string());
  }
  n.size = query[2] / columns;
  n.steps = query[1];
  if (node.has_input(gqa::kPastKey)) n.past = shape_of(node, gqa::kPastKey, 4)[2];
  if (ir::is_expression(n.past)) {
    NodeBuilder::unsupported("a cache of an open extent, found " + ir::to_string(n.past));
  }
  n.total = n.past == 0 ? n.steps : number_input(node, gqa::kTotal);
  return n;
}

/// Adds the steps' positions: those of the file, or from the keys before this run on.
/// @return their name, [batch or 1, steps]
std::string step_positions(NodeBuilder& node, Function& function, const GroupedHeads& n) {
  if (node.has_input(gqa::kPositions)) return function.in(gqa::kPositions);
  const std::string steps = function.counted("steps", ir::extent_of(n.steps));
  const std::string first = n.is_first() ? "first" : "start";
  if (n.is_first()) function.integers("first", {0});
  function.add("Unsqueeze", {first, function.integers("behind", {1})}, "rows");
  function.add("Add", {"rows", steps}, "positions");
  return "positions";
}

std::string with_rotary(NodeBuilder& node, Function& function, const std::string& x, Dim heads,
                        const std::string& positions) {
  NodeProto& proto =
      function.add("RotaryEmbedding",
                   {x, function.in(gqa::kCos), function.in(gqa::kSin), positions}, x + "/turned");
  with_int(proto, "num_heads", heads);
  with_int(proto, "interleaved", node.int_attribute("rotary_interleaved", 0));
  with_int(proto, "rotary_embedding_dim", 2 * shape_of(node, gqa::kCos, 2)[1]);
  return x + "/turned";
}

/// Writes keys or values [batch, steps, heads size] to a cache. @return all of them, heads first
std::string written(Function& function, const GroupedHeads& n, const std::string& x,
                    std::size_t past) {
  const std::string shape = function.integers(x + "/shape", {0, 0, n.kv_heads, n.size});
  function.add("Reshape", {x, shape}, x + "/apart");
  const std::string update = function.transpose(x + "/apart", {0, 2, 1, 3}, x + "/heads");
  const Dim extent = std::max(n.past, n.total);
  std::string cache = function.in(past);
  if (extent > n.past) {
    const std::string pads = function.integers(x + "/pads", {0, 0, 0, 0, 0, 0, extent - n.past, 0});
    function.add("Pad", {cache, pads}, x + "/cache");
    cache = x + "/cache";
  }
  Function::Names inputs{cache, update};
  if (!n.is_first()) inputs.push_back("start");
  with_int(function.add("TensorScatter", inputs, x + "/all"), "axis", 2);
  return x + "/all";
}

/// Queries, keys and values, also those that lie in one input.
Function::Names grouped_parts(NodeBuilder& node, Function& function, const GroupedHeads& n) {
  Function::Names parts{function.in(gqa::kQuery), function.in(gqa::kKey), function.in(gqa::kValue)};
  if (!node.has_input(gqa::kKey)) {
    const Dim ends[] = {0, n.heads, n.heads + n.kv_heads, n.heads + 2 * n.kv_heads};
    for (std::size_t i = 0; i < 3; ++i) {
      parts[i] = function.slice(function.in(gqa::kQuery), 2, ends[i] * n.size, ends[i + 1] * n.size,
                                "part" + std::to_string(i));
    }
  }
  return parts;
}

bool has_sink(NodeBuilder& node) {
  return node.has_input(gqa::kSink) || node.int_attribute("smooth_softmax", 0) > 0;
}

/// Adds what a sink takes away from each head: y e^m / (e^m + e^sink), where e^m is the sum of the
/// exponentials of the scores. A smooth softmax has the sink 0.
void add_sink(NodeBuilder& node, Function& function, const GroupedHeads& n) {
  with_int(
      function.add("ReduceLogSumExp", {"scores", function.integers("scores/axis", {3})}, "mass"),
      "keepdims", 1);
  std::string sink = "sink";
  if (node.has_input(gqa::kSink)) {
    const std::string shape = function.integers("sink/shape", {1, n.heads, 1, 1});
    function.add("Reshape", {function.in(gqa::kSink), shape}, sink);
  } else {
    sink = function.scalar("sink", 0);
  }
  function.add("Sub", {"mass", sink}, "excess");
  function.add("Sigmoid", {"excess"}, "share");
  const std::string share = function.transpose("share", {0, 2, 1, 3}, "shares");
  function.add("Reshape", {"attended", function.integers("apart", {0, 0, n.heads, n.size})},
               "heads");
  function.add("Mul", {"heads", share}, "kept");
  function.add("Reshape", {"kept", function.integers("together", {0, 0, n.heads * n.size})}, "y");
}

/// Adds ONNX's Attention of these inputs.
void add_attention(NodeBuilder& node, Function& function, const GroupedHeads& n,
                   const Function::Names& inputs) {
  NodeProto& proto = function.add("Attention", inputs, has_sink(node) ? "attended" : "y");
  for (const char* output : {"present_key", "present_value"}) {
    proto.add_output(output);
    function.add_output(output);
  }
  if (has_sink(node)) {
    proto.add_output("scores");
    with_int(proto, "qk_matmul_output_mode", kWithMasks);
  }
  with_int(proto, "q_num_heads", n.heads);
  with_int(proto, "kv_num_heads", n.kv_heads);
  with_int(proto, "is_causal", node.int_attribute("causal", 1));
  const std::int64_t window = node.int_attribute("local_window_size", -1);
  if (window > 0) with_int(proto, "left_window_size", window - 1);
  set_attribute(proto, "softcap", node.float_attribute("softcap", 0));
  if (node.float_attribute("scale", 0) != 0) {
    set_attribute(proto, "scale", node.float_attribute("scale", 0));
  }
  if (has_sink(node)) add_sink(node, function, n);
}

/// Attention of steps to the keys of a cache, whose numbers differ between samples.
void build_group_query_attention(NodeBuilder& node) {
  const GroupedHeads n = grouped_heads(node);
  Function function(node, kAttentionOpset);
  Function::Names parts = grouped_parts(node, function, n);
  with_int(function.add("Cast", {function.in(gqa::kLastKeys)}, "last"), "to", TensorProto::INT64);
  function.add("Add", {"last", function.integers("one", {1})}, "lengths");
  function.add("Sub", {"lengths", function.extent("count", ir::extent_of(n.steps))}, "start");
  if (node.int_attribute("do_rotary", 0) != 0) {
    const std::string positions = step_positions(node, function, n);
    parts[0] = with_rotary(node, function, parts[0], n.heads, positions);
    parts[1] = with_rotary(node, function, parts[1], n.kv_heads, positions);
  }
  const bool has_cache = n.past > 0;
  if (has_cache) {
    parts[1] = written(function, n, parts[1], gqa::kPastKey);
    parts[2] = written(function, n, parts[2], gqa::kPastValue);
  }
  Function::Names inputs = parts;
  inputs.push_back(function.in(gqa::kScores));
  if (has_cache && !n.is_first()) inputs.insert(inputs.end(), {"", "", "lengths"});
  add_attention(node, function, n, inputs);
  function.build();
}

constexpr ReaderEntry kGroupedAttentionReaders[] = {
    {kMicrosoftDomain, "GroupQueryAttention", build_group_query_attention},
};

}  // namespace

std::span<const ReaderEntry> grouped_attention_readers() { return kGroupedAttentionReaders; }

}  // namespace halftone::formats::onnx
