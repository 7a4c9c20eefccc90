// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/evaluate.h"

#include <optional>
#include <utility>

#include "halftone/api/fixed_part.h"
#include "halftone/api/open_form.h"

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
  SizedGraph own = prepared_for(network, data, Purpose::kRunOnFloats);
  const ir::Graph graph = compared_part(std::move(own.graph));
  options.resize = std::move(own.resize);
  std::optional<ir::Graph> other;
  if (reference != nullptr) {
    options.reference = reference->name;
    SizedGraph theirs = prepared_for(*reference, data, Purpose::kRunOnFloats);
    other = compared_part(std::move(theirs.graph));
    options.resize_reference = std::move(theirs.resize);
  }
  return compress::evaluate(graph, data, other ? &*other : nullptr, options);
}

}  // namespace halftone
