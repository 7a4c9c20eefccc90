// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/code_search.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "halftone/base/parallel.h"
#include "halftone/compress/fit/column_pass.h"

namespace halftone::compress {
namespace {

using Eigen::Index;

/// Ridge on the closed-form levels, of the mean diagonal of its Gram matrix.
constexpr double kLevelRidge = 1e-6;

/// Rows that are encoded together, so that a row of the factor is read once for all of them.
constexpr std::size_t kRowsAtOnce = 16;

/// Other parameters that may be better than `best` once they are rounded.
template <typename Consider>
void for_each_neighbour(const ParameterSpace& space, const Vector& best, const Matrix& gram,
                        std::size_t block, const Consider& consider) {
  if (space.has_coarse_scales()) {
    for (const double factor : {0.5, 2.0}) {
      Vector moved = best;
      moved[0] *= factor;
      consider(moved);
    }
  }
  if (space.has_zero_points()) {
    const numerics::Levels levels = space.to_levels(best, block);
    const double zero = space.codebook()->zero_point(double{levels.scale()}, best[1]);
    const Vector rhs = multiply(gram, best);
    for (const double z : {zero - 1, zero, zero + 1}) {
      consider(space.with_zero_point(gram, rhs, z));
    }
  }
  if (!space.rounds_offsets()) return;
  // The best scale for a rounded offset, and the other way round.
  const numerics::Levels rounded = space.to_levels(best, block);
  if (gram(0, 0) > 0) {
    const double offset = rounded.offset();
    consider(Vector{{best[0] - gram(0, 1) * (offset - best[1]) / gram(0, 0), offset}});
  }
  if (gram(1, 1) > 0) {
    const double scale = rounded.scale();
    consider(Vector{{scale, best[1] - gram(0, 1) * (scale - best[0]) / gram(1, 1)}});
  }
}

}  // namespace

CodeSearch::CodeSearch(const WeightFormat& format, std::size_t rows, std::size_t cols)
    : rows_(rows),
      cols_(cols),
      encoding_(empty_encoding(format, rows, cols)),
      space_(ParameterSpace::of(encoding_)),
      codes_(rows * cols),
      values_(Matrix::Zero(static_cast<Index>(rows), static_cast<Index>(cols))) {}

std::size_t CodeSearch::block_of(std::size_t row, std::size_t col) const {
  switch (encoding_.granularity) {
    case numerics::Granularity::kTensor:
      return 0;
    case numerics::Granularity::kChannel:
      return row;
    case numerics::Granularity::kGroup:
      return row * groups() + col / encoding_.group_size;
  }
  return 0;
}

std::vector<RowBlock> CodeSearch::blocks_of_row(std::size_t row) const {
  std::vector<RowBlock> blocks;
  for (std::size_t col = 0; col < cols_;) {
    const std::size_t width = encoding_.group_size == 0 ? cols_ : encoding_.group_size;
    const std::size_t count = std::min(width, cols_ - col);
    blocks.push_back({block_of(row, col), col, count});
    col += count;
  }
  return blocks;
}

MatrixFit CodeSearch::result() const {
  MatrixFit fit{encoding_, numerics::BitPlanes(rows_, cols_, encoding_.bits)};
  for (std::size_t i = 0; i < codes_.size(); ++i) {
    fit.codes.set_code(i / cols_, i % cols_, codes_[i]);
  }
  return fit;
}

void CodeSearch::set_levels(std::size_t block, const numerics::Levels& levels) {
  encoding_.set_levels(block, levels);
  numerics::BlockEncoder encoder(encoding_.levels(block));
  if (block == encoders_.size()) {  // step 1, which sets blocks in their order
    encoders_.push_back(std::move(encoder));
  } else {
    encoders_[block] = std::move(encoder);
  }
}

void CodeSearch::fit_block(std::size_t block, std::span<const double> target,
                           std::span<const float> weights, const LevelFitOptions& options) {
  const std::vector<float> values(target.begin(), target.end());
  set_levels(block, fit_levels(space_.of_block(block), values, {}, weights, options).levels);
}

void CodeSearch::fit_blocks(MatrixView<const double> target, std::span<const float> weights,
                            const LevelFitOptions& options) {
  if (is_shared()) {
    std::vector<float> of_all;
    for (std::size_t r = 0; r < rows_; ++r) {
      of_all.insert(of_all.end(), weights.begin(), weights.end());
    }
    return fit_block(0, {target.data_handle(), target.size()}, of_all, options);
  }
  for (std::size_t row = 0; row < rows_; ++row) {
    for (const RowBlock& block : blocks_of_row(row)) {
      const auto part = [&](auto all) {
        return all.empty() ? all : all.subspan(block.first_col, block.num_cols);
      };
      fit_block(block.block, part(target.row(row)), part(weights), options);
    }
  }
}

void CodeSearch::encode(MatrixView<const double> target, MatrixView<const double> factor) {
  parallel_for((rows_ + kRowsAtOnce - 1) / kRowsAtOnce, [&](std::size_t b) {
    const std::size_t first = b * kRowsAtOnce;
    const std::size_t count = std::min(kRowsAtOnce, rows_ - first);
    Matrix work = Eigen::Map<const Matrix>(target.row(first).data(), static_cast<Index>(count),
                                           static_cast<Index>(cols_));
    Matrix errors(work.rows(), work.cols());
    const ColumnPass<double> pass{factor, view_of(work), view_of(errors)};
    pass.run([&](std::size_t k) {
      const double unit = factor.size() == 0 ? 1 : factor(k, k);
      for (std::size_t r = 0; r < count; ++r) {
        const double w = pass.work(r, k);
        pass.changes(r, k) = (w - encode(first + r, k, w)) / unit;
      }
    });
  });
}

double CodeSearch::encode(std::size_t row, std::size_t col, double x) {
  const numerics::BlockEncoder& encoder = encoders_[block_of(row, col)];
  const numerics::Code code = encoder.encode(static_cast<float>(x));
  codes_[row * cols_ + col] = code;
  return values_(static_cast<Index>(row), static_cast<Index>(col)) = encoder.value(code);
}

CodeSearch::Equations CodeSearch::row_equations(std::size_t row, MatrixView<const double> hessian,
                                                MatrixView<const double> goal) const {
  const Index p = space_.size();
  const std::vector<RowBlock> blocks = blocks_of_row(row);
  const Index unknowns = p * static_cast<Index>(blocks.size());
  const auto n = static_cast<Index>(cols_);
  // Features of block b occupy rows [b p, (b + 1) p); F' H, then its product with F, block by
  // block.
  std::vector<Matrix> features;
  for (const RowBlock& block : blocks) {
    Matrix f(p, static_cast<Index>(block.num_cols));
    for (std::size_t c = 0; c < block.num_cols; ++c) {
      const numerics::Code code = codes_[row * cols_ + block.first_col + c];
      f.col(static_cast<Index>(c)) = space_.features().row(code).transpose();
    }
    features.push_back(std::move(f));
  }
  Equations equations{Matrix(unknowns, unknowns), Vector(unknowns)};
  Matrix products(unknowns, n);
  const auto rows_of_block = [&](Matrix& all, std::size_t b) {
    return view_of(all).rows_from(b * static_cast<std::size_t>(p), static_cast<std::size_t>(p));
  };
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const auto [block, first, count] = blocks[b];
    kernels::matmul(view_of(features[b]), hessian.rows_from(first, count),
                    rows_of_block(products, b));
    equations.rhs.segment(static_cast<Index>(b) * p, p) =
        multiply(features[b],
                 Eigen::Map<const Vector>(goal.row(row).data() + first, static_cast<Index>(count)));
  }
  // F H F' = F (F H)', as H is symmetric.
  const Matrix transposed = products.transpose();
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    kernels::matmul(view_of(features[b]),
                    view_of(transposed).rows_from(blocks[b].first_col, blocks[b].num_cols),
                    rows_of_block(equations.gram, b));
  }
  return equations;
}

