// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/fit_model.h"

#include <algorithm>

#include "halftone/base/parallel.h"
#include "halftone/compress/fit/group_error.h"

namespace halftone::lm {
namespace {

FittedMatrix fit_matrix(const VisitedMatrix& matrix, const WeightType& type,
                        const compress::GroupFitOptions& options) {
  const auto fit = compress::fit_groups(matrix.values, *type.encoding, matrix.metric, options);
  FittedMatrix fitted{&type, matrix.values.rows(), matrix.values.cols(), encode_fit(fit, type)};
  const std::span<const float> weights(matrix.values.data_handle(), matrix.values.size());
  if (std::ranges::all_of(weights, [](float w) { return w == 0; })) return fitted;
  const std::vector<float> decoded = decode(fitted);
  fitted.error = compress::relative_output_error(
      matrix.values, MatrixView<const float>(decoded, fitted.rows, fitted.cols), matrix.moments);
  return fitted;
}

}  // namespace

std::vector<float> decode(const FittedMatrix& matrix) {
  const numerics::BlockEncoding& encoding = *matrix.encoded.encoding;
  const std::size_t padded = matrix.type->blocks_per_row(matrix.cols) * encoding.block;
  const std::size_t row_bytes = encoding.bytes_of(padded);
  std::vector<float> values(matrix.rows * matrix.cols);
  parallel_for(matrix.rows, [&](std::size_t r) {
    std::vector<float> row(padded);
    numerics::decode_blocks(encoding, matrix.encoded.bytes.bytes.subspan(r * row_bytes, row_bytes),
                            row);
    std::copy_n(row.begin(), matrix.cols,
                values.begin() + static_cast<std::ptrdiff_t>(r * matrix.cols));
  });
  return values;
}

const WeightType& final_transform_type() {
  static const WeightType& type = weight_type("Q8_0");
  return type;
}

FittedMatrices fit_model(const Model& model, const Folding& folding, const TypeChoice& choice,
                         const Samples& samples, const ModelFitOptions& options) {
  FittedMatrices fitted = options.known;
  const auto type_of = [&](const WeightId& id) -> const WeightType* {
    if (id.role != WeightRole::kFinalTransform) {
      const auto found = choice.find(id);
      return found != choice.end() ? found->second : nullptr;
    }
    const WeightType& type = final_transform_type();
    return type.can_hold(model.description.width) ? &type : nullptr;
  };
  MatrixWalkJob job{model,           folding,          samples, options.damping,
                    options.threads, options.progress, {},      options.on_losses};
  if (options.on_block) job.on_block = [&] { options.on_block(fitted); };
  walk_matrices(
      job, [&](const WeightId& id) { return type_of(id) != nullptr && !fitted.contains(id); },
      [&](const VisitedMatrix& matrix) {
        fitted.emplace(matrix.id, fit_matrix(matrix, *type_of(matrix.id), options.groups));
      });
  return fitted;
}

}  // namespace halftone::lm
