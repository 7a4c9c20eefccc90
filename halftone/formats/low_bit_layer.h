// SPDX-License-Identifier: Apache-2.0
// The layer with codes, as stored in all our formats: one definition for every codec.
//
//     y[.., o] = activation(sum_k x[.., k] w[o, k] + bias[o])
//
// or ir::Conv or ir::ConvTranspose, channels last, with the weights as the matrix [o, n], where n
// is the number of taps times the channels of a group; or ir::Gather along axis 0, with
// y[.., :] = w[x[..], :], whose weights are always encoded and which has neither activation nor
// inputs 1 and 4. Inputs:
//     0  x, float32 [.., n], or [N, spatial.., C]; of a Gather the indices
//     1  scales of x [S], or [S + 1] with the offset last; absent: float x
//     2  scales of the weights [blocks, S], or [blocks, S + 1]; absent: float weights
//     3  bit planes of the weights, uint8 [o, Kw, ceil(n / 8)], bit c of a row is bit c mod 8 of
//        byte c / 8, bit j of the code is in plane j; or float32 weights [o, n]
//     4  bias, float32 [o], or absent
// With weight_system "2x6" or another vector basis that Halftone ships (numerics::vector_rates(),
// whose matrices never change), whose weight_bits are 8, input 3 has the codes of codewords: uint8
// [o, 1, ceil(D ceil(n / d) / 8)]. Each d neighbouring weights of a row share a code of D bits; the
// last ones of a row that d does not divide are the first numbers of a codeword. The codes of a row
// lie one after another, the lowest bits of a byte first; the last byte is filled up with zeros.
//
// S = 1 for the levels of a codebook, S = K coefficients for learned levels ("basis"), whose bit 1
// means +a. Scales are float16 if that represents every number exactly, otherwise float32; those of
// another type are their codes as numerics::StoredNumbers has them: uint8, or uint16 for bfloat16.
// If `factor_share` neighbouring groups of a row share a factor, input 2 is uint8 [o, bytes]: for
// each such run of groups of a row, the last of which may be shorter,
//
//     factor of the scales | factor of the offsets | codes of the scales | codes of the offsets
//
// those of the offsets only if there are any. Factors are little-endian. Codes have as many bits as
// scale_type, from the least significant bit of a byte on, in two's complement if it has a sign;
// the last byte of a run is filled up with zeros. An offset is its code times its factor, which may
// be negative.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "halftone/ir/graph.h"

namespace halftone::formats {

/// Version of this definition, which is written. Files store it with the fields. Version 1 had no
/// arithmetic; the fields that version 2 added are optional, so both are read alike.
inline constexpr std::int64_t kLowBitVersion = 2;
/// @throws Error kUnsupported unless the version is 1 or 2
void check_low_bit_version(std::int64_t version);

/// Text and a number that files leave out where they have their default.
struct OptionalText {
  std::string text{};  ///< default: empty
  bool operator==(const OptionalText&) const = default;
};
struct OptionalCount {
  std::int64_t number = 0;
  bool operator==(const OptionalCount&) const = default;
};
struct OptionalNumber {
  float number = 1;
  bool operator==(const OptionalNumber&) const = default;
};

/// Fields of the operator in files, besides its inputs. Float weights have the defaults.
struct LowBitFields {
  std::int64_t inputs = 0;           ///< n
  std::int64_t weight_bits = 0;      ///< Kw; 0: float weights
  std::int64_t activation_bits = 0;  ///< Kx; 0: float input
  bool weight_offset = false;
  bool activation_offset = false;
  numerics::Granularity granularity = numerics::Granularity::kTensor;  ///< of the weights
  std::int64_t group_size = 0;                                         ///< 0 unless kGroup
  std::int64_t activation = 0;                                         ///< see activation_code()
  /// Of the layer, stored by name. Optional: kAuto is not stored.
  ir::Arithmetic arithmetic = ir::Arithmetic::kAuto;
  OptionalText weight_system{};      ///< a name of numerics::find_system(); empty: "basis"
  OptionalText activation_system{};  ///< the same
  OptionalText scale_type{};         ///< of the weights, a numerics::NumberType; empty: floats
  OptionalNumber scale_factor{};     ///< that all scales of the weights share
  /// Of the factors that neighbouring groups share, a numerics::NumberType; empty: none.
  OptionalText factor_type{};
  OptionalCount factor_share{};  ///< groups of a row that share one

  /// @throws Error kFormat if a field is out of range or two fields are inconsistent
  void check() const;
  /// @throws Error kFormat unless the fields are valid for a Gather
  void check_table() const;

