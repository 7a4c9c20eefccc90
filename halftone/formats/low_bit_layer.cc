// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/low_bit_layer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/printable.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/numerics/systems.h"
#include "halftone/numerics/vector_codes.h"

namespace halftone::formats {
namespace {

using numerics::Granularity;
using numerics::MatrixEncoding;
using numerics::NumberType;
using numerics::StoredNumbers;

/// Largest extent in a graph.
constexpr std::int64_t kMaxInputs = std::int64_t{1} << 40;

/// Indexed by code.
constexpr ir::ActivationKind kActivations[] = {
    ir::ActivationKind::kIdentity, ir::ActivationKind::kRelu, ir::ActivationKind::kReluN1To1,
    ir::ActivationKind::kRelu6,    ir::ActivationKind::kTanh, ir::ActivationKind::kSignBit};

void check_that(bool holds, const std::string& message) {
  if (!holds) fail(ErrorKind::kFormat, message);
}

void check_range(const char* name, std::int64_t value, std::int64_t max) {
  check_that(value >= 0 && value <= max, std::string(name) + ": expected 0 to " +
                                             std::to_string(max) + ", found " +
                                             std::to_string(value));
}

/// The element type of the codes of scales.
ir::ElementType code_element(NumberType type) {
  return stored_bits(type) <= 8 ? ir::ElementType::kUint8 : ir::ElementType::kUint16;
}

std::size_t row_width(const MatrixEncoding& encoding) {
  return encoding.scales_per_block() + (encoding.has_offset ? 1 : 0);
}

/// The scales of each block, followed by its offset.
std::vector<float> to_rows(const MatrixEncoding& encoding) {
  std::vector<float> rows;
  const std::size_t each = encoding.scales_per_block();
  for (std::size_t block = 0; block < encoding.num_blocks(); ++block) {
    for (std::size_t i = 0; i < each; ++i) rows.push_back(encoding.scales[block * each + i]);
    if (encoding.has_offset) rows.push_back(encoding.offsets[block]);
  }
  return rows;
}

/// The inverse: sets the numbers of an encoding that is otherwise complete.
/// @param scales  of a float type
void fill_blocks(MatrixEncoding& encoding, const ir::Tensor& scales) {
  const std::size_t width = row_width(encoding);
  const ir::Shape& shape = scales.shape();
  check_that(shape.rank() > 0 && static_cast<std::size_t>(shape.back()) == width,
             "expected rows of " + std::to_string(width) + " numbers, found " + shape.to_string());
  const ir::Tensor floats = scales.cast(ir::ElementType::kFloat32);
  const auto numbers = floats.as<float>();
  const auto bad = std::ranges::find_if(numbers, [](float x) { return !std::isfinite(x); });
  check_that(bad == numbers.end(),
             "expected finite numbers, found " + (bad == numbers.end() ? "" : number_text(*bad)));
  const std::size_t each = encoding.scales_per_block();
  std::vector<float> own;
  std::vector<float> offsets;
  for (std::size_t first = 0; first < numbers.size(); first += width) {
    const auto row = numbers.subspan(first, width);
    own.insert(own.end(), row.begin(), row.begin() + static_cast<std::ptrdiff_t>(each));
    if (encoding.has_offset) offsets.push_back(row.back());
  }
  encoding.scales = StoredNumbers::of(own).compact();
  encoding.offsets = StoredNumbers::of(offsets).compact();
}

/// The same for scales that are codes of their own type.
void fill_codes(MatrixEncoding& encoding, NumberType type, float factor, const ir::Tensor& scales) {
  const ir::Shape& shape = scales.shape();
  check_that(shape.rank() == 2 && shape[1] == 1,
             "expected [blocks, 1] scales, found " + shape.to_string());
  check_that(!encoding.has_offset,
             "scales of " + std::string(to_string(type)) + ": expected no offsets beside them");
  check_that(std::isfinite(factor) && factor > 0,
             "scale_factor: expected a positive number, found " + number_text(factor));
  encoding.scales = factor == 1 ? StoredNumbers(type, scales.size())
                                : StoredNumbers(type, scales.size(), NumberType::kFloat32, {});
  if (factor != 1) encoding.scales.set_factor(0, factor);
  check_that(encoding.scales.bytes().size() == scales.bytes().size(),
             "scales of " + std::string(to_string(type)) + ": expected codes of " +
                 std::string(to_string(code_element(type))) + ", found " +
                 scales.type().to_string());
  std::ranges::copy(scales.bytes(), encoding.scales.bytes().begin());
  check_that(encoding.scales.all_finite(), "a scale that is no number");
}

/// Whether scales are written as floats, in the short form of each.
bool are_floats(NumberType type) {
  return type == NumberType::kFloat32 || type == NumberType::kFloat16;
}

/// The bytes of scales and offsets whose factors neighbouring groups share: see input 2 in
/// low_bit_layer.h.
class SharedFactorBytes {
 public:
  /// @param encoding  with room for its scales and offsets
  explicit SharedFactorBytes(const MatrixEncoding& encoding)
      : numbers_{&encoding.scales},
        bits_(static_cast<std::size_t>(numerics::stored_bits(encoding.scales.type()))) {
    if (encoding.has_offset) numbers_.push_back(&encoding.offsets);
    factor_bytes_ =
        static_cast<std::size_t>(numerics::stored_bits(encoding.scales.factor_type())) / 8;
  }

