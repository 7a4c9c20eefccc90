// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/accelerator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/base/testing.h"

namespace halftone::accel {
namespace {

constexpr std::string_view kUnit = R"(
[[unit]]
name = "core"
kind = "vector"
rates = [{ weight_bits = 8, input_bits = 8, per_cycle = 4 }]
)";
constexpr std::string_view kMemory = R"(
[[memory]]
name = "DRAM"
bytes = 1e9
bytes_per_second = 1e9
)";
constexpr std::string_view kHead = "name = \"chip\"\nclock_hz = 1e9\n";

Accelerator parse(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return parse_accelerator(text, "a.toml");
}

void expect_error(std::initializer_list<std::string_view> parts, const std::string& message) {
  halftone::expect_error(ErrorKind::kUsage, message, [&] { parse(parts); });
}

TEST(Accelerator, ReadsADescription) {
  const Accelerator chip = parse({kHead, kUnit, kMemory});
  EXPECT_EQ(chip.name, "chip");
  ASSERT_EQ(chip.units.size(), 1U);
  EXPECT_EQ(chip.units[0].clock_hz, 1e9);
  EXPECT_EQ(chip.units[0].rates[0].per_cycle, 4);
  ASSERT_EQ(chip.memories.size(), 1U);
  EXPECT_EQ(chip.memories[0].tile_bytes(), 5e8);
  EXPECT_TRUE(chip.memories[0].may_hold(TensorRole::kStates));
}

TEST(Accelerator, ReadsTheDescriptionsOfTheProgram) {
  const std::vector<std::string> names = shipped_accelerators();
  EXPECT_THAT(names,
              testing::IsSupersetOf({"a100", "h100", "h200", "tpu-v1", "edge-2bit", "cortex-m4"}));
  for (const std::string& name : names) {
    const Accelerator chip = load_accelerator(name);
    EXPECT_FALSE(chip.source.empty()) << name;
    // What is written is read back.
    const std::string text = to_toml(chip);
    EXPECT_EQ(to_toml(parse_accelerator(text, name)), text);
  }
}

TEST(Accelerator, NamesWhatIsMissingOrUnknown) {
  expect_error({kHead, kUnit, kMemory, "colour = 1\n"}, "unknown key 'colour' in [[memory]]");
  expect_error({"clock_hz = 1e9\n", kUnit, kMemory},
               "a.toml: line 1: the description needs 'name'");
  expect_error({kHead, kMemory}, "the description needs 'unit': add it");
  expect_error({kHead, kUnit}, "the description needs 'memory': add it");
  expect_error({"unit = []\n", kHead, kMemory}, "the description has no [[unit]]");
  expect_error({"memory = []\n", kHead, kUnit}, "the description has no [[memory]]");
  expect_error({"name = \"chip\"\n", kUnit, kMemory}, "unit 'core' has no clock");
  expect_error({kHead, kUnit, kMemory, "[[operator]]\noperators = []\n"}, "names no operators");
}

TEST(Accelerator, RejectsRatesOfZero) {
  expect_error({kHead, "[[unit]]\nname = \"a\"\nkind = \"vector\"\n", kMemory},
               "unit 'a' computes nothing");
  expect_error({kHead, kUnit, "[[memory]]\nname = \"m\"\nbytes = 1\nbytes_per_second = 0\n"},
               "'bytes_per_second': expected 1e-30 to 1e+30, found 0");
}

TEST(Accelerator, RejectsContradictions) {
  expect_error(
      {kHead, "[[unit]]\nname = \"a\"\nkind = \"vector\"\n",
       "rates = [{ weight_bits = 8, input_bits = 8, codes = false, per_cycle = 1 }]\n", kMemory},
      "a rate with codes = false needs float = true");
  expect_error(
      {kHead, kUnit, kMemory, "[[memory]]\nname = \"L2\"\nbytes = 2e9\n", "bytes_per_second = 1\n"},
      "memory 'L2' is larger than 'DRAM' outside it");
  expect_error({kHead, kUnit, kMemory, "holds = [\"weights\"]\n"}, "must hold all tensors");
  expect_error({kHead, kUnit, "rows = 4\n", kMemory}, "'rows' is for kind = \"systolic\" only");
  expect_error({kHead, "[[unit]]\nname = \"a\"\nkind = \"systolic\"\nrows = 4\n",
                "rates = [{ weight_bits = 8, input_bits = 8, per_cycle = 1 }]\n", kMemory},
               "systolic unit 'a' needs 'rows' and 'columns'");
  expect_error(
      {kHead, "[[unit]]\nname = \"a\"\nkind = \"lookup\"\n",
       "rates = [{ weight_bits = 8, input_bits = 8, float = true, per_cycle = 1 }]\n", kMemory},
      "takes no floats");
}

