// SPDX-License-Identifier: Apache-2.0
// Definitions of layers for which the formats have no operator: the convolution of codes, and
// FakeQuantize, which rounds to a number system with scales computed at run time: input 0 is x, the
// output has its shape; see ir::FakeQuantize.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "halftone/formats/low_bit_layer.h"
#include "halftone/ir/operator.h"

namespace halftone::formats {

/// Fields of the operator in files, besides its inputs.
struct ConvFields {
  bool transposed = false;  ///< a ConvTranspose
  std::vector<std::int64_t> kernel;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> dilations;
  std::vector<std::int64_t> pads;            ///< before each axis, then after each axis
  std::vector<std::int64_t> output_padding;  ///< of a ConvTranspose, else empty
  std::int64_t group = 1;
  LowBitFields codes;

  bool operator==(const ConvFields&) const = default;
};

/// Calls visit(name, field) for every field, with its name in files, in file order.
template <typename Fields, typename Visit>
void for_each_conv_field(Fields& fields, Visit&& visit) {
  visit("transposed", fields.transposed);
  visit("kernel", fields.kernel);
  visit("strides", fields.strides);
  visit("dilations", fields.dilations);
  visit("pads", fields.pads);
  visit("output_padding", fields.output_padding);
  visit("group", fields.group);
  for_each_field(fields.codes, visit);
}

/// @param node  a Conv or ConvTranspose
ConvFields conv_fields_of(const ir::Graph& graph, const ir::Node& node);
/// The operator with its activation and arithmetic.
/// @throws Error kFormat if the pads are not twice as many as the strides
ir::Operator conv_of(const ConvFields& fields);

/// Shape of weights with `n` columns: [outputs, kernel..., n / taps].
/// @throws Error kFormat unless the taps of the kernel divide n
ir::Shape conv_weight_shape(std::span<const std::int64_t> kernel, std::int64_t n, ir::Dim outputs);

/// Fields of the operator in files.
struct FakeQuantizeFields {
  std::string system;  ///< a name of numerics::find_system()
  std::int64_t bits = 0;
  numerics::Granularity granularity = numerics::Granularity::kTensor;
  std::int64_t group_size = 0;  ///< 0 unless kGroup
};

/// Calls visit(name, field) for every field, with its name in files, in file order.
template <typename Fields, typename Visit>
void for_each_fake_quantize_field(Fields& fields, Visit&& visit) {
  visit("system", fields.system);
  visit("bits", fields.bits);
  visit("granularity", fields.granularity);
  visit("group_size", fields.group_size);
}

FakeQuantizeFields fields_of(const ir::FakeQuantize& op);
/// @throws Error kFormat if a field is out of range; kUnsupported if there is no such number system
ir::FakeQuantize fake_quantize_of(const FakeQuantizeFields& fields);

}  // namespace halftone::formats
