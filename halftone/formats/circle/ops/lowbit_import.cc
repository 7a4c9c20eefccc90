// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "halftone/formats/circle/check.h"
#include "halftone/formats/circle/custom_options.h"
#include "halftone/formats/circle/importer.h"

namespace halftone::formats::circle {
namespace {

using ir::ValueId;

/// Bits of a weight in memory, 8, per bit of it in a file are at most 4, those of whole words of a
/// row per bit at most 8.
constexpr std::size_t kMaxVectorWords = 8;

/// A constant input with this element type.
const ir::Tensor& constant_input(OperatorImport& op, std::size_t i, ir::ElementType element) {
  const ir::Constant* constant = op.graph().constant(op.raw(i));
  const auto* tensor = constant == nullptr ? nullptr : std::get_if<ir::Tensor>(constant);
  check(tensor != nullptr && tensor->element() == element, "input " + std::to_string(i) +
                                                               ": expected constant numbers of " +
                                                               std::string(to_string(element)));
  return *tensor;
}

/// The scales in input `i`; charges their memory to the importer.
const ir::Tensor& scales_input(OperatorImport& op, std::size_t i,
                               ir::ElementType element = ir::ElementType::kFloat32) {
  const ir::Tensor& scales = constant_input(op, i, element);
  op.importer().charge(scales.size() * sizeof(float));
  return scales;
}

ValueId encoded_input(OperatorImport& op, const LowBitFields& fields) {
  const ir::Encode encode{read_activation_scales(fields, scales_input(op, 1))};
  return op.step(encode, {op.number(0)}, "encode");
}

/// The weights of inputs 2 and 3.
/// @param kernel  extents of a convolution's kernel, otherwise empty
ValueId encoded_weights(OperatorImport& op, const LowBitFields& fields, const ir::Tensor& planes,
                        std::span<const std::int64_t> kernel = {}) {
  auto encoding = read_weight_scales(fields, scales_input(op, 2, scale_element(fields)));
  const auto bit_rows = static_cast<std::size_t>(planes.shape()[0] * planes.shape()[1]);
  const std::size_t words = encoding->vectors == nullptr ? 1 : kMaxVectorWords;
  op.importer().charge(words * (planes.bytes().size() + bit_rows * sizeof(std::uint64_t)));
  ir::EncodedTensor weights = read_planes(fields, std::move(encoding), planes);
  if (!kernel.empty()) {
    weights.shape = conv_weight_shape(kernel, fields.inputs, weights.shape[0]);
  }
  return op.graph().add_constant(op.importer().file().tensor_name(op.input_tensor(3)),
                                 std::move(weights));
}

void emit_fully_connected(OperatorImport& op, ValueId x, ValueId weights,
                          const ir::FullyConnected& layer) {
  std::vector<ValueId> inputs = {x, weights};
  if (op.has_input(4)) inputs.push_back(op.number(4));
  op.emit(layer, std::move(inputs));
}

/// The number of bits that an extent states. @throws Error kFormat unless it is 1 to 8
int bits_of(ir::Dim extent, const char* what) {
  check(extent >= 1 && extent <= numerics::kMaxBits,
        std::string(what) + ": expected 1 to 8 bits, found " + std::to_string(extent));
  return static_cast<int>(extent);
}

void import_lq_fully_connected(OperatorImport& op) {
  constexpr std::size_t kWordBits = 32;
  const auto* options = op.options<schema::LQFullyConnectedOptions>();
  check(options != nullptr, "has no options");
  check(op.num_inputs() == 5, "expected 5 inputs, found " + std::to_string(op.num_inputs()));
  const ir::Tensor& x_scales = constant_input(op, 1, ir::ElementType::kFloat32);
  const ir::Tensor& w_scales = constant_input(op, 2, ir::ElementType::kFloat32);
  const ir::Tensor& planes = constant_input(op, 3, ir::ElementType::kInt32);
  check(x_scales.shape().rank() == 1 && w_scales.shape().rank() == 2 &&
            planes.shape().rank() == 3 && planes.shape()[0] == w_scales.shape()[0] &&
            planes.shape()[1] == w_scales.shape()[1],
        "scales " + x_scales.shape().to_string() + " and " + w_scales.shape().to_string() +
            " do not fit binary weights " + planes.shape().to_string());
  check(options->weights_hidden_size() > 0,
        "weights_hidden_size: expected a positive number, found " +
            std::to_string(options->weights_hidden_size()));
  const auto n = static_cast<std::size_t>(options->weights_hidden_size());
  check(static_cast<std::size_t>(planes.shape()[2]) == (n + kWordBits - 1) / kWordBits,
        "binary weights " + planes.shape().to_string() + " do not fit " + std::to_string(n) +
            " inputs");
  LowBitFields fields;
  fields.inputs = options->weights_hidden_size();
  fields.activation_bits = bits_of(x_scales.shape()[0], "input_scales");
  fields.weight_bits = bits_of(w_scales.shape()[1], "weights_scales");
  fields.granularity = numerics::Granularity::kChannel;
  const ValueId w = encoded_weights(op, fields, planes);
  emit_fully_connected(op, encoded_input(op, fields), w,
                       {fused_activation(options->fused_activation_function())});
}

void import_custom(OperatorImport& op) {
  check(op.num_inputs() == 5, "expected 5 inputs, found " + std::to_string(op.num_inputs()));
  const LowBitFields fields =
      read_custom_options(std::as_bytes(elements(op.table().custom_options())));
  ValueId weights = ir::kAbsent;
  if (fields.weight_bits == 0) {
    weights = op.number(3);
  } else {
    const ir::Tensor& planes = constant_input(op, 3, ir::ElementType::kUint8);
    check_planes(fields, planes.type());
    weights = encoded_weights(op, fields, planes);
  }
  const ValueId x = fields.activation_bits == 0 ? op.number(0) : encoded_input(op, fields);
  ir::FullyConnected layer{activation_of_code(fields.activation)};
  layer.arithmetic = fields.arithmetic;
  emit_fully_connected(op, x, weights, layer);
}

/// An optional input of a recurrent layer, of any type; kAbsent if it is absent.
ValueId optional_input(OperatorImport& op, std::size_t i) {
  return op.has_input(i) ? op.numeric(i) : ir::kAbsent;
}

constexpr ImportEntry kLowbitImports[] = {
    {OperatorCode::kLqFullyConnected, import_lq_fully_connected},
    {OperatorCode::kCustom, import_custom},
};

}  // namespace

std::span<const ImportEntry> lowbit_imports() { return kLowbitImports; }

void import_own_conv(OperatorImport& op) {
  check(op.num_inputs() == 5, "expected 5 inputs, found " + std::to_string(op.num_inputs()));
  const ConvFields fields = read_conv_options(std::as_bytes(elements(op.table().custom_options())));
  std::vector<ValueId> inputs(2, ir::kAbsent);
  if (fields.codes.weight_bits == 0) {
    inputs[1] = op.number(3);
  } else {
    const ir::Tensor& planes = constant_input(op, 3, ir::ElementType::kUint8);
    check_planes(fields.codes, planes.type());
    inputs[1] = encoded_weights(op, fields.codes, planes, fields.kernel);
  }
  inputs[0] = fields.codes.activation_bits == 0 ? op.number(0) : encoded_input(op, fields.codes);
  if (op.has_input(4)) inputs.push_back(op.number(4));
  op.emit(conv_of(fields), std::move(inputs));
}

void import_own_fake_quantize(OperatorImport& op) {
  check(op.num_inputs() == 1, "expected 1 input, found " + std::to_string(op.num_inputs()));
  const auto options = std::as_bytes(elements(op.table().custom_options()));
  op.emit(fake_quantize_of(read_fake_quantize_options(options)), {op.number(0)});
}

void import_own_gather(OperatorImport& op) {
  check(op.num_inputs() == 5, "expected 5 inputs, found " + std::to_string(op.num_inputs()));
  const LowBitFields fields =
      read_custom_options(std::as_bytes(elements(op.table().custom_options())));
  fields.check_table();
  const ir::Tensor& planes = constant_input(op, 3, ir::ElementType::kUint8);
  check_planes(fields, planes.type());
  const ValueId table = encoded_weights(op, fields, planes);
  op.emit(ir::Gather{0}, {table, op.raw(0)});
}

void import_own_recurrent(OperatorImport& op) {
  constexpr std::size_t kWeights = 3;
  constexpr std::size_t kMaxOperatorInputs = kWeights + ir::Recurrent::kMaxInputs - 1;
  check(op.num_inputs() <= kMaxOperatorInputs,
        "expected at most 9 inputs, found " + std::to_string(op.num_inputs()));
  const RecurrentFields fields =
      read_recurrent_options(std::as_bytes(elements(op.table().custom_options())));
  ir::Recurrent layer = recurrent_of(fields);
  if (fields.codes.activation_bits != 0) {
    layer.state_encoding = read_activation_scales(fields.codes, scales_input(op, 1));
  }
  std::vector<ValueId> inputs = {op.number(0), ir::kAbsent};
  if (fields.codes.weight_bits == 0) {
    inputs[1] = op.number(kWeights);
  } else {
    const ir::Tensor& planes = constant_input(op, kWeights, ir::ElementType::kUint8);
    check_planes(fields.codes, planes.type());
    inputs[1] = encoded_weights(op, fields.codes, planes);
  }
  for (std::size_t i = kWeights + 1; i < op.num_inputs(); ++i) {
    inputs.push_back(optional_input(op, i));
  }
  op.emit(std::move(layer), std::move(inputs));
}

}  // namespace halftone::formats::circle
