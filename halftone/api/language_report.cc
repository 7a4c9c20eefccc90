// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/language_report.h"

#include <algorithm>
#include <functional>

#include "halftone/api/network.h"
#include "halftone/base/error.h"
#include "halftone/base/paths.h"
#include "halftone/lm/model/open_model.h"

namespace halftone {
namespace {

std::string last_name(const std::filesystem::path& path) {
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

/// The facts of a description that are not zero.
void add_facts(const lm::Description& d, LanguageReport& report) {
  const auto add = [&](const char* name, std::size_t value) {
    if (value > 0) report.facts.emplace_back(name, std::to_string(value));
  };
  report.facts.emplace_back("architecture", d.architecture);
  add("blocks", d.blocks);
  add("width of hidden rows", d.width);
  add("heads", d.heads);
  add("heads of keys and values", d.kv_heads);
  add("width of a feed-forward network", d.inner);
  add("experts", d.experts);
  add("experts of a token", d.active_experts);
  add("vocabulary", d.vocabulary);
  add("tokens it was trained for", d.context);
  constexpr std::size_t kHalfBytes = 2;
  add("bytes of a token in a float16 cache", d.cache_width() * kHalfBytes);
}

void add_tokenizer(const TextEvaluationJob& job, LanguageReport& report) {
  try {
    const lm::ModelTexts texts = lm::read_model_texts(job.model, job.open.tokenizer);
    report.facts.emplace_back("tokens of the tokenizer",
                              std::to_string(texts.tokenizer.vocabulary().size()));
    report.facts.emplace_back("chat template", texts.chat_template.empty() ? "none" : "yes");
  } catch (const Error& error) {
    report.missing.push_back(std::string("the tokenizer: ") + error.what());
  }
}

bool is_of_block(const lm::WeightId& id) { return id.role >= lm::WeightRole::kAttentionNorm; }

void add_matrices(const lm::ModelParts& model, LanguageReport& report) {
  double bits = 0;
  for (const lm::WeightId& id : lm::needed_weights(model.description)) {
    const lm::Weight& weight = model.weights.at(id);
    const std::size_t bytes = lm::bytes_of(weight.type, weight.num_elements());
    report.parameters += weight.num_elements();
    bits += 8 * static_cast<double>(bytes);
    if (weight.shape.size() < 2) {
      report.vector_bytes += bytes;
      continue;
    }
    const std::string name = lm::places_of(model.description, lm::Naming::kGguf, id)[0].name;
    // Experts of a block follow each other and have one name.
    if (id.expert > 0 && !report.matrices.empty() && report.matrices.back().name == name) {
      report.matrices.back().rows += weight.outputs();
      report.matrices.back().bytes += bytes;
      continue;
    }
    MatrixFigures matrix{name, std::string(to_string(id.role)), std::nullopt,
                         std::string(lm::type_name(weight.type))};
    if (is_of_block(id)) matrix.block = id.block;
    matrix.rows = weight.outputs();
    matrix.cols = weight.inputs();
    matrix.bits = 8 * static_cast<double>(bytes) / static_cast<double>(weight.num_elements());
    matrix.bytes = bytes;
    report.matrices.push_back(std::move(matrix));
  }
  if (report.parameters > 0) report.bits_per_weight = bits / static_cast<double>(report.parameters);
  // Nothing is below block 0.
  std::ranges::stable_sort(report.matrices, {}, &MatrixFigures::block);
}

/// "attention" of "block_3/attention/output": what a step of a block or of the rest belongs to.
std::string part_of_step(const std::string& name) {
  std::size_t begin = 0;
  const std::size_t slash = name.find('/');
  const bool has_block = slash != std::string::npos && name.find_first_of("0123456789") < slash;
  if (has_block) begin = slash + 1;
  return name.substr(begin, name.find('/', begin) - begin);
}

void add_parts(TextModel& model, LanguageReport& report) {
  constexpr std::size_t kTokens = 48;
  constexpr lm::TokenId kAnyToken = 1;
  model.model().truncate(0, 0);
  const std::size_t count = std::min(kTokens, model.model().context());
  const std::vector<lm::TokenId> tokens(count, kAnyToken);
  for (const lm::TimedStep& step : model.model().time_steps(0, tokens)) {
    const std::string name = part_of_step(step.name);
    auto found = std::ranges::find(report.parts, name, &TokenPart::name);
    if (found == report.parts.end()) found = report.parts.insert(found, {name});
    found->seconds += step.seconds;
  }
  std::ranges::stable_sort(report.parts, std::ranges::greater{}, &TokenPart::seconds);
}

LanguageSpeed speed_of(TextModel& model, const ProgressSink& progress) {
  LanguageSpeedSettings options;
  options.prompt = std::min<std::size_t>(options.prompt, model.model().context());
  options.generate = std::min<std::size_t>(options.generate, model.model().context());
  options.progress = progress;
  return measure_language_speed(model, options);
}

void add_times(const TextEvaluationJob& job, LanguageReport& report) {
  OpenOptions open = job.open;
  open.context.reset();  // as many as the model knows
  {
    TextModel model = TextModel::open(job.model, open);
    report.speed = speed_of(model, job.progress);
    add_parts(model, report);
  }
  if (job.reference.empty()) return;
  open.lora.clear();
  open.bits.reset();
  TextModel reference = TextModel::open(job.reference, open);
  report.reference_speed = speed_of(reference, job.progress);
}

}  // namespace

LanguageReport report_language_model(const TextEvaluationJob& job, bool measures_times) {
  LanguageReport report{.name = last_name(job.model)};
  if (!job.reference.empty()) report.reference = last_name(job.reference);
  if (!path_exists(job.model)) {
    fail(ErrorKind::kIo, job.model.string() + ": cannot open: No such file or directory");
  }
  if (job.texts.empty() && !job.reference.empty()) {
    fail(ErrorKind::kUsage, "reference: expected a text to compare on, found none");
  }
  report.file_bytes = bytes_of_files(job.model);
  const lm::ModelParts model = lm::open_model(job.model);
  add_facts(model.description, report);
  add_tokenizer(job, report);
  add_matrices(model, report);
  if (!job.reference.empty()) report.reference_bytes = bytes_of_files(job.reference);
  TextEvaluationJob measured = job;
  measured.details = true;
  if (!job.texts.empty()) report.evaluations = evaluate_text_files(measured);
  if (measures_times) add_times(job, report);
  return report;
}

}  // namespace halftone
