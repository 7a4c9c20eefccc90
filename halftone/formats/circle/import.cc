// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/circle/import.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "halftone/formats/circle/constant_tensor.h"
#include "halftone/formats/circle/importer.h"
#include "halftone/formats/circle/one_operator.h"
#include "halftone/formats/finite_constants.h"
#include "halftone/ir/extent.h"
#include "halftone/ir/symbolic_batch.h"
#include "halftone/ir/verify.h"

namespace halftone::formats {
namespace {

/// What to do about an input with open extents that are neither given nor the batch; empty without
/// one. Files have an extent of 1 for them, which few networks take.
std::string open_extents(const circle::FileModel& file, const ImportOptions& options) {
  for (const std::size_t tensor : file.graph_inputs()) {
    const std::string name = file.tensor_name(tensor);
    const std::vector<std::int32_t> signature = file.signature(tensor);
    const auto is_open = [](std::int32_t extent) { return extent == -1; };
    if (std::none_of(signature.begin() + (signature.empty() ? 0 : 1), signature.end(), is_open))
      continue;
    if (options.shapes.contains(name)) continue;
    std::string shape;
    for (const std::int32_t extent : signature) {
      shape += shape.empty() ? name + "=" : ",";
      shape += is_open(extent) ? "EXTENT" : std::to_string(extent);
    }
    return "; the file leaves extents of input '" + name +
           "' open and has 1 for them: give its shape (--shape " + shape + ")";
  }
  return "";
}

/// A file may declare a batch and then, say, reshape or unpack it. Such a graph is valid only for
/// the extents in the file, which are tried second. A malformed file fails both times.
ir::Graph import_any_batch(const circle::FileModel& file, const ImportOptions& options,
                           std::set<std::string>* used) {
  const auto is_final = [](ErrorKind kind) {
    return kind == ErrorKind::kUnsupported || kind == ErrorKind::kMemory ||
           kind == ErrorKind::kUsage;
  };
  try {
    return circle::Importer(file, options, used).run(true);
  } catch (const Error& error) {
    if (is_final(error.kind())) throw;
  }
  try {
    return circle::Importer(file, options, used).run(false);
  } catch (const Error& error) {
    const std::string advice = is_final(error.kind()) ? "" : open_extents(file, options);
    if (advice.empty()) throw;
    fail(error.kind(), error.what() + advice, error.hint());
  }
}

/// The shape of an input with symbols where its signature is open.
ir::Shape open_shape(const circle::FileModel& file, std::size_t tensor) {
  ir::Shape shape = file.shape(tensor);
  const std::vector<std::int32_t> signature = file.signature(tensor);
  const auto batch = file.batch_axis(tensor);
  for (std::size_t axis = 0; axis < shape.rank() && signature.size() == shape.rank(); ++axis) {
    if (signature[axis] != -1) continue;
    const std::string name = file.tensor_name(tensor) + "_" + std::to_string(axis);
    shape[axis] = axis == batch ? ir::kBatch : ir::dim_of(ir::Extent::symbol(name));
  }
  return shape;
}

ir::Graph graph_of(const circle::FileModel& model, const ImportOptions& options,
                   std::set<std::string>* used) {
  ir::Graph graph = import_any_batch(model, options, used);
  // Codes and bases of low-bit layers were tensors of the file; they have no readers now.
  graph.remove_unused_nodes();
  if (graph.inputs().empty() && options.constants.empty()) {
    fail(ErrorKind::kFormat, "the graph has no inputs");
  }
  check_finite(graph);
  // What a network remembers is of one sample.
  if (graph.states().empty()) ir::try_symbolic_batch(graph);
  ir::verify(graph);
  return graph;
}

ir::Graph inputs_of(const circle::FileModel& model, const ImportOptions& options) {
  ir::Graph graph;
  for (const std::size_t tensor : model.graph_inputs()) {
    const std::string name = model.tensor_name(tensor);
    if (options.constants.contains(name)) continue;
    const auto element = circle::element_type(model.tensor(tensor).type());
    if (!element) fail(ErrorKind::kUnsupported, "input '" + name + "': unsupported element type");
    const ir::Shape shape = open_shape(model, tensor);
    const ir::Shape* given = given_shape(options, name, shape.rank());
    graph.add_input(name, ir::dense_type(*element, given == nullptr ? shape : *given));
  }
  return graph;
}

/// Calls read(file) with the file of the network, which another file may have as one operator.
template <typename Read>
ir::Graph read_network(SharedBytes file, const Read& read) {
  const circle::FileModel model(std::move(file));
  const auto inner = circle::network_in(model);
  if (!inner) return read(model);
  return with_context("the network in the operator",
                      [&] { return read(circle::FileModel(*inner)); });
}

}  // namespace

ir::Graph circle_inputs(const SharedBytes& file, const ImportOptions& options) {
  return read_network(file,
                      [&](const circle::FileModel& model) { return inputs_of(model, options); });
}

ir::Graph import_circle(std::span<const std::byte> bytes, const ImportOptions& options,
                        std::set<std::string>* used) {
  return import_circle(SharedBytes{nullptr, bytes, 0}, options, used);
}

ir::Graph import_circle(SharedBytes file, const ImportOptions& options,
                        std::set<std::string>* used) {
  return read_network(std::move(file), [&](const circle::FileModel& model) {
    return graph_of(model, options, used);
  });
}

}  // namespace halftone::formats
