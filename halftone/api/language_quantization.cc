// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/language_quantization.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "halftone/api/calibration_samples.h"
#include "halftone/api/elapsed.h"
#include "halftone/api/language_conversion.h"
#include "halftone/api/network.h"
#include "halftone/api/quantize_identity.h"
#include "halftone/api/writable.h"
#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/file_uses.h"
#include "halftone/base/folder.h"
#include "halftone/base/parallel.h"
#include "halftone/base/paths.h"
#include "halftone/base/printable.h"
#include "halftone/formats/gguf/gguf_file.h"
#include "halftone/lm/chat/model_texts.h"
#include "halftone/lm/model/new_gguf.h"
#include "halftone/lm/quantize/check_weights.h"
#include "halftone/lm/quantize/cost_measurement.h"
#include "halftone/lm/quantize/kept_matrix.h"
#include "halftone/lm/quantize/tensor_parts.h"
#include "halftone/lm/quantize/write_model.h"
#include "halftone/numerics/nested_encoding.h"

namespace halftone {
namespace {

enum class OutputKind {
  kGguf,
  kOwn,     ///< NAME.safetensors
  kFolder,  ///< of Hugging Face, decoded
};

OutputKind output_kind(const LanguageQuantizeJob& job) {
  if (!path_exists(job.input)) {
    fail(ErrorKind::kIo, job.input.string() + ": cannot open: No such file or directory");
  }
  if (job.input.extension() == ".safetensors") {
    fail(ErrorKind::kUsage,
         job.input.string() +
             ": expected a model to quantize: a GGUF file or a folder of Hugging "
             "Face; found one that is quantized");
  }
  const std::string extension = job.output.extension().string();
  const bool reads_folder = is_folder(job.input);
  if (extension == ".gguf" && (reads_folder || is_gguf_file(job.input))) return OutputKind::kGguf;
  if (extension == ".safetensors") return OutputKind::kOwn;
  if (reads_folder && job.decoded && extension != ".gguf") {
    NewFolder::check(job.output);
    return OutputKind::kFolder;
  }
  std::string expected = "NAME.safetensors or NAME.gguf";
  if (reads_folder && job.decoded) expected += " or a new folder";
  if (!reads_folder && !is_gguf_file(job.input)) {
    expected = "NAME.safetensors, since the model is neither a GGUF file nor a folder";
  }
  fail(ErrorKind::kUsage, job.output.string() + ": expected " + expected);
}

/// Vector bases are made for rotated weights. Types of GGUF are not, and a GGUF file has no place
/// for rotations but in decoded weights.
bool wants_rotations(const LanguageQuantizeJob& job, OutputKind kind) {
  if (!job.rotates) return false;
  if (kind != OutputKind::kGguf) return true;
  return job.decoded && !job.types.type.empty() && job.types.type != lm::kKeepType &&
         lm::weight_type(job.types.type).is_vector();
}

void add_matrices(const lm::Description& description, const lm::FittedMatrices& fitted,
                  LanguageQuantizeReport& report) {
  double weights = 0;
  double bits = 0;
  for (const auto& [id, matrix] : fitted) {
    const std::size_t bytes = matrix.encoded.bytes.bytes.size();
    report.matrices.push_back({lm::canonical_name(description, id), matrix.type->name,
                               matrix.type->bits(), bytes, matrix.error});
    // A final transform represents the gains of a norm, which are no matrix.
    if (id.role == lm::WeightRole::kFinalTransform) continue;
    weights += static_cast<double>(matrix.rows) * static_cast<double>(matrix.cols);
    bits += 8 * static_cast<double>(bytes);
  }
  report.bits = weights > 0 ? bits / weights : 0;
}

void check_outputs(const LanguageQuantizeJob& job) {
  FileUses uses;
  uses.read("model", job.input);
  uses.read("tokenizer", job.tokenizer);
  for (const std::filesystem::path& text : job.texts) uses.read("text", text);
  uses.write("output", job.output);
  uses.write("recipe", job.recipe_output);
  uses.write("state", job.state);
  uses.check();
  for (const std::filesystem::path* path : {&job.output, &job.recipe_output, &job.state}) {
    const bool ends_with_slash = !path->has_filename();
    check_writable(ends_with_slash ? path->parent_path() : *path);
  }
}

/// A job with all that it reads.
class LanguageQuantizer {
 public:
  explicit LanguageQuantizer(const LanguageQuantizeJob& job)
      : job_(job),
        kind_(output_kind(job)),
        model_(lm::open_model(job.input)),
        folding_(model_, {.rotates = wants_rotations(job, kind_), .seed = job.seed}),
        threads_(job.threads > 0 ? job.threads : num_threads()) {
    if (is_gguf() && is_folder(job.input)) {
      new_keys_ = gguf_keys_of_folder(job.input, model_.description);
    }
  }

