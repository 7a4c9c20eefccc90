// SPDX-License-Identifier: Apache-2.0
// The attention operators of ONNX Runtime, as functions of ONNX's Attention, RotaryEmbedding and
// TensorScatter.
#include <algorithm>
#include <numeric>
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

/// The operator set of Attention with windows and lengths.
constexpr std::int64_t kOpset = 25;

NodeProto& with_int(NodeProto& proto, const char* name, std::int64_t value) {
  set_attribute(proto, name, value);
  return proto;
}

std::vector<std::int64_t> counted_to(Dim count) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), std::int64_t{0});
  return numbers;
}

void refuse_inputs(NodeBuilder& node, std::size_t first, const std::string& what) {
  for (std::size_t i = first; i < node.num_inputs(); ++i) {
    if (node.has_input(i)) NodeBuilder::unsupported(what);
  }
}

/// The known extents of an input. @throws Error kShape for another rank
ir::Shape shape_of(NodeBuilder& node, std::size_t i, std::size_t rank) {
  const ir::Shape shape = node.input_type(i).shape;
  if (shape.rank() == rank) return shape;
  fail(ErrorKind::kShape, "input " + std::to_string(i) + ": expected " + std::to_string(rank) +
                              " axes, found " + shape.to_string());
}

/// A mask of keys as an addend of scores [batch, 1, 1 or steps, keys]: 0 for those that it selects.
/// The file has the number of keys of each sample, or a number that is not 0 for keys to see, of
/// each sample or of each step.
std::string padding_bias(NodeBuilder& node, Function& function, std::size_t input, Dim keys) {
  const ir::Shape shape = node.input_type(input).shape;
  const Dim batch = node.input_type(0).shape[0];
  const bool fits = shape.rank() >= 1 && shape.rank() <= 3 && shape[0] == batch &&
                    (shape.rank() == 1 || shape.back() == keys);
  if (!fits) {
    NodeBuilder::unsupported("a mask " + shape.to_string() +
                             ": expected [batch], [batch, keys] or [batch, steps, keys]");
  }
  std::string sees = "sees";
  if (shape.rank() == 1) {
    if (ir::is_expression(keys)) NodeBuilder::unsupported("lengths of open extents");
    const std::string lengths = "lengths";
    with_int(function.add("Cast", {function.in(input)}, "counts"), "to", TensorProto::INT64);
    function.add("Unsqueeze", {"counts", function.integers("behind", {1})}, lengths);
    function.add("Less", {function.integers("keys", counted_to(keys)), lengths}, sees);
  } else {
    with_int(function.add("Cast", {function.in(input)}, sees), "to", TensorProto::BOOL);
  }
  const float hidden = node.float_attribute("mask_filter_value", -10000);
  function.add("Where", {sees, function.scalar("shown", 0), function.scalar("hidden", hidden)},
               "shut");
  const std::vector<std::int64_t> axes =
      shape.rank() == 3 ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>{1, 2};
  function.add("Unsqueeze", {"shut", function.integers("heads", axes)}, "padding");
  return "padding";
}

/// The sum of two addends of scores; either may be absent ("").
std::string joined(Function& function, const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return a + b;
  function.add("Add", {a, b}, "bias");
  return "bias";
}

/// Inputs of MultiHeadAttention.
namespace mha {
enum : std::size_t { kQuery, kKey, kValue, kBias, kPadding, kScores, kPastKey, kPastValue, kRest };
}  // namespace mha

/// An operand with its part of the bias: elements begin to end - 1.
std::string with_bias(NodeBuilder& node, Function& function, std::size_t input, Dim begin,
                      Dim end) {
  if (!node.has_input(mha::kBias)) return function.in(input);
  const std::string name = "operand" + std::to_string(input);
  const std::string part = function.slice(function.in(mha::kBias), 0, begin, end, name + "/bias");
  function.add("Add", {function.in(input), part}, name);
  return name;
}

