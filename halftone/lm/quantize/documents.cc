// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/documents.h"

#include <algorithm>
#include <cstddef>

namespace halftone::lm {
namespace {

constexpr std::string_view kWhiteSpace = " \t\r\f\v";

/// From weak to strong.
enum class Border { kNone, kBlankLine, kBlankLines, kTitle };

std::string_view trimmed(std::string_view line) {
  const std::size_t first = line.find_first_not_of(kWhiteSpace);
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(kWhiteSpace) - first + 1);
}

/// "= Title =", but not "= = Section = =" nor "== Section ==".
bool is_title(std::string_view line) {
  const auto is_mark = [&](std::size_t i) { return line[i] == '='; };
  const std::size_t size = line.size();
  return size >= 5 && line.substr(0, 2) == "= " && line.substr(size - 2) == " =" && !is_mark(2) &&
         !is_mark(size - 3);
}

/// A line with text.
struct Line {
  std::size_t begin = 0;
  Border border = Border::kNone;  ///< in front of it
};

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  std::size_t blank = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = trimmed(text.substr(begin, end - begin));
    if (line.empty()) {
      ++blank;
    } else {
      Border border = blank == 0   ? Border::kNone
                      : blank == 1 ? Border::kBlankLine
                                   : Border::kBlankLines;
      if (is_title(line)) border = Border::kTitle;
      lines.push_back({begin, border});
      blank = 0;
    }
    begin = end + 1;
  }
  return lines;
}

}  // namespace

std::vector<std::string_view> split_documents(std::string_view text) {
  if (text.empty()) return {};
  std::vector<Line> lines = lines_of(text);
  if (!lines.empty()) lines.erase(lines.begin());  // nothing is divided in front of the first one
  Border strongest = Border::kNone;
  for (const Line& line : lines) strongest = std::max(strongest, line.border);
  std::vector<std::string_view> documents;
  std::size_t begin = 0;
  for (const Line& line : lines) {
    if (strongest == Border::kNone || line.border != strongest) continue;
    documents.push_back(text.substr(begin, line.begin - begin));
    begin = line.begin;
  }
  documents.push_back(text.substr(begin));
  return documents;
}

}  // namespace halftone::lm