/// Scale and offset of a codebook differ by the number of levels, coefficients of a basis do not.
Vector CodeSearch::solve(const Matrix& gram, const Vector& rhs) const {
  return space_.codebook() == nullptr ? solve_ridge(gram, rhs, kLevelRidge)
                                      : solve_scaled_ridge(gram, rhs, kLevelRidge);
}

void CodeSearch::solve_row(std::size_t row, const Equations& equations) {
  if (space_.rounds_scales() || space_.has_zero_points()) return solve_row_rounded(row, equations);
  const Index p = space_.size();
  const Vector solution = solve(equations.gram, equations.rhs);
  const std::vector<RowBlock> blocks = blocks_of_row(row);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    set_levels(blocks[b].block, space_.to_levels(solution.segment(static_cast<Index>(b) * p, p)));
  }
}

void CodeSearch::solve_row_rounded(std::size_t row, const Equations& equations) {
  const auto& [gram, rhs] = equations;
  const Index p = space_.size();
  const std::vector<RowBlock> blocks = blocks_of_row(row);
  Vector parameters(rhs.size());
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    parameters.segment(static_cast<Index>(b) * p, p) =
        space_.parameters_of(encoding_.levels(blocks[b].block));
  }
  Vector residual = multiply(gram, parameters) - rhs;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const Index first = static_cast<Index>(b) * p;
    const Matrix own = gram.block(first, first, p, p);
    const Vector old = parameters.segment(first, p);
    const Vector slope = residual.segment(first, p);
    const Vector best = old + solve(own, -slope);
    // Moving by s changes the objective by 2 s' slope + s' G s.
    Vector taken = old;
    double least = 0;
    const auto consider = [&](const Vector& wanted) {
      const Vector rounded = space_.parameters_of(space_.to_levels(wanted, blocks[b].block));
      const Vector step = rounded - old;
      const Vector sides = 2 * slope + multiply(own, step);
      const double change = sum_of(step.cwiseProduct(sides));
      if (change < least) {
        least = change;
        taken = rounded;
      }
    };
    consider(best);
    for_each_neighbour(space_, best, own, blocks[b].block, consider);
    if (least == 0) continue;
    const Vector step = taken - old;
    parameters.segment(first, p) = taken;
    for (Index i = 0; i < p; ++i) residual += step[i] * gram.row(first + i).transpose();
    set_levels(blocks[b].block, space_.to_levels(taken, blocks[b].block));
  }
}

