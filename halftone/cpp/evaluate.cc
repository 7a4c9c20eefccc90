// SPDX-License-Identifier: Apache-2.0
#include "halftone/evaluate.hpp"

#include "halftone/api/evaluate.h"
#include "halftone/cpp/internals.h"

namespace halftone::v0 {

Evaluation evaluate(const Model& model, const Data& samples, const EvaluateOptions& options) {
  CallerException raised;
  return at_border(
      [&] {
        const UseThreadSettings use(settings_for(options.resources));
        compress::EvaluateSettings how;
        how.batch = options.batch;
        how.progress = sink_of(options.progress, raised);
        how.devices = spmd::Devices::for_threads();
        how.execution = execution_options(options.execution);
        const Network* reference =
            options.reference ? &Internals::network(*options.reference) : nullptr;
        return halftone::evaluate(Internals::network(model), Internals::dataset(samples), reference,
                                  how);
      },
      {&raised, Internals::raised(samples)});
}

}  // namespace halftone::v0
