// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/circle/importer.h"

#include <algorithm>
#include <utility>

#include "halftone/formats/circle/check.h"
#include "halftone/formats/circle/constant_tensor.h"
#include "halftone/formats/circle/custom_options.h"
#include "halftone/formats/circle/sparse_tensor.h"
#include "halftone/ir/stages.h"

namespace halftone::formats::circle {
namespace {

std::string label(const FileModel& file, std::size_t op) {
  const OperatorCode code = file.code(op);
  std::string name = name_of(code);
  if (code == OperatorCode::kCustom) name += " '" + file.custom_name(op) + "'";
  if (code == OperatorCode::kBcqFullyConnected || code == OperatorCode::kBcqGather) {
    name += " (weight-only binary coding whose cluster order is not public)";
  }
  return name;
}

ImportFunction importer_of(const FileModel& file, std::size_t op) {
  const OperatorCode code = file.code(op);
  if (code != OperatorCode::kCustom) return find_import(code);
  const std::string name = file.custom_name(op);
  if (name == kCustomRecurrentName) return import_own_recurrent;
  if (name == kCustomConvName) return import_own_conv;
  if (name == kCustomGatherName) return import_own_gather;
  if (name == kCustomFakeQuantizeName) return import_own_fake_quantize;
  if (name == kDetectionName) return import_detections;
  if (const ImportFunction found = find_media_pipe_import(name)) return found;
  return name == kCustomName ? find_import(code) : nullptr;
}

}  // namespace

std::string symbol_of(const std::string& input, std::size_t axis) {
  constexpr std::string_view kSignature = "serving_default_";
  std::string name = input;
  if (name.starts_with(kSignature)) name.erase(0, kSignature.size());
  if (name.ends_with(":0")) name.resize(name.size() - 2);
  return name + "_" + std::to_string(axis);
}

Importer::Importer(const FileModel& file, const ImportOptions& options, std::set<std::string>* used)
    : file_(file),
      options_(options),
      used_(used),
      dilated_(find_dilated(file)),
      lists_(find_list_writes(file)),
      states_(file.num_tensors(), State::kUnknown),
      values_(file.num_tensors(), ir::kAbsent),
      numbers_(file.num_tensors(), ir::kAbsent) {}

ir::Graph Importer::run(OpenExtents open) {
  add_inputs(open);
  import_all();
  return take_graph();
}

ir::Graph Importer::run_with(const std::map<std::size_t, ir::Tensor>& constants,
                             std::map<std::size_t, ir::Shape> shapes) {
  shapes_ = std::move(shapes);
  for (const auto& [tensor, value] : constants) {
    define(tensor, graph_.add_constant(file_.tensor_name(tensor), value.clone()));
  }
  add_inputs(OpenExtents::kNumbers);
  import_all();
  return take_graph();
}

ir::Graph Importer::run_subgraph(std::size_t index,
                                 const std::map<std::size_t, ir::Tensor>& constants,
                                 const std::vector<ir::Shape>& shapes) {
  constexpr int kMaxDepth = 32;
  // Subgraphs that name each other twice would expand to very many nodes.
  constexpr std::size_t kMaxNested = std::size_t{1} << 14;
  if (depth_ == kMaxDepth) {
    fail(ErrorKind::kUnsupported,
         "nested subgraphs: expected at most " + std::to_string(kMaxDepth) + " levels");
  }
  const FileModel file = file_.subgraph(index);
  ImportOptions options;
  options.max_iterations = options_.max_iterations;
  Importer nested(file, options, nullptr);
  nested.depth_ = depth_ + 1;
  nested.charged_bytes_ = charged_bytes_;
  nested.nested_operators_ = nested_operators_ + file.num_operators();
  if (nested.nested_operators_ > kMaxNested) {
    fail(ErrorKind::kUnsupported, "subgraphs that name each other: expected at most " +
                                      std::to_string(kMaxNested) + " operators in all uses");
  }
  const std::vector<std::size_t> inputs = file.graph_inputs();
  check(inputs.size() == shapes.size(), "a subgraph has other inputs");
  std::map<std::size_t, ir::Shape> shape_of;
  for (std::size_t i = 0; i < inputs.size(); ++i) shape_of[inputs[i]] = shapes[i];
  nested.example_ = example_;
  std::map<std::size_t, ir::Tensor> by_tensor;
  for (const auto& [input, value] : constants) by_tensor[inputs.at(input)] = value.clone();
  ir::Graph graph = run_nested(nested, by_tensor, std::move(shape_of));
  ir::require_no_definitions(graph, "subgraphs");
  charged_bytes_ = nested.charged_bytes_;
  nested_operators_ = nested.nested_operators_;
  return graph;
}

ir::Graph Importer::run_nested(Importer& nested, const std::map<std::size_t, ir::Tensor>& constants,
                               std::map<std::size_t, ir::Shape> shapes) {
  try {
    return nested.run_with(constants, std::move(shapes));
  } catch (const Error&) {
    counts_samples_ = counts_samples_ || nested.counts_samples_;
    throw;
  }
}

void Importer::import_all() {
  claim_outputs();
  for (std::size_t op = 0; op < file_.num_operators(); ++op) import_operator(op);
  if (!unsupported_.empty() || !refusals_.empty()) fail_unsupported();
}

void Importer::refuse_count(const std::string& name) {
  counts_samples_ = true;
  fail(ErrorKind::kShape, "the network computes with the number of samples, '" + name + "'");
}

void Importer::check_counts() {
  for (const ir::ValueId count : sample_counts_) {
    if (graph_.producer(count)) refuse_count(graph_.value(count).name);
  }
}

ir::Graph Importer::take_graph() {
  for (const std::size_t tensor : file_.graph_outputs()) graph_.add_output(raw(tensor));
  tie_variables();
  // Lists of extents that only shapes follow from; and codes and bases of low-bit layers, which
  // were tensors of the file.
  graph_.remove_unused_nodes();
  check_counts();
  return std::move(graph_);
}

void Importer::add_inputs(OpenExtents open) {
  std::set<std::string> names;
  for (const std::size_t tensor : file_.graph_inputs()) {
    const std::string name = file_.tensor_name(tensor);
    if (states_[tensor] == State::kDefined && graph_.constant(values_[tensor]) != nullptr) continue;
    check(states_[tensor] == State::kUnknown, "input '" + name + "' appears twice");
    names.insert(name);
    const auto type = file_.tensor(tensor).type();
    const auto element = element_type(type);
    if (!element) {
      refusals_.push_back("input '" + name + "': elements of type " +
                          schema::EnumNameTensorType(type));
      states_[tensor] = State::kUnavailable;
      continue;
    }
    with_context("input '" + name + "'",
                 [&] { define(tensor, add_input(tensor, *element, input_shape(tensor, open))); });
  }
  check_names(options_, names, used_);
}

ir::Shape Importer::input_shape(std::size_t tensor, OpenExtents open) {
  if (const auto known = shapes_.find(tensor); known != shapes_.end()) return known->second;
  const std::string name = file_.tensor_name(tensor);
  const ir::Shape stored = file_.shape(tensor);
  const ir::Shape* given = given_shape(options_, name, stored.rank());
  ir::Shape shape = given == nullptr ? stored : *given;
  std::optional<std::size_t> axis;
  if (given == nullptr) {
    axis = file_.batch_axis(tensor);
  } else {
    const auto found = std::ranges::find(given->dims(), ir::kBatch) - given->dims().begin();
    if (found < std::ssize(given->dims())) axis = static_cast<std::size_t>(found);
  }
  if (!axis) return shape;
  shape[*axis] = stored[*axis];
  if (open == OpenExtents::kNumbers) return shape;
  const bool is_batch = open == OpenExtents::kBatch || given != nullptr;
  const std::string symbol = is_batch ? ir::kBatchSymbol : symbol_of(name, *axis);
  const auto [known, is_new] = example_.emplace(symbol, shape[*axis]);
  check(is_new || known->second == shape[*axis],
        "expected the batch extent of the inputs before, found another");
  shape[*axis] = ir::dim_of(ir::Extent::symbol(symbol));
  return shape;
}

ir::Shape Importer::with_example(const ir::Shape& shape) const {
  std::vector<ir::Dim> dims;
  for (const ir::Dim dim : shape.dims())
    dims.push_back(ir::dim_of(ir::extent_of(dim).with(example_)));
  return ir::Shape(std::move(dims));
}

ir::ValueId Importer::add_input(std::size_t tensor, ir::ElementType element,
                                const ir::Shape& shape) {
  const std::string name = file_.tensor_name(tensor);
  const auto fixed = options_.constants.find(name);
  if (fixed == options_.constants.end()) {
    return graph_.add_input(name, ir::dense_type(element, shape));
  }
  ir::Tensor value = exactly(fixed->second, element);
  if (value.shape().rank() == 0) {
    if (shape.is_static()) charge(shape.element_count() * ir::size_bytes(element));
    return add_filled(graph_, name, value, shape);
  }
  if (shape.is_static() && value.shape() != shape) {
    fail(ErrorKind::kShape,
         "the constant " + value.type().to_string() + " does not fit " + shape.to_string());
  }
  return graph_.add_constant(name, std::move(value));
}

void Importer::claim_outputs() {
  for (std::size_t op = 0; op < file_.num_operators(); ++op) {
    for (const std::size_t tensor : file_.outputs(op)) {
      check(states_[tensor] == State::kUnknown && file_.data(tensor).empty(),
            "tensor '" + file_.tensor_name(tensor) + "' is defined twice");
      states_[tensor] = State::kAwaited;
    }
  }
}

void Importer::import_operator(std::size_t op) {
  if (dilated_.parts.contains(op) || lists_.parts.contains(op)) return;
  const ImportFunction import = importer_of(file_, op);
  const auto give_up = [&] {
    for (const std::size_t tensor : file_.outputs(op)) states_[tensor] = State::kUnavailable;
  };
  if (import == nullptr) {
    ++unsupported_[label(file_, op)];
    return give_up();
  }
  try {
    with_context("operator " + std::to_string(op) + " (" + name_of(file_.code(op)) + ")", [&] {
      OperatorImport site(*this, op);
      const auto dilated = dilated_.layers.find(op);
      const auto write = lists_.writes.find(op);
      if (dilated != dilated_.layers.end()) {
        import_dilated(site, dilated->second);
      } else if (write != lists_.writes.end()) {
        import_list_write(site, write->second);
      } else {
        import(site);
      }
      for (const std::size_t tensor : file_.outputs(op)) {
        check(states_[tensor] == State::kDefined, "has more outputs than the operator computes");
      }
    });
  } catch (const Unavailable&) {
    give_up();  // the unsupported operator is already reported
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUnsupported) throw;
    refusals_.emplace_back(error.what());
    give_up();
  }
}

