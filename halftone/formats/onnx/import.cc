// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/import.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/printable.h"
#include "halftone/formats/finite_constants.h"
#include "halftone/formats/onnx/external_data.h"
#include "halftone/formats/onnx/layer_names.h"
#include "halftone/formats/onnx/node_builder.h"
#include "halftone/formats/onnx/one_operator.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/formats/onnx/subgraph.h"
#include "halftone/formats/read_first.h"
#include "halftone/ir/extent.h"
#include "halftone/ir/verify.h"

namespace halftone::formats {
namespace {

using onnx::ImportState;
using onnx_pb::GraphProto;
using onnx_pb::ModelProto;
using onnx_pb::NodeProto;
using onnx_pb::TensorProto;
using onnx_pb::ValueInfoProto;

/// Memory limit of constants created during the import: this much, plus
constexpr std::size_t kBudgetBytes = std::size_t{64} << 20;
/// this many times the model size, enough for a transposed and a scaled copy of every weight.
constexpr std::size_t kBudgetPerModelByte = 4;

/// Versions of ONNX 1.23. A later version may change the meaning of an operator.
constexpr std::int64_t kNewestIrVersion = 14;
constexpr std::int64_t kNewestOpset = 28;

constexpr int kMaxAxes = 32;
constexpr int kMaxNodesNamed = 8;

ModelProto parse(std::span<const std::byte> bytes) {
  if (bytes.empty()) fail(ErrorKind::kFormat, "expected an ONNX model, found no bytes");
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    fail(ErrorKind::kFormat, "expected an ONNX model of at most 2 GiB, found " +
                                 std::to_string(bytes.size()) + " bytes");
  }
  ModelProto model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    fail(ErrorKind::kFormat, "expected an ONNX model, found " + std::to_string(bytes.size()) +
                                 " bytes that are not a complete ONNX protobuf message, or one "
                                 "whose graphs are nested too deeply");
  }
  if (!model.has_graph()) fail(ErrorKind::kFormat, "expected an ONNX model, found no graph");
  return model;
}

/// The network of a model that has it as one operator.
ModelProto network_in(const ModelProto& model) {
  return with_context("the network in the operator",
                      [&] { return parse(std::as_bytes(std::span(onnx::network_bytes(model)))); });
}

ModelProto parse_network(std::span<const std::byte> bytes) {
  ModelProto model = parse(bytes);
  return onnx::is_one_operator(model) ? network_in(model) : model;
}

void check_known(const std::string& what, std::int64_t found, std::int64_t newest) {
  if (found <= newest) return;
  fail(ErrorKind::kUnsupported, what + ": expected at most " + std::to_string(newest) +
                                    ", the newest known, found " + std::to_string(found));
}

std::map<std::string, std::int64_t> opsets_of(const ModelProto& model) {
  // IR version 3 introduced this list; without it, the model uses operator set 1.
  if (model.ir_version() >= 3 && model.opset_import_size() == 0) {
    fail(ErrorKind::kFormat, "expected operator sets in a model of IR version " +
                                 std::to_string(model.ir_version()) + ", found none");
  }
  std::map<std::string, std::int64_t> opsets;
  for (const auto& opset : model.opset_import()) {
    if (opset.version() < 1) {
      fail(ErrorKind::kFormat, "operator set '" + opset.domain() +
                                   "': expected a version of at least 1, found " +
                                   std::to_string(opset.version()));
    }
    opsets[opset.domain() == "ai.onnx" ? "" : opset.domain()] = opset.version();
  }
  if (const auto standard = opsets.find(""); standard != opsets.end()) {
    check_known("operator set version", standard->second, kNewestOpset);
  }
  return opsets;
}

