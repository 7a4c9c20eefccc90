// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/language_sensitivity.h"

#include <algorithm>
#include <utility>

#include "halftone/api/calibration_samples.h"
#include "halftone/api/language_conversion.h"
#include "halftone/api/quantize_identity.h"
#include "halftone/api/writable.h"
#include "halftone/base/error.h"
#include "halftone/base/file_uses.h"
#include "halftone/base/parallel.h"
#include "halftone/base/paths.h"
#include "halftone/lm/quantize/check_weights.h"
#include "halftone/lm/quantize/cost_measurement.h"

namespace halftone {
namespace {

/// Whether a choice is a vector basis, which is made for rotated weights; the types of GGUF alone
/// are measured as in a GGUF file, which has no rotations.
bool has_vector_basis(const lm::TypeMenu& menu) {
  return std::ranges::any_of(menu, [](const auto& each) {
    return std::ranges::any_of(each.second,
                               [](const lm::WeightType* type) { return type->gguf == nullptr; });
  });
}

void check(const LanguageSensitivityJob& job) {
  check_calibration(calibration_source(job), job.damping);
  FileUses uses;
  uses.read("model", job.input);
  uses.read("tokenizer", job.tokenizer);
  for (const std::filesystem::path& text : job.texts) uses.read("text", text);
  uses.write("state", job.state);
  uses.check();
  check_writable(job.state);
  if (!path_exists(job.input)) {
    fail(ErrorKind::kIo, job.input.string() + ": cannot open: No such file or directory");
  }
}

/// A job with all that it reads.
class Measurement {
 public:
  explicit Measurement(const LanguageSensitivityJob& job)
      : job_(job),
        model_(lm::open_model(job.input)),
        menu_(lm::type_menu(model_, is_gguf_file(job.input), job.choices)),
        folding_(model_, {.rotates = job.rotates && has_vector_basis(menu_), .seed = job.seed}) {}

  v0::Sensitivity run() {
    constexpr double kShareOfSamples = 0.3;
    lm::check_gradients(model_.description);
    lm::check_weights(model_);
    if (!job_.state.empty()) {
      file_.emplace(job_.state, identity_of(job_), lm::kSensitivityKind);
      state_ = file_->read();
    }
    const double begin = job_.synthetic ? kShareOfSamples : 0;
    const int threads = job_.threads > 0 ? job_.threads : num_threads();
    calibration_ =
        calibration_samples(calibration_source(job_), model_, part_of(job_.sink, 0, begin),
                            state_.written, [&] { save(); });
    lm::measure_costs({.model = model_,
                       .folding = folding_,
                       .samples = calibration_.samples,
                       .damping = damping_of(job_),
                       .seed = job_.seed,
                       .threads = threads,
                       .progress = part_of(job_.sink, begin, 1),
                       .save = [&] { save(); }},
                      menu_, state_);
    return result();
  }

 private:
  void save() {
    if (file_) file_->save(state_);
  }
  [[nodiscard]] v0::Sensitivity result() const {
    std::vector<const lm::WeightType*> named;
    for (const std::string& name : job_.choices) named.push_back(&lm::weight_type(name));
    v0::Sensitivity found = lm::sensitivity_of(state_.costs, {}, named);
    const lm::Samples& samples = calibration_.samples;
    found.on_fit_samples = samples.held_out.empty();
    found.samples = (found.on_fit_samples ? samples.fit : samples.held_out).size();
    found.tokens = samples.tokens;
    const lm::SampleLosses losses = lm::mean_losses({samples, calibration_.texts, state_.losses});
    found.model_loss = found.on_fit_samples ? losses.fit : losses.held_out;
    auto layer = found.layers.begin();
    for (const auto& [id, costs] : state_.costs) *layer++ = matrix(id);
    const auto widest = std::ranges::max_element(found.layers, {}, &v0::SensitiveLayer::cols);
    found.warnings = sample_warnings(calibration_, state_.losses, widest->cols, widest->name);
    return found;
  }
  [[nodiscard]] v0::SensitiveLayer matrix(const lm::WeightId& id) const {
    const lm::Weight& weight = model_.weights.at(id);
    const std::size_t copies = lm::stack_of(model_.description, id.role);
    const std::size_t elements = copies * weight.num_elements();
    return {.name = lm::canonical_name(model_.description, id),
            .op = {},
            .float_bytes = elements * sizeof(float),
            .type = std::string(lm::type_name(weight.type)),
            .rows = copies * weight.outputs(),
            .cols = weight.inputs(),
            .bytes = lm::bytes_of(weight.type, elements)};
  }

  const LanguageSensitivityJob& job_;
  lm::ModelParts model_;
  lm::TypeMenu menu_;
  lm::Folding folding_;
  std::optional<lm::QuantizeStateFile> file_;
  lm::QuantizeState state_;
  CalibrationSamples calibration_;
};

}  // namespace

v0::Sensitivity language_sensitivity(const LanguageSensitivityJob& job) {
  check(job);
  return Measurement(job).run();
}

}  // namespace halftone
