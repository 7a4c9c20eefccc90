// SPDX-License-Identifier: Apache-2.0
// Tables of published numbers, for tests: the folder oracles/ of the data for development.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace halftone::oracle {

using Row = std::map<std::string, std::string>;

inline std::filesystem::path oracle_file(const std::string& name) {
  const char* set = std::getenv("HALFTONE_DATA");
  const std::filesystem::path data =
      set != nullptr ? std::filesystem::path(set)
                     : std::filesystem::path(HALFTONE_SOURCE_DIR) / "../shared/data";
  return data / "oracles" / name;
}

/// The rows of a CSV file without quotes, by heading; empty if there is no such file.
inline std::vector<Row> oracle_rows(const std::string& name) {
  std::ifstream file(oracle_file(name));
  const auto cells = [](const std::string& line) {
    std::vector<std::string> list;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');) list.push_back(cell);
    return list;
  };
  std::vector<Row> rows;
  std::string line;
  if (!std::getline(file, line)) return rows;
  const std::vector<std::string> headings = cells(line);
  while (std::getline(file, line)) {
    std::vector<std::string> values = cells(line);
    values.resize(headings.size());
    Row row;
    for (std::size_t i = 0; i < headings.size(); ++i) row[headings[i]] = values[i];
    rows.push_back(std::move(row));
  }
  return rows;
}

/// The number in a cell; 0 if it is empty.
inline double number(const Row& row, const std::string& heading) {
  const std::string& cell = row.at(heading);
  return cell.empty() ? 0 : std::stod(cell);
}

}  // namespace halftone::oracle