  LanguageQuantizeReport run() {
    LanguageQuantizeReport report{.input_bytes = bytes_of_files(job_.input)};
    // What is cheap to check comes first.
    if (has_budget() || job_.predict_loss) lm::check_gradients(model_.description);
    lm::TypeChoice choice;
    Menu menu;
    if (has_budget()) {
      menu = make_menu();
    } else {
      choice = given_types();
    }
    lm::check_weights(model_);
    open_state();
    take_samples(progress_until(job_.synthetic ? kShareOfSamples : 0));
    if (has_budget()) {
      lm::BudgetedTypes types = budgeted_types(menu, progress_until(kShareOfCosts));
      report.predicted_loss = types.loss;
      report.front = std::move(types.front);
      choice = std::move(types.choice);
    } else if (job_.predict_loss) {
      report.predicted_loss = predicted_loss(choice, progress_until(kShareOfCosts));
    }
    fit(choice, progress_until(1));
    NewFiles recipe;  // before the model: a full disk leaves neither
    recipe.add(job_.recipe_output, recipe_text(choice, report));
    write();
    recipe.finish();
    complete(report);
    return report;
  }

 private:
  // Of the time up to the end of a step.
  static constexpr double kShareOfSamples = 0.3;
  static constexpr double kShareOfCosts = 0.7;

  [[nodiscard]] bool has_budget() const {
    return job_.size_bytes || job_.bits_per_weight || job_.max_loss;
  }
  /// Progress of the next step.
  [[nodiscard]] ProgressSink progress_until(double end) {
    ProgressSink sink = part_of(job_.sink, progress_, end);
    progress_ = end;
    return sink;
  }
  [[nodiscard]] lm::TypeChoice given_types() const {
    if (is_gguf() && !job_.decoded) lm::require_gguf_types(job_.types);
    lm::TypeChoice choice = lm::choose_types(model_, job_.types, job_.decoded);
    if (choice.empty()) fail(ErrorKind::kUsage, "types: expected one for a matrix, found none");
    if (kind_ != OutputKind::kOwn) {
      lm::check_tensor_types(choice, output_tensors(), is_gguf() && !job_.decoded);
    }
    if (kind_ == OutputKind::kFolder) lm::check_folder_types(model_, choice);
    return choice;
  }
  void open_state() {
    if (job_.state.empty()) return;
    file_.emplace(job_.state, identity_of(job_));
    state_ = file_->read();
  }
  void save() {
    if (file_) file_->save(state_);
  }
  void take_samples(const ProgressSink& progress) {
    calibration_ = calibration_samples(calibration_source(job_), model_, progress, state_.written,
                                       [&] { save(); });
  }
  /// Called with what a walk measured beside what it is for.
  [[nodiscard]] std::function<void(std::vector<double>)> on_losses() {
    if (!state_.losses.empty()) return {};
    return [&](std::vector<double> losses) { state_.losses = std::move(losses); };
  }
  void fit(const lm::TypeChoice& choice, const ProgressSink& progress) {
    state_.fitted = lm::fit_model(model_, folding_, choice, samples(),
                                  {.damping = damping_of(job_),
                                   .groups = {.candidates = job_.candidates, .sweeps = job_.sweeps},
                                   .threads = threads_,
                                   .progress = progress,
                                   .known = state_.fitted,
                                   .on_block =
                                       [&](const lm::FittedMatrices& fitted) {
                                         state_.fitted = fitted;
                                         save();
                                       },
                                   .on_losses = on_losses()});
    save();
  }
  void complete(LanguageQuantizeReport& report) const {
    report.output_bytes = bytes_of_files(job_.output);
    report.fit_tokens = samples().fit.size() * samples().tokens;
    report.held_out_tokens = samples().held_out.size() * samples().tokens;
    add_matrices(folding_.description(), state_.fitted, report);
    const lm::MeasuredSamples measured{samples(), calibration_.texts, state_.losses};
    const lm::SampleLosses losses = lm::mean_losses(measured);
    report.fit_loss = losses.fit;
    if (!samples().held_out.empty()) report.held_out_loss = losses.held_out;
    const auto widest = std::ranges::max_element(state_.fitted, {},
                                                 [](const auto& each) { return each.second.cols; });
    report.warnings = sample_warnings(calibration_, state_.losses, widest->second.cols,
                                      lm::canonical_name(folding_.description(), widest->first));
    if (kind_ == OutputKind::kOwn && !job_.decoded) {
      for (std::string& warning : lm::kept_warnings(folding_, state_.fitted)) {
        report.warnings.push_back(std::move(warning));
      }
    }
    const std::string warning = new_keys_ ? lm::new_gguf_warning(model_.description) : "";
    if (!warning.empty()) report.warnings.push_back(warning);
  }
  [[nodiscard]] const lm::Samples& samples() const { return calibration_.samples; }
  [[nodiscard]] bool is_gguf() const { return kind_ == OutputKind::kGguf; }
  void write() const {
    const lm::FittedMatrices& fitted = state_.fitted;
    const auto form = job_.decoded ? lm::FittedForm::kDecoded : lm::FittedForm::kCodes;
    switch (kind_) {
      case OutputKind::kGguf:
        if (new_keys_) {
          lm::write_gguf_model(job_.output, *new_keys_, folding_, fitted, form);
        } else {
          lm::write_gguf_model(job_.output, formats::GgufFile::open(job_.input), folding_, fitted,
                               form);
        }
        break;
      case OutputKind::kOwn:
        lm::write_own_model(job_.output, folding_, fitted,
                            lm::read_text_files(job_.input, job_.tokenizer), form);
        break;
      case OutputKind::kFolder:
        lm::write_folder_model(job_.output, job_.input, folding_, fitted, form);
        break;
    }
  }
  [[nodiscard]] std::string recipe_text(const lm::TypeChoice& choice,
                                        const LanguageQuantizeReport& report) const {
    std::vector<std::string> comments = {"types of " + job_.output.filename().string()};
    if (report.predicted_loss) {
      comments.push_back("predicted divergence " + std::to_string(*report.predicted_loss) +
                         " nats per token");
    }
    return lm::to_toml(folding_.description(), choice, comments);
  }