void Importer::fail_unsupported() const {
  std::string names;
  for (const auto& [name, count] : unsupported_) {
    names += (names.empty() ? "" : ", ") + name +
             (count == 1 ? "" : ", " + std::to_string(count) + " times");
  }
  std::string text = names.empty() ? "" : "unsupported operators: " + names;
  if (!names.empty() && !refusals_.empty()) text += "; ";
  fail(ErrorKind::kUnsupported, text + listing(refusals_));
}

ir::ValueId Importer::raw(std::size_t tensor) {
  switch (states_[tensor]) {
    case State::kDefined:
      if (handles_.contains(tensor)) {
        fail(ErrorKind::kUnsupported,
             "tensor '" + file_.tensor_name(tensor) + "': a handle of a variable is no number");
      }
      if (file_.tensor(tensor).type() == schema::TensorType::COMPLEX64) {
        fail(ErrorKind::kUnsupported,
             "tensor '" + file_.tensor_name(tensor) + "': complex numbers of this operator");
      }
      return values_[tensor];
    case State::kUnavailable:
      throw Unavailable{};
    case State::kAwaited:
      fail(ErrorKind::kFormat, "tensor '" + file_.tensor_name(tensor) +
                                   "' is read before it is computed: a cycle or a wrong order");
    case State::kUnknown:
      break;
  }
  define(tensor, add_constant(tensor));
  return values_[tensor];
}

