// SPDX-License-Identifier: Apache-2.0
#include "halftone/quantize.hpp"

#include <utility>

#include "halftone/api/elapsed.h"
#include "halftone/api/quantize.h"
#include "halftone/cpp/internals.h"

namespace halftone::v0 {
namespace {

LayerReport report_of(const compress::LayerReport& from) {
  LayerReport report;
  report.name = from.name;
  report.op = from.op;
  report.weight_bits = from.weight_bits;
  report.activation_bits = from.activation_bits;
  report.float_bytes = from.float_bytes;
  report.encoded_bytes = from.encoded_bytes;
  report.weight_sqnr_db = from.weight_sqnr_db;
  report.sqnr_db = from.sqnr_db;
  return report;
}

}  // namespace

QuantizeResult to_public(compress::QuantizeResult result, const std::string& name) {
  QuantizeResult found{
      Internals::model(Network(std::move(result.graph), name)), {}, {}, result.equalized_pairs, 0};
  for (const compress::LayerReport& layer : result.layers) found.layers.push_back(report_of(layer));
  for (compress::SkippedBlock& block : result.skipped_blocks) {
    found.skipped_blocks.push_back({std::move(block.block), std::move(block.reason)});
  }
  found.warnings = std::move(result.warnings);
  return found;
}

QuantizeResult quantize(const Model& model, const Data& samples, const Recipe& recipe,
                        const QuantizeOptions& options) {
  Raised raised;
  return at_border(
      [&] {
        const UseThreadSettings use(settings_for(options.resources));
        const Elapsed elapsed;
        const compress::Recipe rules = recipe_of(recipe);
        const compress::QuantizeOptions how{options.seed, sink_of(options.progress, raised),
                                            spmd::Devices::for_threads(),
                                            options.sample_memory_bytes};
        const Network& network = Internals::network(model);
        const data::Dataset& data = Internals::dataset(samples);
        compress::QuantizeResult found =
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
