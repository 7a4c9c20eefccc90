// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/evaluate.h"

#include <optional>
#include <utility>

#include "halftone/api/fixed_part.h"
#include "halftone/api/sample_shapes.h"

namespace halftone {
namespace {

/// A network whose first output is what is compared: of a size that does not depend on data.
ir::Graph compared_part(ir::Graph graph) {
  graph.set_outputs({graph.outputs()[0]});
  return fixed_part(std::move(graph));
}

}  // namespace

compress::Evaluation evaluate(Network network, const data::Dataset& data, const Network* reference,
                              compress::EvaluateSettings options) {
  options.network = network.name;
  network = with_samples(std::move(network), data);
  const ir::Graph graph = compared_part(prepared(std::move(network), Purpose::kRunOnFloats));
  std::optional<ir::Graph> other;
  if (reference != nullptr) {
    options.reference = reference->name;
    other = compared_part(prepared(with_samples(*reference, data), Purpose::kRunOnFloats));
  }
  return compress::evaluate(graph, data, other ? &*other : nullptr, options);
}

}  // namespace halftone
