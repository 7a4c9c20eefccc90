// SPDX-License-Identifier: Apache-2.0
#include "halftone/model.hpp"

#include <utility>

#include "halftone/api/inspection.h"
#include "halftone/cpp/internals.h"

namespace halftone::v0 {
namespace {

formats::ImportOptions import_options(const LoadOptions& options) {
  formats::ImportOptions import;
  for (const auto& [input, value] : options.values) import.constants[input] = to_internal(value);
  for (const auto& [input, extents] : options.shapes) {
    for (const std::int64_t extent : extents) {
      if (extent >= 0 || extent == kOpen) continue;
      fail(halftone::ErrorKind::kUsage, "shape of input '" + input +
                                            "': expected extents from 0 on or kOpen, found " +
                                            std::to_string(extent));
    }
    import.shapes[input] = ir::Shape(extents);
  }
  import.max_iterations = options.max_iterations;
  return import;
}

formats::ExportOptions export_options(const SaveOptions& options) {
  return {options.standard, options.matmul_nbits, options.one_operator};
}

Layer layer_of(LayerInfo info) {
  Layer layer;
  layer.name = std::move(info.name);
  layer.op = std::move(info.op);
  layer.weights = std::move(info.weights);
  layer.weight_bits = info.weight_bits;
  layer.activation_bits = info.activation_bits;
  layer.weight_bytes = info.weight_bytes;
  if (info.arithmetic) layer.arithmetic = to_string(*info.arithmetic);
  return layer;
}

std::vector<Port> ports_of(const ir::Graph& graph, std::span<const ir::ValueId> ids) {
  std::vector<Port> ports;
  for (const ir::ValueId id : ids) ports.push_back(port_of(graph.value(id)));
  return ports;
}

Inspection inspection_of(const Network& network) {
  check_read(network);
  return inspect(network.graph, "", 0);
}

}  // namespace

std::string_view version() { return HALFTONE_VERSION; }

Model::Model(std::shared_ptr<const State> state) : state_(std::move(state)) {}

const std::string& Model::name() const { return state_->network.name; }

std::vector<Port> Model::inputs() const {
  const ir::Graph& graph = state_->network.graph;
  return ports_of(graph, graph.untied(graph.inputs()));
}

std::vector<Port> Model::outputs() const {
  const ir::Graph& graph = state_->network.graph;
  return ports_of(graph, graph.untied(graph.outputs()));
}

std::vector<Layer> Model::layers() const {
  return at_border([&] {
    std::vector<Layer> layers;
    for (LayerInfo& info : inspection_of(state_->network).layers) {
      layers.push_back(layer_of(std::move(info)));
    }
    return layers;
  });
}

std::size_t Model::num_parameters() const {
  return at_border([&] { return inspection_of(state_->network).parameters; });
}

std::string Model::text() const {
  return at_border([&] { return inspection_of(state_->network).text; });
}

void Model::save(const std::filesystem::path& path, const SaveOptions& options) const {
  at_border([&] { halftone::save(state_->network, path, export_options(options)); });
}

std::vector<std::byte> Model::to_bytes(std::string_view format, const SaveOptions& options) const {
  return at_border([&] {
    const SharedBytes file = halftone::to_bytes(state_->network, format, export_options(options));
    return std::vector<std::byte>(file.bytes.begin(), file.bytes.end());
  });
}

Model load(const std::filesystem::path& path, const LoadOptions& options) {
  return at_border([&] { return Internals::model(halftone::load(path, import_options(options))); });
}

Model load(std::span<const std::byte> file, const std::string& name, const LoadOptions& options) {
  return at_border([&] {
    return Internals::model(
        halftone::load(own_bytes({file.begin(), file.end()}), name, import_options(options)));
  });
}

Model simplified(const Model& model, bool decoded) {
  return at_border([&] {
    const Network& network = Internals::network(model);
    return Internals::model(Network(converted(network, decoded), network.name));
  });
}

}  // namespace halftone::v0