TEST(Accelerator, RejectsWhatWouldSayNothing) {
  const auto rule = [](const std::string& text) { return "[[operator]]\noperators = " + text; };
  expect_error({kHead, kUnit, kMemory, rule("[\"Nothing\"]\noverhead_s = 1\n")},
               "line 13: 'operators': no operator 'Nothing'");
  expect_error({kHead, kUnit, kMemory, rule("[\"Conv\", \"Conv\"]\noverhead_s = 1\n")},
               "'operators' names 'Conv' twice");
  expect_error({kHead, kUnit, kMemory, rule("[\"Conv\"]\n")}, "says nothing of its operators");
  expect_error({kHead, kUnit, kUnit, kMemory}, "two [[unit]] have the name 'core': rename one");
  expect_error({kHead, kUnit, kMemory, kMemory}, "two [[memory]] have the name 'DRAM'");
  expect_error(
      {kHead, kUnit, kMemory, "[[memory]]\nname = \"\"\nbytes = 1\nbytes_per_second = 1\n"},
      "a [[memory]] has an empty name");
  const std::string inner = "[[memory]]\nname = \"L2\"\nbytes = 1\nbytes_per_second = 1\n";
  expect_error({kHead, kUnit, kMemory, inner, "holds = []\n"}, "'holds' is empty");
  expect_error({kHead, kUnit, kMemory, inner, "holds = [\"weights\", \"weights\"]\n"},
               "names a tensor twice");
  expect_error({kHead, kUnit, kMemory, "count = 2\n", inner}, "do not divide");
  expect_error({kHead, "[[unit]]\nname = \"a\"\nkind = \"vector\"\nrates = [\n",
                "{ weight_bits = 8, input_bits = 8, per_cycle = 1 },\n",
                "{ weight_bits = 8, input_bits = 8, per_cycle = 2 }]\n", kMemory},
               "two rates for 8 x 8 bits");
  expect_error({kHead, "[[unit]]\nname = \"a\"\nkind = \"vector\"\noperations_per_cycle = 1\n",
                "tile_rows = 2\n", kMemory},
               "'tile_rows' is of products, but unit 'a' has no rate");
  expect_error({kHead, kUnit, "pj_per_operation = 1\n", kMemory},
               "'pj_per_operation' is of operations");
  expect_error({kHead, kUnit, "tile_rows = 128\nleast_tile_rows = 12\n", kMemory},
               "expected 128 (tile_rows) halved any number of times, found 12");
  expect_error(
      {kHead, "[[unit]]\nname = \"a\"\nkind = \"systolic\"\nrows = 4\ncolumns = 4\n",
       "rates = [{ weight_bits = 8, input_bits = 8, per_cycle = 1 }]\ntile_inner = 4\n", kMemory},
      "'tile_inner' is not for kind = \"systolic\"");
}

TEST(Accelerator, TakesWhatABaseSays) {
  const Accelerator base = load_accelerator("h100");
  const Accelerator chip = parse_accelerator(
      "base = \"h100\"\nname = \"slow\"\n[[memory]]\nname = \"L2\"\nbytes_per_second = 5e12\n"
      "[[operator]]\noperators = [\"Conv\"]\noverhead_s = 1\n",
      "a.toml");
  EXPECT_EQ(chip.name, "slow");
  EXPECT_EQ(chip.comparison, "");  // of another chip
  ASSERT_EQ(chip.memories.size(), base.memories.size());
  EXPECT_EQ(chip.memories[1].bytes_per_second, 5e12);
  EXPECT_EQ(chip.memories[1].bytes, base.memories[1].bytes);
  EXPECT_EQ(chip.rules.size(), base.rules.size() + 1);
  EXPECT_EQ(chip.rule({.name = "c", .op = "Conv"}).overhead_s, 1);
  EXPECT_EQ(chip.rule({.name = "c", .op = "Add"}).overhead_s,
            base.rule({.name = "c", .op = "Add"}).overhead_s);
  halftone::expect_error(ErrorKind::kUsage, "a.toml: line 1: 'base': no description 'abacus'",
                         [] { parse_accelerator("base = \"abacus\"\n", "a.toml"); });
}

