// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/named_system.h"

#include <gtest/gtest.h>

#include "halftone/base/testing.h"

namespace halftone::numerics {
namespace {

TEST(NamedSystems, MayHaveTheSizeOfGroups) {
  EXPECT_EQ(named_system("int4/64").group_size, 64U);
  EXPECT_EQ(named_system("int4/64").bits, 4);
  EXPECT_EQ(named_system("NF4/128").system->name, "nf4");
  EXPECT_EQ(named_system("int4").group_size, std::nullopt);
  for (const char* text : {"int4/", "int4/0", "int4/-8", "int4/8x", "nf4/64/2"}) {
    expect_error(ErrorKind::kUsage, "expected the size of groups behind the slash",
                 [&] { named_system(text); });
  }
  EXPECT_EQ(lookup_named_system("nonsense/64").system, nullptr);
}

TEST(NamedSystems, AreWhatPeopleType) {
  struct Case {
    const char* text;
    const char* system;
    int bits;  ///< 0: none are implied
  };
  for (const Case& each : std::initializer_list<Case>{{"int8", "int", 8},
                                                      {"int4", "int", 4},
                                                      {"int2", "int", 2},
                                                      {"INT8", "int", 8},
                                                      {"qint8", "int", 8},
                                                      {"QInt4", "int", 4},
                                                      {"i8", "int", 8},
                                                      {"int8_sym", "int", 8},
                                                      {"uint8", "asymmetric", 8},
                                                      {"uint4", "asymmetric", 4},
                                                      {"QUInt8", "asymmetric", 8},
                                                      {"u8", "asymmetric", 8},
                                                      {"int4_asym", "asymmetric", 4},
                                                      {"INT8_ASYM", "asymmetric", 8},
                                                      {"uint1", "asymmetric", 1},
                                                      {"int16", "int", 16},
                                                      {"fp8", "e4m3", 8},
                                                      {"FP8", "e4m3", 8},
                                                      {"fp8_e5m2", "e5m2", 8},
                                                      {"float8_e4m3fn", "e4m3", 8},
                                                      {"FLOAT8E4M3FN", "e4m3", 8},
                                                      {"fp4", "e2m1", 4},
                                                      {"fp6", "e3m2", 6},
                                                      {"nf4", "nf4", 0},
                                                      {"NF4", "nf4", 0},
                                                      {"bf16", "bf16", 0},
                                                      {"bfloat16", "bf16", 16},
                                                      {"float16", "fp16", 16},
                                                      {"half", "fp16", 16},
                                                      {"mxfp8", "mxfp8_e4m3", 8},
                                                      {"mxfp4", "mxfp4", 0},
                                                      {"int", "int", 0},
                                                      {"symmetric4", "symmetric", 4},
                                                      {"bfp6", "bfp", 6},
                                                      {"basis3", "basis", 3},
                                                      {"mxint8", "mxint8", 0},
                                                      {"e3m4", "e3m4", 0},
                                                      {"e4m3_nan", "e4m3_nan", 0}}) {
    const NamedSystem found = named_system(each.text);
    EXPECT_EQ(found.system->name, each.system) << each.text;
    EXPECT_EQ(found.bits.value_or(0), each.bits) << each.text;
    EXPECT_EQ(found.text, each.text);
  }
}

TEST(NamedSystems, KeepTheirOwnNames) {
  for (const NumberSystem& system : number_systems()) {
    EXPECT_EQ(named_system(system.name).system, &system);
    EXPECT_EQ(named_system(system.name).bits, std::nullopt);
  }
}

TEST(NamedSystems, RefuseOtherTextsAndBits) {
  for (const char* text : {"", "8", "ints8", "int08", "int8_odd", "uint8_sym", "e4m38", "_sym"}) {
    EXPECT_EQ(lookup_named_system(text).system, nullptr) << text;
    expect_error(ErrorKind::kUsage,
                 "number system '" + std::string(text) + "': expected one of learned: basis",
                 [&] { static_cast<void>(named_system(text)); });
  }
  expect_error(ErrorKind::kUsage, "number system 'int17': expected 2 to 16 bits, found 17",
               [] { static_cast<void>(named_system("int17")); });
  expect_error(ErrorKind::kUsage, "number system 'int1': expected 2 to 16 bits, found 1",
               [] { static_cast<void>(named_system("int1")); });
}

}  // namespace
}  // namespace halftone::numerics
