// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/language.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "halftone/report/costs.h"
#include "halftone/report/fields.h"
#include "halftone/report/table.h"
#include "halftone/report/units.h"

namespace halftone::report {
namespace {

/// A measured number; null where it is not known.
Json known(double value) { return value > 0 ? Json(value) : Json(); }

double per_second(std::size_t count, double seconds) {
  return count > 0 && seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

/// Tokens per second; 0 if there were none.
double prompt_speed(const lm::Generation& generation) {
  return per_second(generation.prompt_tokens - generation.reused_tokens, generation.prompt_seconds);
}
double speed(const lm::Generation& generation) {
  const std::size_t count = generation.tokens.size();
  return per_second(count == 0 ? 0 : count - 1, generation.generate_seconds);
}

ResultFields generation_fields(const lm::Generation& generation) {
  return {
      {"text", generation.text,
       "Without the stop text; bytes of the model that are no UTF-8 became U+FFFD"},
      {"tokens", generation.tokens, "With the end token"},
      {"end", to_string(generation.end),
       "Why it ended: \"count\", \"token\" (an end token), \"text\" (a stop text), "
       "\"context\" or \"interrupted\""},
      {"prompt_tokens", generation.prompt_tokens,
       "Of the prompt, with those that the sequence had already"},
      {"reused_tokens", generation.reused_tokens, "Of the prompt, which the sequence had already"},
      {"prompt_tokens_per_second", known(prompt_speed(generation)), "Null: not measured"},
      {"tokens_per_second", known(speed(generation)),
       "After the first token; null if there were none"},
      {"seconds_to_first_token", known(generation.first_seconds)},
      {"seconds", generation.prompt_seconds + generation.generate_seconds},
      {"forgotten_messages", generation.forgotten_messages,
       "Messages of a conversation that were left out to make room"},
      {"guessed_tokens", generation.guessed_tokens,
       "That were guessed before they were drawn: of a text that is written beside others, it "
       "depends on these"},
      {"accepted_tokens", generation.accepted_tokens, "Of these, which were right"}};
}

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json estimate_json(const lm::Estimate& estimate) {
  return {{"value", estimate.value}, {"standard_error", estimate.standard_error}};
}

/// "12.345 +- 0.067"
std::string estimate_text(const lm::Estimate& estimate, int digits) {
  return fmt::format("{} +- {}", format_number(estimate.value, digits),
                     format_number(estimate.standard_error, digits));
}

std::string percent_text(const lm::Estimate& share) {
  return estimate_text({100 * share.value, 100 * share.standard_error}, 2) + " %";
}

std::string speed_text(double per_second) {
  return per_second > 0 ? format_number(per_second, 1) : "-";
}

/// Of outputs with this relative error.
double sqnr_db(double relative_error) { return -10 * std::log10(relative_error); }

std::string evaluations_table(std::span<const TextFileEvaluation> evaluations) {
  const bool has_reference = evaluations[0].measures.reference.has_value();
  std::vector<Table::Column> columns = {{"text", Table::Align::kLeft}, {"tokens"}, {"perplexity"}};
  if (has_reference) {
    for (const char* title : {"reference", "KL divergence", "99 % at most", "same token"}) {
      columns.push_back({title});
    }
  }
  Table table(columns);
  for (const TextFileEvaluation& each : evaluations) {
    const lm::TextEvaluation& measures = each.measures;
    std::vector<std::string> row = {each.text, std::to_string(measures.num_tokens),
                                    estimate_text(measures.perplexity, 3)};
    if (has_reference) {
      const lm::TextComparison& reference = *measures.reference;
      row.insert(row.end(),
                 {format_number(reference.perplexity.value, 3), estimate_text(reference.mean_kl, 4),
                  estimate_text(reference.kl_99, 3), percent_text(reference.same_top)});
    }
    table.add_row(row);
  }
  return table.to_text();
}

ResultFields text_comparison_fields(const lm::TextComparison& reference) {
  return {{"value", reference.perplexity.value, "Its perplexity"},
          {"standard_error", reference.perplexity.standard_error},
          {"ratio", estimate_json(reference.ratio),
           "The perplexity divided by that of the reference; like all that follow with its "
           "standard error"},
          {"kl_divergence", estimate_json(reference.mean_kl),
           "Mean divergence from the reference, in nats per token"},
          {"kl_divergence_99", estimate_json(reference.kl_99),
           "Which 99 % of the tokens do not exceed"},
          {"same_top", estimate_json(reference.same_top),
           "Share of tokens with the same most probable one"}};
}

ResultFields text_evaluation_fields(const lm::TextEvaluation& evaluation) {
  ResultFields fields = {
      {"metric", "perplexity"},
      {"value", evaluation.perplexity.value, "The perplexity, e^(mean of -log p(token))"},
      {"standard_error", evaluation.perplexity.standard_error,
       "Of the perplexity; takes tokens for independent"},
      {"loss", estimate_json(evaluation.loss), "Mean of -log p(token), in nats"},
      {"tokens", evaluation.num_tokens, "That count"},
      {"windows", evaluation.num_windows, "Of the text, each of which was a sequence"}};
  if (evaluation.reference) {
    fields.push_back({"reference", json_of(text_comparison_fields(*evaluation.reference)),
                      "Closeness to the reference"});
  }
  return fields;
}

ResultFields speed_fields(const SpeedAtDepth& each) {
  return {
      {"depth", each.depth, "Tokens in front"},
      {"prompt_tokens_per_second", known(each.prompt_tokens_per_second)},
      {"tokens_per_second", known(each.tokens_per_second)},
      {"bytes_per_token", each.bytes_per_token > 0 ? Json(each.bytes_per_token) : Json(),
       "Weights and states that are read for each token that is written; of a mixture those of "
       "the experts that a token chooses"},
      {"bandwidth_share", known(each.bandwidth_share), "Their share of memory_bytes_per_second"},
      {"predicted_prompt_tokens_per_second", known(each.predicted_prompt_tokens_per_second),
       "On the accelerator; null without one"},
      {"predicted_tokens_per_second", known(each.predicted_tokens_per_second), "The same"}};
}

ResultFields rank_speed_fields(const v0::SpeedOnRanks& each) {
  return {{"ranks", each.ranks, "Processes, on a machine each"},
          {"link", each.link, "Gbit/s of their network"},
          {"latency", each.latency, "Microseconds of a message"},
          {"tokens_per_second", each.tokens_per_second, "Written one by one"},
          {"speedup", each.speedup, "Over one process"},
          {"message_share", each.message_share, "Of the time"},
          {"weight_bytes", each.weight_bytes, "Of the matrices of a process at most"}};
}

ResultFields language_speed_fields(const LanguageSpeed& speed) {
  return {{"threads", speed.threads},
          {"prompt_tokens", speed.prompt_tokens, "That are read at once"},
          {"generated_tokens", speed.generated_tokens, "That are written one by one"},
          {"memory_bytes_per_second", speed.memory_bytes_per_second, "Measured in the same run"},
          {"accelerator", speed.accelerator.empty() ? Json() : Json(speed.accelerator),
           "The described hardware of the predictions; null without one"},
          {"depths", rows_json(speed.depths, speed_fields)},
          {"ranks", rows_json(speed.ranks, rank_speed_fields),
           "Predicted for several processes from the steps of this one"}};
}

ResultFields matrix_fields(const QuantizedMatrix& matrix) {
  constexpr int kActivationBits = 8;
  const double decibels = sqnr_db(matrix.error);
  return {{"name", matrix.name, "As in GGUF files; of experts with their number"},
          {"type", matrix.type, "Such as \"4x8\" or \"Q4_K\""},
          {"weight_bits", matrix.bits, "With its share of the scales"},
          {"activation_bits", kActivationBits},
          {"sqnr_db", std::isfinite(decibels) ? Json(decibels) : Json(),
           "Of the output, on the samples held out; null: no error"},
          {"relative_error", matrix.error, "The same as a ratio"},
          {"encoded_bytes", matrix.bytes, "Of codes and scales"}};
}

ResultFields language_quantize_fields(const LanguageQuantizeReport& report) {
  return {{"input_bytes", report.input_bytes, "Of the model that was read, in its files"},
          {"output_bytes", report.output_bytes, "Of what was written"},
          {"seconds", report.seconds},
          {"weight_bits", report.bits, "Mean of all weights that were fitted"},
          {"predicted_loss", or_null(report.predicted_loss),
           "Divergence from the float model in nats per token, if types were chosen for a size"},
          {"fit_tokens", report.fit_tokens,
           "From which numbers were learned: of the texts, without those held out"},
          {"held_out_tokens", report.held_out_tokens, "By which the errors were measured"},
          {"fit_loss", report.fit_loss,
           "Of the float model on the samples that it was fitted to, in nats per token"},
          {"held_out_loss", or_null(report.held_out_loss),
           "The same of the samples held out; null without them"},
          {"front", rows_json(report.front, costs_fields),
           "Predicted files that none beats in both loss and bytes, the smallest first; empty "
           "unless types were chosen for a size or a loss"},
          {"layers", rows_json(report.matrices, matrix_fields), "The matrices"},
          {"warnings", report.warnings, "A line each"}};
}

ResultFields convert_fields(const LanguageConvertReport& report) {
  return {{"input_bytes", report.input_bytes, "Of the model that was read, in its files"},
          {"output_bytes", report.output_bytes, "Of what was written"},
          {"changed_matrices", report.changed, "By an adapter"},
          {"warnings", report.warnings, "A line each"}};
}

}  // namespace

std::string to_line(const lm::Generation& generation) {
  const std::string guesses =
      generation.guessed_tokens == 0
          ? ""
          : fmt::format("; {} of {} guesses right", generation.accepted_tokens,
                        generation.guessed_tokens);
  return fmt::format(
      "prompt {} tokens ({} known), {} tokens/s; first token after {:.2f} s; {} tokens, {} "
      "tokens/s{}; end: {}",
      generation.prompt_tokens, generation.reused_tokens, speed_text(prompt_speed(generation)),
      generation.first_seconds, generation.tokens.size(), speed_text(speed(generation)), guesses,
      to_string(generation.end));
}

std::string vectors_to_json(std::span<const std::vector<float>> vectors) {
  Json list = Json::array();
  for (const std::vector<float>& each : vectors) list.push_back(each);
  return dump({{"dimensions", vectors.empty() ? 0 : vectors[0].size()}, {"vectors", list}});
}

std::string to_json(const lm::Generation& generation) {
  return dump(json_of(generation_fields(generation)));
}

std::string to_json_line(const lm::Generation& generation) {
  return line_of(json_of(generation_fields(generation)));
}

std::string to_json_line(const BatchAnswer& answer) {
  Json json = {{"line", answer.line + 1}};
  if (!answer.id.empty()) json["id"] = Json::parse(answer.id);
  if (answer.error) {
    json["error"] = answer.error->what();
  } else {
    json.update(json_of(generation_fields(answer.generation)));
  }
  return line_of(json);
}

std::string to_text(const lm::TextEvaluation& evaluation) {
  std::string text = fmt::format("perplexity {} of {} tokens in {} windows\n",
                                 estimate_text(evaluation.perplexity, 4), evaluation.num_tokens,
                                 evaluation.num_windows, evaluation.num_windows == 1 ? "" : "s");
  if (!evaluation.reference) return text;
  const lm::TextComparison& reference = *evaluation.reference;
  text += fmt::format("reference {}, ratio {}\n", estimate_text(reference.perplexity, 4),
                      estimate_text(reference.ratio, 5));
  text += fmt::format("KL divergence {}, 99 % of the tokens at most {}\n",
                      estimate_text(reference.mean_kl, 6), estimate_text(reference.kl_99, 5));
  return text + fmt::format("same most probable token {}\n", percent_text(reference.same_top));
}

std::string to_json(const lm::TextEvaluation& evaluation) {
  return dump(json_of(text_evaluation_fields(evaluation)));
}

std::string to_text(std::span<const TextFileEvaluation> evaluations) {
  return evaluations.size() == 1 ? to_text(evaluations[0].measures)
                                 : evaluations_table(evaluations);
}

std::string to_json(std::span<const TextFileEvaluation> evaluations) {
  if (evaluations.size() == 1) return to_json(evaluations[0].measures);
  Json texts = Json::array();
  for (const TextFileEvaluation& each : evaluations) {
    Json json = {{"text", each.text}};
    json.update(json_of(text_evaluation_fields(each.measures)));
    texts.push_back(std::move(json));
  }
  return dump({{"texts", texts}});
}

namespace {

/// Predicted speeds of several processes; empty if there are none.
std::string ranks_text(const std::vector<v0::SpeedOnRanks>& ranks) {
  if (ranks.empty()) return "";
  Table table({{"processes"},
               {"Gbit/s"},
               {"us per message"},
               {"written, tokens/s"},
               {"speed-up"},
               {"time of messages"},
               {"matrices of each"}});
  for (const v0::SpeedOnRanks& each : ranks) {
    table.add_row(
        {std::to_string(each.ranks), format_number(each.link, 1), format_number(each.latency, 1),
         speed_text(each.tokens_per_second), format_number(each.speedup, 2) + "x",
         format_number(100 * each.message_share, 1) + " %", format_bytes(each.weight_bytes)});
  }
  return "\npredicted for several processes, on a machine each\n\n" + table.to_text();
}

}  // namespace

std::string to_text(const LanguageSpeed& speed) {
  std::string text =
      fmt::format("{} thread{}; memory {:.1f} GB/s\n\n", speed.threads,
                  speed.threads == 1 ? "" : "s", speed.memory_bytes_per_second / 1e9);
  const bool predicts = !speed.accelerator.empty();
  std::vector<Table::Column> columns = {{"tokens in front"}};
  const auto add = [&](const std::string& title) {
    columns.push_back({title});
    if (predicts) columns.push_back({"predicted"});
  };
  add(fmt::format("{} read, tokens/s", speed.prompt_tokens));
  add(fmt::format("{} written, tokens/s", speed.generated_tokens));
  columns.insert(columns.end(), {{"bytes per token"}, {"share of memory speed"}});
  Table table(columns);
  for (const SpeedAtDepth& each : speed.depths) {
    const bool knows_bytes = each.bytes_per_token > 0;
    std::vector<std::string> row = {std::to_string(each.depth),
                                    speed_text(each.prompt_tokens_per_second)};
    if (predicts) row.push_back(speed_text(each.predicted_prompt_tokens_per_second));
    row.push_back(speed_text(each.tokens_per_second));
    if (predicts) row.push_back(speed_text(each.predicted_tokens_per_second));
    row.push_back(knows_bytes ? format_bytes(each.bytes_per_token) : "-");
    row.push_back(knows_bytes ? format_number(100 * each.bandwidth_share, 1) + " %" : "-");
    table.add_row(row);
  }
  if (predicts) text += "predicted for " + speed.accelerator + "\n\n";
  return text + table.to_text() + ranks_text(speed.ranks);
}

std::string to_json(const LanguageSpeed& speed) {
  return dump(json_of(language_speed_fields(speed)));
}

std::string to_text(const LanguageQuantizeReport& report) {
  Table table({{"matrix", Table::Align::kLeft},
               {"type", Table::Align::kLeft},
               {"bits"},
               {"size"},
               {"output dB"}});
  for (const QuantizedMatrix& matrix : report.matrices) {
    table.add_row({matrix.name, matrix.type, format_number(matrix.bits, 3),
                   format_bytes(matrix.bytes), format_number(sqnr_db(matrix.error), 1)});
  }
  return table.to_text() +
         fmt::format("\n{} tokens to fit, {} held out", report.fit_tokens, report.held_out_tokens) +
         fmt::format(
             "; the float model's loss {}{} nats per token\n", format_number(report.fit_loss, 3),
             report.held_out_loss ? " and " + format_number(*report.held_out_loss, 3) : "") +
         fmt::format("{} bits per weight of these matrices\n", format_number(report.bits, 3)) +
         (report.predicted_loss ? fmt::format("predicted divergence {} nats per token\n",
                                              format_number(*report.predicted_loss, 4))
                                : "") +
         fmt::format("{} -> {} ({}) in {:.1f} s\n", format_bytes(report.input_bytes),
                     format_bytes(report.output_bytes),
                     size_change(report.input_bytes, report.output_bytes), report.seconds) +
         front_text(report.front);
}

std::string to_json(const LanguageQuantizeReport& report) {
  return dump(json_of(language_quantize_fields(report)));
}

std::string to_text(const LanguageConvertReport& report) {
  std::string text = format_bytes(report.input_bytes) + " -> " + format_bytes(report.output_bytes);
  if (report.changed != 0) {
    text += "; " + std::to_string(report.changed) +
            (report.changed == 1 ? " matrix changed" : " matrices changed");
  }
  return text + "\n";
}

std::string to_json(const LanguageConvertReport& report) {
  return dump(json_of(convert_fields(report)));
}

ResultClasses language_results() {
  return {
      {"Generation", generation_fields({})},
      {"TextComparison", text_comparison_fields({})},
      {"TextEvaluation",
       text_evaluation_fields({.loss = {}, .perplexity = {}, .reference = lm::TextComparison{}})},
      {"LanguageSpeed", language_speed_fields({})},
      {"SpeedAtDepth", speed_fields({})},
      {"SpeedOnRanks", rank_speed_fields({})},
      {"QuantizedMatrix", matrix_fields({})},
      {"LanguageQuantizeReport", language_quantize_fields({})},
      {"LanguageConvertReport", convert_fields({})}};
}

}  // namespace halftone::report
