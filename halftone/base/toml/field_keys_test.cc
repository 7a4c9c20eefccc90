// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/toml/field_keys.h"

#include <gtest/gtest.h>

#include "halftone/base/testing.h"

namespace halftone::keys {
namespace {

struct Settings {
  bool flip = false;
  std::optional<int> bits{};
  std::optional<std::int64_t> rows{};
  double rate = 0.5;
  std::optional<std::string> scheme{};
  std::filesystem::path file{};
};

Fields fields_of(Settings& s) {
  return {{"flip", &s.flip, "Flips"},
          Field{"bits", &s.bits, "Bits", FieldRange::between(1, 8)}.with_zero("none"),
          {"rows", &s.rows, "Rows"},
          {"rate", &s.rate, "Rate", FieldRange::between(0, 1)},
          {"scheme", &s.scheme, "Scheme", {}, {"a", "b"}}};
}

Settings read(const std::string& text) {
  Settings settings;
  const Fields fields = fields_of(settings);
  read_document(text, "t",
                [&](const toml::table& root) { read_table(root, keys_of(fields), "the table"); });
  return settings;
}

TEST(FieldKeys, SetFields) {
  const Settings found = read("flip = true\nbits = 4\nrows = 9\nrate = 1\nscheme = \"b\"\n");
  EXPECT_TRUE(found.flip);
  EXPECT_EQ(found.bits, 4);
  EXPECT_EQ(found.rows, 9);
  EXPECT_EQ(found.rate, 1);
  EXPECT_EQ(found.scheme, "b");
  EXPECT_EQ(read("bits = \"none\"").bits, 0);
  EXPECT_EQ(read("").bits, std::nullopt);
}

TEST(FieldKeys, AreWrittenAsTheyAreRead) {
  Settings settings;
  EXPECT_EQ(lines_of(fields_of(settings)), "flip = false\nrate = 0.5\n");
  settings = {.flip = true, .bits = 0, .rows = 12, .rate = 0.25, .scheme = "a"};
  const std::string lines = lines_of(fields_of(settings));
  EXPECT_EQ(lines, "flip = true\nbits = \"none\"\nrows = 12\nrate = 0.25\nscheme = \"a\"\n");
  Settings again = read(lines);
  EXPECT_EQ(lines_of(fields_of(again)), lines);
}

TEST(FieldKeys, RefuseWhatNoFieldMayBe) {
  const auto refuse = [](const std::string& text, const std::string& message) {
    expect_error(ErrorKind::kUsage, "t: line 1: " + message, [&] { (void)read(text); });
  };
  refuse("flip = 1", "'flip': expected true or false, found integer");
  refuse("bits = 9", "'bits': expected 1 to 8, found 9");
  refuse("bits = 0", "'bits': expected 1 to 8, found 0");
  refuse("bits = \"all\"", "'bits': expected 1 to 8, or \"none\", found string");
  refuse("rows = -1", "'rows': expected 0 to 9223372036854775807, found -1");
  refuse("rate = 2", "'rate': expected 0 to 1, found 2");
  refuse("scheme = \"c\"", "'scheme': expected one of a, b, found 'c'");
  refuse("speed = 1",
         "unknown key 'speed' in the table; known are: flip, bits, rows, rate, scheme");
  Settings settings;
  expect_error(ErrorKind::kInternal, "file: no key of a TOML file", [&] {
    (void)keys_of({{"file", &settings.file, "File"}});
  });
}

}  // namespace
}  // namespace halftone::keys