  /// Of a row.
  [[nodiscard]] std::size_t row_bytes() const {
    const auto [share, row] = sharing();
    const std::size_t rest = row % share;
    return row / share * run_bytes(share) + (rest == 0 ? 0 : run_bytes(rest));
  }

  /// Calls visit_factor(numbers, factor, offset) and visit_code(numbers, index, offset in bits) for
  /// all rows, the offsets from the first byte on.
  template <typename VisitFactor, typename VisitCode>
  void for_each(const VisitFactor& visit_factor, const VisitCode& visit_code) const {
    const auto [share, row] = sharing();
    std::size_t at = 0;
    for (std::size_t first = 0; first < numbers_[0]->size();) {
      const std::size_t count = std::min(share, row - first % row);
      for (std::size_t k = 0; k < numbers_.size(); ++k) {
        visit_factor(k, numbers_[k]->factor_index(first), at + k * factor_bytes_);
      }
      std::size_t bit = 8 * (at + numbers_.size() * factor_bytes_);
      for (std::size_t k = 0; k < numbers_.size(); ++k) {
        for (std::size_t i = first; i < first + count; ++i, bit += bits_) visit_code(k, i, bit);
      }
      at += run_bytes(count);
      first += count;
    }
  }

  [[nodiscard]] std::size_t bits() const { return bits_; }
  [[nodiscard]] std::size_t factor_bytes() const { return factor_bytes_; }

 private:
  [[nodiscard]] numerics::FactorSharing sharing() const { return numbers_[0]->sharing(); }
  [[nodiscard]] std::size_t run_bytes(std::size_t groups) const {
    return numbers_.size() * factor_bytes_ + (numbers_.size() * groups * bits_ + 7) / 8;
  }

