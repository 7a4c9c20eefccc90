// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "halftone/kernels/activation/activation.h"
#include "halftone/kernels/attention/attention.h"

namespace halftone::kernels {
namespace {

/// One head of one row.
struct OneQuery {
  std::span<const float> query;
  std::span<float> out;
  CachePosition last;
};

/// Scores of the positions that a query sees; before them, none.
std::vector<float> scores_of(const AttentionInputs& in, const OneQuery& one) {
  std::vector<float> key(in.shape.key_size);
  std::vector<float> scores(one.last.position + 1);
  for (std::size_t t = in.shape.first_seen(one.last.position); t <= one.last.position; ++t) {
    const float key_scale =
        read_key(in.keys.shape, in.keys.bytes, {one.last.sequence, t, one.last.head}, key);
    float sum = 0;
    for (std::size_t i = 0; i < key.size(); ++i) sum += one.query[i] * key[i];
    scores[t] = sum * key_scale * in.shape.scale;
    const float cap = in.shape.softcap;
    if (cap != 0) scores[t] = cap * tanh_reference(scores[t] / cap);
  }
  return scores;
}

void attend_one(const AttentionInputs& in, const OneQuery& one) {
  const std::vector<float> scores = scores_of(in, one);
  const std::size_t first = in.shape.first_seen(one.last.position);
  float largest = -std::numeric_limits<float>::infinity();
  for (std::size_t t = first; t < scores.size(); ++t) {
    largest = scores[t] > largest ? scores[t] : largest;
  }
  std::array<float, 16> partial{};
  std::vector<float> value(in.shape.value_size);
  std::vector<float> sums(in.shape.value_size);
  for (std::size_t t = first; t < scores.size(); ++t) {
    const float e = exp_reference(scores[t] - largest);
    partial[t % 16] += e;
    const float weight = e * read_value(in.values.shape, in.values.bytes,
                                        {one.last.sequence, t, one.last.head}, value);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += weight * value[i];
  }
  for (std::size_t h = 8; h != 0; h /= 2) {
    for (std::size_t l = 0; l < h; ++l) partial[l] += partial[l + h];
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const float y = sums[i] / partial[0];
    one.out[i] = std::isnan(y) ? std::numeric_limits<float>::quiet_NaN() : y;
  }
}

}  // namespace

void attend_reference(const AttentionInputs& in, MatrixView<float> out) {
  const AttentionShape& shape = in.shape;
  for (std::size_t r = 0; r < in.rows.count(); ++r) {
    for (std::size_t h = 0; h < shape.heads; ++h) {
      attend_one(in, {in.queries.row(r).subspan(h * shape.key_size, shape.key_size),
                      out.row(r).subspan(h * shape.value_size, shape.value_size),
                      {static_cast<std::size_t>(in.rows.slots[r]),
                       static_cast<std::size_t>(in.rows.positions[r]), h / shape.group()}});
    }
  }
}

}  // namespace halftone::kernels
