// SPDX-License-Identifier: Apache-2.0
// What the tests of the C API share; installed headers alone.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <halftone/halftone.h>

/// A struct that says what it is, with defaults.
template <typename Struct>
Struct sized() {
  Struct value{};
  value.struct_bytes = sizeof value;
  return value;
}

/// A call that must succeed.
#define EXPECT_OK(call) EXPECT_EQ(call, HALFTONE_OK) << halftone_error_message()
#define ASSERT_OK(call) ASSERT_EQ(call, HALFTONE_OK) << halftone_error_message()
/// A call that must fail with a message.
#define EXPECT_FAILS(call, status, text)                             \
  do {                                                               \
    EXPECT_EQ(call, status);                                         \
    EXPECT_THAT(halftone_error_message(), testing::HasSubstr(text)); \
  } while (false)