  std::vector<const StoredNumbers*> numbers_;
  std::size_t bits_;
  std::size_t factor_bytes_;
};

/// Input 2 for scales whose factors neighbouring groups share.
ir::Tensor shared_factor_scales(const MatrixEncoding& encoding) {
  const SharedFactorBytes layout(encoding);
  const std::size_t rows = encoding.num_blocks() / encoding.scales.sharing().row;
  ir::Tensor result(ir::ElementType::kUint8,
                    {static_cast<ir::Dim>(rows), static_cast<ir::Dim>(layout.row_bytes())});
  const std::span<std::byte> to = result.bytes();
  const std::array numbers = {&encoding.scales, &encoding.offsets};
  layout.for_each(
      [&](std::size_t k, std::size_t factor, std::size_t at) {
        const std::size_t width = layout.factor_bytes();
        std::ranges::copy(numbers[k]->factor_bytes().subspan(factor * width, width),
                          to.subspan(at).begin());
      },
      [&](std::size_t k, std::size_t i, std::size_t bit) {
        const auto code = std::to_integer<unsigned>(numbers[k]->bytes()[i]);
        for (std::size_t b = 0; b < layout.bits(); ++b) {
          to[(bit + b) / 8] |= std::byte(code >> b & 1) << ((bit + b) % 8);
        }
      });
  return result;
}

/// The type of scales that a field names; nothing for floats.
std::optional<NumberType> scale_type_of(const LowBitFields& fields) {
  if (fields.scale_type.text.empty()) return std::nullopt;
  const auto type = numerics::number_type_from(fields.scale_type.text);
  check_that(type && !are_floats(*type), "scale_type: unknown '" + fields.scale_type.text + "'");
  return type;
}

/// The type of the factors that neighbouring groups share; nothing if they share none.
std::optional<NumberType> factor_type_of(const LowBitFields& fields) {
  if (fields.factor_type.text.empty()) return std::nullopt;
  const auto type = numerics::number_type_from(fields.factor_type.text);
  check_that(type && numerics::stored_bits(*type) >= 16,
             "factor_type: unknown '" + fields.factor_type.text + "'");
  const auto scales = scale_type_of(fields);
  check_that(scales && numerics::stored_bits(*scales) <= 8,
             "scale_type: expected one of up to 8 bits beside factor_type, found '" +
                 fields.scale_type.text + "'");
  return type;
}

/// The inverse: sets the numbers of an encoding that is otherwise complete.
void fill_shared(MatrixEncoding& encoding, const LowBitFields& fields, NumberType factor_type,
                 const ir::Tensor& scales) {
  const NumberType type = *scale_type_of(fields);
  const std::size_t groups = encoding.groups_per_row(static_cast<std::size_t>(fields.inputs));
  check_that(groups > 0, "expected groups, found none");
  const numerics::FactorSharing sharing{static_cast<std::size_t>(fields.factor_share.number),
                                        groups};
  const auto make = [&](std::size_t rows) {
    encoding.scales = StoredNumbers(type, rows * groups, factor_type, sharing);
    if (encoding.has_offset) encoding.offsets = encoding.scales;
  };
  make(0);
  const std::size_t row_bytes = SharedFactorBytes(encoding).row_bytes();
  const ir::Shape& shape = scales.shape();
  check_that(scales.element() == ir::ElementType::kUint8 && shape.rank() == 2 &&
                 static_cast<std::size_t>(shape[1]) == row_bytes,
             "expected uint8 [outputs, " + std::to_string(row_bytes) + "] for rows of " +
                 std::to_string(groups) + " groups, found " + scales.type().to_string());
  make(static_cast<std::size_t>(shape[0]));
  const SharedFactorBytes layout(encoding);
  const std::span<const std::byte> from = scales.bytes();
  const std::array numbers = {&encoding.scales, &encoding.offsets};
  layout.for_each(
      [&](std::size_t k, std::size_t factor, std::size_t at) {
        const std::size_t width = layout.factor_bytes();
        std::ranges::copy(from.subspan(at, width),
                          numbers[k]->factor_bytes().subspan(factor * width).begin());
      },
      [&](std::size_t k, std::size_t i, std::size_t bit) {
        unsigned code = 0;
        for (std::size_t b = 0; b < layout.bits(); ++b) {
          code |= (std::to_integer<unsigned>(from[(bit + b) / 8]) >> ((bit + b) % 8) & 1) << b;
        }
        const bool is_negative = has_sign(type) && code >> (layout.bits() - 1) != 0;
        if (is_negative && is_integer(type)) code |= 0xFFU << layout.bits();
        numbers[k]->bytes()[i] = std::byte(code & 0xFFU);
      });
  check_that(encoding.scales.all_finite() && encoding.offsets.all_finite(),
             "a scale or offset that is no number");
}

/// The number system that a field names.
const numerics::NumberSystem& system_of(const OptionalText& name) {
  if (name.text.empty()) return numerics::find_system("basis");
  try {
    return numerics::find_system(name.text);
  } catch (const Error& error) {
    fail(ErrorKind::kUnsupported, error.what());
  }
}

/// An encoding with the codebook of a field, without scales.
MatrixEncoding encoding_of(const OptionalText& name, std::int64_t bits, bool has_offset) {
  MatrixEncoding encoding;
  encoding.bits = static_cast<int>(bits);
  encoding.has_offset = has_offset;
  const numerics::NumberSystem& system = system_of(name);
  check_that(system.allows(encoding.bits), "number system '" + std::string(system.name) +
                                               "': does not have " + std::to_string(bits) +
                                               " bits");
  encoding.codebook = codebook_of(system, encoding.bits);
  if (system.vectors != nullptr) encoding.vectors = system.vectors->shared_from_this();
  return encoding;
}

/// The field for the number system of an encoding.
OptionalText name_of(const MatrixEncoding& encoding) {
  if (encoding.codebook == nullptr) return {};
  if (encoding.vectors != nullptr) return {encoding.vectors->rate()};
  return {encoding.codebook->name()};
}

/// The basis of the weights; null unless they are vectors.
const numerics::VectorBasis* vectors_of(const LowBitFields& fields) {
  return fields.weight_system.text.empty() ? nullptr : system_of(fields.weight_system).vectors;
}

/// Input 3 as codewords.
numerics::BitPlanes read_vectors(const numerics::VectorBasis& basis, const ir::Tensor& codes,
                                 std::size_t cols) {
  const auto rows = static_cast<std::size_t>(codes.shape()[0]);
  return planes_of_vectors(unpack_vectors(codes.bytes(), basis, rows, cols), basis, rows, cols);
}

}  // namespace

void check_low_bit_version(std::int64_t version) {
  if (version >= 1 && version <= kLowBitVersion) return;
  fail(ErrorKind::kUnsupported, "version: expected 1 to " + std::to_string(kLowBitVersion) +
                                    ", found " + std::to_string(version));
}

void LowBitFields::check() const {
  check_range("inputs", inputs, kMaxInputs);
  const auto most = [](const OptionalText& system) {
    return system.text.empty() ? numerics::kMaxBits : numerics::kMaxCodeBits;
  };
  check_range("weight_bits", weight_bits, most(weight_system));
  check_range("activation_bits", activation_bits, numerics::kMaxBits);
  check_range("group_size", group_size, kMaxInputs);
  check_that((granularity == Granularity::kGroup) == (group_size != 0),
             "group_size " + std::to_string(group_size) + " does not go with granularity " +
                 std::string(to_string(granularity)));
  activation_of_code(activation);
  check_range("factor_share", factor_share.number, kMaxInputs);
  check_that(factor_type.text.empty() == (factor_share.number == 0),
             "factor_share " + std::to_string(factor_share.number) +
                 " does not go with factor_type '" + factor_type.text + "'");
  check_that(factor_type.text.empty() ||
                 (granularity == Granularity::kGroup && !weight_system.text.empty()),
             "factor_type: expected groups of a number system with levels");
}

void LowBitFields::check_table() const {
  check_that(arithmetic == ir::Arithmetic::kAuto,
             "arithmetic: expected none for a table, found " + std::string(to_string(arithmetic)));
  check_that(weight_bits > 0 && activation_bits == 0 && activation == 0,
             "a table: expected codes alone, found " + std::to_string(weight_bits) +
                 " weight_bits, " + std::to_string(activation_bits) +
                 " activation_bits, activation " + std::to_string(activation));
}

Granularity granularity_of(std::string_view name) {
  for (const auto each : {Granularity::kTensor, Granularity::kChannel, Granularity::kGroup}) {
    if (name == to_string(each)) return each;
  }
  fail(ErrorKind::kFormat,
       "granularity: expected tensor, channel or group, found '" + std::string(name) + "'");
}

ir::Arithmetic arithmetic_of_name(const std::string& name) {
  if (const auto named = ir::arithmetic_named(name)) return *named;
  fail(ErrorKind::kFormat,
       "arithmetic: expected auto, bits, integers or float, found '" + name + "'");
}

std::optional<std::int64_t> activation_code(ir::ActivationKind kind) {
  const auto* found = std::ranges::find(kActivations, kind);
  if (found == std::end(kActivations)) return std::nullopt;
  return std::distance(std::begin(kActivations), found);
}

ir::Activation activation_of_code(std::int64_t code) {
  check_range("activation", code, std::ssize(kActivations) - 1);
  return {kActivations[code], 0, 0};
}

ir::Activation activation_after(const ir::Operator& op) {
  const ir::Activation* fused = ir::fused_activation(op);
  return fused == nullptr ? ir::Activation{} : *fused;
}

LowBitLayer take_apart(const ir::Graph& graph, const ir::Node& node) {
  LowBitLayer layer;
  const std::size_t weights = weights_input(node.op);
  layer.x = node.inputs[1 - weights];
  layer.weights_id = node.inputs[weights];
  if (node.inputs.size() > 2) layer.bias = node.inputs[2];
  const ir::Constant* constant = graph.constant(layer.weights_id);
  if (constant != nullptr) layer.weights = std::get_if<ir::EncodedTensor>(constant);
  const auto producer = graph.producer(layer.x);
  if (!producer) return layer;
  const ir::Node& before = graph.node(*producer);
  if (const auto* encode = std::get_if<ir::Encode>(&before.op)) {
    if (encode->activation.kind != ir::ActivationKind::kIdentity) {
      fail(ErrorKind::kUnsupported,
           ir::describe(before) + ": no file format has a function before the encoding, found " +
               ir::to_string(encode->activation));
    }
    layer.activations = encode->encoding.get();
    layer.x = before.inputs[0];
  }
  return layer;
}

void describe_activations(const MatrixEncoding& encoding, LowBitFields& fields) {
  fields.activation_bits = encoding.bits;
  fields.activation_offset = encoding.has_offset;
  fields.activation_system = name_of(encoding);
}

void describe_weights(const MatrixEncoding& encoding, LowBitFields& fields) {
  fields.weight_bits = encoding.bits;
  fields.weight_offset = encoding.has_offset;
  fields.granularity = encoding.granularity;
  fields.group_size = static_cast<std::int64_t>(encoding.group_size);
  fields.weight_system = name_of(encoding);
  const NumberType type = encoding.scales.type();
  if (!are_floats(type)) fields.scale_type = {std::string(to_string(type))};
  if (!encoding.scales.has_factors()) return;
  if (const std::size_t share = encoding.scales.sharing().share; share != 0) {
    fields.factor_type = {std::string(to_string(encoding.scales.factor_type()))};
    fields.factor_share = {static_cast<std::int64_t>(share)};
  } else {
    fields.scale_factor = {encoding.scales.factor(0)};
  }
}

LowBitFields fields_of(const ir::Graph& graph, const ir::Node& node) {
  const LowBitLayer layer = take_apart(graph, node);
  LowBitFields fields;
  const ir::MatrixExtent weights = matrix_extent(graph.value(layer.weights_id).type.shape);
  fields.inputs = static_cast<std::int64_t>(weights.cols);
  fields.activation = activation_code(activation_after(node.op).kind).value_or(0);
  if (const ir::Arithmetic* stored = ir::arithmetic(node.op)) fields.arithmetic = *stored;
  if (layer.activations != nullptr) describe_activations(*layer.activations, fields);
  if (layer.weights != nullptr) describe_weights(*layer.weights->encoding, fields);
  return fields;
}

ir::Tensor activation_scales(const MatrixEncoding& encoding) {
  const auto width = static_cast<ir::Dim>(row_width(encoding));
  return ir::Tensor::from<float>({width}, to_rows(encoding));
}

ir::Tensor weight_scales(const MatrixEncoding& encoding) {
  if (encoding.scales.sharing().share != 0) return shared_factor_scales(encoding);
  const auto count = static_cast<ir::Dim>(encoding.num_blocks());
  if (const NumberType type = encoding.scales.type(); !are_floats(type)) {
    ir::Tensor codes(code_element(type), {count, 1});
    std::ranges::copy(encoding.scales.bytes(), codes.bytes().begin());
    return codes;
  }
  const auto width = static_cast<ir::Dim>(row_width(encoding));
  return ir::Tensor::from<float>({count, width}, to_rows(encoding));
}

ir::Tensor weight_planes(const numerics::BitPlanes& codes, std::size_t row_bytes) {
  const ir::Shape shape{static_cast<ir::Dim>(codes.rows), codes.bits,
                        static_cast<ir::Dim>(row_bytes)};
  return ir::Tensor::from<std::uint8_t>(shape, to_bytes(codes.planes, row_bytes));
}

ir::Tensor weight_codes(const ir::EncodedTensor& weights) {
  const numerics::BitPlanes& codes = weights.codes;
  const auto& basis = weights.encoding->vectors;
  if (basis == nullptr) return weight_planes(codes, (codes.cols + 7) / 8);
  const auto shipped = numerics::shipped_vector_basis(basis->rate());
  if (shipped == nullptr || !(*shipped == *basis)) {
    fail(ErrorKind::kUnsupported, "weights: no file of a network has vectors of a basis " +
                                      basis->rate() + " other than that which Halftone ships");
  }
  const auto vectors = vectors_of_planes(codes, *basis);
  check_that(vectors.has_value(), "weights: " + why_no_vectors(codes, *basis));
  const auto bytes = numerics::pack_vectors(*vectors, *basis, codes.rows, codes.cols);
  ir::Tensor result(ir::ElementType::kUint8,
                    {static_cast<ir::Dim>(codes.rows), 1,
                     static_cast<ir::Dim>(numerics::vector_row_bytes(*basis, codes.cols))});
  std::ranges::copy(bytes, result.bytes().begin());
  return result;
}

std::shared_ptr<const MatrixEncoding> read_activation_scales(const LowBitFields& fields,
                                                             const ir::Tensor& scales) {
  MatrixEncoding encoding;
  with_context("scales of the input", [&] {
    encoding =
        encoding_of(fields.activation_system, fields.activation_bits, fields.activation_offset);
    check_that(encoding.vectors == nullptr,
               "activation_system: expected single numbers, found vectors of '" +
                   fields.activation_system.text + "'");
    fill_blocks(encoding, scales);
    check_that(encoding.num_blocks() == 1, "expected one, found " + scales.shape().to_string());
    const NumberType type =
        scale_storage(system_of(fields.activation_system), Granularity::kTensor).type;
    if (encoding.codebook == nullptr || are_floats(type)) return;
    const double scale = encoding.scales[0];
    encoding.scales = StoredNumbers(type, 1);
    encoding.scales.set(0, scale);
  });
  return std::make_shared<const MatrixEncoding>(std::move(encoding));
}

std::shared_ptr<const MatrixEncoding> read_weight_scales(const LowBitFields& fields,
                                                         const ir::Tensor& scales) {
  MatrixEncoding encoding;
  with_context("scales of the weights", [&] {
    encoding = encoding_of(fields.weight_system, fields.weight_bits, fields.weight_offset);
    encoding.granularity = fields.granularity;
    encoding.group_size = static_cast<std::size_t>(fields.group_size);
    const auto type = scale_type_of(fields);
    if (const auto factor_type = factor_type_of(fields)) {
      fill_shared(encoding, fields, *factor_type, scales);
    } else if (type) {
      fill_codes(encoding, *type, fields.scale_factor.number, scales);
    } else {
      fill_blocks(encoding, scales);
    }
  });
  return std::make_shared<const MatrixEncoding>(std::move(encoding));
}

ir::ElementType scale_element(const LowBitFields& fields) {
  const auto type = scale_type_of(fields);
  return type ? code_element(*type) : ir::ElementType::kFloat32;
}

void check_planes(const LowBitFields& fields, const ir::ValueType& type) {
  const ir::Shape& shape = type.shape;
  if (const numerics::VectorBasis* basis = vectors_of(fields)) {
    const auto bytes = static_cast<ir::Dim>(
        numerics::vector_row_bytes(*basis, static_cast<std::size_t>(fields.inputs)));
    check_that(type.encoding.element == ir::ElementType::kUint8 && fields.inputs > 0 &&
                   shape.rank() == 3 && shape[1] == 1 && shape[2] == bytes,
               "codes of " + basis->rate() + ": expected uint8 [outputs, 1, " +
                   std::to_string(bytes) + "] for " + std::to_string(fields.inputs) +
                   " inputs, found " + type.to_string());
    return;
  }
  const std::int64_t row_bytes = (fields.inputs + 7) / 8;
  check_that(type.encoding.element == ir::ElementType::kUint8 && fields.inputs > 0 &&
                 shape.rank() == 3 && shape[1] == fields.weight_bits && shape[2] == row_bytes,
             "bit planes: expected uint8 [outputs, " + std::to_string(fields.weight_bits) + ", " +
                 std::to_string(row_bytes) + "] for " + std::to_string(fields.inputs) +
                 " inputs, found " + type.to_string());
}

ir::EncodedTensor read_planes(const LowBitFields& fields,
                              std::shared_ptr<const MatrixEncoding> encoding,
                              const ir::Tensor& planes) {
  const ir::Dim outputs = planes.shape()[0];
  const auto rows = static_cast<std::size_t>(outputs);
  const auto cols = static_cast<std::size_t>(fields.inputs);
  try {
    encoding->check(rows, cols);
  } catch (const Error& error) {
    fail(ErrorKind::kFormat, error.what());
  }
  if (encoding->vectors != nullptr) {
    auto levels = read_vectors(*encoding->vectors, planes, cols);
    return {{outputs, fields.inputs}, std::move(encoding), std::move(levels)};
  }
  numerics::BitPlanes codes;
  codes.rows = rows;
  codes.cols = cols;
  codes.bits = encoding->bits;
  const std::size_t bit_rows = rows * static_cast<std::size_t>(encoding->bits);
  const std::size_t row_bytes = bit_rows == 0 ? (cols + 7) / 8 : planes.bytes().size() / bit_rows;
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(planes.bytes().data()),
                        planes.bytes().size());
  codes.planes = bits_from_bytes(bytes, bit_rows, cols, row_bytes);
  return {{outputs, fields.inputs}, std::move(encoding), std::move(codes)};
}

}  // namespace halftone::formats
