// SPDX-License-Identifier: Apache-2.0
// The array in Verilog of examples/accelerator computes products in the cycles of closed forms.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>

#ifdef HALFTONE_VERILATOR
#include "Array3x7x1x16.h"
#include "Array4x4x8x1.h"
#include "Array5x2x8x1.h"
#include "Array8x4x2x16.h"
#include "Array8x8x2x16.h"
#include "examples/accelerator/driver.h"
#include "halftone/accel/systolic.h"

namespace halftone {
namespace {

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
    const accelerator::Run os = driver.output_stationary(product);
    EXPECT_EQ(os.c, accelerator::plain_product(product));
    // The array multiplies a pair of words in a cycle.
    const accel::MatrixExtents extents{shape.m, shape.n, driver.num_words(shape.k)};
    using enum accel::Dataflow;
    EXPECT_EQ(os.cycles, accel::systolic_cycles({kRows, kCols, kOutputStationary}, extents));
    const accelerator::Run ws = driver.weight_stationary(product);
    EXPECT_EQ(ws.c, accelerator::plain_product(product));
    EXPECT_EQ(ws.cycles, accel::systolic_cycles({kRows, kCols, kWeightStationary}, extents));
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
