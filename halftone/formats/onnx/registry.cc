// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/registry.h"

#include <algorithm>
#include <iterator>

namespace halftone::formats::onnx {
namespace {

struct Entry {
  std::string_view domain;
  std::string_view op_type;
  Builder build;
};

constexpr Entry kOperators[] = {
    {"", "Gemm", build_gemm},
    {"", "MatMul", build_matmul},

    {"", "Conv", build_conv},
    {"", "ConvTranspose", build_conv_transpose},
    {"", "AveragePool", build_pool},
    {"", "MaxPool", build_pool},
    {"", "GlobalAveragePool", build_global_average_pool},
    {"", "GlobalMaxPool", build_global_max_pool},

    {"", "Add", build_binary},
    {"", "Sub", build_binary},
    {"", "Mul", build_binary},
    {"", "Div", build_binary},
    {"", "Pow", build_binary},
    {"", "PRelu", build_prelu},
    {"", "Max", build_variadic},
    {"", "Min", build_variadic},
    {"", "Sum", build_variadic},
    {"", "Mean", build_mean},
    {"", "Cast", build_cast},
    {"", "CastLike", build_cast_like},
    {"", "Identity", build_identity},
    {"", "Expand", build_expand},

    {"", "Abs", build_activation},
    {"", "Ceil", build_activation},
    {"", "Celu", build_activation},
    {"", "Elu", build_activation},
    {"", "Erf", build_activation},
    {"", "Exp", build_activation},
    {"", "Floor", build_activation},
    {"", "HardSigmoid", build_activation},
    {"", "HardSwish", build_activation},
    {"", "LeakyRelu", build_activation},
    {"", "Log", build_activation},
    {"", "Neg", build_activation},
    {"", "Reciprocal", build_activation},
    {"", "Relu", build_activation},
    {"", "Round", build_activation},
    {"", "Selu", build_activation},
    {"", "Sigmoid", build_activation},
    {"", "Sign", build_activation},
    {"", "Softplus", build_activation},
    {"", "Softsign", build_activation},
    {"", "Sqrt", build_activation},
    {"", "Tanh", build_activation},
    {"", "ThresholdedRelu", build_activation},
    {"", "Clip", build_clip},
    {"", "Gelu", build_gelu},
    {"", "Mish", build_mish},
    {"", "Swish", build_swish},

    {"", "Softmax", build_softmax},
    {"", "LogSoftmax", build_softmax},
    {"", "BatchNormalization", build_batch_normalization},
    {"", "Dropout", build_dropout},

    {"", "Reshape", build_reshape},
    {"", "Flatten", build_flatten},
    {"", "Squeeze", build_squeeze},
    {"", "Unsqueeze", build_unsqueeze},
    {"", "Transpose", build_transpose},
    {"", "Concat", build_concat},
    {"", "Slice", build_slice},
    {"", "Split", build_split},
    {"", "Gather", build_gather},

    {"", "Constant", build_constant},
    {"", "ConstantOfShape", build_constant_of_shape},
    {"", "Shape", build_shape_arithmetic},
    {"", "Size", build_shape_arithmetic},
    {"", "Equal", build_shape_arithmetic},
    {"", "Where", build_shape_arithmetic},
    {"", "Range", build_shape_arithmetic},
    {"", "ReduceProd", build_shape_arithmetic},

    {"", "QuantizeLinear", build_quantize_linear},
    {"", "DequantizeLinear", build_dequantize_linear},
    {kHalftoneDomain, "FullyConnected", build_fully_connected},
    {kHalftoneDomain, "Conv", build_conv_in_basis},
    {kHalftoneDomain, "ConvTranspose", build_conv_transpose_in_basis},
};

}  // namespace

Builder find_builder(std::string_view domain, std::string_view op_type) {
  if (domain == "ai.onnx") domain = "";
  const auto* found = std::ranges::find_if(kOperators, [&](const Entry& entry) {
    return entry.domain == domain && entry.op_type == op_type;
  });
  return found == std::end(kOperators) ? nullptr : found->build;
}

}  // namespace halftone::formats::onnx
