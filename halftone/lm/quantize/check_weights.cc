// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/check_weights.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/base/printable.h"

namespace halftone::lm {
namespace {

constexpr std::size_t kCheckedRows = 256;
constexpr float kMaxWeight = 1e15F;  // fits square weights

bool is_bad(float weight) { return !(std::abs(weight) <= kMaxWeight); }

/// The index of the first bad one of some rows; their size if there is none.
std::size_t first_bad(const Weight& weight, std::size_t row, std::vector<float>& values) {
  weight.decode(row, values);
  return static_cast<std::size_t>(std::ranges::find_if(values, is_bad) - values.begin());
}

void check_weight(const Weight& weight) {
  const std::size_t rows = weight.shape.size() > 1 ? weight.outputs() : 1;
  const std::size_t cols = weight.num_elements() / rows;
  const std::size_t pieces = (rows + kCheckedRows - 1) / kCheckedRows;
  std::vector<char> is_piece_bad(pieces, 0);
  const auto values_of = [&](std::size_t piece) {
    const std::size_t count = std::min(kCheckedRows, rows - piece * kCheckedRows);
    return std::vector<float>(count * cols);
  };
  parallel_for(pieces, [&](std::size_t piece) {
    std::vector<float> values = values_of(piece);
    if (first_bad(weight, piece * kCheckedRows, values) < values.size()) is_piece_bad[piece] = 1;
  });
  const auto found = std::ranges::find(is_piece_bad, 1);
  if (found == is_piece_bad.end()) return;
  const auto piece = static_cast<std::size_t>(found - is_piece_bad.begin());
  std::vector<float> values = values_of(piece);
  const std::size_t at = first_bad(weight, piece * kCheckedRows, values);
  fail(ErrorKind::kFormat, "tensor '" + printable(weight.name) + "': row " +
                               std::to_string(piece * kCheckedRows + at / cols) + ", column " +
                               std::to_string(at % cols) +
                               ": expected a number of magnitude up to 1e15, found " +
                               number_text(values[at]) + "; the model is broken");
}

}  // namespace

void check_weights(const ModelParts& model) {
  for (const WeightId& id : needed_weights(model.description)) {
    check_weight(model.weights.at(id));
  }
}

}  // namespace halftone::lm
