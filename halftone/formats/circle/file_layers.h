// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/ir/graph.h"

namespace halftone::formats {

/// The same network with layers that the operators of TFLite and circle can be: those with codes
/// stay, as files have them whole.
///
///     ConvTranspose of groups            ->  Slices -> one ConvTranspose each -> Concat
///     ConvTranspose with dilations       ->  zeros between the taps
///     ConvTranspose with other padding   ->  without padding -> Slices
///     ConvTranspose along one axis       ->  of an image of one row
///     ConvTranspose with an activation   ->  ConvTranspose -> activation
///     Conv of groups, three axes         ->  Slices -> one Conv each -> Concat
///     Pool along three axes              ->  along two of them -> along the third
///     Pool that rounds up                ->  more padding
///     AveragePool without its padding, not SAME  ->  with it -> times taps / taps in the image
ir::Graph with_file_layers(ir::Graph graph);

namespace circle {
/// How a transposed convolution may be written.
enum class TransposedPadding { kValid, kSame, kOther };
/// SAME takes floor(max(reached - target, 0) / 2) off the front, where a layer of ceil(target /
/// stride) inputs reaches (inputs - 1) stride + taps; VALID takes nothing off.
TransposedPadding transposed_padding(const ir::ConvTranspose& op, const ir::Shape& image,
                                     std::span<const ir::Dim> kernel);
}  // namespace circle
}  // namespace halftone::formats
