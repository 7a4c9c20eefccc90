// SPDX-License-Identifier: Apache-2.0
// Results of tuning language models.
#include <fmt/format.h>

#include <algorithm>

#include "halftone/report/fields.h"
#include "halftone/report/report.h"
#include "halftone/report/table.h"

namespace halftone::report {
namespace {

/// The mean time of the last steps, and what remains.
double seconds_left(const train::TuneHistory& history, std::size_t steps) {
  constexpr std::size_t kMeasured = 20;
  const std::size_t done = history.steps.size();
  const std::size_t count = std::min(done, kMeasured);
  if (count == 0 || done >= steps) return 0;
  double seconds = 0;
  for (std::size_t i = done - count; i < done; ++i) seconds += history.steps[i].seconds;
  return seconds / static_cast<double>(count) * static_cast<double>(steps - done);
}

std::string change_text(const std::string& name, const v0::TextDivergence& text) {
  return fmt::format("{}: divergence {} -> {} nats per token, {} tokens\n", name,
                     format_number(text.before, 4), format_number(text.after, 4), text.tokens);
}

ResultFields change_fields(const v0::TextDivergence& text) {
  return {{"kl_divergence_before", text.before, "From the float model, in nats per token"},
          {"kl_divergence", text.after},
          {"tokens", text.tokens}};
}

ResultFields tune_step_fields(const train::TuneStep& step) {
  return {{"loss", step.loss, "Mean divergence of the samples before the step, in nats per token"},
          {"learning_rate", step.rate},
          {"seconds", step.seconds}};
}

ResultFields tune_evaluation_fields(const train::TuneEvaluation& evaluation) {
  return {{"steps", evaluation.steps, "Done before it"}, {"kl_divergence", evaluation.divergence}};
}

ResultFields distill_fields(const v0::LanguageDistillReport& report) {
  return {{"input_bytes", report.input_bytes, "Of the model that was read, in its files"},
          {"output_bytes", report.output_bytes, "Of what was written"},
          {"seconds", report.seconds},
          {"fit_tokens", report.fit_tokens,
           "From which numbers were learned: of the texts, without those held out"},
          {"held_out", json_of(change_fields(report.held_out)),
           "Of the samples held out, by which the best state was chosen"},
          {"second_text", report.second_text ? json_of(change_fields(*report.second_text)) : Json(),
           "Null without one"},
          {"steps", rows_json(report.steps, tune_step_fields)},
          {"evaluations", rows_json(report.evaluations, tune_evaluation_fields),
           "Of the samples held out; the first before all steps"},
          {"best_steps", report.best_steps,
           "Steps after which the model was as it is written; 0: as it was"},
          {"scales", report.num_scales, "Scales and offsets, or their factors, that were tuned"},
          {"gains", report.num_gains, "Elements of gains and biases that were tuned"},
          {"bases", report.bases, "Vector bases that were tuned, such as \"4x8\""},
          {"warnings", report.warnings, "A line each"}};
}

}  // namespace

std::string to_line(const train::TuneHistory& history, std::size_t steps, bool is_evaluated) {
  const std::string step = fmt::format("step {} of {}", history.steps.size(), steps);
  if (is_evaluated) {
    return fmt::format("{}: held-out divergence {}", step,
                       format_number(history.evaluations.back().divergence, 4));
  }
  return fmt::format("{}: loss {}, {:.1f} s, {:.0f} min left", step,
                     format_number(history.steps.back().loss, 4), history.steps.back().seconds,
                     seconds_left(history, steps) / 60);
}

std::string to_text(const v0::LanguageDistillReport& report) {
  Table table({{"steps"}, {"held-out divergence"}});
  for (const train::TuneEvaluation& each : report.evaluations) {
    table.add_row({std::to_string(each.steps), format_number(each.divergence, 4)});
  }
  std::string bases;
  for (const std::string& rate : report.bases) {
    bases += (bases.empty() ? " and the bases " : ", ") + rate;
  }
  return table.to_text() + "\n" + change_text("held-out text", report.held_out) +
         (report.second_text ? change_text("second text", *report.second_text) : "") +
         fmt::format("tuned {} scales, {} gains and biases{}; codes are as they were\n",
                     report.num_scales, report.num_gains, bases) +
         fmt::format("{} -> {}, of step {}, in {:.1f} s\n", format_bytes(report.input_bytes),
                     format_bytes(report.output_bytes), report.best_steps, report.seconds);
}

std::string to_json(const v0::LanguageDistillReport& report) {
  return dump(json_of(distill_fields(report)));
}

ResultClasses tuning_results() {
  return {{"TextDivergence", change_fields({})},
          {"LanguageDistillStep", tune_step_fields({})},
          {"LanguageDistillEvaluation", tune_evaluation_fields({})},
          {"LanguageDistillReport", distill_fields({})}};
}

}  // namespace halftone::report
