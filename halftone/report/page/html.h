// SPDX-License-Identifier: Apache-2.0
// Pieces of an HTML page.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace halftone::report::page {

/// A cell of a table.
struct Cell {
  std::string html;               ///< already escaped
  std::optional<double> value{};  ///< what it sorts by; nothing: its text
  std::string title{};            ///< text on hovering, not escaped

  /// A text.
  static Cell of(const std::string& content);
  /// A number with so many digits after the point; "exact" for +infinity, "-" without a value.
  static Cell number(std::optional<double> value, int digits);
  /// The same, which sorts by the rounded number.
  static Cell rounded(std::optional<double> value, int digits);
  static Cell bytes(std::optional<std::size_t> bytes);
};

/// A table whose rows sort by the buttons in its heading, where scripts run. The page aligns the
/// numbers of up to 20 columns.
class HtmlTable {
 public:
  struct Column {
    std::string heading;
    bool is_number = true;
    std::string title{};   ///< text on hovering
    bool is_wide = false;  ///< holds sentences
  };
  /// @param caption  what the table shows, for readers who hear it
  HtmlTable(std::string caption, std::vector<Column> columns)
      : caption_(std::move(caption)), columns_(std::move(columns)) {}

  /// The first cell names the row. @pre one cell per column
  void add_row(const std::vector<Cell>& cells);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  [[nodiscard]] std::string html() const;

 private:
  std::string caption_;
  std::vector<Column> columns_;
  std::string rows_;
};

/// A part of the page with a heading, or nothing where there is no content.
std::string page_section(const std::string& id, const std::string& heading,
                         const std::string& content);
/// A paragraph that says what is missing, and why.
std::string note(const std::string& content);

}  // namespace halftone::report::page