/// Collects the operators without a builder, and the nodes that use them.
template <typename Nodes>
void find_missing(const ImportState& state, const Nodes& nodes,
                  std::map<std::string, std::vector<std::string>>& missing) {
  for (const NodeProto& node : nodes) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) find_missing(state, attribute.g().node(), missing);
    }
    if (onnx::find_builder(node.domain(), node.op_type()) != nullptr) continue;
    if (onnx::find_function(state, node) != nullptr) continue;
    const std::string domain = node.domain().empty() ? "" : node.domain() + ".";
    missing[domain + node.op_type()].push_back(onnx::name_of(node));
  }
}

/// Fails if operators have no builder, listing each with the nodes that use it.
void check_operators(const ImportState& state, const ModelProto& model) {
  std::map<std::string, std::vector<std::string>> missing;
  find_missing(state, model.graph().node(), missing);
  for (const auto& function : model.functions()) find_missing(state, function.node(), missing);
  if (missing.empty()) return;
  std::string text;
  for (const auto& [op, nodes] : missing) {
    text += (text.empty() ? "" : "; ") + op + " (";
    for (std::size_t i = 0; i < std::min<std::size_t>(nodes.size(), kMaxNodesNamed); ++i) {
      text += (i == 0 ? "'" : ", '") + nodes[i] + "'";
    }
    if (nodes.size() > kMaxNodesNamed) {
      text += " and " + std::to_string(nodes.size() - kMaxNodesNamed) + " more";
    }
    text += ")";
  }
  fail(ErrorKind::kUnsupported, "operators that are not supported: " + text);
}

template <typename Nodes>
bool have_quantize_linear(const Nodes& nodes) {
  return std::ranges::any_of(
      nodes, [](const NodeProto& node) { return node.op_type() == "QuantizeLinear"; });
}

bool rounds_values(const ModelProto& model) {
  return have_quantize_linear(model.graph().node()) ||
         std::ranges::any_of(model.functions(), [](const auto& function) {
           return have_quantize_linear(function.node());
         });
}

/// Whether the name of an open extent says that it is the batch.
bool says_batch(std::string name) {
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name.find("batch") != std::string::npos;
}

bool is_letter_of_batch(const std::string& name) { return name == "N" || name == "B"; }

/// Names of open extents that denote the batch everywhere in the file: those of first extents that
/// say "batch", else others that do; else first extents N or B; else all first extents, or the only
/// name of the open ones if no first extent is open. Beside them "", for open first extents without
/// a name. Files of our own call it N.
std::set<std::string> batch_names(const ModelProto& model) {
  if (model.producer_name() == "halftone") return {ir::kBatchSymbol};
  std::set<std::string> leading;
  std::set<std::string> all;
  for (const ValueInfoProto& input : model.graph().input()) {
    const auto& shape = input.type().tensor_type().shape();
    for (int i = 0; i < shape.dim_size(); ++i) {
      if (!shape.dim(i).has_dim_param()) continue;
      all.insert(shape.dim(i).dim_param());
      if (i == 0) leading.insert(shape.dim(i).dim_param());
    }
  }
  leading.erase("");
  all.erase("");
  if (leading.empty() && all.size() == 1) leading = all;
  const bool leads = std::ranges::any_of(leading, says_batch);
  std::set<std::string> saying;
  const auto into = std::inserter(saying, saying.end());
  std::ranges::copy_if(leads ? leading : all, into, says_batch);
  if (saying.empty()) std::ranges::copy_if(leading, into, is_letter_of_batch);
  if (saying.empty()) saying = std::move(leading);
  saying.insert("");
  return saying;
}

/// The symbol of an open extent: its name in the file, or one of input and axis.
ir::Dim open_extent(const std::string& input, std::size_t axis, const std::string& param) {
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  const bool is_plain =
      !param.empty() && param != ir::kBatchSymbol && std::ranges::all_of(param, is_word);
  const bool is_quoted = param.size() > 2 && param.front() == '\'' && param.back() == '\'';
  const std::string name = is_plain || is_quoted ? param
                           : param.empty()       ? input + "_" + std::to_string(axis)
                                                 : "'" + param + "'";
  return ir::dim_of(ir::Extent::symbol(name));
}

