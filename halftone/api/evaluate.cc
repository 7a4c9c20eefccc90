// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/evaluate.h"

#include <optional>
#include <utility>

#include "halftone/api/open_form.h"

namespace halftone {

compress::Evaluation evaluate(const Network& network, const data::Dataset& data,
                              const Network* reference, compress::EvaluateSettings options) {
  options.network = network.name;
  SizedGraph own = prepared_for(network, data, Purpose::kRunOnFloats);
  options.resize = std::move(own.resize);
  std::optional<ir::Graph> other;
  if (reference != nullptr) {
    options.reference = reference->name;
    SizedGraph theirs = prepared_for(*reference, data, Purpose::kRunOnFloats);
    other = std::move(theirs.graph);
    options.resize_reference = std::move(theirs.resize);
  }
  return compress::evaluate(own.graph, data, other ? &*other : nullptr, options);
}

}  // namespace halftone
