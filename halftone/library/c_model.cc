// SPDX-License-Identifier: Apache-2.0
#include "halftone/library/c_model.h"

#include <array>
#include <functional>

#include "halftone/api/network.h"
#include "halftone/base/element_type.h"
#include "halftone/ir/extent.h"
#include "halftone/library/c_status.h"

namespace halftone::library {
namespace {

constexpr std::array kTypes = {ElementType::kFloat32, ElementType::kInt8,    ElementType::kUint8,
                               ElementType::kInt32,   ElementType::kInt64,   ElementType::kBool,
                               ElementType::kInt16,   ElementType::kUint16,  ElementType::kUint32,
                               ElementType::kUint64,  ElementType::kFloat64, ElementType::kFloat16,
                               ElementType::kBfloat16};

halftone_type c_type(ElementType type) {
  const auto found = std::ranges::find(kTypes, type);
  return static_cast<halftone_type>(found - kTypes.begin());
}

const ElementType* element_type(halftone_type type) noexcept {
  const auto index = static_cast<std::size_t>(type);
  return index < kTypes.size() ? &kTypes[index] : nullptr;
}

formats::ImportOptions import_options(const halftone_load_options& options) {
  formats::ImportOptions import;
  import.shapes = shapes_of(options.shapes, options.num_shapes);
  if (options.max_iterations != 0) import.max_iterations = options.max_iterations;
  return import;
}

halftone_model* make_model(const halftone_context* context,
                           const std::function<Network()>& load_network) {
  std::shared_ptr<const Context> state = required(context, "context").state;
  const UseThreadSettings use(state->settings);
  Network network = load_network();
  const std::string name = network.name;
  return with_context(name, [&] {
    std::optional<Network> open;
    if (is_open(network)) open = network;
    ir::Graph graph = open ? network.graph : prepared(std::move(network), Purpose::kRun);
    const Ports inputs(graph, graph.untied(graph.inputs()));
    const Ports outputs(graph, graph.untied(graph.outputs()));
    return give(halftone_model{std::make_shared<const ModelState>(
        ModelState{std::move(state), std::move(graph), inputs, outputs, std::move(open)})});
  });
}

/// The caller's memory, copied or not.
SharedBytes bytes_of(const void* data, std::size_t size, bool borrows) {
  const auto* first = static_cast<const std::byte*>(data);
  if (!borrows) return own_bytes({first, first + size});
  return {std::shared_ptr<const void>(data, [](const void*) {}), {first, size}, 0};
}

}  // namespace

std::map<std::string, ir::Shape> shapes_of(const halftone_input_shape* shapes, std::size_t count) {
  std::map<std::string, ir::Shape> result;
  if (count != 0) required(shapes, "options.shapes");
  for (std::size_t i = 0; i < count; ++i) {
    const halftone_input_shape& shape = shapes[i];
    const std::string name(&required(shape.input, "options.shapes.input"));
    std::vector<ir::Dim> extents;
    if (shape.rank != 0) {
      const std::int64_t* first = &required(shape.extents, "options.shapes.extents");
      extents.assign(first, first + shape.rank);
    }
    for (const ir::Dim extent : extents) {
      if (extent >= 0 || extent == HALFTONE_OPEN) continue;
      fail(ErrorKind::kUsage, "shape of input '" + name +
                                  "': expected extents from 0 on or HALFTONE_OPEN, found " +
                                  std::to_string(extent));
    }
    result[name] = ir::Shape(std::move(extents));
  }
  return result;
}

Ports::Ports(const ir::Graph& graph, std::span<const ir::ValueId> ids) {
  for (const ir::ValueId id : ids) {
    const ir::Value& value = graph.value(id);
    TensorPort port;
    port.name = value.name;
    port.type = c_type(value.type.encoding.element);
    for (const ir::Dim extent : value.type.shape.dims()) {
      port.extents.push_back(ir::is_expression(extent) ? HALFTONE_OPEN : extent);
    }
    if (value.type.shape.is_static()) {
      port.bytes = value.type.shape.element_count() * size_bytes(value.type.encoding.element);
    }
    ports_.push_back(std::move(port));
  }
}

void Ports::describe(std::size_t index, const char* what, halftone_tensor_info* info) const {
  halftone_tensor_info& result = required(info, "info");
  if (index >= ports_.size()) {
    fail(ErrorKind::kUsage, std::string(what) + ": expected an index below " +
                                std::to_string(ports_.size()) + ", found " + std::to_string(index));
  }
  const TensorPort& port = ports_[index];
  result = {port.name.c_str(), port.type, port.extents.size(), port.extents.data(), port.bytes};
}

}  // namespace halftone::library

using namespace halftone;           // NOLINT(google-build-using-namespace): functions of C
using namespace halftone::library;  // NOLINT(google-build-using-namespace)

const char* halftone_type_name(halftone_type type) noexcept {
  const ElementType* element = element_type(type);
  return element == nullptr ? "unknown" : to_string(*element).data();
}

size_t halftone_type_bytes(halftone_type type) noexcept {
  const ElementType* element = element_type(type);
  return element == nullptr ? 0 : size_bytes(*element);
}

halftone_status halftone_model_load(const halftone_context* context, const char* path,
                                    const halftone_load_options* options,
                                    halftone_model** model) noexcept {
  return guarded([&] {
    halftone_model*& result = required(model, "model");
    const std::filesystem::path file(&required(path, "path"));
    const formats::ImportOptions import = import_options(known(options, "options"));
    result = make_model(context, [&] { return load(file, import); });
  });
}

halftone_status halftone_model_load_memory(const halftone_context* context, const void* data,
                                           size_t bytes, const halftone_load_options* options,
                                           halftone_model** model) noexcept {
  return guarded([&] {
    halftone_model*& result = required(model, "model");
    if (data == nullptr) fail(ErrorKind::kUsage, "data: expected a pointer, found NULL");
    const halftone_load_options mine = known(options, "options");
    const formats::ImportOptions import = import_options(mine);
    result = make_model(context, [&] {
      return load(bytes_of(data, bytes, mine.borrows != 0), "network in memory", import);
    });
  });
}

void halftone_model_destroy(halftone_model* model) noexcept { take_back(model); }

size_t halftone_model_num_inputs(const halftone_model* model) noexcept {
  return model == nullptr ? 0 : model->state->inputs.size();
}

size_t halftone_model_num_outputs(const halftone_model* model) noexcept {
  return model == nullptr ? 0 : model->state->outputs.size();
}

halftone_status halftone_model_input(const halftone_model* model, size_t index,
                                     halftone_tensor_info* info) noexcept {
  return guarded([&] { required(model, "model").state->inputs.describe(index, "input", info); });
}

halftone_status halftone_model_output(const halftone_model* model, size_t index,
                                      halftone_tensor_info* info) noexcept {
  return guarded([&] { required(model, "model").state->outputs.describe(index, "output", info); });
}
