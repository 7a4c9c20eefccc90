// SPDX-License-Identifier: Apache-2.0
// The table of implementations: to add one, write it under ops/ and put it in its operator's list.
#include <array>

#include "halftone/runtime/convolution/convolution.h"
#include "halftone/runtime/elementwise/elementwise.h"
#include "halftone/runtime/integer/integer.h"
#include "halftone/runtime/kernel.h"
#include "halftone/runtime/linear/linear.h"
#include "halftone/runtime/move/layout.h"
#include "halftone/runtime/recurrent/recurrent.h"
#include "halftone/runtime/reference.h"
#include "halftone/runtime/statistics/statistics.h"

namespace halftone::runtime {
namespace {

using List = std::span<const Implementation>;

constexpr Implementation kReference{"reference", judge_reference, create_reference};

constexpr Implementation kIntegers{"integers", judge_integer_layer, create_integer_layer};

constexpr std::array kFullyConnected = {
    Implementation{"xnor_popcount", judge_xnor, create_xnor},
    Implementation{"int8_planes", judge_int8_planes, create_int8_planes},
    Implementation{"int8_levels", judge_int8_levels, create_int8_levels},
    Implementation{"decoded_f32", judge_decoded, create_inner_product},
    Implementation{"onednn_f32", judge_dense, create_inner_product},
    kIntegers,
    kReference};
constexpr std::array kMatMul = {Implementation{"onednn_f32", judge_matmul, create_matmul},
                                kReference};
constexpr std::array kConv = {Implementation{"bit_conv", judge_conv_bits, create_conv_bits},
                              Implementation{"int8_conv", judge_conv_int8, create_conv_int8},
                              Implementation{"onednn_f32", judge_conv_float, create_conv_float},
                              kIntegers, kReference};
constexpr std::array kConvTranspose = {
    Implementation{"onednn_f32", judge_conv_transpose_float, create_conv_transpose_float},
    kReference};
constexpr std::array kPool = {Implementation{"onednn_f32", judge_pool, create_pool},
                              Implementation{"codes", judge_pool_codes, create_pool_codes},
                              kReference};
constexpr std::array kUnary = {
    Implementation{"vector_f32", judge_unary_vector, create_unary_vector},
    Implementation{"onednn_f32", judge_unary_onednn, create_unary_onednn},
    Implementation{"plain_f32", judge_unary_plain, create_unary_plain}, kReference};
constexpr std::array kBinary = {
    Implementation{"rows_f32", judge_binary_rows, create_binary_rows},
    Implementation{"rows_i32", judge_binary_integers, create_binary_integers}, kReference};
constexpr std::array kWhere = {Implementation{"rows", judge_where, create_where}, kReference};
constexpr std::array kSoftmax = {
    Implementation{"vector_f32", judge_softmax_rows, create_softmax_rows}, kReference};
constexpr std::array kEncode = {Implementation{"bit_planes", judge_encode_planes, create_encode},
                                Implementation{"int8", judge_encode_int8, create_encode}};
constexpr std::array kCopies = {Implementation{"strided_copy", judge_copy, create_copy},
                                kReference};
constexpr std::array kGather = {
    Implementation{"row_copy", judge_gather, create_gather},
    Implementation{"decoded_rows", judge_gather_codes, create_gather_codes}, kReference};
constexpr std::array kReduce = {
    Implementation{"joined_axes_f32", judge_reduce, create_reduce},
    Implementation{"joined_axes_i32", judge_sum_integers, create_sum_integers}, kReference};
constexpr std::array kNormalize = {
    Implementation{"joined_axes_f32", judge_normalize, create_normalize}, kReference};
constexpr std::array kReshape = {Implementation{"alias", judge_alias, create_alias}};
constexpr std::array kRecurrent = {
    Implementation{"xnor_popcount", judge_recurrent_bits, create_recurrent_bits},
    Implementation{"int8", judge_recurrent_int8, create_recurrent_int8},
    Implementation{"packed_f32", judge_recurrent_float, create_recurrent_float}, kReference};
constexpr std::array kRequantize = {
    Implementation{"codes", judge_requantize, create_requantize},
    Implementation{"codes_fixed", judge_requantize_fixed, create_requantize_fixed}, kReference};
constexpr std::array kLookup = {Implementation{"table", judge_lookup, create_lookup}, kReference};
constexpr std::array kQuantize = {Implementation{"codes", judge_quantize, create_quantize},
                                  kReference};
constexpr std::array kDequantize = {Implementation{"numbers", judge_dequantize, create_dequantize},
                                    kReference};
constexpr std::array kOthers = {kReference};

struct Lists {
  List operator()(const ir::FullyConnected&) const { return kFullyConnected; }
  List operator()(const ir::MatMul&) const { return kMatMul; }
  List operator()(const ir::Conv&) const { return kConv; }
  List operator()(const ir::ConvTranspose&) const { return kConvTranspose; }
  List operator()(const ir::Pool&) const { return kPool; }
  List operator()(const ir::Unary&) const { return kUnary; }
  List operator()(const ir::Binary&) const { return kBinary; }
  List operator()(const ir::Where&) const { return kWhere; }
  List operator()(const ir::Softmax&) const { return kSoftmax; }
  List operator()(const ir::Encode&) const { return kEncode; }
  List operator()(const ir::Reshape&) const { return kReshape; }
  List operator()(const ir::Recurrent&) const { return kRecurrent; }
  List operator()(const ir::Requantize&) const { return kRequantize; }
  List operator()(const ir::Lookup&) const { return kLookup; }
  List operator()(const ir::QuantizeLinear&) const { return kQuantize; }
  List operator()(const ir::DequantizeLinear&) const { return kDequantize; }
  List operator()(const ir::Transpose&) const { return kCopies; }
  List operator()(const ir::Slice&) const { return kCopies; }
  List operator()(const ir::Concat&) const { return kCopies; }
  List operator()(const ir::BroadcastTo&) const { return kCopies; }
  List operator()(const ir::Tile&) const { return kCopies; }
  List operator()(const ir::Pad&) const { return kCopies; }
  List operator()(const ir::Gather&) const { return kGather; }
  List operator()(const ir::Reduce&) const { return kReduce; }
  List operator()(const ir::Normalize&) const { return kNormalize; }
  template <typename Op>
  List operator()(const Op&) const {
    return kOthers;
  }
};

}  // namespace

std::span<const Implementation> implementations(const ir::Operator& op) {
  return std::visit(Lists(), op);
}

}  // namespace halftone::runtime