ir::Shape input_shape(const std::string& name, const onnx_pb::TensorShapeProto& proto,
                      const std::set<std::string>& batch) {
  if (proto.dim_size() > kMaxAxes) {
    fail(ErrorKind::kUnsupported, "expected at most " + std::to_string(kMaxAxes) + " axes, found " +
                                      std::to_string(proto.dim_size()));
  }
  std::vector<ir::Dim> dims;
  for (const auto& dim : proto.dim()) {
    const bool is_known = dim.has_dim_value() && dim.dim_value() > 0;
    if (is_known) {
      dims.push_back(dim.dim_value());
    } else if (batch.contains(dim.dim_param()) && (dims.empty() || !dim.dim_param().empty())) {
      dims.push_back(ir::kBatch);
    } else {
      dims.push_back(open_extent(name, dims.size(), dim.dim_param()));
    }
  }
  ir::Shape shape(std::move(dims));
  onnx::check_extents(shape);
  return shape;
}

/// The shape that the options or the file give an input.
ir::Shape shape_of(const ValueInfoProto& input, const std::set<std::string>& batch,
                   const ImportOptions& options) {
  const auto& type = input.type().tensor_type();
  if (!input.type().has_tensor_type() || !type.has_shape()) {
    fail(ErrorKind::kUnsupported, "expected a tensor with a shape");
  }
  const auto rank = static_cast<std::size_t>(type.shape().dim_size());
  const ir::Shape* given = given_shape(options, input.name(), rank);
  if (given == nullptr) return input_shape(input.name(), type.shape(), batch);
  onnx::check_extents(*given);
  return *given;
}

void add_input(ImportState& state, const ValueInfoProto& input, const ImportOptions& options,
               const std::set<std::string>& batch) {
  const ir::Shape shape = shape_of(input, batch, options);
  const auto& type = input.type().tensor_type();
  const auto element = onnx::element_of(type.elem_type());
  if (!element) {
    fail(ErrorKind::kUnsupported, "elements of type " + onnx::data_type_name(type.elem_type()));
  }
  const auto id = state.graph.add_input(input.name(), ir::dense_type(*element, shape));
  if (onnx::narrow_bits(type.elem_type()) != 0) state.widened.emplace(id, type.elem_type());
  state.bind(input.name(), id);
}

/// Checks a value against the known extents of an input.
void check_fits(const onnx_pb::TensorShapeProto& shape, const ir::Tensor& value) {
  const auto rank = static_cast<std::size_t>(shape.dim_size());
  bool fits = rank == value.shape().rank();
  for (std::size_t i = 0; fits && i < rank; ++i) {
    const auto& dim = shape.dim(static_cast<int>(i));
    fits = !dim.has_dim_value() || dim.dim_value() <= 0 || dim.dim_value() == value.shape()[i];
  }
  if (!fits) {
    fail(ErrorKind::kShape, "the constant " + value.type().to_string() + " does not fit its type");
  }
}

/// Adds an input that the caller fixed as a constant.
void add_fixed_input(ImportState& state, const ValueInfoProto& input, const ImportOptions& options,
                     const std::set<std::string>& batch) {
  const auto& type = input.type().tensor_type();
  const auto element = onnx::element_of(type.elem_type());
  if (!element) {
    fail(ErrorKind::kUnsupported, "elements of type " + onnx::data_type_name(type.elem_type()));
  }
  ir::Tensor value = exactly(options.constants.at(input.name()), *element);
  ir::ValueId id{};
  if (value.shape().rank() == 0 && type.shape().dim_size() > 0) {
    const ir::Shape shape = shape_of(input, batch, options);
    if (shape.is_static()) state.charge(shape.element_count() * ir::size_bytes(*element));
    id = add_filled(state.graph, input.name(), value, shape);
  } else {
    if (type.has_shape()) check_fits(type.shape(), value);
    id = state.graph.add_constant(input.name(), std::move(value));
  }
  if (onnx::narrow_bits(type.elem_type()) != 0) state.widened.emplace(id, type.elem_type());
  state.bind(input.name(), id);
}

