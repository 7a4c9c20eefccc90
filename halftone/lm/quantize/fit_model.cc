// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/fit_model.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "halftone/base/parallel.h"
#include "halftone/compress/fit/group_error.h"

namespace halftone::lm {
namespace {

FittedMatrix fit_matrix(const VisitedMatrix& matrix, const WeightType& type,
                        const compress::MatrixFitOptions& options) {
  const auto fit = fit_to_type(type, matrix.values, matrix.metric, options);
  FittedMatrix fitted{&type, matrix.values.rows(), matrix.values.cols(), encode_fit(fit, type)};
  const std::span<const float> weights(matrix.values.data_handle(), matrix.values.size());
  if (std::ranges::all_of(weights, [](float w) { return w == 0; })) return fitted;
  const std::vector<float> decoded = decode(fitted);
  fitted.error = compress::relative_output_error(
      matrix.values, MatrixView<const float>(decoded, fitted.rows, fitted.cols), matrix.moments);
  return fitted;
}

/// The sum of the squares of a piece.
double size_of(MatrixView<const float> values) {
  double sum = 0;
  for (std::size_t r = 0; r < values.rows(); ++r) {
    for (const float value : values.row(r)) sum += double{value} * double{value};
  }
  return sum;
}

/// Matrices whose pieces come one after the other.
class FittedPieces {
 public:
  explicit FittedPieces(const ModelParts& model) : model_(model) {}

  /// @return the matrix with the last of its pieces
  std::optional<FittedMatrix> add(const VisitedMatrix& matrix, FittedMatrix piece) {
    const std::size_t rows = model_.weights.at(matrix.id).outputs();
    if (matrix.first_row == 0) {
      bytes_.clear();
      bytes_.reserve(piece.type->size_bytes(rows, piece.cols));
      error_ = size_ = 0;
    }
    const std::span<const std::byte> more = piece.encoded.bytes.bytes;
    bytes_.insert(bytes_.end(), more.begin(), more.end());
    const double size = size_of(matrix.values);
    error_ += piece.error * size;
    size_ += size;
    if (matrix.first_row + piece.rows < rows) return std::nullopt;
    piece.rows = rows;
    piece.error = size_ == 0 ? 0 : error_ / size_;
    piece.encoded.bytes = own_bytes(std::move(bytes_));
    bytes_ = {};
    return piece;
  }

 private:
  const ModelParts& model_;
  std::vector<std::byte> bytes_;
  double error_ = 0;
  double size_ = 0;
};

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

FittedMatrices fit_model(const ModelParts& model, const Folding& folding, const TypeChoice& choice,
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
                    options.threads, options.progress, {},      options.on_losses,
                    options.piece};
  if (options.on_block) job.on_block = [&] { options.on_block(fitted); };
  FittedPieces pieces(model);
  walk_matrices(
      job, [&](const WeightId& id) { return type_of(id) != nullptr && !fitted.contains(id); },
      [&](const VisitedMatrix& matrix) {
        FittedMatrix one = fit_matrix(matrix, *type_of(matrix.id), options.groups);
        if (matrix.id.role != WeightRole::kBlockInputTable) {
          fitted.emplace(matrix.id, std::move(one));
        } else if (auto whole = pieces.add(matrix, std::move(one))) {
          fitted.emplace(matrix.id, std::move(*whole));
        }
      });
  return fitted;
}

}  // namespace halftone::lm
