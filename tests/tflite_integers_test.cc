// SPDX-License-Identifier: Apache-2.0
// 8-bit operators of TFLite files give exactly the codes of TensorFlow Lite's reference kernels.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "halftone/base/file.h"
#include "halftone/formats/circle/operator_code.h"
#include "halftone/formats/circle/testing.h"
#include "halftone/passes/simplify.h"
#include "halftone/runtime/execute/session.h"
#include "tflite_integer_codes.h"

namespace halftone {
namespace {

using namespace formats::circle::schema;  // as objects: ...OptionsT, TensorType
using formats::circle::FileTensor;
using formats::circle::OperatorCode;
using formats::circle::united;
using Shape = std::vector<std::int32_t>;

/// Code i of tensor `index` in every case: over the whole range, in no order.
std::int32_t code_at(TensorType type, std::size_t i, std::size_t index) {
  const auto step = static_cast<std::int32_t>((i * 83 + index * 29) % 256);
  return type == TensorType::UINT8 ? step : step - 128;
}

/// A tensor of the file with its number system.
struct Quantized {
  Shape shape;
  std::vector<float> scales;
  std::int64_t zero_point = 0;
  TensorType type = TensorType::INT8;
  bool stored = false;
  std::int32_t axis = 0;
  Shape integers = {};  ///< INT32 without a scale: its numbers
};

Quantized integers(const Shape& numbers, const Shape& shape) {
  return {shape, {}, 0, TensorType::INT32, true, 0, numbers};
}

struct Case {
  const char* name;
  OperatorCode code;
  std::vector<Quantized> tensors;  ///< inputs and the output, which is last
  BuiltinOptionsUnion options = {};
};

FileTensor file_tensor(const Quantized& tensor, std::size_t index) {
  FileTensor result{tensor.shape, tensor.type, {}};
  if (!tensor.stored) return result;
  std::size_t count = 1;
  for (const std::int32_t extent : tensor.shape) count *= static_cast<std::size_t>(extent);
  for (std::size_t i = 0; i < count; ++i) {
    const bool wide = tensor.type == TensorType::INT32;
    std::int32_t number = code_at(tensor.type, i, index);
    if (wide) number = tensor.integers.empty() ? 31 * number : tensor.integers[i];
    const auto* bytes = reinterpret_cast<const std::byte*>(&number);
    result.data.insert(result.data.end(), bytes, bytes + (wide ? sizeof(number) : 1));
  }
  return result;
}

std::vector<std::byte> file_of(const Case& test) {
  std::vector<FileTensor> tensors;
  std::vector<std::int32_t> inputs;
  std::vector<std::int32_t> given;
  const auto output = static_cast<std::int32_t>(test.tensors.size()) - 1;
  for (std::int32_t i = 0; i <= output; ++i) {
    const Quantized& tensor = test.tensors[static_cast<std::size_t>(i)];
    tensors.push_back(file_tensor(tensor, static_cast<std::size_t>(i)));
    if (i != output) inputs.push_back(i);
    if (i != output && !tensor.stored) given.push_back(i);
  }
  ModelT model = formats::circle::one_operator(static_cast<std::int32_t>(test.code), tensors,
                                               inputs, {output}, test.options);
  model.version = 3;
  model.subgraphs[0]->inputs = given;
  // The version of the operator with codes of 8 bits.
  model.operator_codes[0]->version = test.code == OperatorCode::kSub              ? 3
                                     : test.code == OperatorCode::kFullyConnected ? 4
                                     : test.code == OperatorCode::kHardSwish      ? 1
                                     : test.code == OperatorCode::kReluN1To1      ? 1
                                                                                  : 2;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Quantized& tensor = test.tensors[i];
    if (tensor.scales.empty()) continue;
    auto& parameters = model.subgraphs[0]->tensors[i]->quantization;
    parameters = std::make_unique<QuantizationParametersT>();
    parameters->scale = tensor.scales;
    parameters->zero_point.assign(tensor.scales.size(), tensor.zero_point);
    parameters->quantized_dimension = tensor.axis;
  }
  return formats::circle::packed(model);
}

std::vector<ir::Tensor> inputs_of(const ir::Graph& graph, const Case& test) {
  std::vector<ir::Tensor> inputs;
  std::size_t index = 0;
  for (const ir::ValueId id : graph.inputs()) {
    while (test.tensors[index].stored) ++index;
    const ir::ValueType& type = graph.value(id).type;
    const auto batch = static_cast<std::size_t>(test.tensors[index].shape[0]);
    ir::Tensor codes(ir::ElementType::kInt32, type.shape.with_batch(batch));
    std::size_t i = 0;
    for (std::int32_t& q : codes.as<std::int32_t>()) {
      q = code_at(test.tensors[index].type, i++, index);
    }
    inputs.push_back(codes.cast(type.encoding.element));
    ++index;
  }
  return inputs;
}

BuiltinOptionsUnion pool(ActivationFunctionType activation) {
  Pool2DOptionsT options;
  options.padding = Padding::SAME;
  options.stride_h = options.stride_w = 2;
  options.filter_height = options.filter_width = 3;
  options.fused_activation_function = activation;
  return united(options);
}

template <typename Options>
BuiltinOptionsUnion fused(ActivationFunctionType activation) {
  Options options;
  options.fused_activation_function = activation;
  return united(options);
}

template <typename Options>
BuiltinOptionsUnion conv(ActivationFunctionType activation) {
  Options options;
  options.padding = Padding::SAME;
  options.stride_h = options.stride_w = 1;
  if constexpr (std::is_same_v<Options, DepthwiseConv2DOptionsT>) options.depth_multiplier = 1;
  options.fused_activation_function = activation;
  return united(options);
}

BuiltinOptionsUnion keep_dims(bool keep) {
  ReducerOptionsT options;
  options.keep_dims = keep;
  return united(options);
}

BuiltinOptionsUnion softmax(float beta) {
  SoftmaxOptionsT options;
  options.beta = beta;
  return united(options);
}

BuiltinOptionsUnion leaky(float alpha) {
  LeakyReluOptionsT options;
  options.alpha = alpha;
  return united(options);
}

BuiltinOptionsUnion along(std::int32_t axis) {
  ConcatenationOptionsT options;
  options.axis = axis;
  return united(options);
}

std::vector<Case> cases() {
  using Op = OperatorCode;
  using Act = ActivationFunctionType;
  constexpr auto kU8 = TensorType::UINT8;
  const Quantized a{{1, 2, 3, 8}, {0.0731F}, -3};
  const Quantized b{{1, 2, 3, 8}, {0.1127F}, 11};
  const Quantized image{{1, 5, 5, 4}, {0.0731F}, -3};
  const Quantized half{{1, 3, 3, 4}, {0.0731F}, -3};
  const Quantized line{{1, 64}, {0.0531F}, -13};
  const auto line_to = [](float scale, std::int64_t zero, TensorType type = TensorType::INT8) {
    return Quantized{{1, 64}, {scale}, zero, type};
  };
  const std::vector<float> channels = {0.011F, 0.013F, 0.007F, 0.021F};
  std::vector<float> sums;
  for (const float scale : channels) sums.push_back(0.031F * scale);
  const Quantized bias{{4}, sums, 0, TensorType::INT32, true};
  const Quantized layer_input{{1, 4, 4, 4}, {0.031F}, -7};
  const Quantized layer_output{{1, 4, 4, 4}, {0.3491F}, 9};
  const Quantized u8_image{{1, 5, 5, 4}, {0.0731F}, 130, kU8};
  return {
      {"Add", Op::kAdd, {a, b, {a.shape, {0.0954F}, 5}}, fused<AddOptionsT>(Act::NONE)},
      {"AddRelu", Op::kAdd, {a, b, {a.shape, {0.0954F}, 5}}, fused<AddOptionsT>(Act::RELU)},
      {"AddBroadcast", Op::kAdd, {a, {{8}, {0.1127F}, 11}, {a.shape, {0.0954F}, 5}}},
      {"AddStored",
       Op::kAdd,
       {a, {{8}, {0.1127F}, 11, TensorType::INT8, true}, {a.shape, {0.0954F}, 5}}},
      {"AddUint8",
       Op::kAdd,
       {{a.shape, {0.0731F}, 130, kU8},
        {a.shape, {0.1127F}, 111, kU8},
        {a.shape, {0.0954F}, 125, kU8}}},
      {"Sub", Op::kSub, {a, b, {a.shape, {0.1354F}, 5}}, fused<SubOptionsT>(Act::RELU6)},
      {"Mul", Op::kMul, {a, b, {a.shape, {0.0954F}, 5}}, fused<MulOptionsT>(Act::NONE)},
      {"AveragePool", Op::kAveragePool2d, {image, half}, pool(Act::NONE)},
      {"AveragePoolRelu6", Op::kAveragePool2d, {image, half}, pool(Act::RELU6)},
      {"AveragePoolUint8",
       Op::kAveragePool2d,
       {u8_image, {half.shape, {0.0731F}, 130, kU8}},
       pool(Act::NONE)},
      {"MaxPoolRelu", Op::kMaxPool2d, {image, half}, pool(Act::RELU)},
      {"Mean", Op::kMean, {image, integers({1, 2}, {2}), {{1, 4}, {0.0311F}, 9}}, keep_dims(false)},
      {"MeanKept",
       Op::kMean,
       {{{1, 4, 4, 6}, {0.0731F}, -3}, integers({1, 2}, {2}), {{1, 1, 1, 6}, {0.0731F}, -3}},
       keep_dims(true)},
      {"ReduceMax",
       Op::kReduceMax,
       {image, integers({3}, {1}), {{1, 5, 5}, {0.0731F}, -3}},
       keep_dims(false)},
      {"Conv",
       Op::kConv2d,
       {layer_input, {{4, 3, 3, 4}, channels, 0, TensorType::INT8, true}, bias, layer_output},
       conv<Conv2DOptionsT>(Act::RELU)},
      {"DepthwiseConv",
       Op::kDepthwiseConv2d,
       {layer_input,
        {{1, 3, 3, 4}, channels, 0, TensorType::INT8, true, 3},
        bias,
        {layer_output.shape, {0.0491F}, 9}},
       conv<DepthwiseConv2DOptionsT>(Act::NONE)},
      {"FullyConnected",
       Op::kFullyConnected,
       {{{1, 2, 2, 20}, {0.031F}, -7},
        {{7, 20}, {0.0113F}, 0, TensorType::INT8, true},
        {{7}, {0.031F * 0.0113F}, 0, TensorType::INT32, true},
        {{4, 7}, {0.2691F}, 9}},
       fused<FullyConnectedOptionsT>(Act::NONE)},
      {"Logistic", Op::kLogistic, {line, line_to(1.0F / 256, -128)}},
      {"Tanh", Op::kTanh, {line, line_to(1.0F / 128, 0)}},
      {"Relu", Op::kRelu, {line, line_to(0.0471F, -100)}},
      {"Relu6", Op::kRelu6, {line, line_to(0.0271F, -128)}},
      {"ReluN1To1", Op::kReluN1To1, {line, line_to(0.0091F, 3)}},
      {"LeakyRelu", Op::kLeakyRelu, {line, line_to(0.0471F, -40)}, leaky(0.13F)},
      {"HardSwish", Op::kHardSwish, {line, line_to(0.0391F, -120)}},
      {"Exp", Op::kExp, {{line.shape, {0.0131F}, -13}, line_to(0.0591F, -128)}},
      {"Quantize", Op::kQuantize, {line, line_to(0.1391F, -20)}},
      {"QuantizeUint8", Op::kQuantize, {line, line_to(0.0391F, 115, kU8)}},
      {"Softmax",
       Op::kSoftmax,
       {{{2, 20}, {0.0931F}, -13}, {{2, 20}, {1.0F / 256}, -128}},
       softmax(1)},
      {"SoftmaxBeta",
       Op::kSoftmax,
       {{{2, 20}, {0.0631F}, -13}, {{2, 20}, {1.0F / 256}, -128}},
       softmax(0.7F)},
      {"Pad",
       Op::kPad,
       {{{1, 2, 2, 3}, {0.0531F}, -13},
        integers({0, 0, 1, 2, 0, 1, 0, 0}, {4, 2}),
        {{1, 5, 3, 3}, {0.0531F}, -13}}},
      {"Concatenation",
       Op::kConcatenation,
       {{{1, 3, 4}, {0.0531F}, -13}, {{1, 3, 5}, {0.0531F}, -13}, {{1, 3, 9}, {0.0531F}, -13}},
       along(2)},
      {"Maximum", Op::kMaximum, {a, a, a}},
  };
}

std::vector<std::int32_t> codes_of(const ir::Tensor& tensor) {
  const ir::Tensor wide = tensor.cast(ir::ElementType::kInt32);
  return ir::test::elements<std::int32_t>(wide);
}

/// If HALFTONE_TFLITE_CASES names a folder, the files are written there too. tflite_integer_codes.h
/// was made from them.
TEST(TfliteIntegers, AreThoseOfTheReferenceKernels) {
  const char* folder = std::getenv("HALFTONE_TFLITE_CASES");
  for (const Case& test : cases()) {
    SCOPED_TRACE(test.name);
    const std::vector<std::byte> file = file_of(test);
    if (folder != nullptr) {
      write_file(std::filesystem::path(folder) / (std::string(test.name) + ".tflite"), file);
    }
    const ir::Graph imported = formats::import_circle(file);
    ir::Graph graph = imported;
    passes::simplify_to_run(graph);
    for (const ir::NodeId id : graph.topological_order()) {
      EXPECT_NE(ir::name_of(graph.node(id).op), "DequantizeLinear");
    }
    const auto inputs = inputs_of(graph, test);
    const auto wanted = kTfliteCodes.find(test.name);
    ASSERT_NE(wanted, kTfliteCodes.end());
    EXPECT_EQ(codes_of(ir::test::run_reference(graph, inputs)[0]), wanted->second);
    const auto batch = static_cast<std::size_t>(test.tensors[0].shape[0]);
    runtime::Session session(runtime::make_plan(graph, {.batch = batch}));
    EXPECT_EQ(codes_of(session.run(inputs)[0]), wanted->second);
  }
}

bool has_conversions(const ModelT& model) {
  return std::ranges::any_of(model.operator_codes, [](const auto& entry) {
    const OperatorCode code{entry->builtin_code};
    return code == OperatorCode::kQuantize || code == OperatorCode::kDequantize;
  });
}

TEST(TfliteIntegers, AreWrittenAsOperatorsOfCodes) {
  // A FullyConnected of an image has a Reshape of numbers in front.
  const std::set<std::string> single = {"Add",  "AddRelu", "AddUint8",      "Sub",  "Mul",
                                        "Mean", "Conv",    "DepthwiseConv", "Relu", "Softmax"};
  for (const Case& test : cases()) {
    SCOPED_TRACE(test.name);
    const ir::Graph imported = formats::import_circle(file_of(test));
    const auto written = formats::export_circle(imported, formats::CircleFlavor::kTflite);
    if (single.contains(test.name)) {
      EXPECT_FALSE(has_conversions(formats::circle::unpacked(written)));
    }
    ir::Graph graph = formats::import_circle(written);
    passes::simplify_to_run(graph);
    EXPECT_EQ(codes_of(ir::test::run_reference(graph, inputs_of(graph, test))[0]),
              kTfliteCodes.at(test.name));
  }
}

}  // namespace
}  // namespace halftone