ir::ValueId Importer::widened(std::size_t tensor) {
  const schema::Tensor& table = file_.tensor(tensor);
  const auto data = file_.data(tensor);
  const bool is_stored = states_[tensor] == State::kUnknown && is_half(table.type()) &&
                         !data.empty() && table.sparsity() == nullptr && !table.is_variable();
  if (!is_stored) return ir::kAbsent;
  charge(data.size());
  const std::string name = file_.tensor_name(tensor);
  ir::Tensor stored = with_context("tensor '" + name + "'", [&] {
    return read_stored(table.type(), file_.shape(tensor), file_.shared_data(tensor));
  });
  return graph_.add_node(name, ir::Cast{ir::ElementType::kFloat32},
                         {graph_.add_constant(name, std::move(stored))});
}

ir::ValueId Importer::complex(std::size_t tensor) {
  if (states_[tensor] == State::kUnavailable) throw Unavailable{};
  check(states_[tensor] == State::kDefined &&
            file_.tensor(tensor).type() == schema::TensorType::COMPLEX64,
        "tensor '" + file_.tensor_name(tensor) + "': expected complex numbers that are computed");
  return values_[tensor];
}

ir::ValueId Importer::number(std::size_t tensor) {
  if (numbers_[tensor] != ir::kAbsent) return numbers_[tensor];
  const ir::ValueId value = raw(tensor);
  const std::string name = file_.tensor_name(tensor);
  const ir::ValueType type = graph_.value(value).type;
  if (type.is_dense(ir::ElementType::kFloat32)) return numbers_[tensor] = value;
  auto parameters = file_.quantization(tensor);
  if (!parameters || !is_quantized(file_.tensor(tensor).type())) {
    fail(ErrorKind::kUnsupported, "tensor '" + name + "': expected float32 or quantized numbers, " +
                                      "found " + type.to_string());
  }
  charge(parameters->scales.size() * (sizeof(float) + sizeof(std::int32_t)));
  numbers_[tensor] =
      graph_.add_node(name + "/dequantize", ir::DequantizeLinear{std::move(*parameters)}, {value});
  return numbers_[tensor];
}