void build_multi_head_attention(NodeBuilder& node) {
  refuse_inputs(node, mha::kRest, "a cache that is shared between runs");
  if (node.has_output(3)) NodeBuilder::unsupported("scores as an output");
  if (!node.has_input(mha::kKey) || !node.has_input(mha::kValue)) {
    NodeBuilder::unsupported("queries, keys and values in one input");
  }
  const ir::Shape query = shape_of(node, mha::kQuery, 3);
  const ir::Shape key = node.input_type(mha::kKey).shape;
  const ir::Shape value = node.input_type(mha::kValue).shape;
  const bool is_flat = key.rank() == 3 && value.rank() == 3;
  if (!is_flat && (key.rank() != 4 || value.rank() != 4 || node.has_input(mha::kBias))) {
    NodeBuilder::unsupported("keys " + key.to_string() + " and values " + value.to_string());
  }
  const Dim past = node.has_input(mha::kPastKey) ? shape_of(node, mha::kPastKey, 4)[2] : 0;
  const Dim keys = ir::dim_of(ir::extent_of(past) + ir::extent_of(is_flat ? key[1] : key[2]));
  Function function(node, kOpset);
  const std::string q = with_bias(node, function, mha::kQuery, 0, query[2]);
  const Dim middle = query[2] + (is_flat ? key[2] : 0);
  const std::string k = with_bias(node, function, mha::kKey, query[2], middle);
  const std::string v =
      with_bias(node, function, mha::kValue, middle, middle + (is_flat ? value[2] : 0));
  std::string bias = function.in(mha::kScores);
  if (node.has_input(mha::kPadding)) {
    bias = joined(function, bias, padding_bias(node, function, mha::kPadding, keys));
  }
  NodeProto& proto = function.add(
      "Attention", {q, k, v, bias, function.in(mha::kPastKey), function.in(mha::kPastValue)}, "y");
  for (const char* output : {"present_key", "present_value"}) {
    proto.add_output(output);
    function.add_output(output);
  }
  with_int(proto, "q_num_heads", node.int_attribute("num_heads", 0));
  with_int(proto, "kv_num_heads", node.int_attribute("num_heads", 0));
  with_int(proto, "is_causal", node.int_attribute("unidirectional", 0));
  if (node.float_attribute("scale", 0) != 0) {
    set_attribute(proto, "scale", node.float_attribute("scale", 0));
  }
  function.build();
}

/// The extents of queries, keys and values among the columns of Attention's weights.
std::vector<std::int64_t> packed_sizes(NodeBuilder& node) {
  const Dim columns = shape_of(node, 1, 2)[1];
  const auto stated = node.ints_attribute("qkv_hidden_sizes");
  std::vector<std::int64_t> sizes = stated ? *stated : std::vector<std::int64_t>(3, columns / 3);
  if (sizes.size() == 3 && sizes[0] + sizes[1] + sizes[2] == columns) return sizes;
  fail(ErrorKind::kShape,
       "qkv_hidden_sizes: expected the parts of " + std::to_string(columns) + " columns");
}

/// Attention of one input, which a layer turns into queries, keys and values.
void build_packed_attention(NodeBuilder& node) {
  enum : std::size_t { kInput, kWeights, kProductBias, kMask, kPast, kScores, kRest };
  refuse_inputs(node, kRest, "a cache that is shared between runs");
  if (node.int_attribute("do_rotary", 0) != 0) NodeBuilder::unsupported("do_rotary");
  const std::vector<std::int64_t> sizes = packed_sizes(node);
  Function function(node, kOpset);
  function.add("MatMul", {function.in(kInput), function.in(kWeights)}, "product");
  std::string packed = "product";
  if (node.has_input(kProductBias)) {
    function.add("Add", {packed, function.in(kProductBias)}, "packed");
    packed = "packed";
  }
  Function::Names inputs;
  std::int64_t begin = 0;
  for (const std::int64_t size : sizes) {
    const std::string name = "part" + std::to_string(inputs.size());
    inputs.push_back(function.slice(packed, 2, begin, begin + size, name));
    begin += size;
  }
  inputs.insert(inputs.end(), {"", function.in(kMask), function.in(kScores)});
  for (std::int64_t i = 0; node.has_input(kPast) && i < 2; ++i) {
    const std::string name = "past" + std::to_string(i);
    function.slice(function.in(kPast), 0, i, i + 1, name + "/kept");
    function.add("Squeeze", {name + "/kept", function.integers(name + "/axis", {0})}, name);
    inputs.push_back(name);
  }
  NodeProto& proto = function.add_with_attributes(
      "MultiHeadAttention", inputs, "y",
      {"qkv_hidden_sizes", "do_rotary", "past_present_share_buffer", "rotary_embedding_dim"});
  proto.set_domain(std::string(kMicrosoftDomain));
  if (node.has_output(1)) {
    for (const char* output : {"key", "value"}) proto.add_output(output);
    const std::string axis = function.integers("first", {0});
    function.add("Unsqueeze", {"key", axis}, "keys");
    function.add("Unsqueeze", {"value", axis}, "values");
    with_int(function.add("Concat", {"keys", "values"}, "present"), "axis", 0);
    function.add_output("present");
  }
  function.build();
}