/// @param batch  as batch_names()
void add_inputs(ImportState& state, const ModelProto& model, const ImportOptions& options,
                const std::set<std::string>& batch, std::set<std::string>* used) {
  const GraphProto& graph = model.graph();
  std::set<std::string> initialized;
  std::set<std::string> names;
  for (const TensorProto& proto : graph.initializer()) initialized.insert(proto.name());
  for (const ValueInfoProto& input : graph.input()) {
    // Before IR version 4, every initializer was also listed as an input.
    if (initialized.contains(input.name())) continue;
    with_context("input '" + input.name() + "'", [&] {
      if (options.constants.contains(input.name())) {
        add_fixed_input(state, input, options, batch);
      } else {
        add_input(state, input, options, batch);
      }
    });
    names.insert(input.name());
  }
  check_names(options, names, used);
}

/// The value of an output under the output's name: a copy if the value is an input, a constant or
/// an output before, which keep their own names.
ir::ValueId named_output(ir::Graph& graph, ir::ValueId id, const std::string& name) {
  if (graph.value(id).name == name) return id;
  if (!graph.producer(id) || std::ranges::count(graph.outputs(), id) > 0) {
    const ir::Shape shape = graph.value(id).type.shape;
    return graph.add_node(name, ir::Reshape{shape}, {id});
  }
  graph.rename(id, name);
  return id;
}

void add_outputs(ImportState& state, const GraphProto& graph) {
  std::set<std::string> names;
  for (const ValueInfoProto& output : graph.output()) {
    ir::ValueId id =
        with_context("output '" + output.name() + "'", [&] { return state.value(output.name()); });
    if (!names.insert(output.name()).second) {
      fail(ErrorKind::kFormat, "output '" + output.name() + "' is listed twice");
    }
    state.graph.add_output(named_output(state.graph, id, output.name()));
  }
}

/// Ties inputs and outputs that a file of our own names as states; see Exporter::add_states().
void tie_states(ir::Graph& graph, const ModelProto& model) {
  for (const auto& entry : model.metadata_props()) {
    if (!entry.key().starts_with(onnx::kStateKey)) continue;
    const std::string name = entry.key().substr(onnx::kStateKey.size());
    const auto named = [&](std::span<const ir::ValueId> ids, const std::string& wanted) {
      const auto found =
          std::ranges::find_if(ids, [&](ir::ValueId id) { return graph.value(id).name == wanted; });
      return found == ids.end() ? ir::kAbsent : *found;
    };
    const ir::ValueId before = named(graph.inputs(), name);
    if (before == ir::kAbsent) continue;  // the caller made it a constant
    const ir::ValueId after = named(graph.outputs(), entry.value());
    if (after == ir::kAbsent) {
      fail(ErrorKind::kFormat,
           "state '" + name + "': expected an output '" + entry.value() + "', found none");
    }
    graph.tie(before, after);
  }
}

/// What is known of a model before its values are read.
ImportState begin(const ModelProto& model) {
  check_known("IR version", model.ir_version(), kNewestIrVersion);
  ImportState state;
  state.opsets = opsets_of(model);
  for (const auto& function : model.functions()) {
    state.functions[{function.domain(), function.name()}] = &function;
  }
  check_operators(state, model);
  return state;
}

/// What a model is read with.
struct Source {
  std::size_t bytes;  ///< of the model in its file
  const onnx::ReadExternal& external;
  const ImportOptions& options;
  std::set<std::string>* used;
};