TEST(ComputeUnit, TakesTheLowestTileWithRoomForAllRows) {
  ComputeUnit unit;
  unit.tile_rows = 128;
  EXPECT_EQ(unit.tile_height(1), 128U);
  EXPECT_TRUE(unit.shares_inner(1000));
  unit.least_tile_rows = 8;
  EXPECT_EQ(unit.tile_height(1), 8U);
  EXPECT_EQ(unit.tile_height(9), 16U);
  EXPECT_EQ(unit.tile_height(1000), 128U);
  EXPECT_TRUE(unit.shares_inner(8));
  EXPECT_FALSE(unit.shares_inner(9));
}

TEST(Accelerator, NamesTheDescriptionsItHas) {
  halftone::expect_error(ErrorKind::kUsage, "no accelerator 'abacus': known are a100",
                         [] { load_accelerator("abacus"); });
}

ComputeUnit unit_of(UnitKind kind) {
  ComputeUnit unit;
  unit.kind = kind;
  unit.rows = 4;
  unit.columns = 8;
  unit.rates = {{8, 8, false, true, 64}, {2, 8, false, true, 128}};
  return unit;
}

TEST(ComputeUnit, HasARateByTheBitsOfBothFactors) {
  const Number two{2, false};
  const Number four{4, false};
  const Number nine{9, false};
  EXPECT_EQ(unit_of(UnitKind::kVector).products_per_cycle(two, four), 128);
  EXPECT_EQ(unit_of(UnitKind::kVector).products_per_cycle(four, four), 64);
  EXPECT_EQ(unit_of(UnitKind::kVector).products_per_cycle(nine, four), 0);
  EXPECT_EQ(unit_of(UnitKind::kVector).products_per_cycle({8, true}, four), 0);
  EXPECT_EQ(unit_of(UnitKind::kSystolic).products_per_cycle(four, four), 64 * 32);
  EXPECT_EQ(unit_of(UnitKind::kBitSerial).products_per_cycle(four, two), 64.0 / 8);
  EXPECT_EQ(unit_of(UnitKind::kLookup).products_per_cycle(four, two), 64.0 / 4);
}

TEST(ComputeUnit, TakesCodesWhereItTakesFloats) {
  ComputeUnit unit;
  unit.rates = {{16, 16, true, true, 2}};
  EXPECT_EQ(unit.products_per_cycle({16, true}, {16, true}), 2);
  EXPECT_EQ(unit.products_per_cycle({4, false}, {16, true}), 2);
  EXPECT_EQ(unit.products_per_cycle({32, true}, {16, true}), 0);
  unit.rates[0].takes_codes = false;
  EXPECT_EQ(unit.products_per_cycle({4, false}, {8, false}), 0);
  EXPECT_EQ(unit.products_per_cycle({4, false}, {16, true}), 2);
}

TEST(Accelerator, WritesTextsThatAreReadBack) {
  Accelerator chip = parse({kHead, kUnit, kMemory});
  chip.name = "a \"chip\"\n\\ of \x01";
  chip.units[0].efficiency = 0.1 + 0.2;
  EXPECT_EQ(parse_accelerator(to_toml(chip), "b").name, chip.name);
  EXPECT_EQ(parse_accelerator(to_toml(chip), "b").units[0].efficiency, 0.1 + 0.2);
}

TEST(Accelerator, TakesTheLastRuleThatFits) {
  const Accelerator chip =
      parse({kHead, kUnit, kMemory, "[[operator]]\noperators = [\"Conv\"]\noverhead_s = 1\n",
             "[[operator]]\noperators = [\"Conv\"]\nweight_bits = 2\noverhead_s = 2\n"});
  Operation conv{.name = "c", .op = "Conv"};
  EXPECT_EQ(chip.rule(conv).overhead_s, 1);
  conv.product.w = {2, false};
  EXPECT_EQ(chip.rule(conv).overhead_s, 2);
  EXPECT_EQ(chip.rule({.name = "s", .op = "Softmax"}).overhead_s, 0);
}

}  // namespace
}  // namespace halftone::accel
