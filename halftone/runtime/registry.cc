// SPDX-License-Identifier: Apache-2.0
// The table of implementations: to add one, write it under ops/ and put it in its operator's list.
#include <array>

#include "halftone/runtime/kernel.h"
#include "halftone/runtime/ops/elementwise.h"
#include "halftone/runtime/ops/layout.h"
#include "halftone/runtime/ops/linear.h"
#include "halftone/runtime/ops/reference.h"
#include "halftone/runtime/ops/statistics.h"

namespace halftone::runtime {
namespace {

using List = std::span<const Implementation>;

constexpr Implementation kReference{"reference", judge_reference, create_reference};

constexpr std::array kFullyConnected = {
    Implementation{"xnor_popcount", judge_xnor, create_xnor},
    Implementation{"int8_planes", judge_int8_planes, create_int8_planes},
    Implementation{"int8_levels", judge_int8_levels, create_int8_levels},
    Implementation{"decoded_f32", judge_decoded, create_inner_product},
    Implementation{"onednn_f32", judge_dense, create_inner_product},
    kReference};
constexpr std::array kMatMul = {Implementation{"onednn_f32", judge_matmul, create_matmul},
                                kReference};
constexpr std::array kUnary = {
    Implementation{"vector_f32", judge_unary_vector, create_unary_vector},
    Implementation{"onednn_f32", judge_unary_onednn, create_unary_onednn},
    Implementation{"plain_f32", judge_unary_plain, create_unary_plain}, kReference};
constexpr std::array kBinary = {Implementation{"rows_f32", judge_binary_rows, create_binary_rows},
                                kReference};
constexpr std::array kWhere = {Implementation{"rows", judge_where, create_where}, kReference};
constexpr std::array kSoftmax = {
    Implementation{"vector_f32", judge_softmax_rows, create_softmax_rows}, kReference};
constexpr std::array kEncode = {
    Implementation{"bit_planes", judge_encode_planes, create_encode_planes},
    Implementation{"int8", judge_encode_int8, create_encode_int8}};
constexpr std::array kCopies = {Implementation{"strided_copy", judge_copy, create_copy},
                                kReference};
constexpr std::array kGather = {Implementation{"row_copy", judge_gather, create_gather},
                                kReference};
constexpr std::array kReduce = {Implementation{"joined_axes_f32", judge_reduce, create_reduce},
                                kReference};
constexpr std::array kNormalize = {
    Implementation{"joined_axes_f32", judge_normalize, create_normalize}, kReference};
constexpr std::array kReshape = {Implementation{"alias", judge_alias, create_alias}};
constexpr std::array kOthers = {kReference};

struct Lists {
  List operator()(const ir::FullyConnected&) const { return kFullyConnected; }
  List operator()(const ir::MatMul&) const { return kMatMul; }
  List operator()(const ir::Unary&) const { return kUnary; }
  List operator()(const ir::Binary&) const { return kBinary; }
  List operator()(const ir::Where&) const { return kWhere; }
  List operator()(const ir::Softmax&) const { return kSoftmax; }
  List operator()(const ir::Encode&) const { return kEncode; }
  List operator()(const ir::Reshape&) const { return kReshape; }
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
