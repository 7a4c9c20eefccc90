// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/plan/registry.h"

#include <array>

#include "halftone/runtime/convolution/convolution.h"
#include "halftone/runtime/elementwise/elementwise.h"
#include "halftone/runtime/integer/integer.h"
#include "halftone/runtime/linear/linear.h"
#include "halftone/runtime/move/layout.h"
#include "halftone/runtime/recurrent/recurrent.h"
#include "halftone/runtime/reference.h"
#include "halftone/runtime/statistics/statistics.h"

namespace halftone::runtime {
namespace {

using List = std::span<const Implementation* const>;

constexpr std::array kFullyConnected = {&kFullyConnectedBits,  &kFullyConnectedLevels,
                                        &kFullyConnectedFloat, &kFullyConnectedFixed,
                                        &kIntegerLayer,        &kReference};
constexpr std::array kMatMul = {&kMatMulFloat, &kMatMulFixed, &kReference};
constexpr std::array kConv = {&kConvBits,  &kConvInt8,     &kConvFloat,
                              &kConvFixed, &kIntegerLayer, &kReference};
constexpr std::array kConvTranspose = {&kConvTransposeFloat, &kConvTransposeFixed, &kReference};
constexpr std::array kPool = {&kPoolFloat, &kPoolFixed, &kPoolCodes, &kReference};
constexpr std::array kUnary = {&kUnaryVector, &kUnaryPlain, &kReference};
constexpr std::array kBinary = {&kBinaryFloats, &kBinaryIntegers, &kReference};
constexpr std::array kWhere = {&kWhereRows, &kReference};
constexpr std::array kSoftmax = {&kSoftmaxRows, &kReference};
constexpr std::array kEncode = {&kEncodePlanes, &kEncodeInt8};
constexpr std::array kCopies = {&kStridedCopy, &kReference};
constexpr std::array kGather = {&kGatherRows, &kGatherCodes, &kReference};
constexpr std::array kReduce = {&kReduceFloats, &kSumIntegers, &kReference};
constexpr std::array kNormalize = {&kNormalizeFloats, &kReference};
constexpr std::array kReshape = {&kAlias};
constexpr std::array kRecurrent = {&kRecurrentBits, &kRecurrentLevels, &kRecurrentFloat,
                                   &kReference};
constexpr std::array kRequantize = {&kRequantizeOnce, &kRequantizeTwice, &kReference};
constexpr std::array kLookup = {&kLookupTable, &kReference};
constexpr std::array kQuantize = {&kQuantizeCodes, &kReference};
constexpr std::array kDequantize = {&kDequantizeCodes, &kReference};
constexpr std::array kOthers = {&kReference};

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

std::span<const Implementation* const> implementations(const ir::Operator& op) {
  return std::visit(Lists(), op);
}

}  // namespace halftone::runtime
