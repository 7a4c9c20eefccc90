// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace halftone::report {

/// A table for a terminal: columns as wide as their longest cell, a line under the headings.
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

/// "1536 B" below 10 KiB, then "147.2 KiB", "2.1 MiB".
std::string format_bytes(std::size_t bytes);
/// With so many digits after the point; "-" for numbers that are not finite.
std::string format_number(double value, int digits);

}  // namespace halftone::report
