// SPDX-License-Identifier: Apache-2.0
// Results of training.
#include <fmt/format.h>

#include "halftone/report/crossbar.h"
#include "halftone/report/report.h"
#include "halftone/report/table.h"

namespace halftone::report {
namespace {

const char* share_name(bool has_teacher) { return has_teacher ? "agreement" : "accuracy"; }

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

std::string to_json(const TrainReport& report) {
  Json epochs = Json::array();
  for (const train::EpochResult& epoch : report.epochs) {
    Json json = {{"loss", epoch.loss}, {"agreement", epoch.agreement}};
    if (epoch.validation_accuracy) {
      json["validation_accuracy"] = *epoch.validation_accuracy;
      json["held_out"] = *epoch.validation_accuracy;  // the name before
    }
    json["learning_rate"] = epoch.rate;
    json["rate"] = epoch.rate;  // the name before
    json["seconds"] = epoch.seconds;
    epochs.push_back(std::move(json));
  }
  Json json = {{"input_bytes", report.input_bytes},
               {"output_bytes", report.output_bytes},
               {"seconds", report.seconds},
               {"epochs", epochs}};
  if (report.best) json["best_epoch"] = *report.best + 1;
  if (!report.layers.empty()) json["layers"] = layers_json(report.layers);
  return dump(json);
}

}  // namespace halftone::report
