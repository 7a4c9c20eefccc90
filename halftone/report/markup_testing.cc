// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/markup_testing.h"

#include <algorithm>
#include <vector>

namespace halftone::report {

bool is_well_formed(std::string_view xml) {
  std::vector<std::string_view> open;
  for (;;) {
    const std::size_t begin = xml.find_first_of("<>");
    if (begin == std::string_view::npos) return open.empty();
    const std::size_t end = xml.find_first_of("<>", begin + 1);
    if (xml[begin] != '<' || end == std::string_view::npos || xml[end] != '>') return false;
    std::string_view tag = xml.substr(begin + 1, end - begin - 1);
    xml.remove_prefix(end + 1);
    if (std::ranges::count(tag, '"') % 2 != 0) return false;
    const bool closes = tag.starts_with('/');
    if (closes) tag.remove_prefix(1);
    const std::string_view name = tag.substr(0, tag.find_first_of(" /"));
    if (name.empty()) return false;
    if (closes) {
      if (open.empty() || open.back() != name) return false;
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.push_back(name);
    }
  }
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

}  // namespace halftone::report
