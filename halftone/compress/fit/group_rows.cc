// SPDX-License-Identifier: Apache-2.0
// Fits weights in groups whose scales are candidates judged by error feedback.

#include "halftone/compress/fit/group_rows.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "halftone/base/buffer.h"
#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/compress/fit/column_pass.h"
#include "halftone/compress/fit/fit_matrix.h"
#include "halftone/compress/fit/group_scales.h"
#include "halftone/compress/fit/group_tables.h"
#include "halftone/kernels/dense/matmul.h"
#include "halftone/kernels/fit/fit_group.h"

namespace halftone::compress {
namespace {

/// Rows that are fitted together: few enough that their columns stay in the second-level cache, and
/// enough that a factor or metric is not read too often.
constexpr std::size_t kMaxRowsOfBlock = 96;
constexpr std::size_t kMinRowsOfBlock = 32;
/// Columns after which what they change is spread to those far away.
constexpr std::size_t kPanel = 128;
/// Squares of weights, summed over a layer, must stay within float32.
constexpr float kLargestWeight = 1e15F;

/// What all blocks of rows share.
struct GroupPlan {
  MatrixView<const float> weights;
  const GroupCodes& grid;
  const Metric<float>& metric;
  const MatrixFitOptions& options;
  kernels::Codewords codewords;
  GroupScaleFit scales;
  std::size_t streams;  ///< columns of the weights for each input of the metric
  std::vector<GroupTables> groups;
  std::size_t panel;  ///< columns
  float factor;       ///< of the matrix

  GroupPlan(const GroupLayer& layer, const GroupCodes& what, kernels::Codewords words,
            const MatrixFitOptions& how)
      : weights(layer.weights),
        grid(what),
        metric(layer.metric),
        options(how),
        codewords(std::move(words)),
        scales(what, codewords, how.candidates),
        streams(metric.inputs() == 0 ? 1 : weights.cols() / metric.inputs()),
        groups(what.groups_per_row(weights.cols())),
        panel(what.scales == GroupScales::kHalfTimesByte
                  ? what.share
                  : what.group * std::max<std::size_t>(1, kPanel / what.group)),
        factor(how.factor != 0 ? how.factor : scales.factor_of(weights)) {
    const std::size_t count = grid.group / streams;
    parallel_for(groups.size(), [&](std::size_t i) {
      groups[i] = tables_of_group(metric, codewords, {i * count, count, streams}, options.feedback);
    });
  }
  /// Codes of so many columns, of which some share one.
  [[nodiscard]] std::size_t codes_of(std::size_t cols) const {
    return (cols + codewords.numbers() - 1) / codewords.numbers();
  }
};

/// A matrix with a buffer of its own.
template <typename T>
class OwnedMatrix {
 public:
  OwnedMatrix(std::size_t rows, std::size_t cols)
      : buffer_(rows * cols * sizeof(T)), view_(buffer_.as<T>().data(), rows, cols, cols) {}
  [[nodiscard]] const MatrixView<T>& view() const { return view_; }
  [[nodiscard]] MatrixView<T> rows(std::size_t first, std::size_t count) const {
    return view_.rows_from(first, count);
  }

 private:
  AlignedBuffer buffer_;
  MatrixView<T> view_;
};

/// A block of rows of the weights. Matrices are [columns, rows]: rows are lanes.
class GroupRows {
 public:
  GroupRows(const GroupPlan& plan, std::size_t first, std::size_t count)
      : plan_(plan),
        grid_(plan.grid),
        first_(first),
        count_(count),
        cols_(plan.weights.cols()),
        lanes_((count + kernels::kFitLanes - 1) / kernels::kFitLanes * kernels::kFitLanes),
        columns_(plan.groups.size() * grid_.group),
        target_(columns_, lanes_),
        values_(columns_, lanes_),
        work_(columns_, lanes_),
        deltas_(columns_, lanes_),
        codes_(plan.codes_of(columns_), lanes_),
        scales_(plan.groups.size(), lanes_),
        offsets_(plan.groups.size(), lanes_),
        scale_factors_(num_factors(), lanes_),
        offset_factors_(num_factors(), lanes_) {
    for (std::size_t r = 0; r < count_; ++r) {
      const auto row = plan.weights.row(first + r);
      for (std::size_t c = 0; c < cols_; ++c) target_.view()(c, r) = row[c];
    }
    std::ranges::fill(scale_factors_.rows(0, 1).row(0), plan.factor);
    std::ranges::fill(offset_factors_.rows(0, 1).row(0), 1.0F);
  }

