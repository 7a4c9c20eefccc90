// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/mapping/problem.h"

#include "halftone/base/testing.h"

namespace halftone::accel::mapping {
namespace {

TEST(Problem, MatrixProductReadsTwoMatricesAndWritesOne) {
  const Problem problem = matrix_product(5, 6, 7);
  EXPECT_EQ(problem.macs(), 210U);
  const Extents all = extents_of(problem);
  EXPECT_EQ(tile_words(problem.data_spaces[0], all), 35U);
  EXPECT_EQ(tile_words(problem.data_spaces[1], all), 42U);
  EXPECT_EQ(tile_words(problem.data_spaces[2], all), 30U);
  EXPECT_FALSE(has_dimension(problem.data_spaces[0], 1));
  EXPECT_TRUE(problem.data_spaces[2].is_output);
}

TEST(Problem, WindowsOfAConvolutionOverlap) {
  ConvolutionSizes sizes;
  sizes.p = 4;
  sizes.r = 3;
  sizes.strides = {2, 1};
  sizes.dilations = {3, 1};
  const Problem problem = convolution(sizes);
  const DataSpace& inputs = problem.data_spaces[0];
  const Extents all = extents_of(problem);
  EXPECT_EQ(tile_words(inputs, all), 1U + 2 * 3 + 3 * 2);
  // Dimension 3 is P: a step by 1 moves the box by 2, a step by 7 beyond it.
  EXPECT_EQ(new_words(inputs, all, 3, 1), 2U);
  EXPECT_EQ(new_words(inputs, all, 3, 7), 13U);
}

TEST(Problem, ErrorsNameWhatIsWrong) {
  const auto expect = [](ErrorKind kind, const std::string& text, auto&& change) {
    Problem problem = matrix_product(2, 3, 4);
    change(problem);
    expect_error(kind, text, [&] { check(problem); });
  };
  expect(ErrorKind::kUsage, "problem: expected 1 to 8 dimensions, found 0",
         [](Problem& problem) { problem.dimensions.clear(); });
  expect(ErrorKind::kUsage, "problem: dimension N has extent 0",
         [](Problem& problem) { problem.dimensions[1].extent = 0; });
  expect(ErrorKind::kShape, "problem: expected less than 2^48 MACs",
         [](Problem& problem) { problem.dimensions[1].extent = std::uint64_t{1} << 46U; });
  expect(ErrorKind::kUsage, "problem: expected 1 to 4 data spaces, found 0",
         [](Problem& problem) { problem.data_spaces.clear(); });
  expect(ErrorKind::kUsage, "data space Weights: words have 0 bits",
         [](Problem& problem) { problem.data_spaces[1].word_bits = 0; });
  expect(ErrorKind::kUsage, "data space Inputs: there is no dimension 3",
         [](Problem& problem) { problem.data_spaces[0].axes[0][0].dimension = 3; });
  expect(ErrorKind::kUsage, "data space Inputs: a stride is 0",
         [](Problem& problem) { problem.data_spaces[0].axes[0][0].stride = 0; });
  expect(ErrorKind::kUsage, "data space Outputs: axes of an output are one dimension with stride 1",
         [](Problem& problem) { problem.data_spaces[2].axes[0][0].stride = 2; });
  expect(ErrorKind::kUsage, "problem: expected one output, found 0",
         [](Problem& problem) { problem.data_spaces[2].is_output = false; });
}

TEST(Problem, TheLargestHasLessThanTwoToThe48Macs) {
  check(matrix_product((std::uint64_t{1} << 46U) - 1, 2, 2));
  expect_error(ErrorKind::kShape, "found more up to dimension K",
               [] { check(matrix_product(std::uint64_t{1} << 46U, 2, 2)); });
}

}  // namespace
}  // namespace halftone::accel::mapping
