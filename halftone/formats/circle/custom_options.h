// SPDX-License-Identifier: Apache-2.0
// The custom operator for a FullyConnected in a basis: its name, and its fields as options.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "halftone/formats/conv_layer.h"
#include "halftone/formats/low_bit_layer.h"
#include "halftone/formats/recurrent_layer.h"

namespace halftone::formats::circle {

/// The custom_code of the operator; low_bit_layer.h says what it computes.
inline constexpr std::string_view kCustomName = "HalftoneFullyConnected";

/// The fields as a FlexBuffers map with their names as keys, and "version".
std::vector<std::byte> write_custom_options(const LowBitFields& fields);

/// @throws Error kFormat if the bytes are no such map or a number is out of range; kUnsupported if
///         the version is another
LowBitFields read_custom_options(std::span<const std::byte> bytes);

/// The custom_code of a Gather from a table of codes, which has the same options.
inline constexpr std::string_view kCustomGatherName = "HalftoneGather";

/// The custom_code of a recurrent layer; recurrent_layer.h says what it computes.
inline constexpr std::string_view kCustomRecurrentName = "HalftoneRecurrent";

std::vector<std::byte> write_recurrent_options(const RecurrentFields& fields);
/// @throws Error as read_custom_options()
RecurrentFields read_recurrent_options(std::span<const std::byte> bytes);

/// The custom_code of a convolution in a basis; conv_layer.h says what it computes.
inline constexpr std::string_view kCustomConvName = "HalftoneConv";
std::vector<std::byte> write_conv_options(const ConvFields& fields);
/// @throws Error as read_custom_options()
ConvFields read_conv_options(std::span<const std::byte> bytes);

}  // namespace halftone::formats::circle
