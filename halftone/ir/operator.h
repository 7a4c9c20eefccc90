// SPDX-License-Identifier: Apache-2.0
// The table of operators. To add one, write its struct and rules in a family under ops/ and list it
// here.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "halftone/ir/ops/control.h"
#include "halftone/ir/ops/convolution.h"
#include "halftone/ir/ops/elementwise.h"
#include "halftone/ir/ops/encoding.h"
#include "halftone/ir/ops/extend.h"
#include "halftone/ir/ops/indexing.h"
#include "halftone/ir/ops/integer.h"
#include "halftone/ir/ops/layout.h"
#include "halftone/ir/ops/linear.h"
#include "halftone/ir/ops/normalize.h"
#include "halftone/ir/ops/pooling.h"
#include "halftone/ir/ops/recurrence.h"
#include "halftone/ir/ops/recurrent.h"
#include "halftone/ir/ops/reduce.h"
#include "halftone/ir/ops/region.h"
#include "halftone/ir/ops/resample.h"
#include "halftone/ir/ops/selection.h"
#include "halftone/ir/ops/sequence.h"

namespace halftone::ir {

using Operator =

    std::variant<FullyConnected, MatMul, Conv, ConvTranspose, Pool, Recurrent, Unary, Binary, Where,
                 Cast, Reshape, Transpose, Concat, Slice, Softmax, Encode, FakeQuantize,
                 QuantizeLinear, DequantizeLinear, Requantize, Lookup, Reduce, ArgReduce, CumSum,
                 Gather, GatherElements, GatherND, ScatterElements, ScatterND, OneHot, TopK, Pad,
                 BroadcastTo, Tile, ReverseSequence, Resize, GridSample, Normalize, LocalNormalize,
                 AppendRows, Attention, Rotary, ExpertProduct, ShortConvolution, SelectiveScan,
                 GatedDelta, Loop, LoopResult, NonZero, NonMaxSuppression, Unique, MaxPoolIndex,
                 RoiAlign, MaxRoiPool, Determinant>;

/// "FullyConnected"; for Unary, Binary and Pool the function's name: "Tanh", "Add", "MaxPool".
std::string_view name_of(const Operator& op);
/// The attributes as text; may be empty.
std::string attributes_of(const Operator& op);

/// Index of the input that holds a layer's weights: 0 (the table) for a Gather, 1 for all others.
std::size_t weights_input(const Operator& op);

/// The operator for a fixed batch size: replaces every kBatch among its attributes.
/// @throws Error kShape if the batch exceeds 2^40
Operator with_batch(Operator op, std::size_t batch);

/// The type of an operator's output.
/// @param inputs  one entry per input, null where an optional one is absent
/// @throws Error kShape if the number of inputs, their types or shapes do not fit, or a tensor has
///         a negative extent or more than 2^40 elements per sample
ValueType infer_output(const Operator& op, InputTypes inputs);

/// Reference implementation in plain loops. Fast kernels are tested against it, and constant
/// folding uses it. Encoded inputs must be decoded to float32 first.
/// @throws Error kShape as infer_output()
Tensor evaluate_operator(const Operator& op, InputTensors inputs);

/// All names that name_of() has, of operators and of the functions of Unary, Binary and Pool.
std::vector<std::string_view> operator_names();

}  // namespace halftone::ir
