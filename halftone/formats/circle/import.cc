// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/circle/import.h"

#include <optional>
#include <utility>

#include "halftone/formats/circle/importer.h"
#include "halftone/formats/finite_constants.h"
#include "halftone/ir/symbolic_batch.h"
#include "halftone/ir/verify.h"

namespace halftone::formats {
namespace {

/// A file may declare a batch and then, say, reshape or unpack it. Such a graph is valid only for
/// the extents in the file, which are tried second. A malformed file fails both times.
ir::Graph import_any_batch(const circle::FileModel& file, const ImportOptions& options,
                           std::set<std::string>* used) {
  try {
    return circle::Importer(file, options, used).run(true);
  } catch (const Error& error) {
    const ErrorKind kind = error.kind();
    const bool is_final =
        kind == ErrorKind::kUnsupported || kind == ErrorKind::kMemory || kind == ErrorKind::kUsage;
    if (is_final) throw;
  }
  return circle::Importer(file, options, used).run(false);
}

}  // namespace

ir::Graph import_circle(std::span<const std::byte> bytes, const ImportOptions& options,
                        std::set<std::string>* used) {
  return import_circle(SharedBytes{nullptr, bytes, 0}, options, used);
}

ir::Graph import_circle(SharedBytes file, const ImportOptions& options,
                        std::set<std::string>* used) {
  const circle::FileModel model(std::move(file));
  ir::Graph graph = import_any_batch(model, options, used);
  // Codes and bases of low-bit layers were tensors of the file; they have no readers now.
  graph.remove_unused_nodes();
  if (graph.inputs().empty() && options.constants.empty()) {
    fail(ErrorKind::kFormat, "the graph has no inputs");
  }
  check_finite(graph);
  ir::try_symbolic_batch(graph);
  ir::verify(graph);
  return graph;
}

}  // namespace halftone::formats
