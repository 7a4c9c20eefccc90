// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/evaluate.h"

#include <optional>
#include <utility>

#include "halftone/api/sample_shapes.h"

namespace halftone {

compress::Evaluation evaluate(Network network, const data::Dataset& data, const Network* reference,
                              compress::EvaluateSettings options) {
  options.network = network.name;
  network = with_samples(std::move(network), data);
  const ir::Graph graph = prepared(std::move(network), Purpose::kRunOnFloats);
  std::optional<ir::Graph> other;
  if (reference != nullptr) {
    options.reference = reference->name;
    other = prepared(with_samples(*reference, data), Purpose::kRunOnFloats);
  }
  return compress::evaluate(graph, data, other ? &*other : nullptr, options);
}

}  // namespace halftone
