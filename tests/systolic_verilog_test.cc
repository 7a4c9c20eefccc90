// SPDX-License-Identifier: Apache-2.0
// The array in Verilog of examples/accelerator computes products in the cycles of closed forms.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>

#ifdef HALFTONE_VERILATOR
#include "Array3x7x1x16.h"
#include "Array4x4x8x1.h"
#include "Array5x2x8x1.h"
#include "Array8x4x2x16.h"
#include "Array8x8x2x16.h"
#include "examples/accelerator/driver.h"

namespace halftone {
namespace {

std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

struct Shape {
  std::size_t m, n, k;
};

/// Sizes below, equal to, and no multiples of those of the arrays.
constexpr std::array<Shape, 4> kShapes = {{{1, 1, 1}, {8, 8, 128}, {13, 9, 37}, {5, 23, 150}}};

template <typename Array>
void expect_products_and_cycles(int bits, std::size_t lanes) {
  using Driver = accelerator::Driver<Array>;
  constexpr std::size_t kRows = Driver::kRows;
  constexpr std::size_t kCols = Driver::kCols;
  Driver driver(bits, lanes);
  for (const Shape& shape : kShapes) {
    const auto product = accelerator::random_product(shape.m, shape.n, shape.k, bits);
    const std::size_t words = driver.num_words(shape.k);
    const accelerator::Run os = driver.output_stationary(product);
    EXPECT_EQ(os.c, accelerator::plain_product(product));
    EXPECT_EQ(os.cycles,
              ceil_div(shape.m, kRows) * ceil_div(shape.n, kCols) * (words + kRows + kCols - 2));
    const accelerator::Run ws = driver.weight_stationary(product);
    EXPECT_EQ(ws.c, accelerator::plain_product(product));
    EXPECT_EQ(ws.cycles, ceil_div(words, kRows) * ceil_div(shape.n, kCols) *
                             (shape.m + 2 * kRows + kCols - 2));
  }
}

TEST(SystolicVerilog, CellsOfInt8MultiplyInTheCyclesOfTheClosedForms) {
  expect_products_and_cycles<Array4x4x8x1>(8, 1);
  expect_products_and_cycles<Array5x2x8x1>(8, 1);
}

TEST(SystolicVerilog, CellsOfOneBitMultiplyInTheCyclesOfTheClosedForms) {
  expect_products_and_cycles<Array3x7x1x16>(1, 16);
}

TEST(SystolicVerilog, CellsOfTwoBitsMultiplyInTheCyclesOfTheClosedForms) {
  expect_products_and_cycles<Array8x4x2x16>(2, 16);
  expect_products_and_cycles<Array8x8x2x16>(2, 16);
}

}  // namespace
}  // namespace halftone

#else

TEST(SystolicVerilog, CellsMultiplyInTheCyclesOfTheClosedForms) {
  GTEST_SKIP() << "needs verilator; scripts/setup.sh installs it";
}

#endif
