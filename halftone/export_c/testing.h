// SPDX-License-Identifier: Apache-2.0
// Test support: compiles an exported program strictly, and runs its test.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "halftone/base/testing.h"
#include "halftone/export_c/export_c.h"

namespace halftone::export_c::testing {

/// The C compilers of this machine.
inline std::vector<std::string> compilers() {
  std::vector<std::string> found;
  for (const std::string each : {HALFTONE_GCC_FOR_C, HALFTONE_CLANG_FOR_C}) {
    if (!each.empty() && !each.ends_with("-NOTFOUND")) found.push_back(each);
  }
  return found;
}

/// What a program wrote to a file.
inline std::string said(const std::string& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

class WithPrograms : public WithFolder {
 protected:
  void SetUp() override {
    WithFolder::SetUp();
    if (compilers().empty()) GTEST_SKIP() << "no C compiler";
  }

  /// Whether the program says that its outputs are those of the runtime, with each compiler.
  /// Warnings are errors, and undefined behaviour ends it.
  void expect_runs(const CSources& sources, const std::string& more = "") const {
    const std::string folder = path("c");
    std::filesystem::remove_all(folder);
    std::filesystem::create_directory(folder);
    for (const CFile& file : sources.files) std::ofstream(folder + "/" + file.name) << file.text;
    for (const std::string& compiler : compilers()) {
      const std::string command =
          "cd '" + folder + "' && '" + compiler +
          "' -std=c99 -O1 -ffp-contract=off -Wall -Wextra -Wconversion -pedantic -Werror "
          "-fsanitize=undefined -fsanitize-undefined-trap-on-error " +
          more + " *.c -o program && ./program > out";
      EXPECT_EQ(std::system(command.c_str()), 0) << command << "\n" << said(folder + "/out");
    }
  }
  void expect_runs(const ir::Graph& graph) const { expect_runs(export_network(graph, {})); }
};

}  // namespace halftone::export_c::testing
