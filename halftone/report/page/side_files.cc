// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/page/side_files.h"

#include <algorithm>
#include <limits>

#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/report/json.h"

namespace halftone::report::page {
namespace {

Json json_of(const SideFile& file) {
  Json json = Json::parse(file.json, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) fail(ErrorKind::kFormat, file.name + ": is no JSON");
  return json;
}

std::optional<double> number_at(const Json& object, const std::string& key) {
  const bool is_there = object.is_object() && object.contains(key) && object[key].is_number();
  return is_there ? std::optional(object[key].get<double>()) : std::nullopt;
}

bool is_list_at(const Json& object, const std::string& key) {
  return object.is_object() && object.contains(key) && object[key].is_array() &&
         !object[key].empty();
}

[[noreturn]] void fail_search(const std::string& name) {
  fail(ErrorKind::kFormat, name +
                               ": expected what quantize --budget --json prints: a list \"front\" "
                               "of objects with numbers \"bytes\" and \"loss\"");
}

[[noreturn]] void fail_sensitivity(const std::string& name) {
  fail(ErrorKind::kFormat,
       name +
           ": expected what sensitivity --json prints: lists \"layers\", "
           "\"units\" and \"choices\", with \"loss\" and \"bytes\" of every unit");
}

std::string text_at(const Json& object, const std::string& key) {
  const bool is_there = object.is_object() && object.contains(key) && object[key].is_string();
  return is_there ? object[key].get<std::string>() : "";
}

/// The names of the layers of a unit.
std::string unit_name(const Json& layers, const Json& unit, const std::string& file) {
  if (!is_list_at(unit, "layers")) fail_sensitivity(file);
  std::string name;
  for (const Json& index : unit["layers"]) {
    if (!index.is_number_unsigned() || index.get<std::size_t>() >= layers.size()) {
      fail_sensitivity(file);
    }
    name += (name.empty() ? "" : ", ") + text_at(layers[index.get<std::size_t>()], "name");
  }
  return name;
}

SearchPoint point_of(const Json& json, const std::string& file) {
  const auto bytes = number_at(json, "bytes");
  const auto loss = number_at(json, "loss");
  if (!bytes || !loss) fail_search(file);
  return {*bytes, *loss, number_at(json, "us"), number_at(json, "pj")};
}

/// The columns of a list that have a number in some row.
std::vector<std::string> columns_in(const Json& list, const std::vector<std::string>& known) {
  std::vector<std::string> columns;
  for (const std::string& column : known) {
    const auto has = [&](const Json& row) { return number_at(row, column).has_value(); };
    if (std::any_of(list.begin(), list.end(), has)) columns.push_back(column);
  }
  return columns;
}

/// A course from a list of objects.
/// @param number  key of the number of a row; rows without it are numbered
TrainingCourse course_of(const Json& list, const std::string& unit, const std::string& number) {
  constexpr std::size_t kMaxRows = 200;
  TrainingCourse course{unit,
                        columns_in(list, {"loss", "agreement", "validation_accuracy",
                                          "kl_divergence", "learning_rate", "seconds"}),
                        {}};
  const std::size_t stride = (list.size() + kMaxRows - 1) / kMaxRows;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i % stride != 0 && i + 1 != list.size()) continue;
    const double found = number_at(list[i], number).value_or(static_cast<double>(i + 1));
    TrainingCourse::Row row{static_cast<std::size_t>(std::max(found, 0.0)), {}};
    for (const std::string& column : course.columns) {
      row.values.push_back(number_at(list[i], column));
    }
    course.rows.push_back(std::move(row));
  }
  return course;
}

}  // namespace

SideFile read_side_file(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return {path.filename().string(),
          std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())};
}

SearchFront search_of(const SideFile& file) {
  const Json json = json_of(file);
  if (!is_list_at(json, "front")) fail_search(file.name);
  SearchFront search{file.name, {}};
  for (const Json& each : json["front"]) search.front.push_back(point_of(each, file.name));
  if (json.contains("chosen") && !json["chosen"].is_null()) {
    search.chosen = point_of(json["chosen"], file.name);
  }
  return search;
}

SensitivityTable sensitivity_of(const SideFile& file) {
  constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
  const Json whole = json_of(file);
  const bool is_part = whole.is_object() && whole.contains("sensitivity");
  const Json& json = is_part ? whole["sensitivity"] : whole;
  if (!is_list_at(json, "layers") || !is_list_at(json, "choices")) fail_sensitivity(file.name);
  if (!is_list_at(json, "units")) fail_sensitivity(file.name);
  SensitivityTable table{file.name, text_at(json, "loss"), {}, {}};
  for (const Json& unit : json["units"]) {
    table.units.push_back({unit_name(json["layers"], unit, file.name), {}, {}});
  }
  for (const Json& choice : json["choices"]) {
    if (!choice.is_object() || !is_list_at(choice, "units") ||
        choice["units"].size() != table.units.size()) {
      fail_sensitivity(file.name);
    }
    table.choices.push_back(text_at(choice, "name"));
    for (std::size_t u = 0; u < table.units.size(); ++u) {
      const Json& unit = choice["units"][u];
      const auto loss = unit.is_null() ? kNothing : number_at(unit, "loss");
      const auto bytes = unit.is_null() ? kNothing : number_at(unit, "bytes");
      if (!loss || !bytes) fail_sensitivity(file.name);
      table.units[u].losses.push_back(*loss);
      table.units[u].bytes.push_back(*bytes);
    }
  }
  return table;
}

Training training_of(const SideFile& file) {
  const Json json = json_of(file);
  Training training{file.name, {}};
  if (is_list_at(json, "epochs"))
    training.courses.push_back(course_of(json["epochs"], "epoch", ""));
  if (is_list_at(json, "steps")) training.courses.push_back(course_of(json["steps"], "step", ""));
  if (is_list_at(json, "evaluations")) {
    training.courses.push_back(course_of(json["evaluations"], "step", "steps"));
  }
  if (training.courses.empty()) {
    fail(ErrorKind::kFormat, file.name +
                                 ": expected what train --json or distill --json prints: a list "
                                 "\"epochs\" or \"steps\"");
  }
  return training;
}

}  // namespace halftone::report::page
