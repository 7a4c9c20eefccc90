// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/element_type.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>

#include "halftone/base/testing.h"

namespace halftone {
namespace {

struct Facts {
  ElementType type;
  std::string_view name;
  std::size_t bytes;
  bool is_integer;
};

constexpr Facts kFacts[] = {
    {ElementType::kFloat32, "float32", 4, false},  {ElementType::kInt8, "int8", 1, true},
    {ElementType::kUint8, "uint8", 1, true},       {ElementType::kInt32, "int32", 4, true},
    {ElementType::kInt64, "int64", 8, true},       {ElementType::kBool, "bool", 1, false},
    {ElementType::kInt16, "int16", 2, true},       {ElementType::kUint16, "uint16", 2, true},
    {ElementType::kUint32, "uint32", 4, true},     {ElementType::kUint64, "uint64", 8, true},
    {ElementType::kFloat64, "float64", 8, false},  {ElementType::kFloat16, "float16", 2, false},
    {ElementType::kBfloat16, "bfloat16", 2, false}};

constexpr auto kNone = static_cast<ElementType>(99);

TEST(ElementType, HasANameBytesAndAKindOfNumber) {
  for (const Facts& facts : kFacts) {
    EXPECT_EQ(to_string(facts.type), facts.name);
    EXPECT_EQ(size_bytes(facts.type), facts.bytes) << facts.name;
    EXPECT_EQ(is_integer(facts.type), facts.is_integer) << facts.name;
  }
  EXPECT_EQ(to_string(kNone), "unknown");
  EXPECT_FALSE(is_integer(kNone));
  expect_error(ErrorKind::kInternal, "unknown element type", [] { size_bytes(kNone); });
}

TEST(VisitElement, GivesTheTypeOfTheElement) {
  for (const Facts& facts : kFacts) {
    const auto found =
        visit_element<float, double, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t,
                      std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>(
            facts.type, [](auto zero) { return ElementTypeOf<decltype(zero)>::value; });
    EXPECT_EQ(found, facts.type == ElementType::kBool ? ElementType::kUint8
                     : is_half(facts.type)            ? ElementType::kUint16
                                                      : facts.type);
  }
}

TEST(VisitElement, RejectsOtherTypes) {
  const auto visit = [](ElementType type) {
    return visit_element<float, std::int32_t>(type, [](auto zero) { return sizeof(zero); });
  };
  EXPECT_EQ(visit(ElementType::kInt32), 4u);
  expect_error(ErrorKind::kUnsupported, "elements of float64 are not supported here",
               [&] { visit(ElementType::kFloat64); });
  expect_error(ErrorKind::kInternal, "unknown element type", [&] { visit(kNone); });
}

}  // namespace
}  // namespace halftone