  /// Step 1.
  void encode();
  /// Step 2, once. @pre encode()
  void sweep();
  /// Makes step 2 start from the values there are.
  void begin_sweeps();
  void store(GroupFit& fit) const;

 private:
  [[nodiscard]] std::size_t num_factors() const {
    return std::max<std::size_t>(1, grid_.factors_per_row(cols_));
  }
  [[nodiscard]] std::size_t factor_of_group(std::size_t group) const {
    return grid_.scales == GroupScales::kHalfTimesByte ? group * grid_.group / grid_.share : 0;
  }
  [[nodiscard]] GroupOfRows rows_of_group(std::size_t group) const {
    const std::size_t f = factor_of_group(group);
    return {scale_factors_.view().row(f), offset_factors_.view().row(f), scales_.view().row(group),
            offsets_.view().row(group)};
  }
  [[nodiscard]] MatrixView<std::int32_t> codes_of_group(std::size_t group) const {
    const std::size_t count = plan_.codes_of(grid_.group);
    return codes_.rows(group * count, count);
  }
  void begin_share(std::size_t first);
  void encode_group(std::size_t group);
  void sweep_group(std::size_t group);
  /// A pass over groups whose deltas change `work_`.
  [[nodiscard]] ColumnPass<float> pass(MatrixView<const float> couplings) const {
    ColumnPass<float> groups{couplings,          work_.view(), deltas_.view(),
                             PassLayout::kLanes, grid_.group,  plan_.panel};
    groups.streams = plan_.streams;
    return groups;
  }

