// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/calibration_samples.h"

#include <algorithm>
#include <cmath>

#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/parallel.h"
#include "halftone/lm/chat/model_texts.h"
#include "halftone/lm/decode/decoder.h"
#include "halftone/lm/model/build.h"
#include "halftone/lm/quantize/documents.h"
#include "halftone/lm/quantize/synthetic_samples.h"
#include "halftone/lm/text/utf8.h"

namespace halftone {
namespace {

/// @param text  in UTF-8
std::size_t num_characters(std::span<const std::byte> text) {
  const auto is_first = [](std::byte byte) { return (byte & std::byte{0xC0}) != std::byte{0x80}; };
  return static_cast<std::size_t>(std::ranges::count_if(text, is_first));
}

/// Tokens with a text, below the model's number of tokens.
std::vector<lm::TokenId> tokens_with_text(const lm::Vocabulary& vocabulary, std::size_t most) {
  std::vector<lm::TokenId> tokens;
  for (std::size_t i = 0; i < std::min(vocabulary.size(), most); ++i) {
    const auto id = static_cast<lm::TokenId>(i);
    if (vocabulary.token(id).kind == lm::TokenKind::kNormal) tokens.push_back(id);
  }
  if (tokens.empty()) fail(ErrorKind::kFormat, "tokenizer: expected a token with a text");
  return tokens;
}

lm::SyntheticOptions synthetic_options(const CalibrationSource& job, const lm::ModelParts& model) {
  const lm::Tokenizer tokenizer = lm::read_model_texts(job.model, job.tokenizer).tokenizer;
  lm::SyntheticOptions options;
  options.count = job.samples.fit + job.samples.held_out;
  options.tokens = job.samples.tokens;
  options.begin = tokenizer.begin();
  options.num_tokens = std::min(model.description.vocabulary, tokenizer.vocabulary().size());
  options.first_tokens = tokens_with_text(tokenizer.vocabulary(), options.num_tokens);
  options.seed = job.seed;
  return options;
}

lm::TokenizedText tokenized(std::string_view text, const lm::Tokenizer& tokenizer) {
  lm::check_utf8(text);
  lm::TokenizedText result;
  for (const std::string_view document : lm::split_documents(text)) {
    const bool is_first = document.data() == text.data();
    const bool is_last = document.data() + document.size() == text.data() + text.size();
    result.documents.push_back(result.tokens.size());
    const std::vector<lm::TokenId> tokens =
        tokenizer.encode(document, {.begin = is_first, .end = is_last});
    result.tokens.insert(result.tokens.end(), tokens.begin(), tokens.end());
  }
  return result;
}

/// Samples of the texts of a job.
CalibrationSamples samples_of_texts(const CalibrationSource& job) {
  const lm::Tokenizer tokenizer = lm::read_model_texts(job.model, job.tokenizer).tokenizer;
  CalibrationSamples result;
  std::vector<lm::TokenizedText> texts;
  for (const std::filesystem::path& path : job.texts) {
    const std::vector<std::byte> bytes = read_file(path);
    with_context(path.string(), [&] {
      texts.push_back(
          tokenized({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, tokenizer));
      lm::check_text(texts.back().tokens.size(), job.samples);
    });
    result.texts.push_back({path.string(), num_characters(bytes), texts.back().tokens.size()});
  }
  lm::SampleOptions options = job.samples;
  options.begin = tokenizer.begin();
  result.samples = lm::choose_samples(texts, options);
  return result;
}

/// Samples that the model writes.
CalibrationSamples written_samples(const CalibrationSource& job, const lm::ModelParts& model,
                                   const ProgressSink& progress,
                                   std::vector<std::vector<lm::TokenId>>& written,
                                   const std::function<void()>& save) {
  lm::SyntheticOptions options = synthetic_options(job, model);
  options.progress = progress;
  options.on_samples = [&](const auto& /*samples*/) { save(); };
  if (written.size() < options.count) {
    lm::Decoder decoder(
        lm::build_decoder(model.description, model.weights,
                          {.sequences = lm::kSyntheticSequences, .context = options.tokens}),
        {.threads = job.threads > 0 ? job.threads : num_threads()});
    lm::write_samples(decoder, options, written);
  }
  CalibrationSamples result;
  result.samples.tokens = options.tokens;
  const auto split = written.begin() + static_cast<std::ptrdiff_t>(job.samples.fit);
  result.samples.fit.assign(written.begin(), split);
  result.samples.held_out.assign(split, written.end());
  result.samples.texts.assign(written.size(), 0);
  for (std::size_t i = 0; i < written.size(); ++i) result.samples.documents.push_back(i);
  const std::size_t tokens = written.size() * options.tokens;
  result.texts = {{"synthetic samples", tokens, tokens}};  // of which nobody asks for the text
  return result;
}

}  // namespace

void check_calibration(const CalibrationSource& source, double damping) {
  constexpr std::size_t kMax = 1U << 30U;  // far more than memory holds
  const auto check_count = [](const char* name, std::size_t count, std::size_t least) {
    if (count >= least && count <= kMax) return;
    fail(ErrorKind::kUsage, std::string(name) + ": expected " + std::to_string(least) + " to " +
                                std::to_string(kMax) + ", found " + std::to_string(count));
  };
  check_count("samples", source.samples.fit, 1);
  check_count("samples held out", source.samples.held_out, 0);
  check_count("tokens of a sample", source.samples.tokens, 2);
  if (!std::isfinite(damping) || damping < 0) {
    fail(ErrorKind::kUsage,
         "damping: expected a finite number of at least 0, found " + std::to_string(damping));
  }
  if (source.texts.empty() != source.is_synthetic) {
    fail(ErrorKind::kUsage, std::string("calibration: expected either texts or synthetic samples, "
                                        "which the model writes itself, found ") +
                                (source.is_synthetic ? "both" : "neither"));
  }
  lm::check_options(source.samples);
}

CalibrationSamples calibration_samples(const CalibrationSource& source, const lm::ModelParts& model,
                                       const ProgressSink& progress,
                                       std::vector<std::vector<lm::TokenId>>& written,
                                       const std::function<void()>& save) {
  return source.is_synthetic ? written_samples(source, model, progress, written, save)
                             : samples_of_texts(source);
}

std::vector<std::string> sample_warnings(const CalibrationSamples& calibration,
                                         const std::vector<double>& losses, std::size_t widest,
                                         const std::string& matrix) {
  const lm::Samples& samples = calibration.samples;
  std::vector<std::string> all = lm::warn_of_few_tokens(samples, widest, matrix);
  for (auto& warnings : {lm::warn_of_strange_texts({samples, calibration.texts, losses}),
                         lm::warn_of_narrow_samples(samples)}) {
    all.insert(all.end(), warnings.begin(), warnings.end());
  }
  return all;
}

}  // namespace halftone
