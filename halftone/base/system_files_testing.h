// SPDX-License-Identifier: Apache-2.0
// Files of the system, as functions with a root read them.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "halftone/base/testing.h"

namespace halftone {

/// A test with its own /proc and /sys.
class SystemFiles : public WithFolder {
 protected:
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = path(name);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  [[nodiscard]] std::string root() const { return folder_.string(); }
};

}  // namespace halftone
