// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/node_builder.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "halftone/base/error.h"
#include "halftone/ir/ops/traits.h"

namespace halftone::formats::onnx {
namespace {

using onnx_pb::AttributeProto;

constexpr ir::Dim kMaxExtent = ir::Dim{1} << 40;

/// Whether an operator is arithmetic that supports only float32.
bool is_arithmetic(const ir::Operator& op) {
  if (const auto* unary = std::get_if<ir::Unary>(&op)) {
    return !ir::traits_of(unary->activation.kind).takes_integers;
  }
  return ir::computes_sums(op) || std::holds_alternative<ir::QuantizeLinear>(op);
}

/// Whether an operator is cheap enough to evaluate during the import: it costs no more than reading
/// its input and writing its output. DequantizeLinear is not folded, so that the file's integers
/// are kept.
bool is_foldable(const ir::Operator& op) {
  const ir::Pattern pattern = ir::traits_of(op).pattern;
  return pattern == ir::Pattern::kMove || pattern == ir::Pattern::kElementwise ||
         pattern == ir::Pattern::kReduce || std::holds_alternative<ir::QuantizeLinear>(op) ||
         std::holds_alternative<ir::Normalize>(op);
}

/// Whether the input of an operator may be larger than its output.
bool costs_its_input(const ir::Operator& op) {
  return ir::traits_of(op).pattern == ir::Pattern::kReduce;
}

bool holds_field(const AttributeProto& attribute, AttributeProto::AttributeType type) {
  switch (type) {
    case AttributeProto::FLOAT:
      return attribute.has_f();
    case AttributeProto::INT:
      return attribute.has_i();
    case AttributeProto::STRING:
      return attribute.has_s();
    case AttributeProto::TENSOR:
      return attribute.has_t();
    case AttributeProto::FLOATS:
      return attribute.floats_size() > 0;
    case AttributeProto::INTS:
      return attribute.ints_size() > 0;
    case AttributeProto::STRINGS:
      return attribute.strings_size() > 0;
    case AttributeProto::GRAPH:
      return attribute.has_g();
    case AttributeProto::UNDEFINED:
    case AttributeProto::TENSORS:
    case AttributeProto::GRAPHS:
    case AttributeProto::SPARSE_TENSOR:
    case AttributeProto::SPARSE_TENSORS:
    case AttributeProto::TYPE_PROTO:
    case AttributeProto::TYPE_PROTOS:
      return false;
  }
  return false;
}

}  // namespace

bool ImportState::try_charge(std::size_t bytes) {
  if (bytes > budget_bytes) return false;
  budget_bytes -= bytes;
  return true;
}

void ImportState::charge(std::size_t bytes) {
  if (!try_charge(bytes)) {
    fail(ErrorKind::kUnsupported, "constants of " + std::to_string(bytes) +
                                      " bytes created during the import: expected at most " +
                                      std::to_string(budget_bytes) + " more");
  }
}

void ImportState::bind(const std::string& name, Binding binding) {
  if (name.empty()) fail(ErrorKind::kFormat, "a value without a name");
  if (!bindings.emplace(name, std::move(binding)).second) {
    fail(ErrorKind::kFormat, "value '" + name + "' is defined twice");
  }
  if (scope != nullptr) scope->push_back(name);
}

Binding ImportState::add_constant(const std::string& name, const onnx_pb::TensorProto& proto) {
  if (!float_system(proto.data_type()).empty()) {
    return FloatCodes{proto.data_type(),
                      std::make_shared<const ir::Tensor>(decode_float_codes(proto, external))};
  }
  // Matrices and kernels stay as they are; others are small, and builders ask for their numbers.
  const bool is_weight = proto.dims_size() >= 2;
  ir::Tensor tensor = decode_tensor(proto, external, is_weight ? Halves::kKeep : Halves::kWiden);
  check_extents(tensor.shape());
  const ir::ElementType element = tensor.element();
  const ir::ValueId id = graph.add_constant(name, std::move(tensor));
  if (is_half(element)) {
    return graph.add_node(name, ir::Cast{ir::ElementType::kFloat32}, {id});
  }
  if (element != ir::ElementType::kFloat32 && data_type_of(element) != proto.data_type()) {
    widened.emplace(id, proto.data_type());
  }
  return id;
}

ir::ValueId ImportState::add_numbers(const QuantizedWeight& weight) {
  charge(weight.size() * sizeof(float));
  auto affine = affine_integers(weight);
  if (!affine) return graph.add_constant(weight.name, decode(weight));
  const ir::ValueId codes = graph.add_constant(weight.name, std::move(affine->integers));
  return graph.add_node(weight.name, ir::DequantizeLinear{std::move(affine->parameters)}, {codes});
}

ir::ValueId ImportState::add_numbers(const RoundedFloat& rounded) {
  const ir::Value value = graph.value(rounded.x);
  const ir::Shape& shape = value.type.shape;
  const std::string name = value.name + "/rounded";
  // Channels last, each with a kernel of one tap.
  const bool has_channels = shape.rank() >= 2 && !ir::is_open(shape.back());
  const ir::Dim channels = has_channels ? shape.back() : 1;
  ir::Shape image = shape;
  if (!has_channels) image = {product_of(shape.dims()), 1, 1};
  if (has_channels && shape.rank() == 2) image = {shape[0], 1, channels};
  const auto reshaped = [&](ir::ValueId id, const ir::Shape& wanted) {
    const bool same = graph.value(id).type.shape == wanted;
    return same ? id : graph.add_node(name, ir::Reshape{wanted}, {id});
  };
  auto encoding = std::make_shared<numerics::MatrixEncoding>(*rounded.encoding);
  ir::ValueId x = rounded.x;
  if (rounded.is_codes() && rounded.scale() != 1) {
    const float one = 1;
    const float scale = rounded.scale();
    const auto divisor =
        graph.add_constant(name + "/scale", ir::Tensor::from<float>({}, std::span(&scale, 1)));
    x = graph.add_node(name + "/ratio", ir::Binary{ir::BinaryKind::kDiv, {}}, {x, divisor});
    encoding->scales = numerics::StoredNumbers::of(std::span(&one, 1));
  }
  const std::size_t num_spatial = image.rank() - 2;
  std::vector<ir::Dim> dims(num_spatial + 2, 1);
  dims[0] = channels;
  charge(static_cast<std::size_t>(channels) * sizeof(float));
  ir::Tensor ones(ir::ElementType::kFloat32, ir::Shape(std::move(dims)));
  std::ranges::fill(ones.as<float>(), 1.0F);
  ir::Conv op{ir::plain_window(num_spatial), channels, {}};
  op.arithmetic = ir::Arithmetic::kFloat;
  const ir::ValueId codes =
      graph.add_node(name + "/encode", ir::Encode{std::move(encoding)}, {reshaped(x, image)});
  x = graph.add_node(name, std::move(op), {codes, graph.add_constant(name, std::move(ones))});
  return reshaped(x, shape);
}

bool ImportState::reads_halves(ir::ValueId id) const {
  const auto producer = graph.producer(id);
  return producer && std::holds_alternative<ir::Cast>(graph.node(*producer).op) &&
         is_half(graph.value(graph.node(*producer).inputs[0]).type.encoding.element);
}

const ir::Tensor* ImportState::tensor(ir::ValueId id) {
  if (const ir::Constant* held = graph.constant(id)) return std::get_if<ir::Tensor>(held);
  if (!reads_halves(id)) return nullptr;
  const ir::ValueId stored = graph.node(*graph.producer(id)).inputs[0];
  const auto& halves = std::get<ir::Tensor>(*graph.constant(stored));
  const auto [known, is_new] = wide_copies.try_emplace(id);
  if (is_new) {
    charge(halves.size() * sizeof(float));
    known->second = halves.cast(ir::ElementType::kFloat32);
  }
  return &known->second;
}

ir::ValueId ImportState::value(const std::string& name) {
  const auto found = bindings.find(name);
  if (found == bindings.end()) {
    fail(ErrorKind::kFormat,
         "reads '" + name +
             "', which nothing before it defines: a missing value, a cycle, or nodes out of order");
  }
  return value(name, found->second);
}

ir::ValueId ImportState::value(const std::string& name, Binding& binding) {
  if (const auto* unavailable = std::get_if<Unavailable>(&binding)) {
    fail(ErrorKind::kUnsupported, "reads '" + name + "': " + unavailable->reason);
  }
  if (std::holds_alternative<Sequence>(binding)) {
    fail(ErrorKind::kUnsupported, "reads '" + name + "': expected a tensor, found a sequence");
  }
  if (const auto* codes = std::get_if<FloatCodes>(&binding)) {
    const std::int32_t data_type = codes->data_type;
    charge(codes->codes->size() * sizeof(float));
    const ir::ValueId id = graph.add_constant(name, numbers_of_codes(*codes->codes, data_type));
    widened.emplace(id, data_type);
    binding = id;
  }
  if (const auto* rounded = std::get_if<RoundedFloat>(&binding)) {
    const RoundedFloat value = *rounded;
    const ir::ValueId id = add_numbers(value);
    if (value.is_codes()) widened.emplace(id, value.data_type);
    binding = id;
  }
  if (const auto* weight = std::get_if<std::shared_ptr<const QuantizedWeight>>(&binding)) {
    binding = add_numbers(**weight);
  }
  if (const auto* integers = std::get_if<Integers>(&binding)) {
    const Integers held = *integers;
    if (!held.numbers()) return open_value(name, held);  // arithmetic goes on with expressions
    binding = add_integers(name, held);
  }
  return std::get<ir::ValueId>(binding);
}

ir::ValueId ImportState::open_value(const std::string& name, const Integers& integers) {
  std::string key = std::string(to_string(integers.element)) + (integers.is_scalar ? "" : "[]");
  key += std::to_string(integers.columns);
  for (const Extent& extent : integers.values) key += "," + extent.text();
  const auto found = open_values.find(key);
  if (found != open_values.end()) return found->second;
  return open_values[key] = add_integers(name, integers);
}

void check_extents(const ir::Shape& shape) {
  for (const ir::Dim dim : shape.dims()) {
    if (dim > kMaxExtent) {
      fail(ErrorKind::kShape, "shape " + shape.to_string() + ": expected extents up to 2^40");
    }
  }
  ir::check_bounds(shape);
}

std::string name_of(const onnx_pb::NodeProto& proto) {
  if (!proto.name().empty() || proto.output_size() == 0) return proto.name();
  return proto.output(0);
}

std::string describe(const onnx_pb::NodeProto& proto) {
  return "node '" + name_of(proto) + "' (" + proto.op_type() + ")";
}

NodeBuilder::NodeBuilder(ImportState& state, const onnx_pb::NodeProto& proto)
    : state_(state), proto_(proto), first_value_(state.graph.num_values()) {
  const auto found = state.opsets.find(proto.domain() == "ai.onnx" ? "" : proto.domain());
  if (found != state.opsets.end()) opset_ = found->second;
}

bool NodeBuilder::is_standard() const {
  return proto_.domain().empty() || proto_.domain() == "ai.onnx";
}

std::size_t NodeBuilder::num_inputs() const {
  return static_cast<std::size_t>(proto_.input_size());
}

std::size_t NodeBuilder::num_outputs() const {
  return static_cast<std::size_t>(proto_.output_size());
}

bool NodeBuilder::has_input(std::size_t i) const {
  return i < num_inputs() && !proto_.input(static_cast<int>(i)).empty();
}

bool NodeBuilder::has_output(std::size_t i) const {
  return i < num_outputs() && !proto_.output(static_cast<int>(i)).empty();
}

std::string NodeBuilder::output_name() const {
  return has_output(0) ? proto_.output(0) : onnx::name_of(proto_);
}

const std::string& NodeBuilder::input_name(std::size_t i) const {
  if (!has_input(i)) fail(ErrorKind::kFormat, "input " + std::to_string(i) + " is missing");
  return proto_.input(static_cast<int>(i));
}

ir::ValueId NodeBuilder::input(std::size_t i) { return state_.value(input_name(i)); }

std::vector<ir::ValueId> NodeBuilder::inputs() {
  std::vector<ir::ValueId> result;
  for (std::size_t i = 0; i < num_inputs(); ++i) result.push_back(input(i));
  return result;
}

const ir::ValueType& NodeBuilder::type(ir::ValueId id) const { return state_.graph.value(id).type; }

std::int32_t NodeBuilder::data_type(std::size_t i) {
  if (const auto* codes = input_as<FloatCodes>(i)) return codes->data_type;
  if (const auto* rounded = input_as<RoundedFloat>(i)) return rounded->data_type;
  const ir::ValueId id = input(i);
  const auto found = state_.widened.find(id);
  return found != state_.widened.end() ? found->second : data_type_of(type(id).encoding.element);
}

const ir::Tensor* NodeBuilder::constant(ir::ValueId id) const { return state_.tensor(id); }

void NodeBuilder::refuse_input(std::size_t i, const std::string& expected) {
  std::string text = "input " + std::to_string(i) + ": " + expected;
  if (!has_input(i)) unsupported(text);
  const std::string& name = input_name(i);
  text += ", found '" + name + "', which ";
  const auto* integers = input_as<Integers>(i);
  const bool is_open = integers != nullptr && !integers->numbers();
  if (is_open) unsupported(text + "follows from open extents");
  const auto* id = input_as<ir::ValueId>(i);
  const bool is_given = id != nullptr && std::ranges::count(state_.graph.inputs(), *id) > 0;
  unsupported(text + (is_given ? "is an input of the network" : "the network computes"));
}

const ir::Tensor& NodeBuilder::constant_input(std::size_t i) {
  const ir::Tensor* tensor = constant(input(i));
  if (tensor == nullptr) refuse_input(i, "expected a constant");
  return *tensor;
}

std::vector<float> NodeBuilder::float_input(std::size_t i) {
  const ir::Tensor wide = constant_input(i).cast(ir::ElementType::kFloat32);
  return {wide.as<float>().begin(), wide.as<float>().end()};
}

float NodeBuilder::scalar_input(std::size_t i) {
  const std::vector<float> values = float_input(i);
  if (values.size() != 1) {
    fail(ErrorKind::kShape, "input " + std::to_string(i) + ": expected one number, found " +
                                std::to_string(values.size()));
  }
  return values[0];
}

std::optional<Integers> NodeBuilder::integers(std::size_t i) {
  if (!has_input(i)) return std::nullopt;
  const auto found = state_.bindings.find(proto_.input(static_cast<int>(i)));
  if (found == state_.bindings.end()) return std::nullopt;
  if (const auto* known = std::get_if<Integers>(&found->second)) {
    return known->is_plain() ? std::optional(*known) : std::nullopt;
  }
  const auto* id = std::get_if<ir::ValueId>(&found->second);
  const ir::Tensor* tensor = id == nullptr ? nullptr : constant(*id);
  return tensor == nullptr ? std::nullopt : integers_of(*tensor);
}

std::vector<std::int64_t> NodeBuilder::numbers_input(std::size_t i) {
  const auto known = integers(i);
  const auto numbers = known ? known->numbers() : std::nullopt;
  if (!numbers) {
    refuse_input(i, "expected integers known during the import");
  }
  return *numbers;
}

const AttributeProto* NodeBuilder::find(const std::string& name,
                                        AttributeProto::AttributeType type) const {
  const auto found = std::ranges::find(proto_.attribute(), name, &AttributeProto::name);
  if (found == proto_.attribute().end()) return nullptr;
  // Proto3 writers omit fields that are zero; old writers omit the type.
  if (found->type() != type && !holds_field(*found, type)) {
    fail(ErrorKind::kFormat, "attribute '" + name + "': expected type " +
                                 std::to_string(static_cast<int>(type)) + ", found type " +
                                 std::to_string(static_cast<int>(found->type())));
  }
  return &*found;
}

bool NodeBuilder::has_attribute(const std::string& name) const {
  return std::ranges::find(proto_.attribute(), name, &AttributeProto::name) !=
         proto_.attribute().end();
}

float NodeBuilder::float_attribute(const std::string& name, float otherwise) const {
  const AttributeProto* attribute = find(name, AttributeProto::FLOAT);
  if (attribute == nullptr) return otherwise;
  if (std::isnan(attribute->f())) {
    fail(ErrorKind::kFormat, "attribute '" + name + "': expected a number, found NaN");
  }
  return attribute->f();
}

std::int64_t NodeBuilder::int_attribute(const std::string& name, std::int64_t otherwise) const {
  const AttributeProto* attribute = find(name, AttributeProto::INT);
  return attribute == nullptr ? otherwise : attribute->i();
}

std::string NodeBuilder::string_attribute(const std::string& name,
                                          const std::string& otherwise) const {
  const AttributeProto* attribute = find(name, AttributeProto::STRING);
  return attribute == nullptr ? otherwise : attribute->s();
}

std::string NodeBuilder::choice_attribute(const std::string& name, const std::string& otherwise,
                                          std::initializer_list<std::string_view> choices) const {
  std::string found = string_attribute(name, otherwise);
  if (std::ranges::count(choices, found) > 0) return found;
  std::string list;
  for (const auto* choice = choices.begin(); choice != choices.end(); ++choice) {
    const bool is_last = choice + 1 == choices.end();
    list.append(choice == choices.begin() ? "" : is_last ? " or " : ", ").append(*choice);
  }
  fail(ErrorKind::kFormat, name + ": expected " + list + ", found '" + found + "'");
}

std::optional<std::vector<std::int64_t>> NodeBuilder::ints_attribute(
    const std::string& name) const {
  const AttributeProto* attribute = find(name, AttributeProto::INTS);
  if (attribute == nullptr) return std::nullopt;
  return std::vector<std::int64_t>(attribute->ints().begin(), attribute->ints().end());
}

std::optional<std::vector<float>> NodeBuilder::floats_attribute(const std::string& name) const {
  const AttributeProto* attribute = find(name, AttributeProto::FLOATS);
  if (attribute == nullptr) return std::nullopt;
  return std::vector<float>(attribute->floats().begin(), attribute->floats().end());
}

std::optional<std::vector<std::string>> NodeBuilder::strings_attribute(
    const std::string& name) const {
  const AttributeProto* attribute = find(name, AttributeProto::STRINGS);
  if (attribute == nullptr) return std::nullopt;
  return std::vector<std::string>(attribute->strings().begin(), attribute->strings().end());
}

const onnx_pb::TensorProto* NodeBuilder::proto_attribute(const std::string& name) const {
  const AttributeProto* attribute = find(name, AttributeProto::TENSOR);
  return attribute == nullptr ? nullptr : &attribute->t();
}

const onnx_pb::GraphProto* NodeBuilder::graph_attribute(const std::string& name) const {
  const AttributeProto* attribute = find(name, AttributeProto::GRAPH);
  return attribute == nullptr ? nullptr : &attribute->g();
}

std::optional<ir::Tensor> NodeBuilder::tensor_attribute(const std::string& name) const {
  const onnx_pb::TensorProto* proto = proto_attribute(name);
  if (proto == nullptr) return std::nullopt;
  return decode_tensor(*proto, state_.external);
}

ir::ValueId NodeBuilder::emit(ir::Operator op, std::vector<ir::ValueId> inputs,
                              const std::string& role) {
  std::vector<const ir::ValueType*> types;
  const bool integers = inputs.size() > 1 && inputs[1] != ir::kAbsent &&
                        ir::are_integers(type(inputs[0]), type(inputs[1]));
  const bool compares_codes = ir::traits_of(op).selects && ir::are_codes(type(inputs[0]));
  const bool needs_float =
      is_arithmetic(op) && !compares_codes && !(integers && ir::zero_points(op) != nullptr);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    types.push_back(inputs[i] == ir::kAbsent ? nullptr : &type(inputs[i]));
    const bool is_number = types[i] != nullptr && ir::input_role(op, i) != ir::InputRole::kIndices;
    if (needs_float && is_number && types[i]->encoding.element != ir::ElementType::kFloat32) {
      unsupported("computes on " + types[i]->to_string() + ", expected float32");
    }
  }
  const ir::ValueType result = ir::infer_output(op, types);
  check_extents(result.shape);
  const auto narrow = ir::traits_of(op).pattern == ir::Pattern::kMove
                          ? state_.widened.find(inputs[0])
                          : state_.widened.end();
  const bool is_narrow = narrow != state_.widened.end();
  const auto typed = [&](ir::ValueId id) {
    if (is_narrow) state_.widened.emplace(id, narrow->second);
    return id;
  };
  if (auto folded = fold(op, inputs, result)) {
    return typed(state_.graph.add_constant(state_.graph.value(inputs[0]).name, std::move(*folded)));
  }
  if (std::holds_alternative<ir::Transpose>(op)) {
    if (const auto moved = transposed_storage(op, inputs[0])) return *moved;
  }
  return typed(state_.graph.add_node(next_name(role), std::move(op), std::move(inputs)));
}

