// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/type_costs.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <string_view>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/compress/budget/knapsack.h"
#include "halftone/compress/fit/group_error.h"

namespace halftone::lm {
namespace {

/// Fits that rank types: what sweeps and more candidates gain is much the same for all.
constexpr compress::MatrixFitOptions kQuickFit = {.feedback = true, .candidates = 2, .sweeps = 0};

using TypeNames = std::initializer_list<const char*>;

std::vector<const WeightType*> types_that_hold(TypeNames names, std::size_t cols) {
  std::vector<const WeightType*> types;
  for (const char* name : names) {
    const WeightType& type = weight_type(name);
    if (type.can_hold(cols)) types.push_back(&type);
  }
  return types;
}

/// Predicts what errors of matrices do.
class LossPredictor {
 public:
  LossPredictor(const MatrixWalkJob& job, const Sensitivities& sensitivities)
      : job_(job), sensitivities_(sensitivities), frequencies_(job.model.description.vocabulary) {
    std::size_t count = 0;
    for (const auto& sample : job.samples.fit) {
      for (const TokenId token : sample) {
        ++frequencies_.at(static_cast<std::size_t>(token));
        ++count;
      }
    }
    for (double& frequency : frequencies_) frequency /= static_cast<double>(count);
    row_frequencies_ = frequencies_;
    const std::size_t rows = job.model.description.block_input_rows;
    if (rows == 0) return;
    // Tokens behind the table have row 0.
    for (std::size_t token = rows; token < frequencies_.size(); ++token) {
      row_frequencies_[0] += frequencies_[token];
    }
    row_frequencies_.resize(rows);
  }

  /// @param errors  [outputs, n] W - Q, folded; changed
  [[nodiscard]] double loss(const VisitedMatrix& matrix, std::vector<float>& errors) const {
    const std::size_t cols = matrix.values.cols();
    const MatrixView<float> view(errors.data(), matrix.values.rows(), cols, cols);
    double sum = 0;
    const auto outputs = sensitivities_.outputs.find(head_of(matrix.id));
    if (outputs != sensitivities_.outputs.end()) {
      job_.folding.unfold_outputs(matrix.id, view);
      sum += output_loss(view, matrix.moments, outputs->second, matrix.id);
    }
    if (matrix.id.role == WeightRole::kTokenEmbedding) {
      job_.folding.unfold_inputs(matrix.id, view);
      sum += table_loss(view, sensitivities_.embedding, frequencies_);
    }
    return sum;
  }

  /// Rows of a piece of the table of blocks' inputs that the samples look up.
  struct LookedUpRows {
    std::vector<float> values;
    std::vector<double> frequencies;
  };
  [[nodiscard]] LookedUpRows looked_up(const VisitedMatrix& piece) const {
    LookedUpRows rows;
    for (std::size_t r = 0; r < piece.values.rows(); ++r) {
      const double frequency = row_frequencies_[piece.first_row + r];
      if (frequency == 0) continue;
      const auto row = piece.values.row(r);
      rows.values.insert(rows.values.end(), row.begin(), row.end());
      rows.frequencies.push_back(frequency);
    }
    return rows;
  }
  /// @param errors  of looked_up()
  [[nodiscard]] double block_input_loss(MatrixView<const float> errors,
                                        const std::vector<double>& frequencies) const {
    return table_loss(errors, sensitivities_.block_inputs, frequencies);
  }

 private:
  /// The matrix whose outputs are those of `id`.
  [[nodiscard]] WeightId head_of(const WeightId& id) const {
    const bool is_head =
        id.role == WeightRole::kTokenEmbedding && job_.model.description.ties_embeddings;
    return is_head ? WeightId{.role = WeightRole::kHead} : id;
  }
  [[nodiscard]] double output_loss(MatrixView<const float> errors, MatrixView<const float> moments,
                                   const std::vector<double>& sensitivities,
                                   const WeightId& id) const {
    const std::vector<float> nothing(errors.size());
    const std::vector<double> squares = compress::output_errors(
        errors, MatrixView<const float>(nothing, errors.rows(), errors.cols()), moments);
    double sum = 0;
    for (std::size_t o = 0; o < squares.size(); ++o) {
      sum += sensitivities[o % sensitivities.size()] * squares[o];
    }
    if (id.role < WeightRole::kExpertGate) return sum / 2;
    const Description& d = job_.model.description;
    return sum / 2 * static_cast<double>(d.active_experts) / static_cast<double>(d.experts);
  }
  /// Of errors of rows that tokens look up.
  static double table_loss(MatrixView<const float> errors, const std::vector<double>& sensitivities,
                           const std::vector<double>& frequencies) {
    double sum = 0;
    for (std::size_t r = 0; r < errors.rows(); ++r) {
      if (frequencies[r] == 0) continue;
      double row = 0;
      for (std::size_t c = 0; c < errors.cols(); ++c) {
        row += sensitivities[c] * double{errors(r, c)} * double{errors(r, c)};
      }
      sum += frequencies[r] * row;
    }
    return sum / 2;
  }

