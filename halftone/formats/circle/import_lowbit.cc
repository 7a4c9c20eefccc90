// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "halftone/formats/circle/basis_rows.h"
#include "halftone/formats/circle/custom_options.h"
#include "halftone/formats/circle/importer.h"

namespace halftone::formats::circle {
namespace {

using ir::ValueId;
using numerics::BasisEncoding;
using numerics::Granularity;
using SharedEncoding = std::shared_ptr<const BasisEncoding>;

void check(bool holds, const std::string& message) {
  if (!holds) fail(ErrorKind::kFormat, message);
}

/// A constant input, which both operators here want for everything but x.
const ir::Tensor& constant_input(OperatorImport& op, std::size_t i, ir::ElementType element) {
  const ir::Constant* constant = op.graph().constant(op.raw(i));
  const auto* tensor = constant == nullptr ? nullptr : std::get_if<ir::Tensor>(constant);
  check(tensor != nullptr && tensor->element() == element, "input " + std::to_string(i) +
                                                               ": expected constant numbers of " +
                                                               std::string(to_string(element)));
  return *tensor;
}

/// An encoding whose bases are input `i`; kept so that equal ones in a file cost memory once.
SharedEncoding encoding_input(OperatorImport& op, std::size_t i, BasisEncoding encoding) {
  const ir::Tensor& numbers = constant_input(op, i, ir::ElementType::kFloat32);
  op.importer().charge(numbers.size() * sizeof(numerics::Basis));
  fill_bases(encoding, numbers.as<float>());
  return std::make_shared<const BasisEncoding>(std::move(encoding));
}

ValueId encoded_input(OperatorImport& op, const SharedEncoding& encoding) {
  return op.step(ir::Encode{encoding}, {op.number(0)}, "encode");
}

/// The weights [outputs, inputs] whose bit planes are input 3, rows of whole bytes.
ValueId encoded_weights(OperatorImport& op, SharedEncoding encoding, ir::Dim outputs,
                        std::size_t inputs, const ir::Tensor& planes) {
  const auto rows = static_cast<std::size_t>(outputs);
  encoding->check(rows, inputs);
  const std::size_t bit_rows = rows * static_cast<std::size_t>(encoding->bits);
  const std::size_t row_bytes = bit_rows == 0 ? 0 : planes.bytes().size() / bit_rows;
  op.importer().charge(planes.bytes().size() + bit_rows * sizeof(std::uint64_t));
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(planes.bytes().data()),
                        planes.bytes().size());
  ir::EncodedTensor weights;
  weights.shape = {outputs, static_cast<ir::Dim>(inputs)};
  weights.codes = numerics::BitPlanes(rows, inputs, encoding->bits);
  weights.codes.planes = bits_from_bytes(bytes, bit_rows, inputs, row_bytes);
  weights.encoding = std::move(encoding);
  return op.graph().add_constant(op.importer().file().tensor_name(op.input_tensor(3)),
                                 ir::Constant(std::move(weights)));
}

void emit_fully_connected(OperatorImport& op, ValueId x, ValueId weights,
                          schema::ActivationFunctionType activation) {
  std::vector<ValueId> inputs = {x, weights};
  if (op.has_input(4)) inputs.push_back(op.number(4));
  op.emit(ir::FullyConnected{fused_activation(activation)}, std::move(inputs));
}

/// A number of bits read off an extent. @throws Error kFormat unless it is 1 to 8
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
  BasisEncoding activations;
  activations.bits = bits_of(x_scales.shape()[0], "input_scales");
  BasisEncoding weights;
  weights.bits = bits_of(w_scales.shape()[1], "weights_scales");
  weights.granularity = Granularity::kChannel;
  const ValueId w =
      encoded_weights(op, encoding_input(op, 2, std::move(weights)), planes.shape()[0], n, planes);
  const ValueId x = encoded_input(op, encoding_input(op, 1, std::move(activations)));
  emit_fully_connected(op, x, w, options->fused_activation_function());
}

ValueId custom_weights(OperatorImport& op, const CustomOptions& options) {
  if (options.weight_bits == 0) return op.number(3);
  BasisEncoding encoding;
  encoding.bits = options.weight_bits;
  encoding.has_offset = options.weight_offset;
  encoding.granularity = options.granularity;
  encoding.group_size = options.group_size;
  const ir::Tensor& planes = constant_input(op, 3, ir::ElementType::kUint8);
  const ir::Shape& shape = planes.shape();
  const ir::Dim row_bytes = static_cast<ir::Dim>((options.inputs + 7) / 8);
  check(shape.rank() == 3 && shape[1] == options.weight_bits && shape[2] == row_bytes &&
            options.inputs > 0,
        "bit planes " + shape.to_string() + " do not fit " + std::to_string(options.weight_bits) +
            " bits of " + std::to_string(options.inputs) + " inputs");
  return encoded_weights(op, encoding_input(op, 2, std::move(encoding)), shape[0], options.inputs,
                         planes);
}

void import_custom(OperatorImport& op) {
  check(op.num_inputs() == 5, "expected 5 inputs, found " + std::to_string(op.num_inputs()));
  const CustomOptions options =
      read_custom_options(std::as_bytes(elements(op.table().custom_options())));
  const ValueId weights = custom_weights(op, options);
  ValueId x = op.number(0);
  if (options.activation_bits != 0) {
    BasisEncoding encoding;
    encoding.bits = options.activation_bits;
    encoding.has_offset = options.activation_offset;
    x = encoded_input(op, encoding_input(op, 1, std::move(encoding)));
  }
  emit_fully_connected(op, x, weights,
                       static_cast<schema::ActivationFunctionType>(options.activation));
}

constexpr ImportEntry kEntries[] = {
    {OperatorCode::kLqFullyConnected, import_lq_fully_connected},
    {OperatorCode::kCustom, import_custom},
};

}  // namespace

std::span<const ImportEntry> lowbit_imports() { return kEntries; }

}  // namespace halftone::formats::circle
