// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <vector>

#include "halftone/runtime/control/loop.h"
#include "halftone/runtime/convolution/convolution.h"
#include "halftone/runtime/elementwise/elementwise.h"
#include "halftone/runtime/implementation.h"
#include "halftone/runtime/integer/integer.h"
#include "halftone/runtime/linear/linear.h"
#include "halftone/runtime/move/layout.h"
#include "halftone/runtime/onednn/onednn.h"
#include "halftone/runtime/plan/planner.h"
#include "halftone/runtime/recurrent/recurrent.h"
#include "halftone/runtime/sequence/sequence.h"
#include "halftone/runtime/statistics/statistics.h"

namespace halftone::runtime {
namespace {

using List = std::span<const Implementation* const>;

/// Lists of layers that oneDNN, where it is linked, also computes.
struct FloatLists {
  using Candidates = std::vector<const Implementation*>;

  Candidates fully_connected;
  Candidates matmul;
  Candidates conv;
  Candidates conv_transpose;
  Candidates pool;
};

FloatLists make_float_lists() {
  const OneDnnImplementations onednn = onednn_implementations();
  FloatLists lists{{&kFullyConnectedBits, &kFullyConnectedLevels, &kFullyConnectedGroups,
                    onednn.fully_connected, &kFullyConnectedFixed, &kIntegerLayer, &kReference},
                   {onednn.matmul, &kMatMulFixed, &kReference},
                   {&kConvBits, &kConvInt8, onednn.conv, &kConvFixed, &kIntegerLayer, &kReference},
                   {onednn.conv_transpose, &kConvTransposeFixed, &kReference},
                   {onednn.pool, &kPoolFixed, &kPoolCodes, &kReference}};
  for (FloatLists::Candidates* list :
       {&lists.fully_connected, &lists.matmul, &lists.conv, &lists.conv_transpose, &lists.pool}) {
    std::erase(*list, nullptr);
  }
  return lists;
}

const FloatLists& float_lists() {
  static const FloatLists lists = make_float_lists();
  return lists;
}

constexpr std::array kUnary = {&kUnaryVector, &kUnaryPlain, &kReference};
constexpr std::array kBinary = {&kBinaryFloats, &kBinaryIntegers, &kReference};
constexpr std::array kWhere = {&kWhereRows, &kReference};
constexpr std::array kSoftmax = {&kSoftmaxRows, &kSoftmaxCodes, &kReference};
constexpr std::array kEncode = {&kEncodePlanes, &kEncodeInt8};
constexpr std::array kCopies = {&kStridedCopy, &kReference};
constexpr std::array kGather = {&kGatherRows, &kGatherCodes, &kGatherBlocks, &kReference};
constexpr std::array kReduce = {&kReduceFloats, &kSumIntegers, &kReference};
constexpr std::array kNormalize = {&kNormalizeFloats, &kReference};
constexpr std::array kReshape = {&kAlias};
constexpr std::array kRecurrent = {&kRecurrentBits, &kRecurrentLevels, &kRecurrentFloat,
                                   &kReference};
constexpr std::array kRequantize = {&kRequantizeCodes, &kReference};
constexpr std::array kLookup = {&kLookupTable, &kReference};
constexpr std::array kQuantize = {&kQuantizeCodes, &kReference};
constexpr std::array kDequantize = {&kDequantizeCodes, &kReference};
constexpr std::array kAppendRows = {&kAppendToCache, &kReference};
constexpr std::array kAttention = {&kAttendCaches, &kAttendSamples, &kReference};
constexpr std::array kRotary = {&kRotateRows, &kReference};
constexpr std::array kExperts = {&kExpertGroups, &kExpertFloats, &kReference};
constexpr std::array kConvolutions = {&kShortConvolution, &kKeptState, &kReference};
constexpr std::array kScans = {&kSelectiveScan, &kKeptState, &kReference};
constexpr std::array kDeltas = {&kGatedDelta, &kKeptState, &kReference};
constexpr std::array kLoop = {&kLoopBody};
constexpr std::array kLoopResult = {&kRecordPart};
constexpr std::array kOthers = {&kReference};

struct Lists {
  List operator()(const ir::FullyConnected&) const { return float_lists().fully_connected; }
  List operator()(const ir::MatMul&) const { return float_lists().matmul; }
  List operator()(const ir::Conv&) const { return float_lists().conv; }
  List operator()(const ir::ConvTranspose&) const { return float_lists().conv_transpose; }
  List operator()(const ir::Pool&) const { return float_lists().pool; }
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
  List operator()(const ir::AppendRows&) const { return kAppendRows; }
  List operator()(const ir::Attention&) const { return kAttention; }
  List operator()(const ir::Rotary&) const { return kRotary; }
  List operator()(const ir::ExpertProduct&) const { return kExperts; }
  List operator()(const ir::ShortConvolution&) const { return kConvolutions; }
  List operator()(const ir::SelectiveScan&) const { return kScans; }
  List operator()(const ir::GatedDelta&) const { return kDeltas; }
  List operator()(const ir::Loop&) const { return kLoop; }
  List operator()(const ir::LoopResult&) const { return kLoopResult; }
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
