// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "halftone/formats/circle/check.h"
#include "halftone/formats/circle/constant_tensor.h"
#include "halftone/formats/circle/importer.h"
#include "halftone/formats/low_bit_layer.h"
#include "halftone/ir/ops/traits.h"

namespace halftone::formats::circle {
namespace {

std::map<OperatorCode, ImportFunction> all_imports() {
  std::map<OperatorCode, ImportFunction> table;
  for (const auto family :
       {batch_space_imports(), convolution_imports(), elementwise_imports(), extend_imports(),
        layout_imports(),      linear_imports(),      lowbit_imports(),      recurrent_imports(),
        reduce_imports(),      svdf_imports(),        variable_imports(),    while_imports(),
        control_imports(),     selection_imports(),   update_imports(),      function_imports(),
        fill_imports(),        scatter_imports(),     signal_imports(),      slice_imports()}) {
    for (const ImportEntry& entry : family) table.emplace(entry.code, entry.import);
  }
  return table;
}

}  // namespace

OperatorImport::OperatorImport(Importer& importer, std::size_t op)
    : importer_(importer),
      op_(op),
      code_(importer.file().code(op)),
      inputs_(importer.file().inputs(op)),
      outputs_(importer.file().outputs(op)) {
  const bool needs_none =
      code_ == OperatorCode::kCallOnce || code_ == OperatorCode::kAssignVariable;
  check(needs_none || !outputs_.empty(), "has no outputs");
}

bool OperatorImport::has_input(std::size_t i) const {
  return i < inputs_.size() && inputs_[i].has_value();
}

std::size_t OperatorImport::input_tensor(std::size_t i) const {
  check(has_input(i), "input " + std::to_string(i) + " is absent");
  return *inputs_[i];
}

std::size_t OperatorImport::output_tensor(std::size_t i) const {
  check(i < outputs_.size(), "output " + std::to_string(i) + " is absent");
  return outputs_[i];
}

bool OperatorImport::is_read(std::size_t output) const {
  const FileModel& file = importer_.file();
  const std::size_t tensor = output_tensor(output);
  if (std::ranges::count(file.graph_outputs(), tensor) > 0) return true;
  for (std::size_t other = 0; other < file.num_operators(); ++other) {
    if (std::ranges::count(file.inputs(other), std::optional(tensor)) > 0) return true;
  }
  return false;
}

std::string OperatorImport::output_name(std::size_t i) const {
  return importer_.file().tensor_name(output_tensor(i));
}

std::vector<ir::ValueId> OperatorImport::elements(std::size_t first, std::size_t count) {
  const FileModel& file = importer_.file();
  const auto system = [&file](std::size_t tensor) {
    return std::pair(file.tensor(tensor).type(), file.quantization(tensor));
  };
  const auto common = system(output_tensor(0));
  bool same = std::ranges::all_of(outputs_, [&](std::size_t t) { return system(t) == common; });
  // Parameters per channel would have to move with their axis.
  same = same && (!common.second || common.second->scales.size() == 1);
  for (std::size_t i = first; i < first + count; ++i) {
    same = same && system(input_tensor(i)) == common;
  }
  std::vector<ir::ValueId> values;
  for (std::size_t i = first; i < first + count; ++i) {
    values.push_back(same ? raw(i) : number(i));
  }
  return values;
}

ir::ValueId OperatorImport::numeric(std::size_t i) {
  const std::size_t tensor = input_tensor(i);
  if (importer_.file().quantization(tensor)) return number(i);
  const ir::ElementType element = graph().value(raw(i)).type.encoding.element;
  return element == ir::ElementType::kFloat32 ? number(i) : raw(i);
}

ir::ValueId OperatorImport::scalar(float value, const std::string& suffix) {
  return graph().add_constant(output_name(0) + "/" + suffix,
                              ir::Tensor::from<float>({}, std::span(&value, 1)));
}

ir::ValueId OperatorImport::transposed_number(std::size_t i,
                                              const std::vector<std::size_t>& permutation) {
  const std::size_t tensor = input_tensor(i);
  const ir::ValueId value = raw(i);
  const ir::Transpose transpose{permutation};
  const ir::Constant* constant = graph().constant(value);
  if (constant == nullptr) return step(transpose, {number(i)}, "transpose" + std::to_string(i));
  const ir::Tensor* numbers = &std::get<ir::Tensor>(*constant);
  check(numbers->shape().rank() == permutation.size(),
        "input " + std::to_string(i) + ": expected " + std::to_string(permutation.size()) +
            " axes, found " + numbers->shape().to_string());
  importer_.charge(numbers->bytes().size());
  const std::string name = importer_.file().tensor_name(tensor);
  const ir::ValueId turned =
      graph().add_constant(name, ir::evaluate_operator(transpose, {&numbers, 1}));
  if (graph().value(turned).type.is_dense(ir::ElementType::kFloat32)) return turned;
  auto parameters = importer_.file().quantization(tensor);
  if (!parameters || !is_quantized(importer_.file().tensor(tensor).type())) {
    fail(ErrorKind::kUnsupported, "tensor '" + name + "': expected float32 or quantized numbers");
  }
  importer_.charge(parameters->scales.size() * (sizeof(float) + sizeof(std::int32_t)));
  const auto axis = std::ranges::find(permutation, parameters->axis);
  if (axis != permutation.end()) {
    parameters->axis = static_cast<std::size_t>(axis - permutation.begin());
  }
  return graph().add_node(name + "/dequantize", ir::DequantizeLinear{std::move(*parameters)},
                          {turned});
}

void OperatorImport::refuse_input(std::size_t i, const std::string& expected) {
  const ir::ValueId id = raw(i);
  const std::string name = importer_.file().tensor_name(input_tensor(i));
  std::string found = "'" + name + "', which the network computes";
  if (graph().constant(id) != nullptr) found = graph().value(id).type.to_string();
  if (std::ranges::count(graph().inputs(), id) > 0) {
    found = "'" + name + "', which is an input of the network";
  }
  fail(ErrorKind::kUnsupported,
       "input " + std::to_string(i) + ": " + expected + ", found " + found);
}

std::vector<std::int64_t> OperatorImport::integers(std::size_t i) {
  if (importer_.counts_samples(raw(i))) importer_.refuse_count(graph().value(raw(i)).name);
  const ir::Constant* constant = graph().constant(raw(i));
  const auto* tensor = constant == nullptr ? nullptr : std::get_if<ir::Tensor>(constant);
  if (tensor == nullptr || (tensor->element() != ir::ElementType::kInt32 &&
                            tensor->element() != ir::ElementType::kInt64)) {
    refuse_input(i, "expected constant integers of 32 or 64 bits");
  }
  check(tensor->size() <= FileModel::kMaxOperands,
        "input " + std::to_string(i) + ": expected at most " +
            std::to_string(FileModel::kMaxOperands) + " integers, found " +
            std::to_string(tensor->size()));
  const ir::Tensor wide = tensor->cast(ir::ElementType::kInt64);
  return {wide.as<std::int64_t>().begin(), wide.as<std::int64_t>().end()};
}

Extents OperatorImport::extents(std::size_t i) {
  ir::ValueId list = raw(i);
  const ir::ValueType type = graph().value(list).type;
  const bool is_list =
      (type.is_dense(ir::ElementType::kInt32) || type.is_dense(ir::ElementType::kInt64)) &&
      type.shape.is_static() && type.shape.element_count() <= 2 * FileModel::kMaxAxes;
  if (!is_computed(i) || !is_list) {
    const std::vector<std::int64_t> numbers = integers(i);
    return {numbers.begin(), numbers.end()};
  }
  if (auto known = importer_.known_extents(list)) return *known;
  const std::size_t count = type.shape.element_count();
  if (type.shape.rank() > 1) {
    list = step(ir::Reshape{{static_cast<ir::Dim>(count)}}, {list}, "list" + std::to_string(i));
  }
  Extents extents;
  for (std::size_t k = 0; k < count; ++k) extents.push_back(importer_.extent(list, k));
  return extents;
}

ir::ValueId OperatorImport::step(ir::Operator op, std::vector<ir::ValueId> inputs,
                                 const std::string& suffix) {
  return folded(graph().add_node(output_name(0) + "/" + suffix, std::move(op), std::move(inputs)));
}

ir::ValueId OperatorImport::folded(ir::ValueId value) {
  const ir::ValueType type = graph().value(value).type;
  constexpr std::size_t kMaxFloats = 16;
  const bool is_float = type.encoding.element == ir::ElementType::kFloat32;
  if (!type.encoding.is_dense() || !type.shape.is_static() ||
      type.shape.element_count() > (is_float ? kMaxFloats : FileModel::kMaxOperands)) {
    return value;
  }
  const bool copies = ir::copies_elements(graph().node(*graph().producer(value)).op);
  if (is_float && copies && type.shape.element_count() > 1) return value;
  const ir::NodeId id = *graph().producer(value);
  const ir::Node& node = graph().node(id);
  if (auto extents = importer_.extents_of(node)) {
    if (const auto numbers = numbers_of(*extents)) {
      ir::Tensor tensor = ir::Tensor::from<std::int64_t>(type.shape, std::span(*numbers));
      return constant_instead(value, tensor.cast(type.encoding.element));
    }
    importer_.set_extents(value, std::move(*extents));
    return value;
  }
  std::vector<const ir::Tensor*> inputs;
  for (const ir::ValueId input : node.inputs) {
    const ir::Constant* constant = input == ir::kAbsent ? nullptr : graph().constant(input);
    const auto* tensor = constant == nullptr ? nullptr : std::get_if<ir::Tensor>(constant);
    if (tensor == nullptr || tensor->size() > FileModel::kMaxOperands) return value;
    inputs.push_back(tensor);
  }
  return constant_instead(value, ir::evaluate_operator(node.op, inputs));
}

ir::ValueId OperatorImport::constant_instead(ir::ValueId value, ir::Tensor tensor) {
  importer_.charge(tensor.bytes().size());
  graph().remove_node(*graph().producer(value));
  return graph().add_constant(graph().value(value).name, std::move(tensor));
}

void OperatorImport::emit_extents(const Extents& extents) {
  const auto type = importer_.file().tensor(output_tensor(0)).type();
  const bool is_wide = type == schema::TensorType::INT64;
  const auto element = is_wide ? ir::ElementType::kInt64 : ir::ElementType::kInt32;
  finish(importer_.add_extents(output_name(0), element, extents), 0);
}

void OperatorImport::emit(ir::Operator op, std::vector<ir::ValueId> inputs, std::size_t output) {
  const std::string name = output_name(output);
  const ir::ValueId value = folded(graph().add_node(name, std::move(op), std::move(inputs)));
  finish(value, output);
  if (importer_.raw(output_tensor(output)) != value) graph().rename(value, name + "/float");
}

void OperatorImport::finish(ir::ValueId value, std::size_t output) {
  const FileModel& file = importer_.file();
  const std::size_t tensor = output_tensor(output);
  const std::string name = output_name(output);
  const schema::TensorType type = file.tensor(tensor).type();
  const ir::ValueType computed = graph().value(value).type;
  const auto element = is_half(type) ? ir::ElementType::kFloat32 : element_type(type);
  if (element && computed.is_dense(*element)) return importer_.define(tensor, value);
  auto parameters = file.quantization(tensor);
  if (!is_quantized(type) || !parameters || !computed.is_dense(ir::ElementType::kFloat32)) {
    fail(ErrorKind::kUnsupported, "tensor '" + name + "': computed as " + computed.to_string() +
                                      ", stored as " + schema::EnumNameTensorType(type));
  }
  importer_.charge(parameters->scales.size() * (sizeof(float) + sizeof(std::int32_t)));
  ir::QuantizeLinear quantize{std::move(*parameters), *element, ir::CodeRounding::kHalfAway};
  importer_.define(tensor,
                   graph().add_node(name + "/quantize", std::move(quantize), {value}, name));
}

void OperatorImport::alias(ir::ValueId value, std::size_t output) {
  const std::size_t tensor = output_tensor(output);
  const auto element = element_type(importer_.file().tensor(tensor).type());
  const bool same = element && graph().value(value).type.is_dense(*element);
  const auto outputs = importer_.file().graph_outputs();
  if (same && std::ranges::count(outputs, tensor) > 0) {
    return emit(ir::Reshape{shape(value)}, {value}, output);  // keeps the name of the output
  }
  finish(value, output);
}

float OperatorImport::finite(float number, const char* what) {
  check(std::isfinite(number), std::string(what) + ": expected a finite number");
  return number;
}

ir::Shape OperatorImport::reshape_target(ir::ValueId input, std::span<const std::int64_t> request) {
  const ir::Shape& from = shape(input);
  const ir::Sizes& example = importer_.example();
  if (from.is_static() || example.empty()) return ir::resolve_reshape(from, request, false);
  if (std::ranges::count(request, -1) > 0) {
    try {
      return ir::resolve_reshape(from, request, false);  // the open extent is the batch
    } catch (const Error&) {
      // It is another one.
    }
  }
  for (const auto& [symbol, number] : example) {
    try {
      ir::Shape target = ir::resolve_reshape(importer_.with_example(from), request, false);
      if (target.rank() == 0 || target[0] != number) continue;
      target[0] = ir::dim_of(ir::Extent::symbol(symbol));
      return ir::resolve_extents(from, {target.dims().begin(), target.dims().end()}, false);
    } catch (const Error&) {
      // Not a reshape of the example; it may still be one of all sizes.
    }
  }
  ir::Shape target = ir::resolve_reshape(from, request, false);
  if (importer_.with_example(from).is_static() && target.is_static()) {
    fail(ErrorKind::kShape, "cannot reshape " + from.to_string() + " to " + target.to_string());
  }
  return target;
}

ir::Activation fused_activation(schema::ActivationFunctionType type) {
  return activation_of_code(static_cast<int>(type));
}

std::vector<std::string> readable_operators() {
  std::vector<std::string> names;
  for (const auto& [code, import] : all_imports()) names.push_back(name_of(code));
  return names;
}

ImportFunction find_import(OperatorCode code) {
  static const std::map<OperatorCode, ImportFunction> table = all_imports();
  const auto found = table.find(code);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace halftone::formats::circle
