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

    {"", "Add", build_binary},
    {"", "Sub", build_binary},
    {"", "Mul", build_binary},
    {"", "Div", build_binary},
    {"", "Pow", build_binary},
    {"", "Mod", build_binary},
    {"", "BitShift", build_binary},
    {"", "And", build_binary},
    {"", "Or", build_binary},
    {"", "Xor", build_binary},
    {"", "BitwiseAnd", build_binary},
    {"", "BitwiseOr", build_binary},
    {"", "BitwiseXor", build_binary},
    {"", "Equal", build_binary},
    {"", "Less", build_binary},
    {"", "LessOrEqual", build_binary},
    {"", "Greater", build_binary},
    {"", "GreaterOrEqual", build_binary},
    {"", "Where", build_where},
    {"", "PRelu", build_prelu},
    {"", "Max", build_variadic},
    {"", "Min", build_variadic},
    {"", "Sum", build_variadic},
    {"", "Mean", build_mean},
    {"", "Cast", build_cast},
    {"", "CastLike", build_cast_like},
    {"", "Identity", build_identity},

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
    {"", "Acos", build_activation},
    {"", "Acosh", build_activation},
    {"", "Asin", build_activation},
    {"", "Asinh", build_activation},
    {"", "Atan", build_activation},
    {"", "Atanh", build_activation},
    {"", "Cos", build_activation},
    {"", "Cosh", build_activation},
    {"", "Sin", build_activation},
    {"", "Sinh", build_activation},
    {"", "Tan", build_activation},
    {"", "Not", build_activation},
    {"", "BitwiseNot", build_activation},
    {"", "IsNaN", build_activation},
    {"", "IsInf", build_is_inf},
    {"", "Shrink", build_shrink},
    {"", "Clip", build_clip},
    {"", "Gelu", build_gelu},
    {"", "Mish", build_mish},
    {"", "Swish", build_swish},

    {"", "Softmax", build_softmax},
    {"", "LogSoftmax", build_softmax},
    {"", "BatchNormalization", build_batch_normalization},
    {"", "LayerNormalization", build_layer_normalization},
    {"", "RMSNormalization", build_layer_normalization},
    {"", "InstanceNormalization", build_instance_normalization},
    {"", "GroupNormalization", build_group_normalization},
    {"", "MeanVarianceNormalization", build_mean_variance_normalization},
    {"", "LRN", build_lrn},
    {"", "LpNormalization", build_lp_normalization},
    {"", "Hardmax", build_hardmax},
    {"", "Dropout", build_dropout},
    {"", "NegativeLogLikelihoodLoss", build_negative_log_likelihood_loss},
    {"", "SoftmaxCrossEntropyLoss", build_softmax_cross_entropy_loss},

    {"", "ReduceSum", build_reduce},
    {"", "ReduceMean", build_reduce},
    {"", "ReduceMax", build_reduce},
    {"", "ReduceMin", build_reduce},
    {"", "ReduceProd", build_reduce},
    {"", "ReduceL1", build_reduce},
    {"", "ReduceL2", build_reduce},
    {"", "ReduceSumSquare", build_reduce},
    {"", "ReduceLogSum", build_reduce},
    {"", "ReduceLogSumExp", build_reduce},
    {"", "ArgMax", build_arg_reduce},
    {"", "ArgMin", build_arg_reduce},
    {"", "CumSum", build_cum_sum},
    {"", "TopK", build_top_k},

    {"", "Reshape", build_reshape},
    {"", "Flatten", build_flatten},
    {"", "Squeeze", build_squeeze},
    {"", "Unsqueeze", build_unsqueeze},
    {"", "Transpose", build_transpose},
    {"", "Concat", build_concat},
    {"", "Slice", build_slice},
    {"", "Split", build_split},
    {"", "Gather", build_gather},
    {"", "GatherElements", build_gather_elements},
    {"", "GatherND", build_gather_nd},
    {"", "Scatter", build_scatter_elements},
    {"", "ScatterElements", build_scatter_elements},
    {"", "ScatterND", build_scatter_nd},
    {"", "OneHot", build_one_hot},
    {"", "Compress", build_compress},
    {"", "Pad", build_pad},
    {"", "Tile", build_tile},
    {"", "Expand", build_expand},
    {"", "ReverseSequence", build_reverse_sequence},
    {"", "Trilu", build_trilu},
    {"", "Resize", build_resize},
    {"", "Upsample", build_upsample},
    {"", "GridSample", build_grid_sample},
    {"", "DepthToSpace", build_depth_to_space},
    {"", "SpaceToDepth", build_depth_to_space},
    {"", "Einsum", build_einsum},
    {"", "Attention", build_attention},
    {"", "RotaryEmbedding", build_rotary_embedding},
    {"", "If", build_if},

    {"", "Constant", build_constant},
    {"", "ConstantOfShape", build_constant_of_shape},
    {"", "Shape", build_shape_arithmetic},
    {"", "Size", build_shape_arithmetic},
    {"", "Range", build_range},
    {"", "EyeLike", build_eye_like},
    {"", "HannWindow", build_window},
    {"", "HammingWindow", build_window},
    {"", "BlackmanWindow", build_window},

    {"", "QuantizeLinear", build_quantize_linear},
    {"", "DequantizeLinear", build_dequantize_linear},
    {kHalftoneDomain, "FullyConnected", build_fully_connected},
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
