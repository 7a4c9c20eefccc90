// SPDX-License-Identifier: Apache-2.0
#include "halftone/quantize.hpp"

#include <utility>

#include "halftone/api/elapsed.h"
#include "halftone/api/quantize.h"
#include "halftone/cpp/internals.h"

namespace halftone::v0 {

QuantizeResult to_public(compress::QuantizedGraph result, const std::string& name) {
  return {Internals::model(Network(std::move(result.graph), name)),
          std::move(result.layers),
          std::move(result.skipped_blocks),
          result.equalized_pairs,
          0,
          std::move(result.warnings)};
}

QuantizeResult quantize(const Model& model, const Data& samples, const Recipe& recipe,
                        const QuantizeOptions& options) {
  CallerException raised;
  return at_border(
      [&] {
        const UseThreadSettings use(settings_for(options.resources));
        const Elapsed elapsed;
        const compress::Recipe rules = recipe_of(recipe);
        const compress::QuantizeSettings how{options.seed, sink_of(options.progress, raised),
                                             spmd::Devices::for_threads(),
                                             options.sample_memory_bytes};
        const Network& network = Internals::network(model);
        const data::Dataset& data = Internals::dataset(samples);
        compress::QuantizedGraph found =
            options.integers_for.empty()
                ? halftone::quantize(network, data, rules, how)
                : quantize_to_integers(network, data, rules, how, options.integers_for);
        QuantizeResult result = to_public(std::move(found), network.name);
        result.seconds = elapsed.seconds();
        return result;
      },
      {&raised, Internals::raised(samples)});
}

}  // namespace halftone::v0
