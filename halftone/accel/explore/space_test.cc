// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/explore/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/base/testing.h"

namespace halftone::accel {
namespace {

using testing::ElementsAre;

const std::string kSpace = R"(
accelerator = "edge-2bit"
weight_bits = [4, 2]
activation_bits = [8, 4]
[[parameter]]
keys = ["unit.bit-serial array.count", "memory.cell registers.count"]
values = [[2, 2], [4, 4]]
[[parameter]]
key = "memory.SRAM.bytes"
values = [65536, 131072.0, 262144]
[[area]]
mm2 = 0.5
[[area]]
of = ["unit.bit-serial array.count", "unit.bit-serial array.tile_columns"]
mm2 = 0.01
[[layer]]
name = "first*"
weight_bits = [8]
[[tie]]
layers = ["a", "b?"]
)";

TEST(Space, MultipliesTheValuesOfParameters) {
  const Space space = parse_space(kSpace, "s.toml");
  EXPECT_EQ(space.num_hardware(), 6U);
  const std::vector<Setting> settings = space.settings(4);
  ASSERT_EQ(settings.size(), 3U);
  EXPECT_EQ(to_string(settings[0]), "unit.bit-serial array.count = 4");
  EXPECT_EQ(to_string(settings[1]), "memory.cell registers.count = 4");
  EXPECT_EQ(to_string(settings[2]), "memory.SRAM.bytes = 131072");
  const Accelerator chip = space.hardware(4);
  EXPECT_EQ(chip.units[0].count, 4U);
  EXPECT_EQ(chip.memories[1].bytes, 131072);
  EXPECT_EQ(chip.memories[2].count, 4U);
  EXPECT_DOUBLE_EQ(chip.area_mm2, 0.5 + 4 * 64 * 0.01);
  EXPECT_EQ(chip.units[1].count, 1U);  // as described
}

TEST(Space, WithoutParametersIsTheDescription) {
  const Space space = parse_space("accelerator = \"edge-2bit\"\nweight_bits = [2]\n", "s.toml");
  EXPECT_EQ(space.num_hardware(), 1U);
  EXPECT_EQ(to_toml(space.hardware(0)), to_toml(load_accelerator("edge-2bit")));
}

TEST(Space, GivesPairsOfBitsByLayer) {
  const Space space = parse_space(kSpace, "s.toml");
  EXPECT_THAT(space.pairs_of("a"),
              ElementsAre(BitPair{2, 4}, BitPair{2, 8}, BitPair{4, 4}, BitPair{4, 8}));
  EXPECT_THAT(space.pairs_of("first1"), ElementsAre(BitPair{8, 8}));
  const std::vector<std::string> layers = {"first1", "a", "b1", "b2", "c"};
  EXPECT_EQ(space.pairs_of(layers).size(), 5U);
  EXPECT_THAT(space.ties_of(layers), ElementsAre(0, 1, 1, 1, 4));
}

TEST(Space, RejectsLayersThatDoNotExistOrDiffer) {
  Space space = parse_space(kSpace, "s.toml");
  const std::vector<std::string> others = {"a", "b1"};
  expect_error(ErrorKind::kUsage,
               "s.toml: line 16: pattern 'first*' matches no layer; the layers are: a, b1",
               [&] { static_cast<void>(space.ties_of(others)); });
  space.ties[0].patterns = {"a", "first"};
  const std::vector<std::string> layers = {"a", "first"};
  expect_error(ErrorKind::kUsage, "line 19: tied layers 'a' and 'first' may have different bits",
               [&] { static_cast<void>(space.ties_of(layers)); });
}

TEST(Space, NamesTheValuesThatMakeNoHardware) {
  const Space space = parse_space(
      "accelerator = \"edge-2bit\"\nweight_bits = [2]\n[[parameter]]\n"
      "key = \"memory.SRAM.bytes\"\nvalues = [0]\n",
      "s.toml");
  expect_error(ErrorKind::kUsage,
               "edge-2bit with memory.SRAM.bytes = 0: 'bytes': expected 1e-30 to 1e+30, found 0",
               [&] { static_cast<void>(space.hardware(0)); });
}

struct BadSpace {
  std::string text;
  std::string message;
};

class SpaceError : public testing::TestWithParam<BadSpace> {};

TEST_P(SpaceError, IsOneClearLine) {
  expect_error(ErrorKind::kUsage, GetParam().message,
               [&] { parse_space(GetParam().text, "s.toml"); });
}

const std::string kStart = "accelerator = \"edge-2bit\"\nweight_bits = [2]\n";

INSTANTIATE_TEST_SUITE_P(
    Space, SpaceError,
    testing::Values(
        BadSpace{"weight_bits = [2]\n", "the space needs 'accelerator': add it"},
        BadSpace{"accelerator = \"edge-2bit\"\n", "the space needs 'weight_bits': add it"},
        BadSpace{"accelerator = \"edge\"\nweight_bits = [2]\n", "no accelerator 'edge'"},
        BadSpace{kStart + "bits = 3\n", "s.toml: line 3: unknown key 'bits' in the space"},
        BadSpace{kStart + "activation_bits = 3\n",
                 "line 3: 'activation_bits': expected a list of bits, found integer"},
        BadSpace{kStart + "activation_bits = [17]\n",
                 "line 3: 'activation_bits': expected 1 to 16, found 17"},
        BadSpace{kStart + "[[parameter]]\nvalues = [1]\n",
                 "line 3: [[parameter]] needs 'key' or 'keys', one of both"},
        BadSpace{kStart + "[[parameter]]\nkey = \"unit.x.count\"\nvalues = [1]\n",
                 "line 4: 'key': 'unit.x.count': edge-2bit has no unit 'x'; it has: bit-serial "
                 "array, vector unit"},
        BadSpace{kStart + "[[parameter]]\nkey = \"units.x\"\nvalues = [1]\n",
                 "'units.x': expected a key of the description, unit.NAME.KEY or memory.NAME.KEY"},
        BadSpace{kStart + "[[parameter]]\nkey = \"idle_w\"\nvalues = []\n",
                 "line 5: 'values': expected a list"},
        BadSpace{kStart + "[[parameter]]\nkey = \"idle_w\"\nvalues = [true]\n",
                 "line 5: 'values': expected numbers or strings, found boolean"},
        BadSpace{kStart + "[[parameter]]\nkeys = [\"idle_w\", \"clock_hz\"]\nvalues = [[1, 1], "
                          "[2]]\n",
                 "line 5: 'values': expected a value for each of the 2 keys, found 1"},
        BadSpace{kStart + "[[parameter]]\nkey = \"idle_w\"\nvalues = [1]\n[[parameter]]\n"
                          "key = \"idle_w\"\nvalues = [1]\n",
                 "two parameters change 'idle_w'"},
        BadSpace{kStart + "[[area]]\nof = [\"memory.SRAM.count\"]\nmm2 = 1\n",
                 "'memory.SRAM.count': edge-2bit has no such number: add it there"},
        BadSpace{kStart + "[[area]]\nmm2 = -1\n", "line 4: 'mm2': expected 0 to 1e+30, found -1"},
        BadSpace{kStart + "[[tie]]\nlayers = []\n", "line 3: [[tie]] names no layers"},
        BadSpace{"accelerator = [\n", "s.toml: line 1: Error while parsing array"}));

TEST(Space, RejectsTooManyCombinations) {
  std::string text = kStart;
  for (const char* key : {"idle_w", "clock_hz", "area_mm2", "unit.vector unit.count",
                          "memory.SRAM.bytes", "memory.LPDDR4.bytes"}) {
    text += std::string("[[parameter]]\nkey = \"") + key + "\"\nvalues = [1, 2, 3, 4, 5, 6, 7]\n";
  }
  expect_error(ErrorKind::kUsage, "the parameters have more than 100000 combinations",
               [&] { parse_space(text, "s.toml"); });
}

}  // namespace
}  // namespace halftone::accel
