// SPDX-License-Identifier: Apache-2.0
// The fields of options for networks on described hardware.
#include <utility>

#include "halftone/api/option_fields.h"

namespace halftone {
namespace {

using Range = FieldRange;

constexpr double kMaxBatch = 1099511627776;  // 2^40
constexpr double kMaxTokens = 1 << 30;

/// How an estimate is made.
Field method_field(std::string& method) {
  return Field::word("method", &method,
                     "roofline (a lower bound), tiles (closed forms) or events (a simulation)",
                     {"roofline", "tiles", "events"});
}

/// Chips that share the work. @param options  with method, devices and split
template <typename Options>
Fields chip_fields(Options& o) {
  return {
      method_field(o.method),
      {"devices", &o.devices, "Chips that share the work", Range::between(1, 4096)},
      Field::word("split", &o.split, "What --devices share: data, tensor or pipeline",
                  {"data", "tensor", "pipeline"}),
  };
}

}  // namespace

Fields fields_of(v0::EstimateOptions& o) {
  Fields fields = {
      Field{"batch", &o.batch, "Samples, or sequences of a language model",
            Range::between(1, kMaxBatch)}
          .usually("1, or that of the network"),
      {"training", &o.training, "A training step: also the way back and the update of the weights"},
  };
  return joined(std::move(fields), chip_fields(o));
}

Fields fields_of(v0::LanguageEstimateOptions& o) {
  Fields fields = {
      Field{"weight_bits", &o.weight_bits,
            "Bits per weight of a model by its shape; from 16 on floats", Range::between(1, 32)}
          .usually("16"),
      precision_field(o.bits),
      {"activation_bits", &o.activation_bits, "Bits per activation; from 16 on floats",
       Range::between(1, 32)},
      {"cache_bits", &o.cache_bits, "Bits of keys and values", Range::between(1, 32)},
      {"group_size", &o.group_size,
       "Weights that share a scale of 16 bits; 0: scales are not counted",
       Range::between(0, kMaxTokens)},
      {"batch", &o.batch, "Sequences", Range::between(1, kMaxBatch)},
      {"prompt", &o.prompt, "Tokens of the prompt", Range::between(1, kMaxTokens)},
      {"context", &o.context, "Tokens in the cache when one is generated",
       Range::between(1, kMaxTokens)},
  };
  return joined(std::move(fields), chip_fields(o));
}

Fields fields_of(v0::ExploreSearch& o) {
  return {
      Field::word("objective", &o.objective, "What is least: time, energy or edp, their product",
                  {"time", "energy", "edp"}),
      method_field(o.method),
      run_batch_field(o.batch).as("--samples-per-run"),
      {"tries", &o.tries, "Designs to quantize, to verify what they lose", Range::between(1, 1000)},
      state_field(o.state),
      {"seed", &o.seed, "Seed of everything random"},
  };
}

Fields fields_of(v0::CrossbarOptions& o) {
  return {
      {"seeds", &o.seeds, "Devices to program, with seeds from --seed on", Range::from(1)},
      crossbar_seconds_field("seconds", o.seconds),
      batch_field(o.batch),
      {"seed", &o.seed, "Seed of everything random"},
  };
}

Field crossbar_seconds_field(std::string name, std::optional<double>& seconds) {
  return Field{std::move(name), &seconds, "Time from programming the crossbar to reading",
               Range::above(0)}
      .usually("as the description says")
      .as("--seconds");
}

}  // namespace halftone
