// SPDX-License-Identifier: Apache-2.0
// Results for people (to_text) and for scripts (to_json; the keys are a contract, see docs/cli.md).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "halftone/compress/evaluate.h"
#include "halftone/compress/quantize.h"
#include "halftone/report/inspection.h"
#include "halftone/runtime/execute/profile.h"
#include "halftone/runtime/plan/plan.h"

namespace halftone::report {

/// Results of `quantize` other than the layers.
struct QuantizeSummary {
  std::size_t input_bytes = 0;   ///< of the file
  std::size_t output_bytes = 0;  ///< of the file
  double seconds = 0;
  std::vector<compress::SkippedBlock> skipped_blocks{};
};

/// Results of `distill` and `train` other than their file.
struct TrainSummary {
  struct Epoch {
    double loss = 0;                   ///< mean over the samples
    double agreement = 0;              ///< fraction of samples classified as the target
    std::optional<double> held_out{};  ///< accuracy on the validation samples
    double rate = 0;                   ///< learning rate at the end
    double seconds = 0;
  };
  std::size_t input_bytes = 0;   ///< of the teacher's file, or the network's
  std::size_t output_bytes = 0;  ///< of the file written
  double seconds = 0;
  std::vector<Epoch> epochs;
  std::optional<std::size_t> best{};  ///< epoch that was written, if there is a validation split
};

/// A file that `run` wrote.
struct OutputFile {
  std::string file;
  ir::ValueType type;
};

std::string to_text(const Inspection& inspection);
/// One line: format, number of operators, bytes.
std::string to_summary(const Inspection& inspection);
std::string to_json(const Inspection& inspection);

std::string to_text(const std::vector<compress::LayerReport>& layers,
                    const QuantizeSummary& summary);
std::string to_json(const std::vector<compress::LayerReport>& layers,
                    const QuantizeSummary& summary);

/// One line about a finished epoch, without a line feed.
/// @param index  of the epoch, from 0
std::string to_line(std::size_t index, const TrainSummary::Epoch& epoch);
std::string to_text(const TrainSummary& summary);
std::string to_json(const TrainSummary& summary);

std::string to_text(const compress::Evaluation& evaluation);
std::string to_json(const compress::Evaluation& evaluation);

std::string to_text(const std::vector<OutputFile>& outputs);
std::string to_json(const std::vector<OutputFile>& outputs);

/// @param explain  adds why each kernel was chosen and why others were not
std::string to_text(const runtime::Plan& plan, const runtime::Profile& profile, bool explain);
std::string to_json(const runtime::Plan& plan, const runtime::Profile& profile);

}  // namespace halftone::report
