// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/operators_page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>
#include <variant>

namespace halftone::ir::test {
namespace {

using Lines = std::vector<std::string>;
using Rows = std::map<std::string, Lines>;  // cells by the first one

constexpr const char* kPath = HALFTONE_SOURCE_DIR "/docs/operators.md";
constexpr const char* kAdvice =
    "docs/operators.md is out of date: run the tests *OperatorsPage* one after the other with "
    "HALFTONE_WRITE_OPERATORS=1";

bool writes() { return std::getenv("HALFTONE_WRITE_OPERATORS") != nullptr; }

Lines read_page() {
  std::ifstream file(kPath);
  Lines lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

void write_page(const Lines& lines) {
  std::ofstream file(kPath);
  for (const std::string& line : lines) file << line << '\n';
}

/// "| a | b |" as "a", "b".
Lines cells_of(const std::string& row) {
  Lines cells;
  std::istringstream stream(row.substr(1));
  for (std::string cell; std::getline(stream, cell, '|');) {
    const std::size_t first = cell.find_first_not_of(' ');
    const std::size_t last = cell.find_last_not_of(' ');
    cells.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
  }
  return cells;
}

std::string row_of(const Lines& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) row += cell.empty() ? " |" : " " + cell + " |";
  return row;
}

/// The first table under a heading: the index of its first row, below the titles, and its end.
std::pair<std::size_t, std::size_t> table_under(const Lines& lines, const std::string& heading) {
  const auto found = std::ranges::find(lines, "## " + heading);
  const auto title = std::find_if(found, lines.end(),
                                  [](const std::string& line) { return line.starts_with("|"); });
  if (lines.end() - title < 2) return {0, 0};
  const auto end = std::find_if(title, lines.end(),
                                [](const std::string& line) { return !line.starts_with("|"); });
  return {static_cast<std::size_t>(title - lines.begin()) + 2,
          static_cast<std::size_t>(end - lines.begin())};
}

void replace_rows(Lines& lines, std::pair<std::size_t, std::size_t> table, const Lines& rows) {
  const auto at = [&](std::size_t i) { return lines.begin() + static_cast<std::ptrdiff_t>(i); };
  lines.insert(lines.erase(at(table.first), at(table.second)), rows.begin(), rows.end());
  write_page(lines);
}

std::string type_name(const Operator& op) {
  return std::visit([](const auto& held) { return std::string(held.kName); }, op);
}

}  // namespace

std::vector<Operator> all_operators() {
  return []<std::size_t... types>(std::index_sequence<types...> /*all*/) {
    return std::vector<Operator>{Operator(std::in_place_index<types>)...};
  }
  (std::make_index_sequence<std::variant_size_v<Operator>>());
}

void expect_operator_column(const std::string& column,
                            const std::function<bool(const Operator&)>& has) {
  Lines lines = read_page();
  const auto table = table_under(lines, "Operators of the graph");
  ASSERT_GT(table.first, 0u) << kPath << " has no table of operators";
  const Lines titles = cells_of(lines[table.first - 2]);
  const auto found = std::ranges::find(titles, column);
  ASSERT_NE(found, titles.end()) << "no column '" << column << "'";
  const auto index = static_cast<std::size_t>(found - titles.begin());
  Rows rows;
  for (std::size_t i = table.first; i < table.second; ++i) {
    Lines cells = cells_of(lines[i]);
    rows[cells[0]] = std::move(cells);
  }
  Lines wanted;
  for (const Operator& op : all_operators()) {
    Lines cells = rows[type_name(op)];
    cells.resize(titles.size());
    cells[0] = type_name(op);
    cells[index] = has(op) ? "yes" : "";
    wanted.push_back(row_of(cells));
  }
  if (writes()) return replace_rows(lines, table, wanted);
  for (std::string& row : wanted) row = cells_of(row)[0] + ": " + cells_of(row)[index];
  Lines present;
  for (std::size_t i = table.first; i < table.second; ++i) {
    Lines cells = cells_of(lines[i]);
    cells.resize(titles.size());
    present.push_back(cells[0] + ": " + cells[index]);
  }
  EXPECT_EQ(present, wanted) << "column '" << column << "'; " << kAdvice;
}

void expect_operator_names(const std::string& heading, std::vector<std::string> names) {
  Lines lines = read_page();
  const auto table = table_under(lines, heading);
  ASSERT_GT(table.first, 0u) << kPath << " has no table under '" << heading << "'";
  std::map<char, std::string> by_initial;
  std::ranges::sort(names);
  for (const std::string& name : names) {
    std::string& list = by_initial[name.at(0)];
    list += (list.empty() ? "" : ", ") + name;
  }
  Lines wanted;
  for (const auto& [initial, list] : by_initial) {
    wanted.push_back(row_of({std::string(1, initial), list}));
  }
  if (writes()) return replace_rows(lines, table, wanted);
  const auto at = [&](std::size_t i) { return lines.begin() + static_cast<std::ptrdiff_t>(i); };
  EXPECT_EQ(Lines(at(table.first), at(table.second)), wanted) << kAdvice;
}

}  // namespace halftone::ir::test
