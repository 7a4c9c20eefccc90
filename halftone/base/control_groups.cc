// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/control_groups.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace halftone {
namespace {

void add_with_ancestors(const std::string& folder, std::string group, int version,
                        std::vector<ControlGroup>& groups) {
  while (true) {
    groups.push_back({folder + group, version});
    if (group.empty()) return;
    group.resize(std::min(group.rfind('/'), group.size() - 1));
  }
}

}  // namespace

std::vector<ControlGroup> control_groups(std::string_view controller, const std::string& root) {
  const std::string folder = root + "/sys/fs/cgroup";
  const std::string name = "," + std::string(controller) + ",";
  // Lines are "number:controllers:/group"; version 2 names no controllers.
  std::istringstream lines(system_text(root + "/proc/self/cgroup"));
  std::vector<ControlGroup> groups;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (controllers == ",,") add_with_ancestors(folder, group, 2, groups);
    if (controllers.find(name) != controllers.npos) {
      add_with_ancestors(folder + "/" + std::string(controller), group, 1, groups);
    }
  }
  return groups;
}

std::string system_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace halftone
