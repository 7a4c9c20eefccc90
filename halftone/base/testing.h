// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of all modules. Only tests include this.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <limits>
#include <string>

#include "halftone/base/error.h"

namespace halftone {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Checks that the action throws an Error of this kind with a one-line message that contains
/// `text`.
template <typename Action>
void expect_error(ErrorKind kind, const std::string& text, Action&& action) {
  try {
    action();
    ADD_FAILURE() << "no error; expected one with '" << text << "'";
  } catch (const Error& error) {
    EXPECT_EQ(to_string(error.kind()), to_string(kind)) << error.what();
    EXPECT_THAT(error.what(), testing::HasSubstr(text));
    EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("\n")));
  }
}

/// Gives each test its own temporary folder.
class WithFolder : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "halftone_test.XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::remove_all(folder_.string() + ".mpi");
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }
  /// An assignment of the environment: in their usual folder, two mpirun that begin or end at once
  /// fail now and then.
  [[nodiscard]] std::string mpi_folder() const {
    return "OMPI_MCA_orte_tmpdir_base='" + folder_.string() + ".mpi'";
  }

  std::filesystem::path folder_;
};

}  // namespace halftone