  const MatrixWalkJob& job_;
  const Sensitivities& sensitivities_;
  std::vector<double> frequencies_;      ///< of tokens
  std::vector<double> row_frequencies_;  ///< of rows of the table of blocks' inputs
};

/// Matrices that get one type.
struct TypeGroup {
  std::vector<WeightId> ids;
  std::vector<TypeCost> costs;  ///< sums over them
};

std::vector<TypeGroup> groups_of(const TypeCosts& costs,
                                 const std::map<WeightId, std::string>& tensor_of) {
  std::map<std::string, std::size_t> known;
  std::vector<TypeGroup> groups;
  for (const auto& [id, types] : costs) {
    const auto tensor = tensor_of.find(id);
    const bool is_new =
        tensor == tensor_of.end() || known.emplace(tensor->second, groups.size()).second;
    if (is_new) {
      groups.push_back({{id}, types});
      continue;
    }
    TypeGroup& group = groups[known.at(tensor->second)];
    group.ids.push_back(id);
    for (std::size_t i = 0; i < types.size(); ++i) {
      HALFTONE_ASSERT(group.costs[i].type == types[i].type);
      group.costs[i].loss += types[i].loss;
      group.costs[i].bytes += types[i].bytes;
    }
  }
  return groups;
}

/// W - Q of a quick fit.
std::vector<float> quick_errors(MatrixView<const float> w, const WeightType& type,
                                const compress::Metric<float>& metric) {
  std::vector<float> errors(w.size());
  const auto fit = compress::fit_matrix(w, metric, *type.encoding, kQuickFit);
  compress::decode(fit, *type.encoding,
                   MatrixView<float>(errors.data(), w.rows(), w.cols(), w.cols()));
  for (std::size_t i = 0; i < errors.size(); ++i) errors[i] = w.data_handle()[i] - errors[i];
  return errors;
}

double matrix_loss(const LossPredictor& predictor, const VisitedMatrix& matrix,
                   const WeightType& type) {
  std::vector<float> errors = quick_errors(matrix.values, type, matrix.metric);
  return predictor.loss(matrix, errors);
}

double block_input_loss(const LossPredictor& predictor, const VisitedMatrix& piece,
                        const WeightType& type) {
  const auto rows = predictor.looked_up(piece);
  if (rows.frequencies.empty()) return 0;
  const std::size_t cols = piece.values.cols();
  const MatrixView<const float> values(rows.values, rows.frequencies.size(), cols);
  const std::vector<float> errors = quick_errors(values, type, piece.metric);
  return predictor.block_input_loss(MatrixView<const float>(errors, values.rows(), cols),
                                    rows.frequencies);
}

/// Adds the cost of a type for a matrix or a piece of one.
void add_cost(const VisitedMatrix& matrix, const TypeCost& cost, std::vector<TypeCost>& costs) {
  if (matrix.first_row == 0) {
    costs.push_back(cost);
    return;
  }
  TypeCost& all = *std::ranges::find(costs, cost.type, &TypeCost::type);
  all.loss += cost.loss;
  all.bytes += cost.bytes;
}

void check_budget(const std::vector<TypeGroup>& groups, std::size_t bytes) {
  std::size_t least = 0;
  for (const TypeGroup& group : groups) {
    least += std::ranges::min_element(group.costs, {}, &TypeCost::bytes)->bytes;
  }
  require_size(least, bytes);
}

BudgetedTypes types_of(const std::vector<TypeGroup>& groups,
                       const compress::KnapsackProblem& problem) {
  const compress::KnapsackAnswer answer = compress::solve_knapsack(problem);
  BudgetedTypes result;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const TypeCost& cost = groups[i].costs[answer.choices[i]];
    for (const WeightId& id : groups[i].ids) result.choice.emplace(id, cost.type);
    result.loss += cost.loss;
    result.bytes += cost.bytes;
  }
  return result;
}

/// A loss in steps, of which a limit has 2^32.
std::int64_t steps_of(double loss, double limit) {
  constexpr double kSteps = 4294967296.0;
  constexpr double kMax = 1e15;  // far above the limit; sums of them stay below 2^62
  return static_cast<std::int64_t>(std::min(kMax, std::ceil(loss / limit * kSteps)));
}

/// @throws Error kUsage if the least losses are above the limit
void check_loss(const std::vector<TypeGroup>& groups, double limit) {
  if (!std::isfinite(limit) || limit <= 0) {
    fail(ErrorKind::kUsage,
         "loss: expected a finite number above 0, found " + std::to_string(limit));
  }
  double least = 0;
  for (const TypeGroup& group : groups) {
    least += std::ranges::min_element(group.costs, {}, &TypeCost::loss)->loss;
  }
  if (least > limit * (1 - 1e-6)) {
    std::array<char, 32> text{};
    const auto end =
        std::to_chars(text.data(), text.data() + text.size(), least, std::chars_format::general, 4);
    fail(ErrorKind::kUsage, std::string("loss: the types that lose least have a predicted "
                                        "divergence of ") +
                                std::string(text.data(), end.ptr) + " nats per token; allow more");
  }
}

}  // namespace