/// ONNX's RotaryEmbedding, with the position of the first step where the file has one number.
void build_rotary(NodeBuilder& node) {
  const float scale = node.float_attribute("scale", 1);
  if (scale != 1 || node.int_attribute("is_packed_batching", 0) != 0) {
    NodeBuilder::unsupported("scale and is_packed_batching");
  }
  const ir::Shape x = node.input_type(0).shape;
  const ir::Shape positions = node.input_type(1).shape;
  Function function(node, kOpset);
  std::string steps = function.in(1);
  if (positions == ir::Shape{1}) {
    const Dim count = x.rank() == 4 ? x[2] : x.rank() == 3 ? x[1] : 0;
    if (count < 1) fail(ErrorKind::kShape, "expected 3 or 4 axes, found " + x.to_string());
    function.add("Add", {steps, function.integers("steps", counted_to(count))}, "positions");
    function.add("Unsqueeze", {"positions", function.integers("first", {0})}, "rows");
    steps = "rows";
  }
  NodeProto& proto = function.add_with_attributes(
      "RotaryEmbedding", {function.in(0), function.in(2), function.in(3), steps}, "y",
      {"scale", "is_packed_batching", "num_heads"});
  const Dim size = 2 * shape_of(node, 2, 2)[1];
  const bool whole = node.int_attribute("rotary_embedding_dim", 0) == 0;
  if (x.rank() == 3) {
    with_int(proto, "num_heads", whole ? x[2] / size : node.int_attribute("num_heads", 0));
  }
  function.build();
}

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
  refuse_inputs(node, gqa::kRest, "sinks, codes in the cache and normalized heads");
  for (const char* name : {"smooth_softmax", "qk_output", "kv_cache_bit_width"}) {
    if (node.int_attribute(name, 0) > 0) NodeBuilder::unsupported(name);
  }
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
  n.total = n.past == 0 ? n.steps : number_input(node, gqa::kTotal);
  return n;
}

/// Adds the steps' positions: those of the file, or from the keys before this run on.
/// @return their name, [batch or 1, steps]
std::string step_positions(NodeBuilder& node, Function& function, const GroupedHeads& n) {
  if (node.has_input(gqa::kPositions)) return function.in(gqa::kPositions);
  const std::string steps = function.integers("steps", counted_to(n.steps));
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

/// Attention of steps to the keys of a cache, whose numbers differ between samples.
void build_group_query_attention(NodeBuilder& node) {
  const GroupedHeads n = grouped_heads(node);
  Function function(node, kOpset);
  Function::Names parts = grouped_parts(node, function, n);
  with_int(function.add("Cast", {function.in(gqa::kLastKeys)}, "last"), "to", TensorProto::INT64);
  function.add("Add", {"last", function.integers("one", {1})}, "lengths");
  function.add("Sub", {"lengths", function.integers("count", {n.steps})}, "start");
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
  NodeProto& proto = function.add("Attention", inputs, "y");
  for (const char* output : {"present_key", "present_value"}) {
    proto.add_output(output);
    function.add_output(output);
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
  function.build();
}

constexpr ReaderEntry kFusedAttentionReaders[] = {
    {kMicrosoftDomain, "Attention", build_packed_attention},
    {kMicrosoftDomain, "GroupQueryAttention", build_group_query_attention},
    {kMicrosoftDomain, "MultiHeadAttention", build_multi_head_attention},
    {kMicrosoftDomain, "RotaryEmbedding", build_rotary},
};

}  // namespace

std::span<const ReaderEntry> fused_attention_readers() { return kFusedAttentionReaders; }

}  // namespace halftone::formats::onnx
