// SPDX-License-Identifier: Apache-2.0
// Results of training.
#include <fmt/format.h>

#include "halftone/report/crossbar.h"
#include "halftone/report/fields.h"
#include "halftone/report/report.h"
#include "halftone/report/table.h"

namespace halftone::report {
namespace {

const char* share_name(bool has_teacher) { return has_teacher ? "agreement" : "accuracy"; }

ResultFields epoch_fields(const train::EpochResult& epoch) {
  ResultFields fields = {{"loss", epoch.loss, "Mean over the samples"},
                         {"agreement", epoch.agreement,
                          "Share of samples that agree with the teachers, or else the labels"}};
  if (epoch.validation_accuracy) {
    fields.push_back(
        {"validation_accuracy", *epoch.validation_accuracy, "If there is a validation split"});
    fields.push_back({"held_out", *epoch.validation_accuracy, "The same, by the name before"});
  }
  fields.push_back({"learning_rate", epoch.rate, "Of the last step"});
  fields.push_back({"rate", epoch.rate, "The same, by the name before"});
  fields.push_back({"seconds", epoch.seconds});
  return fields;
}

ResultFields train_fields(const TrainReport& report) {
  ResultFields fields = {
      {"input_bytes", report.input_bytes,
       "Of the file or the bytes of the network before; 0 if it came from neither"},
      {"output_bytes", report.output_bytes,
       "Of the file written; without one, of the network as a .circle file"},
      {"seconds", report.seconds},
      {"epochs", rows_json(report.epochs, epoch_fields)}};
  if (report.best) {
    fields.push_back(
        {"best_epoch", *report.best + 1,
         "Whose network was returned, counted from 1, if there is a validation split"});
  }
  if (!report.layers.empty()) {
    fields.push_back({"layers", layers_json(report.layers),
                      "Of the student on its arrays, as `crossbar` lists them"});
  }
  return fields;
}

}  // namespace

std::string to_line(std::size_t index, const train::EpochResult& epoch, bool has_teacher) {
  const std::string validation =
      epoch.validation_accuracy
          ? fmt::format(", validation {:.2f} %", 100 * *epoch.validation_accuracy)
          : "";
  return fmt::format("epoch {}: loss {:.4f}, {} {:.2f} %{}, {:.1f} s", index + 1, epoch.loss,
                     share_name(has_teacher), 100 * epoch.agreement, validation, epoch.seconds);
}

std::string to_text(const TrainReport& report) {
  std::vector<Table::Column> columns{{"epoch"}, {"loss"}, {share_name(report.has_teacher)}};
  if (report.best) columns.push_back({"validation"});
  Table table(std::move(columns));
  const auto percent = [](double share) { return format_number(100 * share, 2) + " %"; };
  for (std::size_t e = 0; e < report.epochs.size(); ++e) {
    const train::EpochResult& epoch = report.epochs[e];
    std::vector<std::string> row{std::to_string(e + 1), format_number(epoch.loss, 4),
                                 percent(epoch.agreement)};
    if (report.best) {
      row.push_back(epoch.validation_accuracy ? percent(*epoch.validation_accuracy) : "-");
    }
    table.add_row(std::move(row));
  }
  const std::string best =
      report.best ? fmt::format(", of epoch {}", *report.best + 1) : std::string();
  return table.to_text() +
         fmt::format("\nfile {} -> {}{} in {:.1f} s\n", format_bytes(report.input_bytes),
                     format_bytes(report.output_bytes), best, report.seconds) +
         digital_lines(report.layers);
}

std::string to_json(const TrainReport& report) { return dump(json_of(train_fields(report))); }

ResultClasses training_results() {
  ResultClasses classes = tuning_results();
  classes.emplace_back("EpochResult", epoch_fields({.validation_accuracy = 0.0}));
  TrainReport report;
  report.best = 0;
  report.layers.resize(1);
  classes.emplace_back("TrainReport", train_fields(report));
  return classes;
}

}  // namespace halftone::report