  /// What a budget may choose from, and what it is.
  struct Menu {
    lm::TypeMenu types;
    compress::Budget budget;
    double beside = 0;  ///< bytes of the output without the matrices
    lm::TensorsOfMatrices tensor_of;
  };
  /// @throws Error kUsage for a choice that GGUF files do not have
  void check_gguf_choices() const {
    lm::TypeRecipe recipe;
    for (const std::string& choice : job_.choices)
      recipe.rules.push_back({choice, choice, "choices"});
    lm::require_gguf_types(recipe);
  }
  /// @throws Error as lm::check_budget()
  [[nodiscard]] Menu make_menu() const {
    Menu menu{lm::type_menu(model_, is_gguf(), job_.choices), {}, 0, {}};
    if (is_gguf()) {
      check_gguf_choices();
      menu.tensor_of = output_tensors();
    }
    lm::TypeCosts sizes;
    lm::TypeChoice smallest;
    double weights = 0;
    for (const auto& [id, types] : menu.types) {
      const lm::Weight& weight = model_.weights.at(id);
      smallest.emplace(id, *std::ranges::min_element(types, {}, &lm::WeightType::bits));
      const std::size_t copies = lm::stack_of(model_.description, id.role);
      weights += static_cast<double>(copies * weight.num_elements());
      for (const lm::WeightType* type : types) {
        sizes[id].push_back(
            {type, 0, copies * type->size_bytes(weight.outputs(), weight.inputs())});
      }
    }
    menu.budget[compress::Measure::kLoss] = job_.max_loss;
    std::optional<double>& bytes = menu.budget[compress::Measure::kBytes];
    menu.beside = static_cast<double>(bytes_of_others(smallest));
    if (job_.size_bytes) bytes = static_cast<double>(*job_.size_bytes);
    if (job_.bits_per_weight) {
      bytes = menu.beside + std::floor(*job_.bits_per_weight * weights / 8);
    }
    with_context(job_.bits_per_weight ? "bits per weight" : "types",
                 [&] { lm::check_budget(sizes, menu.budget, menu.beside, menu.tensor_of); });
    return menu;
  }
  /// Of each matrix, the tensor of the output that holds it, whose parts get one type.
  [[nodiscard]] lm::TensorsOfMatrices output_tensors() const {
    lm::TensorsOfMatrices tensors;
    for (const lm::WeightId& id : lm::matrices_to_fit(model_.description)) {
      tensors.emplace(id, new_keys_ ? lm::new_gguf_place(model_.description, id).name
                                    : model_.weights.at(id).tensor);
    }
    return tensors;
  }
  /// Measures what each type costs in state_.costs.
  void measure_costs(const lm::TypeMenu& types, const ProgressSink& progress) {
    lm::measure_costs({.model = model_,
                       .folding = folding_,
                       .samples = samples(),
                       .damping = damping_of(job_),
                       .seed = job_.seed,
                       .threads = threads_,
                       .progress = progress,
                       .save = [&] { save(); }},
                      types, state_);
  }
  [[nodiscard]] double predicted_loss(const lm::TypeChoice& choice, const ProgressSink& progress) {
    lm::TypeMenu types;
    for (const auto& [id, type] : choice) types.emplace(id, std::vector{type});
    measure_costs(types, progress);
    double loss = 0;
    for (const auto& [id, costs] : state_.costs) loss += costs.at(0).loss;
    return loss;
  }
  [[nodiscard]] lm::BudgetedTypes budgeted_types(const Menu& menu, const ProgressSink& progress) {
    measure_costs(menu.types, progress);
    return lm::choose_within(state_.costs, menu.budget, menu.beside, menu.tensor_of);
  }
  /// Of the output without the matrices.
  [[nodiscard]] std::size_t bytes_of_others(const lm::TypeChoice& choice) const {
    if (new_keys_) return lm::gguf_bytes_without(*new_keys_, model_, choice);
    if (is_gguf()) {
      return lm::gguf_bytes_without(formats::GgufFile::open(job_.input), model_, choice);
    }
    return lm::own_bytes_without(folding_, choice, lm::read_text_files(job_.input, job_.tokenizer));
  }

