// SPDX-License-Identifier: Apache-2.0
// The numbers of operators, and the rules by which a file says them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "halftone/formats/circle/flavor.h"

namespace halftone::formats::circle {

/// The operators Halftone reads or names itself; any other number is valid too. Negative ones are
/// circle's own.
enum class OperatorCode : std::int32_t {
  kAdd = 0,
  kConcatenation = 2,
  kDequantize = 6,
  kFloor = 8,
  kFullyConnected = 9,
  kLogistic = 14,
  kMul = 18,
  kRelu = 19,
  kReluN1To1 = 20,
  kRelu6 = 21,
  kReshape = 22,
  kSoftmax = 25,
  kTanh = 28,
  kCustom = 32,
  kTranspose = 39,
  kSub = 41,
  kDiv = 42,
  kSqueeze = 43,
  kStridedSlice = 45,
  kExp = 47,
  kSplit = 49,
  kLogSoftmax = 50,
  kCast = 53,
  kPrelu = 54,
  kMaximum = 55,
  kMinimum = 57,
  kNeg = 59,
  kSlice = 65,
  kExpandDims = 70,
  kLog = 73,
  kSqrt = 75,
  kRsqrt = 76,
  kPow = 78,
  kPack = 83,
  kUnpack = 88,
  kSquare = 92,
  kLeakyRelu = 98,
  kSquaredDifference = 99,
  kAbs = 101,
  kSplitV = 102,
  kCeil = 104,
  kElu = 111,
  kQuantize = 114,
  kRound = 116,
  kHardSwish = 117,
  kBatchMatmul = 126,
  kGelu = 150,
  kRelu0To1 = 152,
  kSign = 158,
  kBcqFullyConnected = -3,
  kBcqGather = -4,
  /// 200 as an unsigned byte, as the learned-quantization fork of circle 0.3 writes it.
  kLqFullyConnected = -56,
};

/// In the byte field: the number is in the int32 field.
inline constexpr std::int8_t kSeeExtendedCode = 127;

/// The code of an entry { deprecated byte, int32 }.
/// TFLite: the larger one. Circle: the int32 if the byte is 127, else the signed byte.
OperatorCode resolve_code(CircleFlavor flavor, std::int8_t deprecated, std::int32_t extended);

/// "FULLY_CONNECTED"; "operator 300" for a number without a name.
std::string name_of(OperatorCode code);

}  // namespace halftone::formats::circle