void Importer::define(std::size_t tensor, ir::ValueId value) {
  check(states_[tensor] != State::kDefined,
        "tensor '" + file_.tensor_name(tensor) + "' is computed twice");
  states_[tensor] = State::kDefined;
  values_[tensor] = value;
}

void Importer::charge(std::size_t bytes) {
  // One binary16 value may expand to a basis in memory; shared buffers expand far more.
  // The matrices of Fourier transforms are made of a few numbers: 2048 points take 16 MiB.
  constexpr std::size_t kSlack = std::size_t{64} << 20;
  const std::size_t max_bytes = 64 * file_.size_bytes() + kSlack;
  check(bytes <= max_bytes - charged_bytes_,
        "the tensors of the file add up to more than 64 MiB and 64 times its size");
  charged_bytes_ += bytes;
}

ir::ValueId Importer::add_constant(std::size_t tensor) {
  const schema::Tensor& table = file_.tensor(tensor);
  const std::string name = file_.tensor_name(tensor);
  const auto data = file_.data(tensor);
  const ir::Shape shape = file_.shape(tensor);
  if (table.is_variable()) {
    fail(ErrorKind::kUnsupported,
         "tensor '" + name + "': variables that persist between inferences are not supported");
  }
  check(!data.empty() || shape.element_count() == 0,
        "tensor '" + name + "' is read, but no operator computes it and it has no data");
  const ConstantKey key{
      data.data(), table.type(), table.sparsity(), {shape.dims().begin(), shape.dims().end()}};
  std::shared_ptr<const ir::Constant>& constant = constants_[key];
  if (!constant) {
    // float16 becomes float32, and integers of 2 and 4 bits bytes.
    charge(std::max(2 * data.size(), shape.element_count()));
    if (table.sparsity() != nullptr) charge(shape.element_count() * sizeof(float));
    constant = std::make_shared<const ir::Constant>(with_context("tensor '" + name + "'", [&] {
      if (table.sparsity() == nullptr) {
        return read_tensor(table.type(), shape, file_.shared_data(tensor));
      }
      return read_sparse(table.type(), shape, *table.sparsity(), data);
    }));
  }
  return graph_.add_constant(name, constant);
}

}  // namespace halftone::formats::circle
