// SPDX-License-Identifier: Apache-2.0
// Operator codes, and their encoding in files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "halftone/formats/circle/flavor.h"

namespace halftone::formats::circle {

/// The operators that Halftone reads or names; any other value is valid too. Negative codes are
/// circle's own.
enum class OperatorCode : std::int32_t {
  kAdd = 0,
  kAveragePool2d = 1,
  kConcatenation = 2,
  kConv2d = 3,
  kDepthwiseConv2d = 4,
  kDepthToSpace = 5,
  kDequantize = 6,
  kEmbeddingLookup = 7,
  kFloor = 8,
  kFullyConnected = 9,
  kL2Normalization = 11,
  kL2Pool2d = 12,
  kLogistic = 14,
  kMaxPool2d = 17,
  kMul = 18,
  kRelu = 19,
  kReluN1To1 = 20,
  kRelu6 = 21,
  kReshape = 22,
  kResizeBilinear = 23,
  kRnn = 24,
  kSoftmax = 25,
  kSpaceToDepth = 26,
  kSvdf = 27,
  kTanh = 28,
  kCustom = 32,
  kPad = 34,
  kUnidirectionalSequenceRnn = 35,
  kGather = 36,
  kBatchToSpaceNd = 37,
  kSpaceToBatchNd = 38,
  kTranspose = 39,
  kMean = 40,
  kSub = 41,
  kDiv = 42,
  kSqueeze = 43,
  kUnidirectionalSequenceLstm = 44,
  kStridedSlice = 45,
  kBidirectionalSequenceRnn = 46,
  kExp = 47,
  kTopKV2 = 48,
  kSplit = 49,
  kLogSoftmax = 50,
  kBidirectionalSequenceLstm = 52,
  kCast = 53,
  kPrelu = 54,
  kMaximum = 55,
  kArgMax = 56,
  kMinimum = 57,
  kLess = 58,
  kNeg = 59,
  kPadV2 = 60,
  kGreater = 61,
  kGreaterEqual = 62,
  kLessEqual = 63,
  kSelect = 64,
  kSlice = 65,
  kSin = 66,
  kTransposeConv = 67,
  kTile = 69,
  kExpandDims = 70,
  kEqual = 71,
  kNotEqual = 72,
  kLog = 73,
  kSum = 74,
  kSqrt = 75,
  kRsqrt = 76,
  kShape = 77,
  kPow = 78,
  kArgMin = 79,
  kReduceProd = 81,
  kReduceMax = 82,
  kPack = 83,
  kLogicalOr = 84,
  kLogicalAnd = 86,
  kLogicalNot = 87,
  kOneHot = 85,
  kUnpack = 88,
  kReduceMin = 89,
  kFloorDiv = 90,
  kSquare = 92,
  kFill = 94,
  kFloorMod = 95,
  kResizeNearestNeighbor = 97,
  kLeakyRelu = 98,
  kSquaredDifference = 99,
  kMirrorPad = 100,
  kAbs = 101,
  kSplitV = 102,
  kUnique = 103,
  kCeil = 104,
  kReverseV2 = 105,
  kAddN = 106,
  kGatherNd = 107,
  kCos = 108,
  kWhere = 109,
  kElu = 111,
  kQuantize = 114,
  kRound = 116,
  kHardSwish = 117,
  kIf = 118,
  kWhile = 119,
  kNonMaxSuppressionV4 = 120,
  kNonMaxSuppressionV5 = 121,
  kSelectV2 = 123,
  kDensify = 124,
  kBatchMatmul = 126,
  kCumsum = 128,
  kCallOnce = 129,
  kBroadcastTo = 130,
  kConv3d = 132,
  kConv3dTranspose = 141,
  kVarHandle = 142,
  kReadVariable = 143,
  kAssignVariable = 144,
  kGelu = 150,
  kDynamicUpdateSlice = 151,
  kRelu0To1 = 152,
  kSign = 158,
  kBcqFullyConnected = -3,
  kBcqGather = -4,
  /// 200 as an unsigned byte, as the learned-quantization fork of circle 0.3 writes it.
  kLqFullyConnected = -56,
};

/// Value of the byte field if the code is in the int32 field.
inline constexpr std::int8_t kSeeExtendedCode = 127;

/// The code of an entry { deprecated byte, int32 }.
/// TFLite: the larger one. Circle: the int32 if the byte is 127, else the signed byte.
OperatorCode resolve_code(CircleFlavor flavor, std::int8_t deprecated, std::int32_t extended);

/// The lowest version of an operator that LiteRT registers, for the types that Halftone writes.
/// Source: register.cc of LiteRT 2.3.
std::int32_t version_of(OperatorCode code);

/// "FULLY_CONNECTED"; "operator 300" for a code without a name.
std::string name_of(OperatorCode code);

}  // namespace halftone::formats::circle
