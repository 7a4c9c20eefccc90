// SPDX-License-Identifier: Apache-2.0
// Results of tuning language models.
#include <fmt/format.h>

#include <algorithm>

#include "halftone/report/json.h"
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

Json change_json(const v0::TextDivergence& text) {
  return {{"kl_divergence_before", text.before},
          {"kl_divergence", text.after},
          {"tokens", text.tokens}};
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
  Json steps = Json::array();
  for (const train::TuneStep& each : report.steps) {
    steps.push_back({{"loss", each.loss}, {"learning_rate", each.rate}, {"seconds", each.seconds}});
  }
  Json evaluations = Json::array();
  for (const train::TuneEvaluation& each : report.evaluations) {
    evaluations.push_back({{"steps", each.steps}, {"kl_divergence", each.divergence}});
  }
  return dump({{"input_bytes", report.input_bytes},
               {"output_bytes", report.output_bytes},
               {"seconds", report.seconds},
               {"fit_tokens", report.fit_tokens},
               {"held_out", change_json(report.held_out)},
               {"second_text", report.second_text ? change_json(*report.second_text) : Json()},
               {"steps", steps},
               {"evaluations", evaluations},
               {"best_steps", report.best_steps},
               {"scales", report.num_scales},
               {"gains", report.num_gains},
               {"bases", report.bases},
               {"warnings", report.warnings}});
}

}  // namespace halftone::report
