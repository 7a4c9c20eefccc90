// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/circle/import.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "halftone/formats/circle/constant_tensor.h"
#include "halftone/formats/circle/importer.h"
#include "halftone/formats/circle/one_operator.h"
#include "halftone/formats/finite_constants.h"
#include "halftone/formats/read_first.h"
#include "halftone/ir/extent.h"
#include "halftone/ir/symbolic_batch.h"
#include "halftone/ir/verify.h"

namespace halftone::formats {
namespace {

using circle::OpenExtents;

/// The open axes of each input that the options do not name.
std::vector<std::vector<std::size_t>> open_axes(const circle::FileModel& file,
                                                const ImportOptions& options) {
  const std::set<std::string> named = names_of(options);
  std::vector<std::vector<std::size_t>> axes;
  for (const std::size_t tensor : file.graph_inputs()) {
    if (!named.contains(file.tensor_name(tensor))) axes.push_back(file.open_axes(tensor));
  }
  return axes;
}

/// Whether a network computes with the number of samples, so that these are no runs of their own.
bool counts_samples(const circle::FileModel& file, const ImportOptions& options) {
  ImportOptions open;
  for (const auto& [name, value] : options.constants) open.constants.emplace(name, value.clone());
  open.max_iterations = options.max_iterations;
  circle::Importer importer(file, open, nullptr);
  try {
    static_cast<void>(importer.run(OpenExtents::kBatch));
  } catch (const Error&) {
    // The import of the network says what is wrong.
  }
  return importer.counts_samples();
}

/// The ways in which a file is read.
class Reading {
 public:
  Reading(const circle::FileModel& file, const ImportOptions& options, std::set<std::string>* used)
      : file_(file), options_(options), used_(used), open_(open_axes(file, options)) {}

  /// A file may declare a batch and then, say, unpack it. Such a graph is valid only for the
  /// extents in the file; one sample there may still be one of many.
  /// @throws Error kUnsupported if an input leaves other extents open than the batch
  ir::Graph run() {
    const auto is_several = [](const auto& axes) { return axes.size() > 1; };
    if (std::ranges::any_of(open_, is_several)) {
      fail(ErrorKind::kUnsupported, "operators of this format are read with numbers for extents");
    }
    const std::array<WayToRead, 4> ways = {
        [this] { return read(OpenExtents::kBatch); }, [this] { return with_repeated_sample(); },
        [this] { return with_symbols(); }, [this] { return std::exchange(fixed_, std::nullopt); }};
    return read_first(ways);
  }

 private:
  ir::Graph read(OpenExtents open) {
    circle::Importer importer(file_, options_, used_);
    ir::Graph graph;
    try {
      graph = importer.run(open);
      if (open == OpenExtents::kBatch) require_independent_samples(graph);
    } catch (const Error&) {
      if (open == OpenExtents::kBatch) {
        has_open_ = !importer.example().empty();
        counts_samples_ = importer.counts_samples();
      }
      throw;
    }
    if (graph.inputs().empty() && options_.constants.empty()) {
      fail(ErrorKind::kFormat, "the graph has no inputs");
    }
    check_finite(graph);
    if (open != OpenExtents::kSymbols && may_have_batch(graph)) ir::try_symbolic_batch(graph);
    ir::verify(graph);
    return graph;
  }

  /// What a network remembers is of one sample; and the shapes that a caller gives may be those of
  /// a network that counts samples.
  [[nodiscard]] bool may_have_batch(const ir::Graph& graph) const {
    if (!graph.states().empty()) return false;
    return options_.shapes.empty() || !formats::counts_samples(file_, options_);
  }

  /// With the extents of the file, if one sample may be one of the batch.
  std::optional<ir::Graph> with_repeated_sample() {
    const auto leads = [](const auto& axes) { return axes.empty() || axes[0] == 0; };
    if (!has_open_ || counts_samples_ || !std::ranges::all_of(open_, leads)) return std::nullopt;
    fixed_ = read(OpenExtents::kNumbers);
    const bool has_batch = !ir::fixed_batch(*fixed_);
    return has_batch ? std::exchange(fixed_, std::nullopt) : std::nullopt;
  }

  /// With a symbol for the batch of each input.
  std::optional<ir::Graph> with_symbols() {
    if (!has_open_) return std::nullopt;
    ir::Graph graph = read(OpenExtents::kSymbols);
    if (!graph.states().empty()) fail(ErrorKind::kUnsupported, "states of an open extent");
    return graph;
  }

  const circle::FileModel& file_;
  const ImportOptions& options_;
  std::set<std::string>* used_;
  std::vector<std::vector<std::size_t>> open_;  ///< axes of inputs, as open_axes()
  // If the read with the batch has failed:
  bool has_open_ = false;           ///< whether extents are open
  bool counts_samples_ = false;     ///< whether it computes with the number of samples
  std::optional<ir::Graph> fixed_;  ///< with the extents of the file
};

/// The shape of an input with symbols where its signature is open.
/// @param has_batch  whether the first axis may be the batch
ir::Shape open_shape(const circle::FileModel& file, std::size_t tensor, bool has_batch) {
  ir::Shape shape = file.shape(tensor);
  for (const std::size_t axis : file.open_axes(tensor)) {
    const std::string symbol = circle::symbol_of(file.tensor_name(tensor), axis);
    shape[axis] = has_batch && axis == 0 ? ir::kBatch : ir::dim_of(ir::Extent::symbol(symbol));
  }
  return shape;
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
    return Reading(model, options, used).run();
  });
}

}  // namespace halftone::formats
