// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/number_format.h"

#include <gtest/gtest.h>

#include <string>

#include "halftone/base/testing.h"

namespace halftone::numerics {
namespace {

TEST(NumberFormat, IsWrittenAsItIsRead) {
  for (const std::string text :
       {"fp32",      "fp16",    "bf16",    "e4m3",       "e5m2",      "e3m2",        "e2m3",
        "e2m1",      "int2",    "int16",   "e3m4",       "e4m3fnuz",  "e8m0",        "mxfp4",
        "nvfp4",     "mxint8",  "nf4",     "mxfp8_e5m2", "e5m2_nan",  "int_narrow4", "fixed8",
        "bfp8",      "log4",    "posit8",  "affine1",    "affine_k4", "int_k4",      "symmetric3",
        "fp16_e6m9", "ternary", "fp16_nan"}) {
    EXPECT_EQ(to_string(parse_number_format(text)), text);
  }
  EXPECT_EQ(to_string(parse_number_format("e5m10")), "fp16");
  EXPECT_TRUE(parse_number_format("fp32").is_float32());
}

TEST(NumberFormat, OfEverySystemWithALevelTableIsRead) {
  for (const NumberSystem& system : number_systems()) {
    if (system.is_learned()) continue;
    const bool has_one_size = system.min_bits == system.max_bits;
    for (int bits = system.min_bits; bits <= system.max_bits; ++bits) {
      const std::string name(system.name);
      const std::string text = has_one_size ? name : name + std::to_string(bits);
      const NumberFormat format = parse_number_format(text);
      EXPECT_EQ(format.system, &system) << text;
      EXPECT_EQ(format.bits, bits) << text;
      EXPECT_EQ(to_string(format), text);
    }
  }
}

TEST(NumberFormat, HasTheGroupsOfItsSystemOrAScaleForTheTensor) {
  EXPECT_EQ(parse_number_format("mxfp4").blocks, (BlockShape{Granularity::kGroup, 32}));
  EXPECT_EQ(parse_number_format("nvfp4").blocks, (BlockShape{Granularity::kGroup, 16}));
  for (const char* text : {"int8", "fixed8", "e4m3", "bf16"}) {
    EXPECT_EQ(parse_number_format(text).blocks, (BlockShape{Granularity::kTensor, 0})) << text;
  }
}

TEST(NumberFormat, OfAnotherNameIsRefusedWithAllThereAre) {
  for (const std::string text : {"", "fp9", "int", "int-4", "int4x", "int 4", "int08", "nf44",
                                 "ternary2", "int99999999999"}) {
    expect_error(ErrorKind::kUsage, "number format: expected one of fp32, affine1 to affine16, ",
                 [&] { parse_number_format(text); });
    expect_error(ErrorKind::kUsage, "e8m0 or another eXmY, bfp2 to bfp16, mxfp8_e4m3, ",
                 [&] { parse_number_format(text); });
    expect_error(ErrorKind::kUsage, "; found '" + text + "'", [&] { parse_number_format(text); });
  }
}

TEST(NumberFormat, TakesTheNamesOfOtherPrograms) {
  EXPECT_EQ(to_string(parse_number_format("fp8")), "e4m3");
  EXPECT_EQ(to_string(parse_number_format("FP16")), "fp16");
  EXPECT_EQ(to_string(parse_number_format("uint8")), "asymmetric8");
  for (const std::string text : {"int1", "int17", "log9"}) {
    expect_error(ErrorKind::kUsage, "number system '" + text + "': expected ",
                 [&] { parse_number_format(text); });
  }
}

TEST(NumberFormat, OfLearnedLevelsIsRefused) {
  for (const std::string text : {"basis", "basis3"}) {
    expect_error(ErrorKind::kUsage, "found '" + text + "', whose levels are learned",
                 [&] { parse_number_format(text); });
  }
}

}  // namespace
}  // namespace halftone::numerics