std::optional<ir::Tensor> NodeBuilder::fold(const ir::Operator& op,
                                            const std::vector<ir::ValueId>& inputs,
                                            const ir::ValueType& result) {
  if (!is_foldable(op) || !result.shape.is_static()) return std::nullopt;
  std::vector<const ir::Tensor*> tensors;
  for (const ir::ValueId id : inputs) {
    const ir::Constant* held = id == ir::kAbsent ? nullptr : state_.graph.constant(id);
    tensors.push_back(held == nullptr ? nullptr : std::get_if<ir::Tensor>(held));
    if (id != ir::kAbsent && tensors.back() == nullptr) return std::nullopt;
  }
  std::size_t bytes = result.shape.element_count() * ir::size_bytes(result.encoding.element);
  if (costs_its_input(op)) bytes += tensors[0]->bytes().size();
  if (!state_.try_charge(bytes)) return std::nullopt;
  return ir::evaluate_operator(op, tensors);
}

std::optional<ir::ValueId> NodeBuilder::transposed_storage(const ir::Operator& op, ir::ValueId id) {
  if (!state_.reads_halves(id)) return std::nullopt;
  ir::Graph& graph = state_.graph;
  const ir::ValueId stored = graph.node(*graph.producer(id)).inputs[0];
  const ir::ValueType& type = graph.value(stored).type;
  const std::array types = {&type};
  auto moved = fold(op, {stored}, ir::infer_output(op, types));
  if (!moved) return std::nullopt;
  const std::string name = graph.value(stored).name;
  return graph.add_node(name, ir::Cast{ir::ElementType::kFloat32},
                        {graph.add_constant(name, std::move(*moved))});
}

