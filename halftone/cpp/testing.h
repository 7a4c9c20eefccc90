// SPDX-License-Identifier: Apache-2.0
// What the tests of the C++ API share; installed headers alone.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "halftone/halftone.hpp"

namespace outside {

inline const std::string kFolder = std::string(HALFTONE_SOURCE_DIR) + "/examples/mnist";
inline const std::string kModel = kFolder + "/mnist_mlp_700.onnx";

/// Runs `body`, which must fail with this kind and text.
template <typename Body>
void expect_error(halftone::ErrorKind kind, const std::string& text, Body&& body) {
  try {
    body();
    ADD_FAILURE() << "no error; expected: " << text;
  } catch (const halftone::Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_THAT(error.what(), testing::HasSubstr(text));
  }
}

/// A folder of its own for each test, removed at its end.
class WithFolder : public testing::Test {
 protected:
  WithFolder()
      : folder_(std::filesystem::path(testing::TempDir()) /
                ("halftone_cpp_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~WithFolder() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace outside
