// SPDX-License-Identifier: Apache-2.0
// Quantizes whole networks to 8-bit integers, as other runtimes run them.
#pragma once

#include "halftone/compress/quantize.h"
#include "halftone/passes/insert_codes.h"

namespace halftone::compress {

/// Gives a float network codes of 8 bits for weights, inputs and everything between its layers
/// (passes::insert_codes()), with unlabelled calibration data. ONNX files then hold QuantizeLinear
/// and DequantizeLinear, TFLite files operators on int8, which every runtime for these formats has.
///
/// If the recipe says so, layers are equalized first (equalize_layers()); reports then compare with
/// the equalized network. Weights are fitted as quantize() fits int_narrow with 8 bits and float32
/// inputs, with the steps of the recipe; then the calibrator of the recipe's defaults gives the
/// ranges of all values (kMinMax in place of kFit). Layers that the recipe skips stay float32, and
/// so do recurrent layers, embeddings, transposed convolutions and operators without a form for
/// codes, and everything behind extents that depend on data. The result is the same for any number
/// of threads, devices and ranks.
/// @param form    passes::kOnnxCodes or passes::kTfliteCodes
/// @throws Error  kUsage if the recipe asks for other bits or number systems; kUnsupported if
///                  there is no layer for codes; else as quantize() and range_of()
QuantizedGraph quantize_to_integers(const ir::Graph& graph, const data::Dataset& data,
                                    const Recipe& recipe, const QuantizeSettings& options,
                                    const passes::CodeForm& form);

}  // namespace halftone::compress