  bool operator==(const LowBitFields&) const = default;
};

/// Calls visit(name, field) for every field, with its name in files, in file order.
template <typename Fields, typename Visit>
void for_each_field(Fields& fields, Visit&& visit) {
  visit("inputs", fields.inputs);
  visit("weight_bits", fields.weight_bits);
  visit("activation_bits", fields.activation_bits);
  visit("weight_offset", fields.weight_offset);
  visit("activation_offset", fields.activation_offset);
  visit("granularity", fields.granularity);
  visit("group_size", fields.group_size);
  visit("activation", fields.activation);
  visit("arithmetic", fields.arithmetic);
  visit("weight_system", fields.weight_system);
  visit("activation_system", fields.activation_system);
  visit("scale_type", fields.scale_type);
  visit("scale_factor", fields.scale_factor);
  visit("factor_type", fields.factor_type);
  visit("factor_share", fields.factor_share);
}

/// The granularity with this name in files. @throws Error kFormat if there is none
numerics::Granularity granularity_of(std::string_view name);

/// The arithmetic with this name in files. @throws Error kFormat if there is none
ir::Arithmetic arithmetic_of_name(const std::string& name);

/// Code of a fused activation in TFLite and circle: 0 none, 1 relu, 2 relu -1 to 1, 3 relu 6,
/// 4 tanh, 5 sign bit; nullopt for any other function.
std::optional<std::int64_t> activation_code(ir::ActivationKind kind);
/// @throws Error kFormat for an unknown code
ir::Activation activation_of_code(std::int64_t code);

// To files.

/// The activation of a layer. @pre a FullyConnected, Conv, ConvTranspose or Gather
ir::Activation activation_after(const ir::Operator& op);

/// The parts of a layer and of the Encode before it; the x of a Gather is its indices.
struct LowBitLayer {
  const numerics::MatrixEncoding* activations = nullptr;  ///< null: x stays float
  const ir::EncodedTensor* weights = nullptr;             ///< null: float weights
  ir::ValueId x = ir::kAbsent;                            ///< the float input, before encoding
  ir::ValueId weights_id = ir::kAbsent;
  ir::ValueId bias = ir::kAbsent;

  [[nodiscard]] bool in_basis() const { return activations != nullptr || weights != nullptr; }
};
/// @param node  as for activation_after(); the result points into the graph
LowBitLayer take_apart(const ir::Graph& graph, const ir::Node& node);
/// Sets the fields of the input or of the weights, which have this encoding.
void describe_activations(const numerics::MatrixEncoding& encoding, LowBitFields& fields);
void describe_weights(const numerics::MatrixEncoding& encoding, LowBitFields& fields);
/// An activation without a code is stored as none.
LowBitFields fields_of(const ir::Graph& graph, const ir::Node& node);

/// Input 1, float32.
ir::Tensor activation_scales(const numerics::MatrixEncoding& encoding);
/// Input 2, float32, uint8 or uint16.
ir::Tensor weight_scales(const numerics::MatrixEncoding& encoding);
/// The bit planes of input 3, with rows of `row_bytes` bytes.
ir::Tensor weight_planes(const numerics::BitPlanes& codes, std::size_t row_bytes);
/// Input 3: bit planes, or the codes of codewords.
/// @throws Error kUnsupported if vectors have a basis that is not shipped; kFormat if neighbouring
///         weights are no codeword
ir::Tensor weight_codes(const ir::EncodedTensor& weights);

// From files. The fields must have passed check().

/// @param scales  input 1
/// @throws Error kFormat if it is not one block of the fields' number system, or a number is not
///         finite; kUnsupported if there is no such number system
std::shared_ptr<const numerics::MatrixEncoding> read_activation_scales(const LowBitFields& fields,
                                                                       const ir::Tensor& scales);
/// @param scales  input 2
/// @throws Error kFormat if its rows are not those of the fields' number system, or a number is not
///         finite; kUnsupported if there is no such number system
std::shared_ptr<const numerics::MatrixEncoding> read_weight_scales(const LowBitFields& fields,
                                                                   const ir::Tensor& scales);
/// The element type of input 2; float32 means float16 too.
ir::ElementType scale_element(const LowBitFields& fields);
/// @throws Error kFormat unless this is a valid type of input 3
void check_planes(const LowBitFields& fields, const ir::ValueType& type);
/// @param planes  [outputs, Kw, ...], rows of whole bytes that hold n bits; or codes of codewords
/// @throws Error kFormat if the scales do not fit the weights, or a bit behind the last codeword of
///         a row is set
ir::EncodedTensor read_planes(const LowBitFields& fields,
                              std::shared_ptr<const numerics::MatrixEncoding> encoding,
                              const ir::Tensor& planes);

}  // namespace halftone::formats
