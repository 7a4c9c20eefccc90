// SPDX-License-Identifier: Apache-2.0
// The table of ONNX operators: to add one, write its builder in a family and name it here.
#pragma once

#include <string_view>

namespace halftone::formats::onnx {

class NodeBuilder;

/// Adds the operators of a node of the file to the graph.
using Builder = void (*)(NodeBuilder& node);

/// The builder of an operator, or null. "ai.onnx" is the same domain as "".
Builder find_builder(std::string_view domain, std::string_view op_type);

/// The domain of Halftone's own operators.
inline constexpr std::string_view kHalftoneDomain = "ai.halftone";

// ops/linear_import.cc
void build_gemm(NodeBuilder& node);
void build_matmul(NodeBuilder& node);

// ops/convolution_import.cc
void build_conv(NodeBuilder& node);
void build_conv_transpose(NodeBuilder& node);
void build_pool(NodeBuilder& node);
void build_global_average_pool(NodeBuilder& node);
void build_global_max_pool(NodeBuilder& node);

// ops/elementwise_import.cc
void build_binary(NodeBuilder& node);
void build_prelu(NodeBuilder& node);
void build_variadic(NodeBuilder& node);
void build_mean(NodeBuilder& node);
void build_cast(NodeBuilder& node);
void build_cast_like(NodeBuilder& node);
void build_identity(NodeBuilder& node);
void build_where(NodeBuilder& node);

// ops/activation_import.cc
void build_activation(NodeBuilder& node);
void build_clip(NodeBuilder& node);
void build_gelu(NodeBuilder& node);
void build_is_inf(NodeBuilder& node);
void build_mish(NodeBuilder& node);
void build_shrink(NodeBuilder& node);
void build_swish(NodeBuilder& node);

// ops/normalize_import.cc
void build_softmax(NodeBuilder& node);
void build_batch_normalization(NodeBuilder& node);
void build_layer_normalization(NodeBuilder& node);
void build_instance_normalization(NodeBuilder& node);
void build_group_normalization(NodeBuilder& node);
void build_mean_variance_normalization(NodeBuilder& node);
void build_lrn(NodeBuilder& node);
void build_lp_normalization(NodeBuilder& node);
void build_dropout(NodeBuilder& node);

// ops/integer_import.cc
void build_conv_integer(NodeBuilder& node);
void build_dynamic_quantize_linear(NodeBuilder& node);
void build_matmul_integer(NodeBuilder& node);
void build_qlinear_conv(NodeBuilder& node);
void build_qlinear_matmul(NodeBuilder& node);

// ops/recurrent_import.cc
void build_recurrent(NodeBuilder& node);
void build_own_recurrent(NodeBuilder& node);

// ops/reduce_import.cc
void build_reduce(NodeBuilder& node);
void build_arg_reduce(NodeBuilder& node);
void build_cum_sum(NodeBuilder& node);
void build_top_k(NodeBuilder& node);
void build_hardmax(NodeBuilder& node);

// ops/indexing_import.cc
void build_gather_elements(NodeBuilder& node);
void build_gather_nd(NodeBuilder& node);
void build_scatter_elements(NodeBuilder& node);
void build_scatter_nd(NodeBuilder& node);
void build_one_hot(NodeBuilder& node);
void build_compress(NodeBuilder& node);

// ops/extend_import.cc
void build_pad(NodeBuilder& node);
void build_tile(NodeBuilder& node);
void build_expand(NodeBuilder& node);
void build_reverse_sequence(NodeBuilder& node);
void build_trilu(NodeBuilder& node);

// ops/resample_import.cc
void build_resize(NodeBuilder& node);
void build_upsample(NodeBuilder& node);
void build_grid_sample(NodeBuilder& node);
void build_depth_to_space(NodeBuilder& node);

// ops/attention_import.cc
void build_attention(NodeBuilder& node);
void build_rotary_embedding(NodeBuilder& node);

// ops/einsum_import.cc
void build_einsum(NodeBuilder& node);

// ops/loss_import.cc
void build_negative_log_likelihood_loss(NodeBuilder& node);
void build_softmax_cross_entropy_loss(NodeBuilder& node);

// ops/control_import.cc
void build_if(NodeBuilder& node);

// ops/layout_import.cc
void build_reshape(NodeBuilder& node);
void build_flatten(NodeBuilder& node);
void build_squeeze(NodeBuilder& node);
void build_unsqueeze(NodeBuilder& node);
void build_transpose(NodeBuilder& node);
void build_concat(NodeBuilder& node);

// ops/slicing_import.cc
void build_slice(NodeBuilder& node);
void build_split(NodeBuilder& node);
void build_gather(NodeBuilder& node);

// ops/constant_import.cc
void build_constant(NodeBuilder& node);
void build_constant_of_shape(NodeBuilder& node);
void build_shape_arithmetic(NodeBuilder& node);
void build_range(NodeBuilder& node);
void build_eye_like(NodeBuilder& node);
void build_window(NodeBuilder& node);

// ops/encoding_import.cc
void build_quantize_linear(NodeBuilder& node);
void build_dequantize_linear(NodeBuilder& node);
void build_fully_connected(NodeBuilder& node);
void build_conv_in_basis(NodeBuilder& node);
void build_gather_in_basis(NodeBuilder& node);
void build_conv_transpose_in_basis(NodeBuilder& node);

}  // namespace halftone::formats::onnx
