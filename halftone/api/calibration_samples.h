// SPDX-License-Identifier: Apache-2.0
// The samples to which a language model is fitted. Private to this folder.
#pragma once

#include <vector>

#include "halftone/api/language_quantization.h"
#include "halftone/lm/model/open_model.h"
#include "halftone/lm/quantize/quantize_state.h"
#include "halftone/lm/quantize/sample_warnings.h"

namespace halftone {

struct CalibrationSamples {
  lm::Samples samples;
  std::vector<lm::SampleText> texts;
};

/// Samples of the texts of a job.
/// @throws Error kIo if a text cannot be read; kFormat if one is not UTF-8; as lm::choose_samples()
CalibrationSamples samples_of_texts(const LanguageQuantizeJob& job);

/// Samples that the model writes.
/// @param written  those of an interrupted run, to which others are added
/// @param save     called after some were added
/// @throws Error as lm::build_decoder() and lm::write_samples()
CalibrationSamples written_samples(const LanguageQuantizeJob& job, const lm::Model& model,
                                   const ProgressSink& progress,
                                   std::vector<std::vector<lm::TokenId>>& written,
                                   const std::function<void()>& save);

}  // namespace halftone
