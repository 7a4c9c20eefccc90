// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/type_costs.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "halftone/base/error.h"
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
  LossPredictor(const MatrixWalkJob& job, const SquaredGradients& gradients)
      : job_(job), gradients_(gradients), frequencies_(job.model.description.vocabulary) {
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
    const auto outputs = gradients_.outputs.find(head_of(matrix.id));
    if (outputs != gradients_.outputs.end()) {
      job_.folding.unfold_outputs(matrix.id, view);
      sum += output_loss(view, matrix.moments, outputs->second, matrix.id);
    }
    if (matrix.id.role == WeightRole::kTokenEmbedding) {
      job_.folding.unfold_inputs(matrix.id, view);
      sum += table_loss(view, gradients_.embedding, frequencies_);
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
    return table_loss(errors, gradients_.block_inputs, frequencies);
  }

 private:
  /// The matrix whose outputs are those of `id`.
  [[nodiscard]] WeightId head_of(const WeightId& id) const {
    const bool is_head =
        id.role == WeightRole::kTokenEmbedding && job_.model.description.ties_embeddings;
    return is_head ? WeightId{.role = WeightRole::kHead} : id;
  }
  [[nodiscard]] double output_loss(MatrixView<const float> errors, MatrixView<const float> moments,
                                   const std::vector<double>& gradients, const WeightId& id) const {
    const std::vector<float> nothing(errors.size());
    const double loss = compress::predicted_loss(
        compress::output_errors(
            errors, MatrixView<const float>(nothing, errors.rows(), errors.cols()), moments),
        gradients);
    if (id.role < WeightRole::kExpertGate) return loss;
    const Description& d = job_.model.description;
    return loss * static_cast<double>(d.active_experts) / static_cast<double>(d.experts);
  }
  /// Of errors of rows that tokens look up.
  static double table_loss(MatrixView<const float> errors, const std::vector<double>& gradients,
                           const std::vector<double>& frequencies) {
    double sum = 0;
    for (std::size_t r = 0; r < errors.rows(); ++r) {
      if (frequencies[r] == 0) continue;
      double row = 0;
      for (std::size_t c = 0; c < errors.cols(); ++c) {
        row += gradients[c] * double{errors(r, c)} * double{errors(r, c)};
      }
      sum += frequencies[r] * row;
    }
    return sum / 2;
  }

  const MatrixWalkJob& job_;
  const SquaredGradients& gradients_;
  std::vector<double> frequencies_;      ///< of tokens
  std::vector<double> row_frequencies_;  ///< of rows of the table of blocks' inputs
};

/// The types that are a choice for some matrix, and others, by rising bits.
std::vector<const WeightType*> types_by_bits(const TypeCosts& costs,
                                             std::vector<const WeightType*> types) {
  for (const auto& [id, list] : costs) {
    for (const TypeCost& cost : list) types.push_back(cost.type);
  }
  std::ranges::sort(types, [](const WeightType* a, const WeightType* b) {
    return std::pair(a->bits(), a->name) < std::pair(b->bits(), b->name);
  });
  types.erase(std::unique(types.begin(), types.end()), types.end());
  return types;
}

std::vector<compress::SensitiveUnit> units_of(const TypeCosts& costs,
                                              const TensorsOfMatrices& tensor_of) {
  std::map<std::string, std::size_t> known;
  std::vector<compress::SensitiveUnit> units;
  std::size_t layer = 0;
  for (const auto& [id, list] : costs) {
    const auto tensor = tensor_of.find(id);
    const bool is_new =
        tensor == tensor_of.end() || known.emplace(tensor->second, units.size()).second;
    if (is_new) {
      units.push_back({{layer}});
    } else {
      units[known.at(tensor->second)].layers.push_back(layer);
    }
    ++layer;
  }
  return units;
}

/// All matrices in a type. @param units  of the matrices
compress::ChoiceSensitivity choice_of(const WeightType& type, const TypeCosts& costs,
                                      const std::vector<compress::SensitiveUnit>& units) {
  compress::ChoiceSensitivity choice{type.name, {}, {}};
  std::vector<bool> is_possible;
  for (const auto& [id, list] : costs) {
    const auto cost = std::ranges::find(list, &type, &TypeCost::type);
    is_possible.push_back(cost != list.end());
    compress::LayerSensitivity& layer = choice.layers.emplace_back();
    if (cost == list.end()) continue;
    layer.weight_bits = type.bits();
    layer.bytes = cost->bytes;
    layer.weighted_error = cost->loss;
  }
  for (const compress::SensitiveUnit& each : units) {
    compress::UnitSensitivity& unit = choice.units.emplace_back();
    for (const std::size_t layer : each.layers) {
      unit.bytes += choice.layers[layer].bytes;
      unit.loss += choice.layers[layer].weighted_error;
      unit.is_possible = unit.is_possible && is_possible[layer];
    }
  }
  return choice;
}

compress::Corrections with_bytes(double beside) {
  compress::Corrections corrections;
  corrections.offset[compress::Measure::kBytes] = beside;
  return corrections;
}

/// W - Q of a quick fit.
std::vector<float> quick_errors(MatrixView<const float> w, const WeightType& type,
                                const compress::Metric<float>& metric) {
  std::vector<float> errors(w.size());
  const auto fit = fit_to_type(type, w, metric, kQuickFit);
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

}  // namespace

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

void measure_type_costs(const MatrixWalkJob& job, const SquaredGradients& gradients,
                        const TypeMenu& types, TypeCosts& costs) {
  const LossPredictor predictor(job, gradients);
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

compress::Sensitivity sensitivity_of(const TypeCosts& costs, const TensorsOfMatrices& tensor_of,
                                     const std::vector<const WeightType*>& types) {
  compress::Sensitivity found;
  found.loss = "kl";
  found.weighted_by = "gradients";
  found.layers.resize(costs.size());
  found.units = units_of(costs, tensor_of);
  for (const WeightType* type : types_by_bits(costs, types)) {
    found.choices.push_back(choice_of(*type, costs, found.units));
  }
  return found;
}

BudgetedTypes choose_within(const TypeCosts& costs, const compress::Budget& budget, double beside,
                            const TensorsOfMatrices& tensor_of) {
  constexpr std::size_t kFrontBudgets = 24;
  const compress::Sensitivity found = sensitivity_of(costs, tensor_of);
  const compress::Corrections corrections = with_bytes(beside);
  const compress::Allocation best = compress::allocate(found, budget, corrections);
  std::vector<WeightId> ids;
  for (const auto& [id, list] : costs) ids.push_back(id);
  BudgetedTypes result;
  result.loss = best.values[compress::Measure::kLoss];
  result.bytes = best.values[compress::Measure::kBytes];
  for (std::size_t u = 0; u < found.units.size(); ++u) {
    const WeightType& type = weight_type(found.choices[best.choices[u]].name);
    for (const std::size_t layer : found.units[u].layers) result.choice.emplace(ids[layer], &type);
  }
  for (const compress::Allocation& each :
       compress::pareto_front(found, corrections, compress::Measure::kBytes, kFrontBudgets)) {
    result.front.push_back(compress::known_costs(found, each.values));
  }
  return result;
}

void check_budget(const TypeCosts& costs, const compress::Budget& budget, double beside,
                  const TensorsOfMatrices& tensor_of) {
  compress::check_budget(sensitivity_of(costs, tensor_of), budget, with_bytes(beside));
}

}  // namespace halftone::lm
