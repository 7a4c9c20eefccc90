// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/page/side_files.h"

#include <algorithm>

#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/report/json.h"

namespace halftone::report::page {
namespace {

Json read_json(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  const auto* begin = reinterpret_cast<const char*>(bytes.data());
  Json json = Json::parse(begin, begin + bytes.size(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) fail(ErrorKind::kFormat, path.string() + ": is no JSON");
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

[[noreturn]] void fail_search(const std::filesystem::path& path) {
  fail(ErrorKind::kFormat, path.string() +
                               ": expected what quantize --budget --json prints: a list \"front\" "
                               "of objects with numbers \"bytes\" and \"loss\"");
}

SearchPoint point_of(const Json& json, const std::filesystem::path& path) {
  const auto bytes = number_at(json, "bytes");
  const auto loss = number_at(json, "loss");
  if (!bytes || !loss) fail_search(path);
  return {*bytes, *loss, number_at(json, "us")};
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

SearchFront read_search(const std::filesystem::path& path) {
  const Json json = read_json(path);
  if (!is_list_at(json, "front")) fail_search(path);
  SearchFront search{path.filename().string(), {}};
  for (const Json& each : json["front"]) search.front.push_back(point_of(each, path));
  if (!json.contains("chosen")) return search;
  const Json& chosen = json["chosen"];
  if (chosen.is_number_unsigned() && chosen.get<std::size_t>() < search.front.size()) {
    search.chosen = search.front[chosen.get<std::size_t>()];
  } else if (!chosen.is_null()) {
    search.chosen = point_of(chosen, path);
  }
  return search;
}

Training read_training(const std::filesystem::path& path) {
  const Json json = read_json(path);
  Training training{path.filename().string(), {}};
  if (is_list_at(json, "epochs"))
    training.courses.push_back(course_of(json["epochs"], "epoch", ""));
  if (is_list_at(json, "steps")) training.courses.push_back(course_of(json["steps"], "step", ""));
  if (is_list_at(json, "evaluations")) {
    training.courses.push_back(course_of(json["evaluations"], "step", "steps"));
  }
  if (training.courses.empty()) {
    fail(ErrorKind::kFormat, path.string() +
                                 ": expected what train --json or distill --json prints: a list "
                                 "\"epochs\" or \"steps\"");
  }
  return training;
}

}  // namespace halftone::report::page
