// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/hash.h"
#include "halftone/train/run/content_hash.h"
#include "halftone/train/run/run_settings.h"
#include "halftone/train/tune/tune.h"

namespace halftone::train {
namespace {

std::string hash_of(const SequenceParts& parts) {
  std::string text;
  for (const ir::Graph& part : parts) text += content_hash(part);
  Hash hash;
  hash.add(text);
  return to_text(hash);
}

std::string hash_of(const std::vector<TokenSample>& samples) {
  Hash hash;
  for (const TokenSample& sample : samples) hash.add(std::as_bytes(std::span(sample)));
  return to_text(hash);
}

}  // namespace

RunSettings tune_settings(const TuneNetworks& networks, const TuneSamples& samples,
                          const TuneOptions& options) {
  std::string names;
  for (const auto& [name, constant] : networks.tuned) names += name + " ";
  return {{"teacher", hash_of(networks.teacher)},
          {"student", hash_of(networks.student)},
          {"tuned tensors", names},
          {"text", hash_of(samples.fit)},
          {"held-out text", hash_of(samples.held_out)},
          {"second text", hash_of(samples.second)},
          {"steps", std::to_string(options.steps)},
          {"samples of a step", std::to_string(options.batch)},
          {"learning rate", options.rate ? to_text(*options.rate) : "of the divergence"},
          {"relative learning rate of bases", to_text(options.basis_rate)},
          {"warm-up", to_text(options.warm_up)},
          {"evaluations", std::to_string(options.evaluations)},
          {"seed", std::to_string(options.seed)}};
}

}  // namespace halftone::train