/// @param batch  as batch_names()
ir::Graph build(ModelProto& model, const Source& source, const std::set<std::string>& batch) {
  ImportState state = begin(model);
  const ImportOptions& options = source.options;
  GraphProto& proto = *model.mutable_graph();
  onnx::name_layers(proto);
  state.budget_bytes = kBudgetBytes + kBudgetPerModelByte * source.bytes;
  state.external = [&](const TensorProto& tensor, std::size_t needed) {
    SharedBytes data = source.external(tensor, needed);
    state.budget_bytes += kBudgetPerModelByte * needed;
    return data;
  };
  state.rounds_values = rounds_values(model);
  state.max_iterations = options.max_iterations;
  onnx::add_initializers(state, proto);
  add_inputs(state, model, options, batch, source.used);
  for (const NodeProto& node : proto.node()) onnx::add_node(state, node);
  add_outputs(state, proto);
  tie_states(state.graph, model);
  state.graph.remove_unused_nodes();
  if (state.graph.inputs().empty() && options.constants.empty()) {
    fail(ErrorKind::kFormat, "the graph has no inputs");
  }
  check_finite(state.graph);
  ir::verify(state.graph);
  return std::move(state.graph);
}

/// Whether an input has the batch as an extent.
bool has_batch(const ModelProto& model, const std::set<std::string>& batch) {
  return std::ranges::any_of(model.graph().input(), [&](const ValueInfoProto& input) {
    const auto& shape = input.type().tensor_type().shape();
    return std::ranges::any_of(input_shape(input.name(), shape, batch).dims(), ir::is_batch);
  });
}

ir::Graph build(std::span<const std::byte> bytes, const Source& source) {
  const auto read = [&](bool has_open_batch) -> std::optional<ir::Graph> {
    ModelProto model = parse_network(bytes);  // building consumes its weights
    const std::set<std::string> batch = batch_names(model);
    if (has_open_batch && !has_batch(model, batch)) return std::nullopt;
    return build(model, source, has_open_batch ? std::set<std::string>{} : batch);
  };
  const std::array<WayToRead, 2> ways = {[&] { return read(false); }, [&] { return read(true); }};
  return read_first(ways);
}

/// Names in the file may contain any characters; a message must be one line.
template <typename Step>
ir::Graph with_printable_errors(const Step& step) {
  try {
    return step();
  } catch (const Error& error) {
    fail(error.kind(), printable_line(error.what()), error.hint());
  }
}

}  // namespace

ir::Graph import_onnx(std::span<const std::byte> bytes, const std::filesystem::path& folder,
                      const ImportOptions& options, std::set<std::string>* used,
                      std::uintmax_t* external_bytes) {
  return with_printable_errors([&] {
    onnx::ExternalData files(folder);
    const auto read = [&](const TensorProto& tensor, std::size_t needed) {
      return files.read(tensor, needed);
    };
    ir::Graph graph = build(bytes, {bytes.size(), read, options, used});
    if (external_bytes != nullptr) *external_bytes = files.file_bytes();
    return graph;
  });
}

ir::Graph onnx_inputs(std::span<const std::byte> bytes, const ImportOptions& options) {
  return with_printable_errors([&] {
    const ModelProto model = parse_network(bytes);
    ImportState state = begin(model);
    state.budget_bytes = kBudgetBytes;
    add_inputs(state, model, options, batch_names(model), nullptr);
    return std::move(state.graph);
  });
}

ir::Graph import_onnx(OnnxModel&& model) {
  return with_printable_errors([&] {
    const auto read = [&](const TensorProto& tensor, std::size_t needed) {
      const auto entry = std::ranges::find(tensor.external_data(), "offset",
                                           &onnx_pb::StringStringEntryProto::key);
      const std::uint64_t offset = std::stoull(entry->value());
      const auto found =
          std::ranges::lower_bound(model.external, offset, {}, &ExternalTensor::offset);
      return found->bytes.part(0, needed);
    };
    if (onnx::is_one_operator(*model.message)) {
      ModelProto inner = network_in(*model.message);
      return build(inner, {inner.ByteSizeLong(), read, {}, nullptr}, batch_names(inner));
    }
    ModelProto& message = *model.message;
    return build(message, {message.ByteSizeLong(), read, {}, nullptr}, batch_names(message));
  });
}

}  // namespace halftone::formats
