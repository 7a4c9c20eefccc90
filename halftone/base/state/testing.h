// SPDX-License-Identifier: Apache-2.0
// For the tests of all states.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <ios>
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/file.h"

namespace halftone {

/// Flips bits of a state's file in turn, two of each byte. Each is refused with one line, or gives
/// the result of the whole file. @param result  reads the file, and gives what follows as a text
template <typename Result>
void expect_flips_are_noticed(const std::string& path, const Result& result) {
  const std::vector<std::byte> whole = read_file(path);
  const std::string expected = result();
  std::size_t refused = 0;
  // Not write_file(), which waits for the disk.
  const auto write = [&](const std::vector<std::byte>& bytes) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  };
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const std::size_t bit : {i % 8, (i + 3) % 8}) {
      std::vector<std::byte> damaged = whole;
      damaged[i] ^= std::byte{1} << bit;
      write(damaged);
      try {
        ASSERT_EQ(result(), expected) << "bit " << bit << " of byte " << i;
      } catch (const Error& error) {
        ++refused;
        const std::string message = error.what();
        ASSERT_NE(to_string(error.kind()), to_string(ErrorKind::kInternal)) << message;
        ASSERT_EQ(message.find('\n'), message.npos) << message;
        ASSERT_NE(message.find(path), message.npos) << message;
      }
    }
  }
  write(whole);
  EXPECT_EQ(result(), expected);
  EXPECT_GT(refused, whole.size());
}

}  // namespace halftone
