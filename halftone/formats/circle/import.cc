// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/circle/import.h"

#include <algorithm>
#include <string>
#include <string_view>
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

/// The open axes of an input whose shape is not given. The file has an extent of 1 for them.
std::vector<std::size_t> open_axes(const circle::FileModel& file, const ImportOptions& options,
                                   std::size_t tensor) {
  std::vector<std::size_t> axes;
  const std::string name = file.tensor_name(tensor);
  if (options.shapes.contains(name) || options.constants.contains(name)) return axes;
  const std::vector<std::int32_t> signature = file.signature(tensor);
  if (signature.size() != file.shape(tensor).rank()) return axes;
  for (std::size_t axis = 0; axis < signature.size(); ++axis) {
    if (signature[axis] == -1) axes.push_back(axis);
  }
  return axes;
}

/// Whether an input leaves an axis open that cannot be the batch.
/// @param is_batch  whether the only open axis of an input may be the batch, wherever it is
bool needs_extents(const circle::FileModel& file, const ImportOptions& options, bool is_batch) {
  for (const std::size_t tensor : file.graph_inputs()) {
    const std::vector<std::size_t> axes = open_axes(file, options, tensor);
    if (axes.empty() || axes == std::vector<std::size_t>{0}) continue;
    if (axes.size() > 1 || !is_batch) return true;
  }
  return false;
}

/// Whether a network computes with the number of samples, so that these are no runs of their own.
bool counts_samples(const circle::FileModel& file, const ImportOptions& options) {
  ImportOptions open;
  for (const auto& [name, value] : options.constants) open.constants.emplace(name, value.clone());
  open.max_iterations = options.max_iterations;
  circle::Importer importer(file, open, nullptr);
  try {
    static_cast<void>(importer.run(true));
  } catch (const Error&) {
    // The import of the network says what is wrong.
  }
  return importer.counts_samples();
}

/// A file may declare a batch and then, say, unpack it. Such a graph is valid only for the extents
/// in the file, which are tried second. A malformed file fails both times. Of a network that
/// computes with the number of samples this is no extent of the file, but one that is open.
/// @throws Error kUnsupported if an input leaves other extents open than the batch
ir::Graph import_any_batch(const circle::FileModel& file, const ImportOptions& options,
                           std::set<std::string>* used) {
  if (needs_extents(file, options, true)) {
    fail(ErrorKind::kUnsupported, "operators of this format are read with numbers for extents");
  }
  circle::Importer importer(file, options, used);
  try {
    return importer.run(true);
  } catch (const Error& error) {
    const bool is_final = error.kind() == ErrorKind::kMemory || error.kind() == ErrorKind::kUsage;
    if (is_final || importer.counts_samples() || needs_extents(file, options, false)) throw;
  }
  return circle::Importer(file, options, used).run(false);
}

/// The shape of an input with symbols where its signature is open. "serving_default_x:0" is x.
/// @param has_batch  whether the first axis may be the batch
ir::Shape open_shape(const circle::FileModel& file, std::size_t tensor, bool has_batch) {
  constexpr std::string_view kSignature = "serving_default_";
  std::string name = file.tensor_name(tensor);
  if (name.starts_with(kSignature)) name.erase(0, kSignature.size());
  if (name.ends_with(":0")) name.resize(name.size() - 2);
  ir::Shape shape = file.shape(tensor);
  for (const std::size_t axis : open_axes(file, {}, tensor)) {
    const std::string symbol = name + "_" + std::to_string(axis);
    shape[axis] = has_batch && axis == 0 ? ir::kBatch : ir::dim_of(ir::Extent::symbol(symbol));
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
  // What a network remembers is of one sample; and the shapes that a caller gives may be those of
  // a network that counts samples.
  const bool may_count = !options.shapes.empty() && counts_samples(model, options);
  if (graph.states().empty() && !may_count) ir::try_symbolic_batch(graph);
  ir::verify(graph);
  return graph;
}

ir::Graph inputs_of(const circle::FileModel& model, const ImportOptions& options) {
  ir::Graph graph;
  const bool has_batch = !counts_samples(model, options);
  for (const std::size_t tensor : model.graph_inputs()) {
    const std::string name = model.tensor_name(tensor);
    if (options.constants.contains(name)) continue;
    const auto element = circle::element_type(model.tensor(tensor).type());
    if (!element) fail(ErrorKind::kUnsupported, "input '" + name + "': unsupported element type");
    const ir::Shape shape = open_shape(model, tensor, has_batch);
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
