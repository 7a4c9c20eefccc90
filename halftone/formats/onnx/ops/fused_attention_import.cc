// SPDX-License-Identifier: Apache-2.0
// The attention operators of ONNX Runtime, as functions of ONNX's Attention and RotaryEmbedding.
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

/// Booleans [batch, keys]: the keys from a first one on to the end that a mask of one axis has for
/// each sample. It has ends [batch], ends and firsts [2 batch], or ends and what kernels for packed
/// samples read [3 batch + 2].
std::string counted_keys(NodeBuilder& node, Function& function, std::size_t input, Dim keys) {
  const Dim count = node.input_type(input).shape[0];
  const Dim batch = node.input_type(0).shape[0];
  with_int(function.add("Cast", {function.in(input)}, "counts"), "to", TensorProto::INT64);
  const std::string numbers = function.counted("keys", ir::extent_of(keys));
  const auto bounds = [&](Dim part, const std::string& name) {
    std::string counts = "counts";
    if (count != batch) {
      counts = function.slice("counts", 0, part * batch, (part + 1) * batch, name + "/counts");
    }
    function.add("Unsqueeze", {counts, function.integers(name + "/axis", {1})}, name);
    return name;
  };
  const std::string end = bounds(0, "end");
  if (count != 2 * batch) {
    function.add("Less", {numbers, end}, "sees");
    return "sees";
  }
  function.add("Less", {numbers, end}, "sees/end");
  function.add("GreaterOrEqual", {numbers, bounds(1, "first")}, "sees/first");
  function.add("And", {"sees/end", "sees/first"}, "sees");
  return "sees";
}

