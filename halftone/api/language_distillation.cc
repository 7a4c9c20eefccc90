// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/language_distillation.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "halftone/api/elapsed.h"
#include "halftone/api/tuned_student.h"
#include "halftone/api/writable.h"
#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/file_uses.h"
#include "halftone/base/parallel.h"
#include "halftone/base/paths.h"
#include "halftone/lm/chat/model_texts.h"
#include "halftone/lm/model/build.h"
#include "halftone/lm/model/open_model.h"
#include "halftone/lm/quantize/samples.h"
#include "halftone/train/tune/tune.h"

namespace halftone {
namespace {

void check_paths(const LanguageDistillJob& job) {
  const std::filesystem::path extension = job.student.extension();
  if (extension != ".gguf" && extension != ".safetensors") {
    fail(ErrorKind::kUsage, job.student.string() +
                                ": expected a student that `quantize --text` wrote, NAME.gguf or "
                                "NAME.safetensors");
  }
  if (job.output.extension() != extension) {
    fail(ErrorKind::kUsage,
         job.output.string() + ": expected NAME" + extension.string() + ", as the student");
  }
  FileUses uses;
  uses.read("teacher", job.teacher);
  uses.read("student", job.student);
  for (const std::filesystem::path& text : job.texts) uses.read("text", text);
  uses.read("second text", job.second_text);
  uses.write("output", job.output);
  uses.write("state", job.state);
  uses.check();
  check_writable(job.output);
  check_writable(job.state);
  if (job.texts.empty()) fail(ErrorKind::kUsage, "expected a text to learn from, found none");
}

/// @throws Error kUsage unless the student can be made from the teacher
void check_pair(const lm::Description& teacher, const lm::Description& student) {
  const auto require = [](const char* what, std::size_t expected, std::size_t found) {
    if (expected == found) return;
    fail(ErrorKind::kUsage, std::string("student: expected a model made from the teacher, of ") +
                                what + " " + std::to_string(expected) + ", found " +
                                std::to_string(found));
  };
  require("vocabulary", teacher.vocabulary, student.vocabulary);
  require("width", teacher.width, student.width);
  require("blocks", teacher.blocks, student.blocks);
}

std::vector<lm::TokenId> tokens_of(const std::filesystem::path& path,
                                   const lm::Tokenizer& tokenizer) {
  const std::vector<std::byte> bytes = read_file(path);
  return with_context(path.string(), [&] {
    return tokenizer.encode({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  });
}

/// All samples of the texts, of which some are held out of each text.
train::TuneSamples samples_of(const LanguageDistillJob& job, const lm::Tokenizer& tokenizer) {
  lm::SampleOptions options{.tokens = job.sample_tokens, .begin = tokenizer.begin()};
  train::TuneSamples samples;
  const std::size_t wanted = (job.held_out + job.texts.size() - 1) / job.texts.size();
  for (const std::filesystem::path& path : job.texts) {
    const lm::TokenizedText text{tokens_of(path, tokenizer)};
    const std::size_t there = text.tokens.size() / std::max<std::size_t>(job.sample_tokens, 1);
    options.held_out = std::clamp<std::size_t>(wanted, 1, std::max<std::size_t>(there / 2, 1));
    options.fit = std::max<std::size_t>(there, options.held_out + 1) - options.held_out;
    lm::Samples chosen = with_context(path.string(), [&] {
      return lm::choose_samples({&text, 1}, options);
    });
    std::ranges::move(chosen.fit, std::back_inserter(samples.fit));
    std::ranges::move(chosen.held_out, std::back_inserter(samples.held_out));
  }
  if (job.second_text.empty()) return samples;
  const lm::TokenizedText text{tokens_of(job.second_text, tokenizer)};
  options.fit = std::max<std::size_t>(job.held_out, 1);
  options.held_out = 0;
  samples.second = with_context(job.second_text.string(), [&] {
                     return lm::choose_samples({&text, 1}, options);
                   }).fit;
  return samples;
}

train::SequenceParts parts_of(const lm::ModelParts& model, std::size_t tokens) {
  train::SequenceParts parts;
  parts.push_back(lm::build_sample_embedding(model.description, model.weights, tokens));
  for (std::size_t block = 0; block < model.description.blocks; ++block) {
    parts.push_back(lm::build_sample_block(model.description, model.weights, tokens, block).graph);
  }
  parts.push_back(lm::build_sample_logits(model.description, model.weights, 1).graph);
  return parts;
}

TuneReport report_of(const train::TuneSamples& samples, train::TuneResult result) {
  const auto tokens = [](const std::vector<train::TokenSample>& of) {
    return of.empty() ? 0 : of.size() * of[0].size();
  };
  TuneReport report;
  report.fit_tokens = tokens(samples.fit);
  report.is_interrupted = result.is_interrupted;
  report.steps = std::move(result.history.steps);
  report.evaluations = std::move(result.history.evaluations);
  if (result.is_interrupted) return report;
  const std::vector<train::TuneEvaluation>& evaluations = report.evaluations;
  report.held_out = {evaluations.front().divergence, evaluations[result.best].divergence,
                     tokens(samples.held_out)};
  report.best_steps = evaluations[result.best].steps;
  if (!samples.second.empty()) {
    report.second_text = {result.second_before, result.second_after, tokens(samples.second)};
  }
  report.num_scales = result.num_scales;
  report.num_gains = result.num_vector_elements;
  report.bases = std::move(result.bases);
  return report;
}

void add_warnings(TuneReport& report) {
  if (report.best_steps == 0) {
    report.warnings.emplace_back(
        "no step made the held-out text better; the file has the student's own numbers; a smaller "
        "learning rate may help");
  }
  if (report.second_text && report.second_text->after > report.second_text->before) {
    report.warnings.emplace_back("the second text became worse");
  }
}

train::TuneOptions tune_options(const LanguageDistillJob& job) {
  train::TuneOptions options;
  options.steps = job.steps;
  options.batch = job.batch;
  options.rate = job.learning_rate;
  options.basis_rate = job.basis_rate_factor;
  options.minutes = job.minutes;
  options.seed = job.seed;
  if (!job.state.empty()) options.checkpoint.path = job.state.string();
  options.checkpoint.resume = path_exists(job.state);
  options.stop_requested = job.stop_requested;
  options.record = job.record;
  options.progress = job.sink;
  return options;
}

}  // namespace

TuneReport distill_language_model(const LanguageDistillJob& job) {
  const Elapsed elapsed;
  std::optional<ThreadLimit> limit;
  if (job.threads > 0) limit.emplace(job.threads);
  check_paths(job);
  const TunedStudent student(job.student);
  const lm::ModelParts teacher = lm::open_model(job.teacher);
  check_pair(teacher.description, student.model().description);
  const train::TuneSamples samples =
      samples_of(job, lm::read_model_texts(job.student, {}).tokenizer);
  const train::SequenceParts teacher_parts = parts_of(teacher, job.sample_tokens);
  const train::SequenceParts student_parts = parts_of(student.model(), job.sample_tokens);
  const train::NamedConstants tuned = student.tuned_of(student_parts);
  if (job.on_start) job.on_start();
  const train::TuneOptions options = tune_options(job);
  train::TuneResult result = train::tune({teacher_parts, student_parts, tuned}, samples, options);
  if (!result.is_interrupted) student.write(job.output, result.constants);
  TuneReport report = report_of(samples, std::move(result));
  report.input_bytes = bytes_of_file(job.student);
  if (!report.is_interrupted) {
    report.output_bytes = bytes_of_file(job.output);
    add_warnings(report);
  }
  report.seconds = elapsed.seconds();
  return report;
}

}  // namespace halftone