  const GroupPlan& plan_;
  const GroupCodes& grid_;
  std::size_t first_;
  std::size_t count_;
  std::size_t cols_;
  std::size_t lanes_;
  std::size_t columns_;               ///< whole groups
  OwnedMatrix<float> target_;         ///< W
  OwnedMatrix<float> values_;         ///< Q
  OwnedMatrix<float> work_;           ///< step 1: W less the errors so far; step 2: (W - Q) H
  OwnedMatrix<float> deltas_;         ///< step 1: errors; step 2: changes of values
  OwnedMatrix<std::int32_t> codes_;   ///< [columns / d, lanes]
  OwnedMatrix<float> scales_;         ///< [groups, lanes] as stored
  OwnedMatrix<float> offsets_;        ///< likewise
  OwnedMatrix<float> scale_factors_;  ///< [factors, lanes]
  OwnedMatrix<float> offset_factors_;
};

void GroupRows::begin_share(std::size_t first) {
  const std::size_t count = std::min(grid_.share, columns_ - first);
  std::vector<float> importance;
  for (std::size_t c = first; c < first + count; c += grid_.group) {
    const auto& more = plan_.groups[c / grid_.group].importance;
    importance.insert(importance.end(), more.begin(), more.end());
  }
  const std::size_t f = first / grid_.share;
  plan_.scales.choose_factors({work_.rows(first, count), importance}, scale_factors_.view().row(f),
                              offset_factors_.view().row(f));
}

void GroupRows::encode_group(std::size_t group) {
  const std::size_t g = grid_.group;
  const std::size_t first = group * g;
  const GroupTables& tables = plan_.groups[group];
  const GroupOfRows rows = rows_of_group(group);
  const MatrixView<const float> weights = work_.rows(first, g);
  const ScaleCandidates tried = plan_.scales.candidates({weights, tables.importance}, rows);
  std::vector<std::int32_t> chosen(lanes_);
  const std::size_t count = tried.count();
  kernels::encode_group(
      {&plan_.codewords, tables.encoding.gram.data(), tables.encoding.norms.data(),
       tables.inverse.data(), MatrixView<const float>(tables.factor.data(), g, g, g), weights,
       MatrixView<const float>(tried.scales.data(), count, lanes_, lanes_),
       MatrixView<const float>(tried.offsets.data(), count, lanes_, lanes_)},
      {deltas_.rows(first, g), values_.rows(first, g), codes_of_group(group), chosen});
  for (std::size_t r = 0; r < lanes_; ++r) {
    const std::size_t at = static_cast<std::size_t>(chosen[r]) * lanes_ + r;
    rows.scales[r] = tried.stored_scales[at];
    rows.offsets[r] = tried.stored_offsets[at];
  }
}

void GroupRows::encode() {
  std::ranges::copy_n(target_.view().data_handle(), static_cast<std::ptrdiff_t>(columns_ * lanes_),
                      work_.view().data_handle());
  const bool spreads = plan_.options.feedback && !plan_.metric.is_diagonal();
  pass(spreads ? plan_.metric.factor() : MatrixView<const float>()).run([&](std::size_t c) {
    if (grid_.scales == GroupScales::kHalfTimesByte && c % grid_.share == 0) begin_share(c);
    encode_group(c / grid_.group);
  });
}

void GroupRows::begin_sweeps() {
  const MatrixView<const float> hessian = plan_.metric.hessian();
  const bool is_diagonal = plan_.metric.is_diagonal();
  const MatrixView<float> errors = is_diagonal ? work_.view() : deltas_.view();
  for (std::size_t c = 0; c < cols_; ++c) {
    const float h = is_diagonal ? hessian(0, c / plan_.streams) : 1;
    for (std::size_t r = 0; r < lanes_; ++r) {
      errors(c, r) = h * (target_.view()(c, r) - values_.view()(c, r));
    }
  }
  for (std::size_t s = 0; s < plan_.streams && !is_diagonal; ++s) {
    kernels::matmul(hessian, stream_of(deltas_.rows(0, cols_), s, plan_.streams),
                    stream_of(work_.rows(0, cols_), s, plan_.streams));
  }
}

void GroupRows::sweep_group(std::size_t group) {
  const std::size_t g = grid_.group;
  const std::size_t first = group * g;
  const GroupTables& tables = plan_.groups[group];
  const GroupOfRows rows = rows_of_group(group);
  const MatrixView<const float> hessian(tables.hessian.data(), g, g, g);
  std::vector<float> buffer(6 * lanes_);
  const auto part = [&](std::size_t i) { return std::span(buffer).subspan(i * lanes_, lanes_); };
  const kernels::LevelSums sums{part(0), part(1), part(2), part(3)};
  kernels::sum_levels({&plan_.codewords, hessian, work_.rows(first, g), codes_of_group(group)},
                      sums);
  plan_.scales.improve(sums, tables.total, rows);
  GroupScaleFit::multiply(rows, part(4), part(5));
  kernels::sweep_group({&plan_.codewords, tables.sweeping.gram.data(), tables.sweeping.norms.data(),
                        tables.reciprocals.data(), hessian, work_.rows(first, g), part(4), part(5)},
                       {values_.rows(first, g), deltas_.rows(first, g), codes_of_group(group)});
}

void GroupRows::sweep() {
  ColumnPass<float> groups = pass(plan_.metric.hessian());
  groups.reaches_all = true;
  groups.run([&](std::size_t c) { sweep_group(c / grid_.group); });
}

void GroupRows::store(GroupFit& fit) const {
  const std::size_t codes = plan_.codes_of(cols_);
  const std::size_t groups = plan_.groups.size();
  const std::size_t factors = grid_.factors_per_row(cols_);
  const auto store_rows = [&](const OwnedMatrix<float>& from, std::size_t size,
                              std::vector<float>& to) {
    if (to.empty()) return;
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t r = 0; r < count_; ++r) to[(first_ + r) * size + i] = from.view()(i, r);
    }
  };
  for (std::size_t r = 0; r < count_; ++r) {
    for (std::size_t c = 0; c < codes; ++c) {
      fit.codes[(first_ + r) * codes + c] = static_cast<std::uint16_t>(codes_.view()(c, r));
    }
  }
  store_rows(scales_, groups, fit.scales);
  store_rows(offsets_, groups, fit.offsets);
  if (grid_.scales != GroupScales::kHalfTimesByte) return;
  store_rows(scale_factors_, factors, fit.scale_factors);
  store_rows(offset_factors_, factors, fit.offset_factors);
}