void CodeSearch::solve_shared_levels(MatrixView<const double> hessian,
                                     MatrixView<const double> goal) {
  // One block for all rows: their equations add up, in the order of the rows.
  std::vector<Equations> by_row(rows_);
  parallel_for(rows_, [&](std::size_t row) { by_row[row] = row_equations(row, hessian, goal); });
  Equations sum = std::move(by_row.front());
  for (std::size_t row = 1; row < rows_; ++row) {
    sum.gram += by_row[row].gram;
    sum.rhs += by_row[row].rhs;
  }
  solve_row(0, sum);
}

void CodeSearch::revalue_row(std::size_t row) {
  for (std::size_t col = 0; col < cols_; ++col) {
    values_(static_cast<Index>(row), static_cast<Index>(col)) =
        encoders_[block_of(row, col)].value(codes_[row * cols_ + col]);
  }
}

bool CodeSearch::descend_row(std::size_t row, MatrixView<const double> hessian,
                             MatrixView<const double> goal) {
  revalue_row(row);
  const auto r = static_cast<Index>(row);
  Matrix gradient(1, values_.cols());
  // H is symmetric: H v is the transpose of v' H, which reads H row by row.
  kernels::matmul(view_of(values_).rows_from(row, 1), hessian, view_of(gradient));
  std::ranges::transform(goal.row(row), view_of(gradient).row(0), gradient.data(), std::minus<>());
  Matrix steps(1, values_.cols());
  bool changed = false;
  const ColumnPass<double> pass{hessian, view_of(gradient), view_of(steps), PassLayout::kRows, 1,
                                cols_};
  pass.run([&](std::size_t col) {
    const double slope = pass.work(0, col);
    const double curvature = hessian(col, col);
    double& value = values_(r, static_cast<Index>(col));
    // Moving by s changes the objective by s^2 curvature - 2 s slope: a parabola whose nearest
    // level to its minimum is the best one.
    const numerics::BlockEncoder& encoder = encoders_[block_of(row, col)];
    const numerics::Code code = encoder.encode(static_cast<float>(value + slope / curvature));
    const double level = encoder.value(code);
    const double step = level - value;
    const bool helps = step * (step * curvature - 2 * slope) < -1e-12 * curvature * value * value;
    pass.changes(0, col) = helps ? step : 0;
    if (!helps) return;
    codes_[row * cols_ + col] = code;
    value = level;
    changed = true;
  });
  return changed;
}

void CodeSearch::refine(MatrixView<const double> hessian, MatrixView<const double> goal,
                        int sweeps) {
  std::vector<char> changed(rows_, 1);
  for (int sweep = 0; sweep < sweeps && std::ranges::count(changed, 1) > 0; ++sweep) {
    if (is_shared()) solve_shared_levels(hessian, goal);
    parallel_for(rows_, [&](std::size_t row) {
      if (!is_shared() && changed[row] == 0) return;
      if (!is_shared()) solve_row(row, row_equations(row, hessian, goal));
      changed[row] = descend_row(row, hessian, goal) ? 1 : 0;
    });
  }
}

}  // namespace halftone::compress