  const LanguageQuantizeJob& job_;
  OutputKind kind_;
  lm::ModelParts model_;
  lm::Folding folding_;
  int threads_;
  std::optional<formats::GgufKeys> new_keys_;  ///< of a GGUF file of a folder
  double progress_ = 0;                        ///< at the end of the last step
  std::optional<lm::QuantizeStateFile> file_;
  lm::QuantizeState state_;
  CalibrationSamples calibration_;
};

/// The job with the type that `nested` means.
LanguageQuantizeJob with_nested_type(LanguageQuantizeJob job) {
  if (job.nested.empty()) return job;
  if (job.nested != "3,4") {
    fail(ErrorKind::kUsage, "nested: expected 3,4, found '" + printable(job.nested) +
                                "': other bits in one code lose too much");
  }
  if (!job.types.type.empty() && job.types.type != numerics::kNestedName) {
    fail(ErrorKind::kUsage, "nested: expected no other type of the matrices in blocks, found " +
                                printable(job.types.type));
  }
  job.types.type = numerics::kNestedName;
  return job;
}

void check_ways(const LanguageQuantizeJob& job) {
  const bool has_types =
      !job.types.type.empty() || !job.types.table_type.empty() || !job.types.rules.empty();
  if (job.bits_per_weight && !(*job.bits_per_weight > 0 && *job.bits_per_weight <= 32)) {
    fail(ErrorKind::kUsage, "bits per weight: expected a number above 0, 32 at most, found " +
                                std::to_string(*job.bits_per_weight));
  }
  if (job.max_loss && !(std::isfinite(*job.max_loss) && *job.max_loss > 0)) {
    fail(ErrorKind::kUsage,
         "loss: expected a finite number above 0, found " + std::to_string(*job.max_loss));
  }
  if (!job.choices.empty() && !job.size_bytes && !job.bits_per_weight && !job.max_loss) {
    fail(ErrorKind::kUsage,
         "choices: expected a size, bits per weight or a loss that chooses from them, found none");
  }
  const int ways = (has_types ? 1 : 0) + (job.size_bytes ? 1 : 0) + (job.bits_per_weight ? 1 : 0) +
                   (job.max_loss ? 1 : 0);
  if (ways == 1) return;
  fail(ErrorKind::kUsage, "expected either types, a size, bits per weight or a loss, found " +
                              std::string(ways == 0 ? "none" : "several") + " of them");
}

}  // namespace

LanguageQuantizeReport quantize_language_model(const LanguageQuantizeJob& given) {
  const Elapsed elapsed;
  const LanguageQuantizeJob job = with_nested_type(given);
  check_ways(job);
  check_calibration(calibration_source(job), job.damping);
  check_outputs(job);
  LanguageQuantizeReport report = LanguageQuantizer(job).run();
  report.seconds = elapsed.seconds();
  return report;
}

}  // namespace halftone
