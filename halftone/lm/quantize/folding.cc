// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/folding.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>

#include "halftone/base/error.h"

namespace halftone::lm {
namespace {

/// A matrix and the norm whose rows it reads.
struct Reader {
  WeightRole matrix;
  WeightRole norm;
};

constexpr Reader kReaders[] = {{WeightRole::kMixerInput, WeightRole::kAttentionNorm},
                               {WeightRole::kMixerGate, WeightRole::kAttentionNorm},
                               {WeightRole::kMixerSteps, WeightRole::kAttentionNorm},
                               {WeightRole::kMixerBeta, WeightRole::kAttentionNorm},
                               {WeightRole::kQuery, WeightRole::kAttentionNorm},
                               {WeightRole::kKey, WeightRole::kAttentionNorm},
                               {WeightRole::kValue, WeightRole::kAttentionNorm},
                               {WeightRole::kGate, WeightRole::kFeedForwardNorm},
                               {WeightRole::kUp, WeightRole::kFeedForwardNorm},
                               {WeightRole::kRouter, WeightRole::kFeedForwardNorm},
                               {WeightRole::kSharedGate, WeightRole::kFeedForwardNorm},
                               {WeightRole::kSharedUp, WeightRole::kFeedForwardNorm},
                               {WeightRole::kSharedRouter, WeightRole::kFeedForwardNorm},
                               {WeightRole::kExpertGate, WeightRole::kFeedForwardNorm},
                               {WeightRole::kExpertUp, WeightRole::kFeedForwardNorm},
                               {WeightRole::kFinalTransform, WeightRole::kFinalNorm},
                               {WeightRole::kHead, WeightRole::kFinalNorm}};

std::optional<WeightRole> norm_before(WeightRole role) {
  const auto* const found = std::ranges::find(kReaders, role, &Reader::matrix);
  if (found == std::end(kReaders)) return std::nullopt;
  return found->norm;
}

bool is_norm_before_matrices(WeightRole role) {
  return role == WeightRole::kAttentionNorm || role == WeightRole::kFeedForwardNorm ||
         role == WeightRole::kFinalNorm;
}

bool writes_rows(WeightRole role) {
  return role == WeightRole::kAttentionOutput || role == WeightRole::kMixerOutput ||
         role == WeightRole::kDown || role == WeightRole::kSharedDown ||
         role == WeightRole::kExpertDown;
}

bool is_table_of_rows(WeightRole role) {
  return role == WeightRole::kTokenEmbedding || role == WeightRole::kPositionEmbedding;
}

/// w[r, c] factor(c) for all rows.
template <typename ColumnFactor>
void scale_columns(std::vector<float>& w, std::size_t cols, const ColumnFactor& factor) {
  for (std::size_t i = 0; i < w.size(); ++i) w[i] *= factor(i % cols);
}

MatrixView<float> matrix_of(std::vector<float>& values, std::size_t cols) {
  return {values.data(), values.size() / cols, cols, cols};
}

}  // namespace

Folding::Folding(const ModelParts& model, const FoldOptions& options)
    : model_(model), description_(model.description) {
  const Description& d = model.description;
  const bool has_own_values =
      d.latent_width == 0 && d.full_head_width == 0 && d.sharing_blocks == 0;
  if (!options.rotates || !has_own_values) return;
  if (!d.has_sub_norms && !d.gates_attention) {
    heads_.emplace(d.value_width, d.heads, options.seed + 1);
    values_.emplace(d.value_width, d.kv_heads, options.seed + 1);
  }
  if (d.norm != Norm::kRms || d.has_post_norms || d.shares_pre_norm) return;
  rows_.emplace(d.width, 1, options.seed);
  description_.norm_offset = 0;
  description_.has_final_transform = d.ties_embeddings;
}

const Rotation* Folding::input_rotation(WeightRole role) const {
  if (role == WeightRole::kAttentionOutput) return heads_ ? &*heads_ : nullptr;
  if (norm_before(role) || is_table_of_rows(role)) return rows_ ? &*rows_ : nullptr;
  return nullptr;
}

const Rotation* Folding::output_rotation(WeightRole role) const {
  if (role == WeightRole::kValue) return values_ ? &*values_ : nullptr;
  return writes_rows(role) && rows_ ? &*rows_ : nullptr;
}

std::vector<float> Folding::gains(const WeightId& norm) const {
  std::vector<float> gains = model_.weights.at(norm).decode();
  for (float& gain : gains) gain += static_cast<float>(model_.description.norm_offset);
  return gains;
}

std::vector<float> Folding::gains_before(const WeightId& id) const {
  const auto norm = norm_before(id.role);
  if (!rows_ || !norm) return {};
  return gains({.role = *norm, .block = *norm == WeightRole::kFinalNorm ? 0 : id.block});
}

std::vector<float> Folding::final_transform() const {
  const std::size_t n = description_.width;
  const std::vector<float> diagonal = gains({.role = WeightRole::kFinalNorm});
  std::vector<float> values(n * n);
  for (std::size_t i = 0; i < n; ++i) values[i * n + i] = diagonal[i];
  rows_->apply_to_rows(matrix_of(values, n));
  rows_->apply_to_columns(matrix_of(values, n));
  return values;
}

std::vector<float> Folding::weight(const WeightId& id) const {
  if (id.role == WeightRole::kFinalTransform) return final_transform();
  if (rows_ && is_norm_before_matrices(id.role)) return std::vector<float>(description_.width, 1);
  const Weight& stored = model_.weights.at(id);
  std::vector<float> values = stored.decode();
  const Rotation* output = output_rotation(id.role);
  if (id.part == Part::kBias) {
    if (output != nullptr) output->apply(values);
    return values;
  }
  const std::size_t cols = stored.inputs();
  const std::vector<float> factors = gains_before(id);
  if (!factors.empty()) scale_columns(values, cols, [&](std::size_t c) { return factors[c]; });
  if (const Rotation* input = input_rotation(id.role))
    input->apply_to_rows(matrix_of(values, cols));
  if (output != nullptr) output->apply_to_columns(matrix_of(values, cols));
  return values;
}

bool Folding::changes(const WeightId& id) const {
  return input_rotation(id.role) != nullptr || output_rotation(id.role) != nullptr ||
         !gains_before(id).empty();
}

void Folding::unfold_outputs(const WeightId& id, MatrixView<float> matrix) const {
  const Rotation* output = output_rotation(id.role);
  if (output == nullptr) return;
  for (std::size_t first = 0; first < matrix.rows(); first += output->size()) {
    output->apply_inverse_to_columns(matrix.rows_from(first, output->size()));
  }
}

void Folding::unfold_inputs(const WeightId& id, MatrixView<float> matrix) const {
  if (const Rotation* input = input_rotation(id.role)) input->apply_inverse_to_rows(matrix);
}

void Folding::unfold(const WeightId& id, std::vector<float>& weights) const {
  const std::size_t cols = model_.weights.at(id).inputs();
  unfold_outputs(id, matrix_of(weights, cols));
  unfold_inputs(id, matrix_of(weights, cols));
  const std::vector<float> factors = gains_before(id);
  if (factors.empty()) return;
  scale_columns(weights, cols, [&](std::size_t c) { return factors[c] == 0 ? 0 : 1 / factors[c]; });
}

void Folding::fold_moments(const WeightId& id, double channel_damping,
                           std::vector<float>& moments) const {
  const std::vector<float> factors = gains_before(id);
  // The product of two gains may be too small for a float.
  const auto inverse = [&](std::size_t i) {
    return factors[i] == 0 ? 0.0 : 1 / static_cast<double>(factors[i]);
  };
  const auto n = static_cast<std::size_t>(std::sqrt(static_cast<double>(moments.size())));
  for (std::size_t i = 0; i < n && !factors.empty(); ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      moments[i * n + j] = static_cast<float>(moments[i * n + j] * inverse(i) * inverse(j));
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    moments[i * n + i] *= static_cast<float>(1 + channel_damping);
  }
  const Rotation* input = input_rotation(id.role);
  if (input == nullptr) return;
  input->apply_to_rows(matrix_of(moments, n));
  input->apply_to_columns(matrix_of(moments, n));
}

}  // namespace halftone::lm
