// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/quantize_identity.h"

#include <string>

#include "halftone/api/calibration_samples.h"
#include "halftone/base/hash.h"
#include "halftone/base/paths.h"
#include "halftone/base/printable.h"
#include "halftone/base/shared_bytes.h"
#include "halftone/lm/quantize/cost_measurement.h"

namespace halftone {
namespace {

/// Bytes of files, one behind the other: "92870016 bytes 1234".
class FileHash {
 public:
  /// A file, or all of a folder by their names.
  void add(const std::filesystem::path& path) {
    std::vector<std::filesystem::path> files;
    if (is_folder(path)) {
      files = files_in(path);
      for (const auto& file : files) hash_.add(file.filename().string() + " ");
    } else {
      files.push_back(path);
    }
    for (const auto& file : files) add_file(file);
  }
  [[nodiscard]] std::string text() const {
    return std::to_string(bytes_) + " bytes " + std::to_string(hash_.value());
  }

 private:
  void add_file(const std::filesystem::path& path) {
    if (bytes_of_file(path) == 0) return;
    const SharedBytes file = map_file(path);
    hash_.add(std::to_string(file.bytes.size()) + " ");
    hash_.add(file.bytes);
    bytes_ += file.bytes.size();
  }

  Hash hash_;
  std::uintmax_t bytes_ = 0;
};

template <typename Job>
std::string text_of(const Job& job) {
  if (job.synthetic) return "synthetic";
  FileHash hash;
  for (const auto& text : job.texts) hash.add(text);
  return hash.text();
}

std::string samples_of(const lm::SampleOptions& samples) {
  return std::to_string(samples.fit) + " and " + std::to_string(samples.held_out) +
         " held out of " + std::to_string(samples.tokens) + " tokens, by documents";
}

template <typename Job>
std::string choices_of(const Job& job) {
  std::string choices;
  for (const std::string& choice : job.choices) choices += (choices.empty() ? "" : ",") + choice;
  return choices;
}

std::string types_of(const LanguageQuantizeJob& job) {
  const std::string choices = job.choices.empty() ? "" : " of " + choices_of(job);
  const std::string measured = choices + ", " + std::to_string(lm::kGradientSamples) + " samples";
  if (job.size_bytes) return "for " + std::to_string(*job.size_bytes) + " bytes" + measured;
  if (job.bits_per_weight) {
    return "for " + number_text(*job.bits_per_weight) + " bits per weight" + measured;
  }
  if (job.max_loss) return "for a loss of " + number_text(*job.max_loss) + measured;
  std::string types = job.types.type + ", tables " + job.types.table_type;
  for (const lm::TypeRule& rule : job.types.rules) types += ", " + rule.pattern + "=" + rule.type;
  return types;
}

std::string fit_of(const LanguageQuantizeJob& job) {
  return "damping " + number_text(job.damping) + " " + number_text(damping_of(job).uniform) +
         ", candidates " + std::to_string(job.candidates) + ", sweeps " +
         std::to_string(job.sweeps);
}

/// The parts that all jobs have.
template <typename Job>
JobIdentity shared_identity(const Job& job) {
  FileHash model;
  model.add(job.input);
  if (!job.tokenizer.empty()) model.add(job.tokenizer);
  return {{"version", HALFTONE_VERSION},
          {"model", model.text()},
          {"text", text_of(job)},
          {"samples", samples_of(calibration_source(job).samples)}};
}

}  // namespace

JobIdentity identity_of(const LanguageQuantizeJob& job) {
  JobIdentity identity = shared_identity(job);
  const JobIdentity others = {{"types", types_of(job)},
                              {"output", job.output.extension().string()},
                              {"rotation", job.rotates ? "yes" : "no"},
                              {"fit", fit_of(job)},
                              {"seed", std::to_string(job.seed)}};
  identity.insert(identity.end(), others.begin(), others.end());
  return identity;
}

JobIdentity identity_of(const LanguageSensitivityJob& job) {
  JobIdentity identity = shared_identity(job);
  const std::string choices = choices_of(job);
  const JobIdentity others = {
      {"choices", choices.empty() ? "default of " + job.input.extension().string() : choices},
      {"rotation", job.rotates ? "yes" : "no"},
      {"fit", "damping " + number_text(job.damping) + ", " + std::to_string(lm::kGradientSamples) +
                  " samples"},
      {"seed", std::to_string(job.seed)}};
  identity.insert(identity.end(), others.begin(), others.end());
  return identity;
}

}  // namespace halftone
