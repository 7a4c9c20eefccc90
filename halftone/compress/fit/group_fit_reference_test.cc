// SPDX-License-Identifier: Apache-2.0
// Fits in groups against the definition of their steps in float64, from H alone: what is left of H
// when later columns are free to make up for an error is its Schur complement.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "halftone/compress/fit/fit_matrix.h"
#include "halftone/compress/fit/group_testing.h"

namespace halftone::compress {
namespace {

using Rows = std::vector<std::vector<double>>;

/// X with A X = B, by Gauss-Jordan elimination. @pre A is positive definite
Rows solve(Rows a, Rows b) {
  const std::size_t n = a.size();
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      if (i == k) continue;
      const double share = a[i][k] / a[k][k];
      for (std::size_t j = k; j < n; ++j) a[i][j] -= share * a[k][j];
      for (std::size_t j = 0; j < b[i].size(); ++j) b[i][j] -= share * b[k][j];
    }
  }
  for (std::size_t k = 0; k < n; ++k) {
    for (double& x : b[k]) x /= a[k][k];
  }
  return b;
}

Rows block_of(MatrixView<const float> h, std::size_t row, std::size_t rows, std::size_t col,
              std::size_t cols) {
  Rows block(rows, std::vector<double>(cols));
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < cols; ++j) {
      block[i][j] = static_cast<double>(h(row + i, col + j));
    }
  }
  return block;
}

double quadratic(const Rows& g, const std::vector<double>& x) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = 0; j < x.size(); ++j) sum += x[i] * g[i][j] * x[j];
  }
  return sum;
}

/// The step of codes from column i on: the metric of the block, and how later columns make up for
/// its error.
struct FeedbackStep {
  FeedbackStep(MatrixView<const float> h, std::size_t i, std::size_t d)
      : metric(block_of(h, i, d, i, d)) {
    const std::size_t rest = h.rows() - i - d;
    const Rows right = block_of(h, i + d, rest, i, d);
    spread = solve(block_of(h, i + d, rest, i + d, rest), right);
    for (std::size_t p = 0; p < d; ++p) {
      for (std::size_t q = 0; q < d; ++q) {
        for (std::size_t k = 0; k < rest; ++k) metric[p][q] -= right[k][p] * spread[k][q];
      }
    }
  }
  Rows metric;  ///< [d, d] H_bb - H_br H_rr^-1 H_rb
  Rows spread;  ///< [rest, d] H_rr^-1 H_rb
};

/// A fit in float64.
class DoubleFit {
 public:
  DoubleFit(const TestLayer& layer, const NamedGrid& named, const MatrixFitOptions& options)
      : layer_(layer),
        grid_(named.grid),
        codewords_(named.grid.codewords()),
        metric_(Metric<float>::of(layer.m())),
        fit_(fit_matrix(layer.w(), metric_, named.grid, options)) {}

  [[nodiscard]] std::size_t blocks() const { return layer_.inputs / grid_.vector(); }
  [[nodiscard]] std::size_t code(std::size_t row, std::size_t block) const {
    return fit_.codes[row * blocks() + block];
  }
  /// What codeword k would represent in a block.
  [[nodiscard]] std::vector<double> values(std::size_t row, std::size_t block,
                                           std::size_t k) const {
    const std::size_t col = block * grid_.vector();
    const std::size_t group = row * grid_.groups_per_row(layer_.inputs) + col / grid_.group;
    const double scale =
        factor(fit_.scale_factors, row, col) * static_cast<double>(fit_.scales[group]);
    const double offset = grid_.has_offsets ? factor(fit_.offset_factors, row, col) *
                                                  static_cast<double>(fit_.offsets[group])
                                            : 0;
    std::vector<double> v(grid_.vector());
    for (std::size_t p = 0; p < v.size(); ++p) {
      v[p] = scale * static_cast<double>(codewords_[k * grid_.vector() + p]) + offset;
    }
    return v;
  }