std::string NodeBuilder::next_name(const std::string& role) {
  const std::string name = onnx::name_of(proto_);
  if (!role.empty()) return name + "/" + role;
  const std::size_t number = num_emitted_++;
  return number == 0 ? name : name + "/" + std::to_string(number);
}

ir::Tensor NodeBuilder::allocate(ir::ElementType element, const ir::Shape& shape) {
  check_extents(shape);
  state_.charge(shape.element_count() * ir::size_bytes(element));
  return {element, shape};
}

ir::ValueId NodeBuilder::add_constant(ir::Tensor tensor) {
  return state_.graph.add_constant(onnx::name_of(proto_), std::move(tensor));
}

ir::ValueId NodeBuilder::add_scalar(float value) {
  return add_constant(ir::Tensor::from<float>({}, std::span(&value, 1)));
}

ir::ValueId NodeBuilder::add_scalar(double value, ir::ElementType element) {
  // Integers beyond 2^24 are not exact in float32, so they are converted from int64.
  if (element == ir::ElementType::kFloat32) return add_scalar(static_cast<float>(value));
  const auto whole = static_cast<std::int64_t>(value);
  return add_constant(ir::Tensor::from<std::int64_t>({}, std::span(&whole, 1)).cast(element));
}

ir::ValueId NodeBuilder::reshape(ir::ValueId id, const ir::Shape& shape) {
  return type(id).shape == shape ? id : emit(ir::Reshape{shape}, {id});
}