/// Rows of a block so that all threads have some. They are independent: it changes no result.
std::size_t rows_of_block(std::size_t rows) {
  const std::size_t share = rows / static_cast<std::size_t>(num_threads()) + 1;
  const std::size_t whole = (share + kMinRowsOfBlock - 1) / kMinRowsOfBlock * kMinRowsOfBlock;
  return std::min(whole, kMaxRowsOfBlock);
}

/// A fit with room for a matrix.
GroupFit empty_fit(const GroupPlan& plan) {
  const GroupCodes& grid = plan.grid;
  const std::size_t cols = plan.weights.cols();
  GroupFit fit;
  fit.rows = plan.weights.rows();
  fit.cols = cols;
  fit.codes.resize(fit.rows * plan.codes_of(cols));
  fit.scales.resize(fit.rows * grid.groups_per_row(cols));
  if (grid.has_offsets) fit.offsets.resize(fit.scales.size());
  fit.scale_factors.resize(fit.rows * grid.factors_per_row(cols));
  if (grid.has_offsets) fit.offset_factors.resize(fit.scale_factors.size());
  if (numerics::has_tensor_factor(grid.scales)) fit.scale_factors.assign(1, plan.factor);
  return fit;
}

}  // namespace

void check_group_options(const MatrixFitOptions& options) {
  if (options.candidates < 1 || options.candidates > 64) {
    fail(ErrorKind::kUsage, "fit of weights in groups: expected 1 to 64 candidates, found " +
                                std::to_string(options.candidates));
  }
  if (options.sweeps < 0 || options.sweeps > 100) {
    fail(ErrorKind::kUsage, "fit of weights in groups: expected 0 to 100 sweeps, found " +
                                std::to_string(options.sweeps));
  }
}

void check_group_weights(MatrixView<const float> weights, const Metric<float>& metric) {
  metric.check_columns(weights.cols());
  for (std::size_t r = 0; r < weights.rows(); ++r) {
    for (std::size_t c = 0; c < weights.cols(); ++c) {
      if (std::abs(weights(r, c)) <= kLargestWeight) continue;
      fail(ErrorKind::kUnsupported, "fit of weights in groups: weight " + std::to_string(c) +
                                        " of output " + std::to_string(r) +
                                        ": expected a number of magnitude up to 1e15, found " +
                                        std::to_string(weights(r, c)));
    }
  }
}

float scale_factor_of(MatrixView<const float> weights, const GroupCodes& grid,
                      const MatrixFitOptions& options) {
  check_codes(grid);
  check_group_options(options);
  const kernels::Codewords codewords(grid.codewords(), grid.vector());
  return GroupScaleFit(grid, codewords, options.candidates).factor_of(weights);
}

GroupFit fit_groups(const GroupLayer& layer, const GroupCodes& grid,
                    const kernels::Codewords& codewords, const MatrixFitOptions& options) {
  const GroupPlan plan(layer, grid, codewords, options);
  GroupFit fit = empty_fit(plan);
  const std::size_t rows = layer.weights.rows();
  if (layer.weights.size() == 0) return fit;
  const std::size_t most = rows_of_block(rows);
  const int sweeps = options.refine ? options.sweeps : 0;
  parallel_for((rows + most - 1) / most, [&](std::size_t b) {
    const std::size_t first = b * most;
    GroupRows block(plan, first, std::min(most, rows - first));
    block.encode();
    if (sweeps > 0) block.begin_sweeps();
    for (int i = 0; i < sweeps; ++i) block.sweep();
    block.store(fit);
  });
  return fit;
}

GroupFit fit_matrix(MatrixView<const float> weights, const Metric<float>& metric,
                    const GroupCodes& grid, const MatrixFitOptions& options) {
  check_codes(grid);
  check_group_options(options);
  check_group_weights(weights, metric);
  return fit_groups({weights, metric}, grid, {grid.codewords(), grid.vector()}, options);
}

}  // namespace halftone::compress
