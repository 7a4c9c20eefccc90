// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "halftone/base/error.h"
#include "halftone/base/printable.h"

namespace halftone::report {

void Table::add_row(std::vector<std::string> cells) {
  HALFTONE_ASSERT(cells.size() == columns_.size());
  // Names come from files: they must not break the line or control the terminal.
  for (std::string& cell : cells) cell = printable_line(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::to_text() const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = columns_[c].heading.size();
    for (const auto& row : rows_) width = std::max(width, row[c].size());
    widths.push_back(width);
  }
  std::string text;
  const auto add_line = [&](const auto& cell) {
    std::string line;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (c > 0) line += "  ";
      line += columns_[c].align == Align::kLeft ? fmt::format("{:<{}}", cell(c), widths[c])
                                                : fmt::format("{:>{}}", cell(c), widths[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add_line([&](std::size_t c) { return columns_[c].heading; });
  std::size_t total = 2 * (columns_.size() - 1);
  for (const std::size_t width : widths) total += width;
  text += std::string(total, '-') + "\n";
  for (const auto& row : rows_) add_line([&](std::size_t c) { return row[c]; });
  return text;
}

std::string clipped(const std::string& name) {
  constexpr std::size_t kWidth = 40;
  constexpr std::size_t kHead = 12;
  if (name.size() <= kWidth) return name;
  return name.substr(0, kHead) + "..." + name.substr(name.size() - (kWidth - kHead - 3));
}

std::string format_bytes(std::size_t bytes) {
  const auto size = static_cast<double>(bytes);
  if (bytes < 10 * 1024) return fmt::format("{} B", bytes);
  if (bytes < 1024 * 1024) return fmt::format("{:.1f} KiB", size / 1024);
  if (bytes < std::size_t{1} << 30) return fmt::format("{:.1f} MiB", size / (1024 * 1024));
  return fmt::format("{:.1f} GiB", size / (1024.0 * 1024 * 1024));
}

std::string format_number(double value, int digits) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : "-";
}

}  // namespace halftone::report
