// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace halftone::report {

/// A table for a terminal. Columns are as wide as their longest cell; a line follows the headings.
///
///     layer    bits   bytes
///     ---------------------
///     dense1      2  147000
class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string heading;
    Align align = Align::kRight;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// @pre one cell per column
  void add_row(std::vector<std::string> cells);
  [[nodiscard]] std::string to_text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// A name for a narrow column: its first and last bytes with "..." between them, 40 at most.
std::string clipped(const std::string& name);
/// "1536 B" below 10 KiB, then "147.2 KiB", "2.1 MiB".
std::string format_bytes(std::size_t bytes);
/// Formats with `digits` digits after the point; "-" for values that are not finite.
std::string format_number(double value, int digits);

}  // namespace halftone::report