  /// Walks over a row as step 1 does, with the codes of the fit, and counts those that are worse
  /// than another by more than rounding.
  [[nodiscard]] int codes_not_nearest(std::size_t row) const {
    const std::size_t d = grid_.vector();
    std::vector<double> w(layer_.inputs);
    for (std::size_t i = 0; i < w.size(); ++i) {
      w[i] = static_cast<double>(layer_.weights[row * layer_.inputs + i]);
    }
    int wrong = 0;
    for (std::size_t b = 0; b < blocks(); ++b) {
      const FeedbackStep step(metric_.hessian(), b * d, d);
      const auto error_of = [&](std::size_t k) {
        std::vector<double> error = values(row, b, k);
        for (std::size_t p = 0; p < d; ++p) error[p] = w[b * d + p] - error[p];
        return error;
      };
      const std::vector<double> error = error_of(code(row, b));
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t k = 0; k < grid_.num_codewords(); ++k) {
        least = std::min(least, quadratic(step.metric, error_of(k)));
      }
      // Float32 against float64: gains differ by rounding relative to the size of the weights.
      std::vector<double> size(w.begin() + static_cast<std::ptrdiff_t>(b * d),
                               w.begin() + static_cast<std::ptrdiff_t>((b + 1) * d));
      for (double& x : size) x = std::abs(x) + std::abs(error[0]);
      if (quadratic(step.metric, error) > least + 1e-4 * quadratic(step.metric, size)) ++wrong;
      for (std::size_t r = (b + 1) * d; r < w.size(); ++r) {
        for (std::size_t p = 0; p < d; ++p) w[r] += step.spread[r - (b + 1) * d][p] * error[p];
      }
    }
    return wrong;
  }

  /// Counts codes of a row that another would improve on, all others fixed.
  [[nodiscard]] int codes_not_best(std::size_t row) const {
    const MatrixView<const float> h = metric_.hessian();
    std::vector<double> error(layer_.inputs);
    for (std::size_t i = 0; i < error.size(); ++i) {
      const std::size_t b = i / grid_.vector();
      error[i] = static_cast<double>(layer_.weights[row * layer_.inputs + i]) -
                 values(row, b, code(row, b))[i % grid_.vector()];
    }
    const Rows all = block_of(h, 0, h.rows(), 0, h.rows());
    const double now = quadratic(all, error);
    int wrong = 0;
    for (std::size_t b = 0; b < blocks(); ++b) {
      bool has_better = false;
      for (std::size_t k = 0; k < grid_.num_codewords(); ++k) {
        std::vector<double> other = error;
        for (std::size_t p = 0; p < grid_.vector(); ++p) {
          const std::size_t i = b * grid_.vector() + p;
          other[i] += values(row, b, code(row, b))[p] - values(row, b, k)[p];
        }
        has_better = has_better || quadratic(all, other) < now * (1 - 1e-4);
      }
      wrong += has_better ? 1 : 0;
    }
    return wrong;
  }

 private:
  [[nodiscard]] double factor(const std::vector<float>& factors, std::size_t row,
                              std::size_t col) const {
    if (grid_.scales == GroupScales::kHalf || grid_.scales == GroupScales::kPowerOfTwo) return 1;
    if (numerics::has_tensor_factor(grid_.scales)) return static_cast<double>(factors[0]);
    return static_cast<double>(
        factors[row * grid_.factors_per_row(layer_.inputs) + col / grid_.share]);
  }

  const TestLayer& layer_;
  const GroupCodes& grid_;
  std::vector<float> codewords_;
  Metric<float> metric_;
  GroupFit fit_;
};

/// A grid and the columns of a layer.
struct ReferenceCase {
  NamedGrid grid;
  std::size_t cols;
};

/// All grids on few columns, and more columns than errors are spread to at once.
std::vector<ReferenceCase> reference_cases() {
  std::vector<ReferenceCase> cases;
  for (const NamedGrid& named : grids_of_files()) cases.push_back({named, 48});
  cases.push_back({{"Q4_0Long", half_codes({4, -8}, 32)}, 150});
  cases.push_back({{"VectorLong", vector_codes("4x9")}, 200});
  GroupCodes grid = integer_codes({2, 0}, 16, 0, 15);
  grid.share = 32;
  cases.push_back({{"IntegersLong", grid}, 80});
  return cases;
}

constexpr std::size_t kReferenceRows = 3;

class GroupFitInDoubles : public testing::TestWithParam<ReferenceCase> {};

INSTANTIATE_TEST_SUITE_P(Files, GroupFitInDoubles, testing::ValuesIn(reference_cases()),
                         [](const auto& of) { return "Grid" + of.param.grid.name; });

TEST_P(GroupFitInDoubles, EncodesWithTheNearestCodeAfterFeedback) {
  const TestLayer layer(kReferenceRows, GetParam().cols);
  const DoubleFit fit(layer, GetParam().grid, {.sweeps = 0});
  for (std::size_t row = 0; row < kReferenceRows; ++row) EXPECT_EQ(fit.codes_not_nearest(row), 0);
}

TEST_P(GroupFitInDoubles, SweepsUntilNoCodeCanBeImproved) {
  const TestLayer layer(kReferenceRows, GetParam().cols);
  const DoubleFit fit(layer, GetParam().grid, {.sweeps = 100});
  for (std::size_t row = 0; row < kReferenceRows; ++row) EXPECT_EQ(fit.codes_not_best(row), 0);
}

}  // namespace
}  // namespace halftone::compress
