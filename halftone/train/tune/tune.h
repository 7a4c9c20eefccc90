// SPDX-License-Identifier: Apache-2.0
// Tunes a quantized network of sequences against its float network.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "halftone/train/options/tune_options.h"
#include "halftone/train/run/checkpoint.h"
#include "halftone/train/tune/tuner.h"

namespace halftone::train {

/// Networks to tune. Refers to its parts.
struct TuneNetworks {
  const SequenceParts& teacher;
  const SequenceParts& student;
  const NamedConstants& tuned;  ///< of the student, as TunedNumbers takes them
};

/// Samples of equal length.
struct TuneSamples {
  std::vector<TokenSample> fit;       ///< at least one
  std::vector<TokenSample> held_out;  ///< at least one
  std::vector<TokenSample> second;    ///< of another domain, to report on; may be empty
};

struct TuneResult {
  NamedConstants constants;  ///< of the best evaluation
  TuneHistory history;
  std::size_t best = 0;  ///< index of the evaluation
  double second_before = 0;
  double second_after = 0;  ///< of the best one
  std::size_t num_scales = 0;
  std::size_t num_vector_elements = 0;
  std::vector<std::string> bases;  ///< rates
  bool is_interrupted = false;     ///< by stop_requested(); the checkpoint can resume
};

/// Tunes numbers by gradient descent on the divergence of the student from the teacher; codes stay.
///
/// Each step takes the next samples of an order that the seed gives, which changes with every pass
/// over them. The held-out samples are evaluated before the first step, at equal intervals and
/// after the last step; the result is the best of these states. Where an evaluation is worse than
/// the best one, the run goes back to that state and goes on at half the learning rate. The result
/// is the same for any number of threads. A run that resumes from its checkpoint gives the same
/// bits; a limit of minutes does not, except where it is not reached.
/// @throws Error kUsage if an option is out of range or there are no samples; kUnsupported if loss
///         or parameters are not finite; as Tuner, CheckpointFile and prepare_torch()
TuneResult tune(const TuneNetworks& networks, const TuneSamples& samples,
                const TuneOptions& options);

/// The settings that affect the result of a run: hashes of networks and samples, and options.
RunSettings tune_settings(const TuneNetworks& networks, const TuneSamples& samples,
                          const TuneOptions& options);

}  // namespace halftone::train
