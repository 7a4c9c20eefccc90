// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/calibration_samples.h"

#include <algorithm>

#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/parallel.h"
#include "halftone/lm/chat/model_texts.h"
#include "halftone/lm/decode/decoder.h"
#include "halftone/lm/model/build.h"
#include "halftone/lm/quantize/synthetic_samples.h"

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

lm::SyntheticOptions synthetic_options(const LanguageQuantizeJob& job, const lm::Model& model) {
  const lm::Tokenizer tokenizer = lm::read_model_texts(job.input, job.tokenizer).tokenizer;
  lm::SyntheticOptions options;
  options.count = job.samples.fit + job.samples.held_out;
  options.tokens = job.samples.tokens;
  options.begin = tokenizer.begin();
  options.num_tokens = std::min(model.description.vocabulary, tokenizer.vocabulary().size());
  options.first_tokens = tokens_with_text(tokenizer.vocabulary(), options.num_tokens);
  options.seed = job.seed;
  return options;
}

}  // namespace

CalibrationSamples samples_of_texts(const LanguageQuantizeJob& job) {
  const lm::Tokenizer tokenizer = lm::read_model_texts(job.input, job.tokenizer).tokenizer;
  CalibrationSamples result;
  std::vector<std::vector<lm::TokenId>> tokens;
  for (const std::filesystem::path& path : job.texts) {
    const std::vector<std::byte> bytes = read_file(path);
    with_context(path.string(), [&] {
      tokens.push_back(
          tokenizer.encode({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
      lm::check_text(tokens.back().size(), job.samples);
    });
    result.texts.push_back({path.string(), num_characters(bytes), tokens.back().size()});
  }
  lm::SampleOptions options = job.samples;
  options.begin = tokenizer.begin();
  result.samples = lm::choose_samples(tokens, options);
  return result;
}

CalibrationSamples written_samples(const LanguageQuantizeJob& job, const lm::Model& model,
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
  const std::size_t tokens = written.size() * options.tokens;
  result.texts = {{"synthetic samples", tokens, tokens}};  // of which nobody asks for the text
  return result;
}

}  // namespace halftone
