// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "halftone/numerics/vector_basis.h"
#include "halftone/report/report.h"
#include "halftone/report/table.h"
#include "halftone/report/units.h"
#include "halftone/report/work.h"

namespace halftone::report {
namespace {

using Align = Table::Align;

/// Where a step runs, if a plan has a device, and what is copied for it.
std::string location(const runtime::Plan& plan, const runtime::PlanStep& step) {
  if (step.device == nullptr && step.on_processor.empty()) return "";
  const std::string device = plan.options().execution.device->id();
  std::string text = step.device != nullptr
                         ? fmt::format("  on {}", device)
                         : fmt::format("  on the processor: {}", step.on_processor);
  if (!step.copied.empty()) {
    text += fmt::format("; {} copied {} {} first, which the time includes",
                        format_bytes(plan.bytes_of(step.copied)),
                        step.device != nullptr ? "to" : "from", device);
  }
  return text + "\n";
}

/// How much of a plan a device runs; empty without one.
std::string device_summary(const runtime::Plan& plan) {
  if (plan.options().execution.device == nullptr) return "";
  std::size_t on_device = 0;
  std::size_t copied = plan.bytes_of(plan.results());
  for (const runtime::PlanStep& step : plan.steps()) {
    if (step.device != nullptr) ++on_device;
    copied += plan.bytes_of(step.copied);
  }
  return fmt::format("{}: {} of {} steps, weights {}, copies {} a run\n",
                     plan.options().execution.device->id(), on_device, plan.steps().size(),
                     format_bytes(plan.device_constant_bytes()), format_bytes(copied));
}

/// Kernel and time of each step.
Table steps_table(const MeasuredPlan& measurement) {
  const runtime::Plan& plan = *measurement.plan;
  const std::optional<PredictedTimes>& predicted = measurement.predicted;
  std::vector<Table::Column> columns = {
      {"layer", Align::kLeft}, {"operator", Align::kLeft}, {"kernel", Align::kLeft}, {"median us"}};
  if (predicted) columns.push_back({"predicted us"});
  columns.push_back({"products/ns"});
  Table table(columns);
  for (std::size_t i = 0; i < plan.steps().size(); ++i) {
    const runtime::PlanStep& step = plan.steps()[i];
    const double us = measurement.profile.step_median_us[i];
    const double products = products_of(plan, step);
    std::vector<std::string> row = {step.name, step.op, step.kernel, format_number(us, 2)};
    if (predicted) row.push_back(format_number(predicted->step_us[i], 2));
    row.push_back(products > 0 && us > 0 ? format_number(products / us / 1000, 1) : "-");
    table.add_row(row);
  }
  return table;
}

/// Why a step is computed as it is.
std::string explanation(const runtime::Plan& plan, const runtime::PlanStep& step) {
  std::string text = fmt::format("\n{}: {} because {}\n", step.name, step.kernel, step.reason);
  text += location(plan, step);
  if (step.arithmetic != runtime::KernelArithmetic::kOperator) {
    text += fmt::format("  arithmetic {}{}{}\n", runtime::text_of(step.arithmetic),
                        step.body.variant.empty() ? "" : ", by ", step.body.variant);
  }
  if (step.measured) {
    const auto& [product, threads] = step.measured->way;
    text += fmt::format("  measured {} us{}{}, {} thread{}\n", format_number(step.measured->us, 2),
                        product ? " with " : "", product ? runtime::to_string(*product) : "",
                        threads, threads == 1 ? "" : "s");
  }
  for (const runtime::Refusal& refusal : step.refused) {
    text += fmt::format("  not {}: {}\n", refusal.kernel, refusal.reason);
  }
  return text;
}

}  // namespace

std::string to_text(const Inspection& inspection) {
  std::string text =
      fmt::format("{} file, {}, {} parameters\n\n{}", inspection.format,
                  format_bytes(inspection.file_bytes), inspection.parameters, inspection.text);
  if (!inspection.work.empty()) text += "\n" + work_text(inspection.work);
  if (inspection.layers.empty()) return text;
  Table table({{"layer", Align::kLeft},
               {"operator", Align::kLeft},
               {"weights", Align::kLeft},
               {"bits"},
               {"input bits"},
               {"arithmetic", Align::kLeft},
               {"bytes"}});
  for (const LayerInfo& layer : inspection.layers) {
    table.add_row({layer.name, layer.op, layer.weights, bits_text(layer.weight_bits),
                   bits_text(layer.activation_bits),
                   layer.arithmetic ? std::string(to_string(*layer.arithmetic)) : "-",
                   format_bytes(layer.weight_bytes)});
  }
  return text + "\n" + table.to_text();
}

std::string to_text(const std::vector<NumberSystemInfo>& systems) {
  Table table({{"system", Align::kLeft},
               {"bits", Align::kLeft},
               {"a scale for", Align::kLeft},
               {"scales", Align::kLeft},
               {"computed", Align::kLeft},
               {"numbers", Align::kLeft}});
  for (const NumberSystemInfo& system : systems) {
    const std::string bits = system.min_bits == system.max_bits
                                 ? std::to_string(system.min_bits)
                                 : fmt::format("{} to {}", system.min_bits, system.max_bits);
    table.add_row(
        {system.name, bits, system.blocks, system.scales, system.computed, system.formula});
  }
  std::string vectors;
  for (const std::string_view rate : numerics::vector_rates()) {
    vectors += (vectors.empty() ? "" : ", ") + std::string(rate);
  }
  return table.to_text() +
         "\nof weights also vectors, d x D: a code of D bits for d neighbours: " + vectors + "\n";
}

std::string to_text(const std::vector<v0::Device>& devices) {
  Table table({{"device", Align::kLeft},
               {"name", Align::kLeft},
               {"driver", Align::kLeft},
               {"memory"},
               {"", Align::kLeft}});
  const auto or_none = [](const std::string& text) { return text.empty() ? "-" : text; };
  for (const v0::Device& device : devices) {
    table.add_row({device.id, or_none(device.name), or_none(device.driver),
                   device.memory_bytes == 0 ? "-" : format_bytes(device.memory_bytes),
                   device.problem.empty() ? "ready" : device.problem});
  }
  return table.to_text();
}

std::string to_text(const NumberSystemLevels& levels) {
  const NumberSystemInfo& system = levels.system;
  std::string text =
      fmt::format("{}, {} bit{}: {}\nsource: {}\na scale for: {}; scales: {}; computed: {}\n",
                  system.name, levels.bits, levels.bits == 1 ? "" : "s", system.formula,
                  system.source, system.blocks, system.scales, system.computed);
  if (levels.levels.empty()) return text + "the levels are learned\n";
  Table table({{"code"}, {"level"}});
  for (std::size_t code = 0; code < levels.levels.size(); ++code) {
    table.add_row({std::to_string(code), fmt::format("{}", levels.levels[code])});
  }
  return text + "\n" + table.to_text();
}

std::string to_summary(const Inspection& inspection) {
  std::size_t operators = 0;
  for (const auto& [name, count] : inspection.operators) operators += count;
  return fmt::format("{} file, {} operator{}, {}\n", inspection.format, operators,
                     operators == 1 ? "" : "s", format_bytes(inspection.file_bytes));
}

std::string to_text(const QuantizeReport& report) {
  Table table({{"layer", Align::kLeft},
               {"operator", Align::kLeft},
               {"weight bits"},
               {"input bits"},
               {"float"},
               {"now"},
               {"weights dB"},
               {"output dB"}});
  for (const compress::LayerReport& layer : report.layers) {
    table.add_row({layer.name, layer.op, bits_text(layer.weight_bits),
                   bits_text(layer.activation_bits), format_bytes(layer.float_bytes),
                   format_bytes(layer.encoded_bytes), format_number(layer.weight_sqnr_db, 1),
                   format_number(layer.sqnr_db, 1)});
  }
  std::string notes;
  if (report.equalized_pairs > 0) {
    notes += fmt::format("\nequalized: {} pairs of layers", report.equalized_pairs);
  }
  for (const compress::SkippedBlock& each : report.skipped_blocks) {
    notes += fmt::format("\nnot refined: the block of '{}', since {}", each.block, each.reason);
  }
  if (!notes.empty()) notes += "\n";
  return table.to_text() + notes +
         fmt::format(
             "\nweights {} -> {} ({})\nfile    {} -> {} in {:.1f} s\n",
             format_bytes(report.input_weight_bytes), format_bytes(report.output_weight_bytes),
             size_change(report.input_weight_bytes, report.output_weight_bytes),
             format_bytes(report.input_bytes), format_bytes(report.output_bytes), report.seconds);
}

std::string to_text(const compress::Evaluation& evaluation) {
  std::string text = fmt::format("{} {:.2f} % of {} samples\n", evaluation.metric,
                                 100 * evaluation.value, evaluation.samples);
  if (!evaluation.reference) return text;
  const compress::Comparison& reference = *evaluation.reference;
  if (reference.value) {
    text += fmt::format("reference {:.2f} %\n", 100 * *reference.value);
  }
  text += fmt::format("same answer as the reference {:.2f} %, output SQNR {} dB",
                      100 * reference.agreement, format_number(reference.sqnr_db, 1));
  if (reference.divergence) text += fmt::format(", KL divergence {:.4g}", *reference.divergence);
  return text + "\n";
}

std::string to_text(const std::vector<OutputFile>& outputs) {
  std::string text;
  for (const OutputFile& output : outputs) {
    text += output.file + " " + output.type.to_string() + "\n";
  }
  return text;
}

std::string to_text(const MeasuredPlan& measurement, bool explain) {
  const runtime::Plan& plan = *measurement.plan;
  const runtime::Profile& profile = measurement.profile;
  const bool several = profile.devices > 1;
  std::string text = fmt::format(
      "batch {}, {}{} thread{}{}: median {:.1f} us, fastest tenth {:.1f}, slowest hundredth {:.1f} "
      "({} runs)\n"
      "memory{}: packed weights {}, arena {}, other constants {}\n{}\n",
      profile.batch, several ? fmt::format("{} devices, ", profile.devices) : "",
      plan.options().threads, plan.options().threads == 1 ? "" : "s", several ? " each" : "",
      profile.median_us, profile.p10_us, profile.p99_us, profile.runs, several ? " of each" : "",
      format_bytes(plan.packed_weight_bytes()), format_bytes(plan.arena_bytes()),
      format_bytes(plan.constant_bytes()), device_summary(plan));
  if (measurement.predicted) {
    text.insert(text.size() - 1,
                fmt::format("predicted for {}: {:.1f} us\n", measurement.predicted->accelerator,
                            measurement.predicted->run_us));
  }
  text += steps_table(measurement).to_text();
  std::string slow;
  for (const runtime::PlanStep& step : plan.steps()) {
    if (!step.slow.empty()) slow += fmt::format("{}: {}\n", step.name, step.slow);
  }
  if (!slow.empty()) text += "\n" + slow;
  if (!explain) return text;
  for (const runtime::PlanStep& step : plan.steps()) text += explanation(plan, step);
  return text;
}

}  // namespace halftone::report
