// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "halftone/base/view.h"

namespace halftone {
namespace {

TEST(Error, CarriesKindAndText) {
  try {
    fail(ErrorKind::kShape, "3 does not divide 64");
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "3 does not divide 64");
    EXPECT_EQ(dynamic_cast<const Error&>(error).kind(), ErrorKind::kShape);
    EXPECT_EQ(dynamic_cast<const Error&>(error).hint(), Hint::kNone);
  }
}

TEST(ErrorKind, EveryKindHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (int kind = 0; kind <= static_cast<int>(ErrorKind::kInternal); ++kind) {
    names.insert(to_string(static_cast<ErrorKind>(kind)));
  }
  EXPECT_EQ(names.size(), 9u);
  EXPECT_EQ(names.count("unknown"), 0u);
}

TEST(WithContext, PutsContextInFrontAndKeepsTheKindAndTheHint) {
  try {
    with_context("model.onnx", [] { fail(ErrorKind::kFormat, "no graph", Hint::kReference); });
    FAIL() << "the error was swallowed";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kFormat);
    EXPECT_EQ(error.hint(), Hint::kReference);
    EXPECT_STREQ(error.what(), "model.onnx: no graph");
  }
}

TEST(WithContext, PassesResultsAndOtherExceptionsThrough) {
  const auto result = with_context("context", [] { return std::make_unique<int>(7); });
  EXPECT_EQ(*result, 7);
  int number = 1;
  with_context("context", [&]() -> int& { return number; }) = 2;
  EXPECT_EQ(number, 2);
  EXPECT_THROW(with_context("context", [] { throw std::out_of_range("other"); }),
               std::out_of_range);
}

TEST(Assert, ReportsABrokenInvariantInDebugBuildsOnly) {
  int evaluated = 0;
  const auto broken = [&] { return ++evaluated == 0; };
#ifdef HALFTONE_DEBUG
  try {
    HALFTONE_ASSERT(broken());
    FAIL() << "the assertion held";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInternal);
    EXPECT_THAT(error.what(), testing::HasSubstr("assertion failed: broken()"));
  }
  EXPECT_EQ(evaluated, 1);
#else
  HALFTONE_ASSERT(broken());
  EXPECT_EQ(evaluated, 0);
#endif
}

TEST(MatrixView, AddressesRowsByStride) {
  std::vector<int> data = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const MatrixView<int> view(data.data(), 3, 2, 4);
  EXPECT_EQ(view(2, 1), 9);
  EXPECT_EQ(view.row(1)[0], 4);
  EXPECT_EQ(view.size(), 6u);
  const MatrixView<const int> tail = view.rows_from(1, 2);
  EXPECT_EQ(tail.rows(), 2u);
  EXPECT_EQ(tail(1, 0), 8);
  view(0, 0) = 42;
  EXPECT_EQ(data[0], 42);
}

}  // namespace
}  // namespace halftone
