// SPDX-License-Identifier: Apache-2.0
// What the tests of this folder share.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/formats/data/dataset.h"
#include "halftone/formats/data/file_bytes.h"

namespace halftone::formats {

/// Checks that the action fails with this kind and a text that has this part.
inline void expect_error(ErrorKind kind, const std::string& text,
                         const std::function<void()>& action) {
  try {
    action();
    ADD_FAILURE() << "no error; expected one with '" << text << "'";
  } catch (const Error& error) {
    EXPECT_EQ(to_string(error.kind()), to_string(kind)) << error.what();
    EXPECT_THAT(error.what(), testing::HasSubstr(text));
    EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("\n")));
  }
}

inline std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

/// Samples [first, first + count) of an input, as stored.
inline std::vector<float> read_samples(const Dataset& dataset, std::size_t input, std::size_t first,
                                       std::size_t count) {
  std::vector<float> result(count * dataset.inputs()[input].shape.num_elements());
  dataset.read(input, first, count, result);
  return result;
}

/// A folder of its own for each test.
class WithFolder : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "halftone_test.XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }

  std::filesystem::path folder_;
};

}  // namespace halftone::formats