ir::ValueId NodeBuilder::as_float(ir::ValueId id) {
  return type(id).encoding.element == ir::ElementType::kFloat32
             ? id
             : emit(ir::Cast{ir::ElementType::kFloat32}, {id});
}

void NodeBuilder::set_output(std::size_t i, ir::ValueId id) {
  if (!has_output(i)) return;
  const std::string& name = proto_.output(static_cast<int>(i));
  if (static_cast<std::size_t>(id) >= first_value_) state_.graph.rename(id, name);
  state_.bind(name, id);
}

void NodeBuilder::set_output(std::size_t i, ir::ValueId id, std::int32_t data_type) {
  set_output(i, id);
  const ir::ElementType element = type(id).encoding.element;
  if (data_type_of(element) != data_type) state_.widened.emplace(id, data_type);
}

void NodeBuilder::set_output(Integers integers) {
  state_.charge(integers.values.size() * sizeof(Extent));
  if (num_outputs() > 0) state_.bind(proto_.output(0), std::move(integers));
}

void NodeBuilder::bind_output(std::size_t i, Binding binding) {
  if (has_output(i)) state_.bind(proto_.output(static_cast<int>(i)), std::move(binding));
}

void NodeBuilder::unsupported(const std::string& what) { fail(ErrorKind::kUnsupported, what); }

}  // namespace halftone::formats::onnx