/// A mask of keys as an addend of scores [batch, 1, 1 or steps, keys]: 0 for those that it selects.
/// The file has the bounds of each sample, as counted_keys() reads them, or a number that is not 0
/// for keys to see, of each sample or of each step.
std::string padding_bias(NodeBuilder& node, Function& function, std::size_t input, Dim keys) {
  const ir::Shape shape = node.input_type(input).shape;
  const Dim batch = node.input_type(0).shape[0];
  const bool is_counted =
      shape.rank() == 1 &&
      (shape[0] == batch || (batch > 0 && (shape[0] == 2 * batch || shape[0] == 3 * batch + 2)));
  const bool is_mask =
      (shape.rank() == 2 || shape.rank() == 3) && shape[0] == batch && shape.back() == keys;
  if (!is_counted && !is_mask) {
    NodeBuilder::unsupported("a mask " + shape.to_string() +
                             ": expected [batch], [2 batch], [3 batch + 2], [batch, keys] or "
                             "[batch, steps, keys]");
  }
  std::string sees = "sees";
  if (is_counted) {
    sees = counted_keys(node, function, input, keys);
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
  std::string name = "operand" + std::to_string(input);
  const std::string part = function.slice(function.in(mha::kBias), 0, begin, end, name + "/bias");
  function.add("Add", {function.in(input), part}, name);
  return name;
}

/// Queries, keys and values with their parts of the bias; keys and values whose heads lie apart
/// have none.
Function::Names biased_operands(NodeBuilder& node, Function& function) {
  const Dim queries = shape_of(node, mha::kQuery, 3)[2];
  const std::string q = with_bias(node, function, mha::kQuery, 0, queries);
  const ir::Shape key = node.input_type(mha::kKey).shape;
  const ir::Shape value = node.input_type(mha::kValue).shape;
  if (key.rank() == 4 && value.rank() == 4) {
    return {q, function.in(mha::kKey), function.in(mha::kValue)};
  }
  if (key.rank() != 3 || value.rank() != 3) {
    NodeBuilder::unsupported("keys " + key.to_string() + " and values " + value.to_string());
  }
  const Dim middle = queries + key[2];
  return {q, with_bias(node, function, mha::kKey, queries, middle),
          with_bias(node, function, mha::kValue, middle, middle + value[2])};
}

/// Gives a node of Attention its outputs: keys, values and, where the file reads them, the scores
/// with their masks.
void add_attention_outputs(NodeBuilder& node, Function& function, NodeProto& proto) {
  for (const char* output : {"present_key", "present_value"}) {
    proto.add_output(output);
    function.add_output(output);
  }
  if (!node.has_output(3)) return;
  proto.add_output("scores");
  function.add_output("scores");
  with_int(proto, "qk_matmul_output_mode", kWithMasks);
}

void build_multi_head_attention(NodeBuilder& node) {
  refuse_inputs(node, mha::kRest, "a cache that is shared between runs");
  if (!node.has_input(mha::kKey) || !node.has_input(mha::kValue)) {
    NodeBuilder::unsupported("queries, keys and values in one input");
  }
  const bool is_causal = node.int_attribute("unidirectional", 0) != 0;
  if (node.has_output(3) && is_causal) NodeBuilder::unsupported("causal scores as an output");
  Function function(node, kAttentionOpset);
  Function::Names inputs = biased_operands(node, function);
  std::string bias = function.in(mha::kScores);
  if (node.has_input(mha::kPadding)) {
    const ir::Shape key = node.input_type(mha::kKey).shape;
    const Dim past = node.has_input(mha::kPastKey) ? shape_of(node, mha::kPastKey, 4)[2] : 0;
    const Dim keys = ir::dim_of(ir::extent_of(past) + ir::extent_of(key[key.rank() - 2]));
    bias = joined(function, bias, padding_bias(node, function, mha::kPadding, keys));
  }
  for (const std::string& input :
       {bias, function.in(mha::kPastKey), function.in(mha::kPastValue)}) {
    inputs.push_back(input);
  }
  NodeProto& proto = function.add("Attention", inputs, "y");
  add_attention_outputs(node, function, proto);
  with_int(proto, "q_num_heads", node.int_attribute("num_heads", 0));
  with_int(proto, "kv_num_heads", node.int_attribute("num_heads", 0));
  with_int(proto, "is_causal", is_causal ? 1 : 0);
  if (node.float_attribute("scale", 0) != 0) {
    set_attribute(proto, "scale", node.float_attribute("scale", 0));
  }
  function.build();
}

/// Attention of one step to a cache, which a file may share between runs: then it has a number of
/// steps in use, behind which the new one goes.
void build_masked_attention(NodeBuilder& node) {
  enum : std::size_t { kMask = 3, kScores, kPastKey, kPastValue, kUsed, kBeams, kOrder, kBiases };
  if (node.has_output(3)) NodeBuilder::unsupported("scores as an output");
  if (node.has_input(kOrder)) NodeBuilder::unsupported("cache_indirection");
  Function function(node, kAttentionOpset);
  const bool shares = node.int_attribute("past_present_share_buffer", 0) != 0;
  Function::Names inputs{function.in(0),        function.in(1),         function.in(2),
                         function.in(kBiases),  function.in(kMask),     function.in(kScores),
                         function.in(kPastKey), function.in(kPastValue)};
  const Dim used = shares && node.has_input(kUsed) ? number_input(node, kUsed) : 0;
  for (std::size_t i = 6; shares && i < inputs.size(); ++i) {
    inputs[i] = function.slice(inputs[i], 2, 0, used, inputs[i] + "/used");
  }
  NodeProto& proto = function.add_with_attributes("MultiHeadAttention", inputs, "y",
                                                  {"past_present_share_buffer", "output_qk"});
  proto.set_domain(std::string(kMicrosoftDomain));
  for (std::size_t i = kPastKey; node.has_input(kPastKey) && i <= kPastValue; ++i) {
    const std::string all = function.in(i) + "/all";
    proto.add_output(shares ? function.in(i) + "/begin" : all);
    function.add_output(all);
    if (!shares) continue;
    const Dim extent = shape_of(node, i, 4)[2];
    const std::string rest = function.slice(function.in(i), 2, used + 1, extent, all + "/rest");
    with_int(function.add("Concat", {function.in(i) + "/begin", rest}, all), "axis", 2);
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

/// Inputs of the attention operators whose product gives queries, keys and values at once; absent
/// ones lie behind the last input.
struct PackedInputs {
  std::size_t mask;
  std::size_t past;
  std::size_t scores = 100;
};

/// Adds the attention of a product [batch, steps, queries + keys + values].
void add_packed_attention(NodeBuilder& node, Function& function, const std::string& packed,
                          const PackedInputs& at) {
  if (node.int_attribute("do_rotary", 0) != 0) NodeBuilder::unsupported("do_rotary");
  Function::Names inputs;
  std::int64_t begin = 0;
  for (const std::int64_t size : packed_sizes(node)) {
    const std::string name = "part" + std::to_string(inputs.size());
    inputs.push_back(function.slice(packed, 2, begin, begin + size, name));
    begin += size;
  }
  inputs.insert(inputs.end(), {"", function.in(at.mask), function.in(at.scores)});
  for (std::int64_t i = 0; node.has_input(at.past) && i < 2; ++i) {
    const std::string name = "past" + std::to_string(i);
    function.slice(function.in(at.past), 0, i, i + 1, name + "/kept");
    function.add("Squeeze", {name + "/kept", function.integers(name + "/axis", {0})}, name);
    inputs.push_back(name);
  }
  NodeProto& proto = function.add_with_attributes(
      "MultiHeadAttention", inputs, "y",
      {"qkv_hidden_sizes", "do_rotary", "past_present_share_buffer", "rotary_embedding_dim"});
  proto.set_domain(std::string(kMicrosoftDomain));
  if (!node.has_output(1)) return;
  for (const char* output : {"key", "value"}) proto.add_output(output);
  const std::string axis = function.integers("first", {0});
  function.add("Unsqueeze", {"key", axis}, "keys");
  function.add("Unsqueeze", {"value", axis}, "values");
  with_int(function.add("Concat", {"keys", "values"}, "present"), "axis", 0);
  function.add_output("present");
}

/// Attention of one input, which a layer turns into queries, keys and values.
void build_packed_attention(NodeBuilder& node) {
  enum : std::size_t { kInput, kWeights, kProductBias, kMask, kPast, kScores, kRest };
  refuse_inputs(node, kRest, "a cache that is shared between runs");
  Function function(node, kAttentionOpset);
  function.add("MatMul", {function.in(kInput), function.in(kWeights)}, "product");
  std::string packed = "product";
  if (node.has_input(kProductBias)) {
    function.add("Add", {packed, function.in(kProductBias)}, "packed");
    packed = "packed";
  }
  add_packed_attention(node, function, packed, {kMask, kPast, kScores});
  function.build();
}

/// The same with a product of integers.
void build_quantized_attention(NodeBuilder& node) {
  enum : std::size_t { kMask = 5, kPast = 8 };
  Function function(node, kAttentionOpset);
  const auto in = [&](std::size_t i) { return function.in(i); };
  function.add("MatMulIntegerToFloat", {in(0), in(1), in(3), in(4), in(6), in(7), in(2)}, "product")
      .set_domain(std::string(kMicrosoftDomain));
  add_packed_attention(node, function, "product", {kMask, kPast});
  function.build();
}

/// ONNX's RotaryEmbedding, with the position of the first step where the file has one number. As in
/// ONNX Runtime on a CPU, `scale` and `is_packed_batching` change nothing.
void build_rotary(NodeBuilder& node) {
  const ir::Shape x = node.input_type(0).shape;
  const ir::Shape positions = node.input_type(1).shape;
  Function function(node, kAttentionOpset);
  std::string steps = function.in(1);
  if (positions == ir::Shape{1}) {
    if (x.rank() != 3 && x.rank() != 4) {
      fail(ErrorKind::kShape, "expected 3 or 4 axes, found " + x.to_string());
    }
    const Extent count = ir::extent_of(x[x.rank() - 2]);
    function.add("Add", {steps, function.counted("steps", count)}, "positions");
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

constexpr ReaderEntry kFusedAttentionReaders[] = {
    {kMicrosoftDomain, "Attention", build_packed_attention},
    {kMicrosoftDomain, "DecoderMaskedMultiHeadAttention", build_masked_attention},
    {kMicrosoftDomain, "MultiHeadAttention", build_multi_head_attention},
    {kMicrosoftDomain, "QAttention", build_quantized_attention},
    {kMicrosoftDomain, "RotaryEmbedding", build_rotary},
};

}  // namespace

std::span<const ReaderEntry> fused_attention_readers() { return kFusedAttentionReaders; }

}  // namespace halftone::formats::onnx
