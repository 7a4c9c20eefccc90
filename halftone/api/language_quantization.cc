// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/language_quantization.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "halftone/api/elapsed.h"
#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/parallel.h"
#include "halftone/formats/gguf/gguf_file.h"
#include "halftone/lm/chat/model_texts.h"
#include "halftone/lm/quantize/write_model.h"

namespace halftone {
namespace {

enum class OutputKind { kGguf, kOwn };

OutputKind output_kind(const LanguageQuantizeJob& job) {
  const bool is_gguf_input = job.input.extension() == ".gguf";
  const std::string extension = job.output.extension().string();
  if (extension == ".gguf" && is_gguf_input) return OutputKind::kGguf;
  if (extension == ".safetensors" && !job.is_decoded) return OutputKind::kOwn;
  std::string expected = job.is_decoded ? "" : "NAME.safetensors";
  if (is_gguf_input) expected += std::string(expected.empty() ? "" : " or ") + "NAME.gguf";
  if (expected.empty()) {
    fail(ErrorKind::kUsage, job.input.string() + ": decoded weights are written for GGUF files");
  }
  fail(ErrorKind::kUsage, job.output.string() + ": expected " + expected +
                              (is_gguf_input ? "" : ", since the model is no GGUF file"));
}

std::uintmax_t size_of(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return std::filesystem::file_size(path);
  std::uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

lm::Samples samples_of(const LanguageQuantizeJob& job, const lm::ModelTexts& texts) {
  std::vector<std::vector<lm::TokenId>> tokens;
  for (const std::filesystem::path& path : job.texts) {
    const std::vector<std::byte> bytes = read_file(path);
    tokens.push_back(with_context(path.string(), [&] {
      return texts.tokenizer.encode({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }));
  }
  lm::SampleOptions options = job.samples;
  options.begin = texts.tokenizer.begin();
  return lm::choose_samples(tokens, options);
}

void add_matrices(const lm::Description& description, const lm::FittedMatrices& fitted,
                  LanguageQuantizeReport& report) {
  double weights = 0;
  double bits = 0;
  for (const auto& [id, matrix] : fitted) {
    const std::size_t bytes = matrix.encoded.bytes.bytes.size();
    report.matrices.push_back({lm::canonical_name(description, id), matrix.type->name,
                               matrix.type->bits, bytes, matrix.error});
    weights += static_cast<double>(matrix.rows) * static_cast<double>(matrix.cols);
    bits += 8 * static_cast<double>(bytes);
  }
  report.bits = weights > 0 ? bits / weights : 0;
}

}  // namespace

LanguageQuantizeReport quantize_language_model(const LanguageQuantizeJob& job) {
  const Elapsed elapsed;
  const OutputKind kind = output_kind(job);
  const lm::Model model = lm::open_model(job.input);
  const lm::TypeChoice choice = lm::choose_types(model, job.recipe, job.is_decoded);
  if (choice.empty()) fail(ErrorKind::kUsage, "types: expected one for a matrix, found none");
  const lm::Samples samples = samples_of(job, lm::read_model_texts(job.input, job.tokenizer));
  const lm::Folding folding(model,
                            {.rotates = kind == OutputKind::kOwn && job.rotates, .seed = job.seed});
  const int threads = job.threads > 0 ? job.threads : num_threads();
  const lm::FittedMatrices fitted = lm::fit_model(model, folding, choice, samples,
                                                  {job.damping, job.groups, threads, job.progress});
  if (kind == OutputKind::kGguf) {
    lm::write_gguf_model(job.output, formats::GgufFile::open(job.input), model, fitted,
                         job.is_decoded ? lm::FittedForm::kDecoded : lm::FittedForm::kCodes);
  } else {
    lm::write_own_model(job.output, folding, fitted, lm::read_text_files(job.input));
  }
  LanguageQuantizeReport report{.input_bytes = size_of(job.input),
                                .output_bytes = size_of(job.output)};
  report.fit_tokens = samples.fit.size() * samples.tokens;
  report.held_out_tokens = samples.held_out.size() * samples.tokens;
  add_matrices(folding.description(), fitted, report);
  report.seconds = elapsed.seconds();
  return report;
}

}  // namespace halftone