void require_size(std::size_t least, std::size_t bytes) {
  if (least <= bytes) return;
  fail(ErrorKind::kUsage,
       "size: " + std::to_string(bytes) + " bytes are left for matrices, the smallest types take " +
           std::to_string(least) + "; ask for " + std::to_string(least - bytes) + " bytes more");
}

std::vector<const WeightType*> types_to_choose(bool is_gguf, const WeightId& id, std::size_t cols) {
  if (id.role == WeightRole::kBlockInputTable) is_gguf = true;  // see block_input_type()
  if (!is_gguf && is_table(id)) {
    return types_that_hold({"2x6", "2x7", "2x8", "2x10", "Q8_0"}, cols);
  }
  if (!is_gguf) return types_that_hold({"4x8", "4x9", "4x10", "2x6", "2x7", "2x8", "2x10"}, cols);
  if (weight_type("Q4_K").can_hold(cols)) {
    return types_that_hold({"Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "Q8_0"}, cols);
  }
  return types_that_hold({"Q2_0", "Q4_0", "Q5_0", "Q8_0"}, cols);
}

TypeCosts measure_type_costs(const MatrixWalkJob& job, const Sensitivities& sensitivities,
                             const std::map<WeightId, std::vector<const WeightType*>>& types) {
  TypeCosts costs;
  measure_type_costs(job, sensitivities, types, costs);
  return costs;
}

void measure_type_costs(const MatrixWalkJob& job, const Sensitivities& sensitivities,
                        const std::map<WeightId, std::vector<const WeightType*>>& types,
                        TypeCosts& costs) {
  const LossPredictor predictor(job, sensitivities);
  walk_matrices(
      job,
      [&](const WeightId& id) {
        const auto found = types.find(id);
        return found != types.end() && !found->second.empty() && !costs.contains(id);
      },
      [&](const VisitedMatrix& matrix) {
        for (const WeightType* type : types.at(matrix.id)) {
          const double loss = matrix.id.role == WeightRole::kBlockInputTable
                                  ? block_input_loss(predictor, matrix, *type)
                                  : matrix_loss(predictor, matrix, *type);
          const std::size_t bytes = type->size_bytes(matrix.values.rows(), matrix.values.cols());
          add_cost(matrix, {type, loss, bytes}, costs[matrix.id]);
        }
      });
}

BudgetedTypes choose_within(const TypeCosts& costs, std::size_t bytes,
                            const std::map<WeightId, std::string>& tensor_of) {
  const std::vector<TypeGroup> groups = groups_of(costs, tensor_of);
  check_budget(groups, bytes);
  compress::KnapsackProblem problem;
  problem.budgets[0] = static_cast<std::int64_t>(bytes);
  for (const TypeGroup& group : groups) {
    auto& item = problem.items.emplace_back();
    for (const TypeCost& cost : group.costs) {
      item.push_back({cost.loss, {static_cast<std::int64_t>(cost.bytes), 0}});
    }
  }
  return types_of(groups, problem);
}

BudgetedTypes choose_below(const TypeCosts& costs, double loss,
                           const std::map<WeightId, std::string>& tensor_of) {
  const std::vector<TypeGroup> groups = groups_of(costs, tensor_of);
  check_loss(groups, loss);
  compress::KnapsackProblem problem;
  problem.budgets[0] = steps_of(loss, loss);
  for (const TypeGroup& group : groups) {
    auto& item = problem.items.emplace_back();
    for (const TypeCost& cost : group.costs) {
      item.push_back({static_cast<double>(cost.bytes), {steps_of(cost.loss, loss), 0}});
    }
  }
  return types_of(groups, problem);
}

}  // namespace halftone::lm
