// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
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
  const float* sink;  ///< null without
};

/// Rounds numbers to integers, in place; returns their scale. As quantize_rows_reference().
float round_to_steps(std::span<float> x, int steps) {
  float largest = 0;
  for (const float value : x) {
    if (!std::isfinite(value)) largest = std::numeric_limits<float>::infinity();
    largest = std::max(largest, std::abs(value));
  }
  const float per_unit = static_cast<float>(steps) / largest;
  const bool zero = std::isinf(largest) || std::isinf(per_unit);
  for (float& value : x) value = zero ? 0 : std::nearbyint(value * per_unit);
  if (zero) return std::isinf(largest) ? std::numeric_limits<float>::quiet_NaN() : 0;
  return largest / static_cast<float>(steps);
}

/// Scores of the positions that a query sees; before them, none.
std::vector<float> scores_of(const AttentionInputs& in, const OneQuery& one) {
  const bool integers = has_integers(in.keys.shape.type);
  std::vector<float> query(one.query.begin(), one.query.end());
  if (is_rotated(in.keys.shape.type)) numerics::rotate_blocks(query);
  float scale = in.shape.scale;
  if (integers) scale *= round_to_steps(query, query_steps(query.size()));
  std::vector<float> key(query.size());
  std::vector<float> scores(one.last.position + 1);
  for (std::size_t t = in.shape.first_seen(one.last.position); t < scores.size(); ++t) {
    const float key_scale =
        read_key(in.keys.shape, in.keys.bytes, {one.last.sequence, t, one.last.head}, key);
    float sum = 0;
    std::int64_t exact = 0;
    for (std::size_t i = 0; i < key.size(); ++i) {
      if (integers) {
        exact += static_cast<std::int64_t>(query[i]) * static_cast<std::int64_t>(key[i]);
      } else {
        sum += query[i] * key[i];
      }
    }
    scores[t] = (integers ? static_cast<float>(exact) : sum) * key_scale * scale;
    const float cap = in.shape.softcap;
    if (cap != 0) scores[t] = cap * tanh_reference(scores[t] / cap);
  }
  return scores;
}

/// Turns scores from `first` on into weights; returns the sum of these and of that of the sink.
float exponentials(std::span<float> scores, std::size_t first, const float* sink) {
  float largest = -std::numeric_limits<float>::infinity();
  for (const float score : scores.subspan(first)) largest = score > largest ? score : largest;
  std::array<float, 16> partial{};
  for (std::size_t t = first; t < scores.size(); ++t) {
    scores[t] = exp_reference(scores[t] - largest);
    partial[t % 16] += scores[t];
  }
  for (std::size_t h = 8; h != 0; h /= 2) {
    for (std::size_t l = 0; l < h; ++l) partial[l] += partial[l + h];
  }
  return sink == nullptr ? partial[0] : partial[0] + exp_reference(*sink - largest);
}

/// Adds e_t v_t for t in [begin, end) to `sums`: in order, or as a product of integers.
void add_values(const AttentionInputs& in, const OneQuery& one, std::span<const float> e,
                std::size_t begin, std::span<float> sums) {
  std::vector<float> value(sums.size());
  std::vector<float> weights(e.begin(), e.end());
  const bool integers = has_integers(in.values.shape.type);
  const auto read = [&](std::size_t t) {
    return read_value(in.values.shape, in.values.bytes, {one.last.sequence, t, one.last.head},
                      value);
  };
  if (integers) {
    for (std::size_t k = 0; k < e.size(); ++k) weights[k] *= read(begin + k);
  }
  const float scale = integers ? round_to_steps(weights, kWeightSteps) : 1;
  std::vector<std::int64_t> exact(sums.size());
  for (std::size_t k = 0; k < e.size(); ++k) {
    read(begin + k);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (integers) {
        exact[i] += static_cast<std::int64_t>(weights[k]) * static_cast<std::int64_t>(value[i]);
      } else {
        sums[i] += weights[k] * value[i];
      }
    }
  }
  for (std::size_t i = 0; i < sums.size() && integers; ++i) {
    sums[i] += static_cast<float>(exact[i]) * scale;
  }
}

void attend_one(const AttentionInputs& in, const OneQuery& one) {
  std::vector<float> scores = scores_of(in, one);
  const std::size_t first = in.shape.first_seen(one.last.position);
  const float total = exponentials(scores, first, one.sink);
  std::vector<float> sums(in.shape.value_size);
  for (std::size_t t = first; t < scores.size();) {
    const std::size_t end = std::min(scores.size(), (t / kWeightGroup + 1) * kWeightGroup);
    add_values(in, one, std::span(scores).subspan(t, end - t), t, sums);
    t = end;
  }
  const auto one_nan = [](float y) {
    return std::isnan(y) ? std::numeric_limits<float>::quiet_NaN() : y;
  };
  for (std::size_t i = 0; i < sums.size(); ++i) one.out[i] = one_nan(sums[i] / total);
  if (!is_rotated(in.values.shape.type)) return;
  numerics::rotate_blocks(one.out);
  std::ranges::transform(one.out, one.out.begin(), one_nan);
}

}  // namespace

void attend_reference(const AttentionInputs& in, MatrixView<float> out) {
  const AttentionShape& shape = in.shape;
  for (std::size_t r = 0; r < in.rows.count(); ++r) {
    for (std::size_t h = 0; h < shape.heads; ++h) {
      attend_one(in, {in.queries.row(r).subspan(h * shape.key_size, shape.key_size),
                      out.row(r).subspan(h * shape.value_size, shape.value_size),
                      {static_cast<std::size_t>(in.rows.slots[r]),
                       static_cast<std::size_t>(in.rows.positions[r]), h / shape.group()},
                      shape.sinks.empty() ? nullptr : &shape.sinks[h]});
    }
  }
}

void rotate_reference(const RotaryShape& shape, MatrixView<const float> x,
                      std::span<const std::int32_t> positions, const RotaryTables& tables,
                      MatrixView<float> y) noexcept {
  const std::size_t size = x.cols() / shape.heads;
  const std::size_t pairs = shape.dims / 2;
  const bool halves = shape.pairing == RotaryPairing::kNeox;
  for (std::size_t r = 0; r < x.rows(); ++r) {
    const auto position = static_cast<std::size_t>(positions[r]);
    for (std::size_t h = 0; h < shape.heads; ++h) {
      for (std::size_t i = 0; i < pairs; ++i) {
        const std::size_t at_a = h * size + (halves ? i : 2 * i);
        const std::size_t at_b = at_a + (halves ? pairs : 1);
        const float a = x(r, at_a);
        const float b = x(r, at_b);
        const float c = tables.cosines(position, i);
        const float s = tables.sines(position, i);
        y(r, at_a) = a * c - b * s;
        y(r, at_b) = a * s + b * c;
      }
      for (std::size_t i = shape.dims; i < size; ++i) y(r, h * size + i) = x(r, h * size + i);
    }
  }
}

}  // namespace halftone::kernels
