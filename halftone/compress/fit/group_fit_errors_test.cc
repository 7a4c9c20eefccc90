// SPDX-License-Identifier: Apache-2.0
// What fits of weights in groups refuse.
#include <gtest/gtest.h>

#include <vector>

#include "halftone/base/testing.h"
#include "halftone/compress/fit/fit_matrix.h"
#include "halftone/compress/fit/group_error.h"
#include "halftone/compress/fit/group_testing.h"

namespace halftone::compress {
namespace {

GroupCodes plain_grid() { return half_codes({4, -8}, 32); }

TEST(GroupFitErrors, NameTheWeightThatIsNotFinite) {
  for (const float bad : {kInfinity, -kInfinity, kNan, 2e15F}) {
    std::vector<float> weights(2 * 40);
    weights[45] = bad;
    expect_error(ErrorKind::kUnsupported, "weight 5 of output 1", [&] {
      fit_matrix({weights, 2, 40}, Metric<float>::identity(40), plain_grid());
    });
  }
}

TEST(GroupFitErrors, ReportAMetricOfAnotherSize) {
  const std::vector<float> weights(40);
  expect_error(ErrorKind::kShape, "weights have 20 columns, the metric 21 inputs", [&] {
    fit_matrix({weights, 2, 20}, Metric<float>::identity(21), plain_grid());
  });
}

TEST(GroupFitErrors, ReportOptionsOutOfRange) {
  const std::vector<float> weights(40);
  const auto fit_with = [&](const MatrixFitOptions& options) {
    fit_matrix({weights, 2, 20}, Metric<float>::identity(20), plain_grid(), options);
  };
  expect_error(ErrorKind::kUsage, "1 to 64 candidates, found 0",
               [&] { fit_with({.candidates = 0}); });
  expect_error(ErrorKind::kUsage, "1 to 64 candidates, found 65",
               [&] { fit_with({.candidates = 65}); });
  expect_error(ErrorKind::kUsage, "0 to 100 sweeps, found -1", [&] { fit_with({.sweeps = -1}); });
  expect_error(ErrorKind::kUsage, "0 to 100 sweeps, found 101", [&] { fit_with({.sweeps = 101}); });
}

/// Expects that a change of a grid makes it one that is refused.
template <typename Change>
void expect_refused(GroupCodes grid, ErrorKind kind, const std::string& text, Change&& change) {
  check_codes(grid);
  change(grid);
  expect_error(kind, text, [&] { check_codes(grid); });
}

TEST(GroupCodes, AreRefusedInOtherGroupsThanOfFiles) {
  const auto refuse = [](const GroupCodes& codes, const std::string& text, const auto& change) {
    expect_refused(codes, ErrorKind::kUsage, text, change);
  };
  refuse(plain_grid(), "codes of 1 to 10 bits, found 0",
         [](GroupCodes& codes) { codes.levels.bits = 0; });
  refuse(plain_grid(), "at most 256 weights that are whole codes, found 0",
         [](GroupCodes& codes) { codes.group = 0; });
  refuse(plain_grid(), "found 257", [](GroupCodes& codes) { codes.group = 257; });
  refuse(vector_codes("2x6"), "found 33", [](GroupCodes& codes) { codes.group = 33; });
  refuse(plain_grid(), "no fit writes scales of float32",
         [](GroupCodes& codes) { codes.scales = GroupScales::kFloat; });
}

TEST(GroupCodes, IsRefusedWithScalesThatNoFileHas) {
  const auto refuse = [](const GroupCodes& grid, const std::string& text, const auto& change) {
    expect_refused(grid, ErrorKind::kUsage, text, change);
  };
  const GroupCodes vectors = vector_codes("2x6");
  refuse(vectors, "neither offsets", [](GroupCodes& grid) { grid.has_offsets = true; });
  refuse(vectors, "integer scales",
         [](GroupCodes& grid) { grid.scales = GroupScales::kHalfTimesByte; });
  refuse(plain_grid(), "scales of e3m5, e4m3 and powers of two have no offsets",
         [](GroupCodes& grid) {
           grid.scales = GroupScales::kE3m5;
           grid.has_offsets = true;
         });
  const GroupCodes integers = integer_codes({2, 0}, 16, 0, 15);
  refuse(integers, "whole groups of 16, found 0", [](GroupCodes& grid) { grid.share = 0; });
  refuse(integers, "whole groups of 16, found 40", [](GroupCodes& grid) { grid.share = 40; });
  refuse(integers, "found 1 to 15", [](GroupCodes& grid) { grid.min_scale = 1; });
  refuse(integers, "found 0 to 0", [](GroupCodes& grid) { grid.max_scale = 0; });
  refuse(integers, "integer offset above 0, found 0",
         [](GroupCodes& grid) { grid.max_offset = 0; });
}

TEST(GroupCodes, DecodesOnlyFitsOfItsSizes) {
  const std::vector<float> weights(2 * 40);
  const GroupFit fit = fit_matrix({weights, 2, 40}, Metric<float>::identity(40), plain_grid());
  std::vector<float> values(3 * 41);
  const auto decode_to = [&](const GroupFit& what, std::size_t rows, std::size_t cols) {
    decode(what, plain_grid(), MatrixView<float>(values.data(), rows, cols, cols));
  };
  expect_error(ErrorKind::kShape, "expected 2 rows, found 3", [&] { decode_to(fit, 3, 40); });
  expect_error(ErrorKind::kShape, "expected 40 columns, found 41", [&] { decode_to(fit, 2, 41); });
  GroupFit other = fit;
  other.codes.pop_back();
  expect_error(ErrorKind::kShape, "expected 80 codes, found 79", [&] { decode_to(other, 2, 40); });
  other = fit;
  other.scales.push_back(1);
  expect_error(ErrorKind::kShape, "expected 4 scales, found 5", [&] { decode_to(other, 2, 40); });
}

TEST(Metric, RefusesMomentsThatAreNone) {
  const auto metric_of = [](const std::vector<float>& moments, std::size_t rows) {
    Metric<float>::of(MatrixView<const float>(moments, rows, moments.size() / rows));
  };
  expect_error(ErrorKind::kShape, "found 1 x 4", [&] { metric_of({1, 0, 0, 1}, 1); });
  for (const float bad : {kNan, kInfinity}) {
    expect_error(ErrorKind::kUnsupported, "those of input 0 are not finite", [&] {
      metric_of({1, bad, 0, 1}, 2);
    });
    expect_error(ErrorKind::kUnsupported, "those of input 0 are not finite", [&] {
      Metric<float>::diagonal(std::vector<float>{bad, 1});
    });
  }
  expect_error(ErrorKind::kUnsupported, "that of input 1 is negative", [&] {
    metric_of({1, 0, 0, -1}, 2);
  });
  expect_error(ErrorKind::kUnsupported, "positive definite", [&] { metric_of({1, 5, 5, 1}, 2); });
}

TEST(Metric, RefusesDampingBelowZero) {
  const std::vector<float> one = {1};
  for (const Damping& damping : {Damping{-1, 0}, Damping{0, -1}, Damping{kInfinity, 0}}) {
    expect_error(ErrorKind::kUsage, "damping", [&] { Metric<float>::diagonal(one, damping); });
    expect_error(ErrorKind::kUsage, "damping",
                 [&] { Metric<float>::of(MatrixView<const float>(one, 1, 1), damping); });
  }
}

TEST(GroupErrors, AreThoseOfTheIdentityWithoutMoments) {
  std::vector<float> weights;
  std::vector<float> values;
  for (int i = 0; i < 6; ++i) {
    weights.push_back(0.3F * static_cast<float>(i * i - 7));
    values.push_back(0.25F * static_cast<float>(i - 3));
  }
  const std::vector<float> identity = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  const MatrixView<const float> w(weights, 2, 3);
  const MatrixView<const float> q(values, 2, 3);
  const MatrixView<const float> one(identity, 3, 3);
  EXPECT_EQ(output_errors(w, q, {}), output_errors(w, q, one));
  EXPECT_EQ(relative_output_error(w, q, {}), relative_output_error(w, q, one));
}

TEST(GroupErrors, ReportShapesThatDiffer) {
  const std::vector<float> numbers(36);
  const auto matrix = [&](std::size_t rows, std::size_t cols) {
    return MatrixView<const float>(numbers.data(), rows, cols, cols);
  };
  expect_error(ErrorKind::kShape, "weights are 2 x 3, values 3 x 3, second moments 3 x 3",
               [&] { output_errors(matrix(2, 3), matrix(3, 3), matrix(3, 3)); });
  expect_error(ErrorKind::kShape, "values 2 x 4",
               [&] { relative_output_error(matrix(2, 3), matrix(2, 4), matrix(3, 3)); });
  expect_error(ErrorKind::kShape, "second moments 3 x 4",
               [&] { output_errors(matrix(2, 3), matrix(2, 3), matrix(3, 4)); });
  const std::vector<double> two(2);
  const std::vector<double> three(3);
  expect_error(ErrorKind::kShape, "2 errors and 3 sensitivities",
               [&] { predicted_loss(two, three); });
}

}  // namespace
}  // namespace halftone::compress
