// SPDX-License-Identifier: Apache-2.0
// MoE and QMoE of ONNX Runtime: each expert becomes two layers, whose outputs are added with the
// shares of a router. All experts compute all rows, with shares of 0 where the router does not
// choose them: so they can be quantized and written like other layers.
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/exporter.h"
#include "halftone/formats/onnx/function.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/formats/onnx/tensors.h"

namespace halftone::formats::onnx {
namespace {

using ir::Dim;
using onnx_pb::NodeProto;

constexpr std::size_t kRouter = 1;
constexpr Dim kMaxExperts = 1024;

/// The inputs of one of the two layers of an expert.
struct LayerInputs {
  std::size_t weights;
  std::size_t bias;
  std::size_t scales = 0;  ///< 0: the weights are floats
  std::size_t zeros = 0;
};

/// A node of experts and the function that it becomes.
struct Experts {
  NodeBuilder& node;
  Function& function;
  Dim count = 0;
  Dim chosen = 0;
  Dim columns = 0;  ///< of a row
  bool have_codes = false;
};

void refuse_other_experts(NodeBuilder& node, bool have_codes) {
  for (std::size_t i = have_codes ? 8 : 6; i < node.num_inputs(); ++i) {
    const bool is_zero_point = have_codes && (i == 11 || i == 12);
    if (node.has_input(i) && !is_zero_point) {
      NodeBuilder::unsupported("experts of three layers, shares apart from the router");
    }
  }
  refuse_attributes(node, {"use_sparse_mixer", "swiglu_limit_after_activation", "weights_prepacked",
                           "fc1_expert_weight_bits", "fc2_expert_weight_bits"});
  if (node.string_attribute("quant_type", "int") != "int") {
    NodeBuilder::unsupported("quant_type: expected int");
  }
}

Experts experts_of(NodeBuilder& node, Function& function) {
  Experts x{node, function};
  x.have_codes = node.op_type() == "QMoE";
  refuse_other_experts(node, x.have_codes);
  x.count = shape_of(node, 2, 3)[0];
  x.chosen = node.int_attribute("k", 1);
  const ir::Shape rows = node.input_type(0).shape;
  const ir::Shape router = shape_of(node, kRouter, 2);
  const bool fits = rows.rank() >= 2 && router[1] == x.count && x.count <= kMaxExperts &&
                    x.chosen >= 1 && x.chosen <= x.count;
  if (!fits) {
    fail(ErrorKind::kShape, std::to_string(x.chosen) + " of " + std::to_string(x.count) +
                                " experts do not fit rows " + rows.to_string() + " and a router " +
                                router.to_string());
  }
  x.columns = rows.back();
  return x;
}

/// Adds the share of each expert in each row, [rows, experts]: its probability, or with
/// normalize_routing_weights and in QMoE that among the chosen experts.
void add_shares(const Experts& x) {
  Function& function = x.function;
  NodeProto& top =
      function.add("TopK", {function.in(kRouter), function.integers("k", {x.chosen})}, "scores");
  top.add_output("chosen");
  if (x.have_codes || x.node.int_attribute("normalize_routing_weights", 0) != 0) {
    function.add("Softmax", {"scores"}, "weights");
  } else {
    function.add("Softmax", {function.in(kRouter)}, "probabilities");
    with_int(function.add("GatherElements", {"probabilities", "chosen"}, "weights"), "axis", 1);
  }
  const float ends[] = {0, 1};
  function.constant("ends", encode_tensor(ir::Tensor::from<float>({2}, ends)));
  function.add("OneHot", {"chosen", function.integers("experts", {x.count}), "ends"}, "hot");
  function.add("Unsqueeze", {"weights", function.integers("weights/axis", {2})}, "column");
  function.add("Mul", {"hot", "column"}, "spread");
  with_int(function.add("ReduceSum", {"spread", function.integers("shares/axis", {1})}, "shares"),
           "keepdims", 0);
}

/// Part `expert` of the elements of a tensor [experts, ...].
ir::Tensor part_of(const ir::Tensor& all, Dim expert) {
  const auto given = all.shape().dims();
  ir::Tensor part(all.element(), ir::Shape(std::vector<Dim>(given.begin() + 1, given.end())));
  const auto bytes = all.bytes().subspan(static_cast<std::size_t>(expert) * part.bytes().size());
  std::ranges::copy(bytes.first(part.bytes().size()), part.bytes().begin());
  return part;
}

/// The weights [outputs, inputs] of an expert that the file has as codes: with a scale for each
/// output or for each block of inputs.
std::string decoded_weights(const Experts& x, const LayerInputs& in, Dim expert, Dim inputs,
                            const std::string& name) {
  const Dim bits = x.node.int_attribute("expert_weight_bits", 4);
  if (bits != 2 && bits != 4 && bits != 8) {
    NodeBuilder::unsupported("expected 2, 4 or 8 bits, found " + std::to_string(bits));
  }
  const int width = static_cast<int>(bits);
  const ir::Tensor scales = x.node.constant_input(in.scales).cast(ir::ElementType::kFloat32);
  const ir::Tensor zeros = zero_codes(x.node, in.zeros, scales.shape(), width);
  if (scales.shape().rank() < 2 || scales.shape()[0] != x.count) {
    fail(ErrorKind::kShape, "scales: expected " + std::to_string(x.count) + " experts, found " +
                                scales.shape().to_string());
  }
  Function& function = x.function;
  const ir::Tensor codes =
      unpacked_codes(part_of(x.node.constant_input(in.weights), expert), width, inputs);
  x.node.state().charge(codes.size());
  NodeProto& numbers =
      function.add("DequantizeLinear",
                   {function.codes(name + "/codes", codes, width),
                    function.constant(name + "/scales", encode_tensor(part_of(scales, expert))),
                    function.codes(name + "/zeros", part_of(zeros, expert), width)},
                   name + "/weights");
  const bool has_blocks = scales.shape().rank() == 3;
  with_int(numbers, "axis", has_blocks ? 1 : 0);
  if (has_blocks) with_int(numbers, "block_size", x.node.int_attribute("block_size", 0));
  return name + "/weights";
}

/// Part `expert` of an input, without its first axis; "" if the node lacks it.
std::string part_of(const Experts& x, std::size_t input, Dim expert, const std::string& name) {
  if (!x.node.has_input(input)) return "";
  x.function.slice(x.function.in(input), 0, expert, expert + 1, name + "/part");
  x.function.add("Squeeze", {name + "/part", x.function.integers(name + "/first", {0})}, name);
  return name;
}

/// Adds rows w' + b of an expert.
std::string add_layer(const Experts& x, const LayerInputs& in, Dim expert, const std::string& rows,
                      Dim inputs) {
  std::string name = "expert" + std::to_string(expert) + "/" + std::to_string(in.weights);
  const std::string weights = in.scales == 0 ? part_of(x, in.weights, expert, name + "/weights")
                                             : decoded_weights(x, in, expert, inputs, name);
  const std::string bias = part_of(x, in.bias, expert, name + "/bias");
  with_int(x.function.add("Gemm", {rows, weights, bias}, name), "transB", 1);
  return name;
}

/// Every second column of x, from one on.
std::string every_second(Function& function, const std::string& x, std::int64_t first,
                         const std::string& output) {
  constexpr std::int64_t kEnd = std::int64_t{1} << 40;
  function.add(
      "Slice",
      {x, function.integers(output + "/begin", {first}), function.integers(output + "/end", {kEnd}),
       function.integers(output + "/axis", {-1}), function.integers(output + "/step", {2})},
      output);
  return output;
}

/// a sigmoid(alpha a) (b + beta), where a and b are the even and the odd columns, limited first.
std::string add_swiglu(const Experts& x, const std::string& rows) {
  Function& function = x.function;
  if (x.node.int_attribute("swiglu_fusion", 0) != 1) {
    NodeBuilder::unsupported("swiglu_fusion: expected 1");
  }
  std::string a = every_second(function, rows, 0, rows + "/even");
  std::string b = every_second(function, rows, 1, rows + "/odd");
  if (x.node.has_attribute("swiglu_limit")) {
    const float limit = x.node.float_attribute("swiglu_limit", 0);
    const std::string high = function.scalar(rows + "/high", limit);
    const std::string low = function.scalar(rows + "/low", -limit);
    function.add("Clip", {a, "", high}, a + "/limited");
    function.add("Clip", {b, low, high}, b + "/limited");
    a += "/limited";
    b += "/limited";
  }
  NodeProto& gate = function.add("Swish", {a}, rows + "/gate");
  set_attribute(gate, "alpha", x.node.float_attribute("activation_alpha", 1));
  const float beta = x.node.float_attribute("activation_beta", 0);
  function.add("Add", {b, function.scalar(rows + "/beta", beta)}, rows + "/linear");
  function.add("Mul", {rows + "/gate", rows + "/linear"}, rows + "/active");
  return rows + "/active";
}

std::string add_activation(const Experts& x, const std::string& rows) {
  const std::string kind = x.node.choice_attribute("activation_type", "relu",
                                                   {"relu", "gelu", "silu", "swiglu", "identity"});
  if (kind == "identity") return rows;
  if (kind == "swiglu") return add_swiglu(x, rows);
  const char* op_type = kind == "relu" ? "Relu" : kind == "gelu" ? "Gelu" : "Swish";
  NodeProto& proto = x.function.add(op_type, {rows}, rows + "/active");
  if (kind == "gelu") set_attribute(proto, "approximate", "tanh");
  return rows + "/active";
}

/// Adds y = sum_e shares[:, e] expert_e(rows).
void add_sum(const Experts& x, const LayerInputs& first, const LayerInputs& second) {
  Function& function = x.function;
  const Dim inner = x.node.input_type(second.weights).shape[2] *
                    (x.have_codes ? 8 / x.node.int_attribute("expert_weight_bits", 4) : 1);
  std::string sum;
  for (Dim e = 0; e < x.count; ++e) {
    const std::string name = "expert" + std::to_string(e);
    const std::string hidden = add_activation(x, add_layer(x, first, e, "rows", x.columns));
    const std::string y = add_layer(x, second, e, hidden, inner);
    const std::string share = function.slice("shares", 1, e, e + 1, name + "/share");
    function.add("Mul", {y, share}, name + "/scaled");
    if (e > 0) function.add("Add", {sum, name + "/scaled"}, name + "/sum");
    sum = e > 0 ? name + "/sum" : name + "/scaled";
  }
  function.add("Shape", {function.in(0)}, "shape");
  function.add("Reshape", {sum, "shape"}, "y");
}

void build_experts(NodeBuilder& node) {
  Function function(node, kAttentionOpset);
  const Experts x = experts_of(node, function);
  function.add("Reshape", {function.in(0), function.integers("flat", {-1, x.columns})}, "rows");
  add_shares(x);
  if (x.have_codes) {
    add_sum(x, {2, 4, 3, 11}, {5, 7, 6, 12});
  } else {
    add_sum(x, {2, 3}, {4, 5});
  }
  function.build();
}

constexpr ReaderEntry kExpertReaders[] = {
    {kMicrosoftDomain, "MoE", build_experts},
    {kMicrosoftDomain, "QMoE", build_experts},
};

}  // namespace

std::span<const ReaderEntry> expert_readers() { return kExpertReaders; }

}  // namespace halftone::formats::onnx
