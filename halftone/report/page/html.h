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
  std::optional<double> bar{};    ///< share of the cell that is filled, from 0 to 1

  /// A text.
  static Cell of(const std::string& content);
  /// A number with so many digits after the point; "exact" for +infinity, "-" without a value.
  static Cell number(std::optional<double> value, int digits);
  /// The same, which sorts by the rounded number.
  static Cell rounded(std::optional<double> value, int digits);
  static Cell bytes(std::optional<std::size_t> bytes);
  /// This cell with a bar: a value relative to the largest of its column.
  [[nodiscard]] Cell with_bar(std::optional<double> value, double largest) const;
};

/// How a row looks.
struct RowLook {
  std::string id{};           ///< empty: none
  std::optional<int> heat{};  ///< step of colour in front of its name
};

/// A table whose rows sort by the buttons in its heading, where scripts run. On narrow windows each
/// row is a paragraph that repeats the headings. The page aligns the numbers of up to
/// kMaxTableColumns columns.
inline constexpr std::size_t kMaxTableColumns = 40;
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
  void add_row(const std::vector<Cell>& cells, const RowLook& look = {});
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
