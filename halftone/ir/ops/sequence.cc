// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/sequence.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "halftone/base/elementary.h"
#include "halftone/base/half.h"
#include "halftone/ir/extent.h"
#include "halftone/numerics/rotated_codes.h"

namespace halftone::ir {
namespace {

void require_places(InputTypes inputs, std::size_t index, Dim rows) {
  require(
      inputs[index] != nullptr && *inputs[index] == dense_type(ElementType::kInt32, Shape{rows}),
      "input " + std::to_string(index) + ": expected int32[" + to_string(rows) + "], found " +
          (inputs[index] == nullptr ? "none" : inputs[index]->to_string()));
}

void require_heads(const char* what, Dim width, std::size_t heads) {
  require(heads > 0 && width > 0 && static_cast<std::size_t>(width) % heads == 0,
          std::string(what) + ": expected a multiple of " + std::to_string(heads) +
              " heads, found " + to_string(width));
}

void require_rank(InputTypes inputs, std::size_t index, std::size_t rank) {
  require_float(inputs, index);
  require(inputs[index]->shape.rank() == rank, "input " + std::to_string(index) + ": expected " +
                                                   std::to_string(rank) + " axes, found " +
                                                   inputs[index]->to_string());
}

/// Shapes that keys and values of an Attention share up to the last extent.
void require_same_tokens(InputTypes inputs, std::size_t a, std::size_t b) {
  const Shape& x = inputs[a]->shape;
  const Shape& y = inputs[b]->shape;
  require(may_be_equal(x[0], y[0]) && may_be_equal(x[1], y[1]),
          "expected the same tokens, found " + x.to_string() + " and " + y.to_string());
}

/// A row of a tensor [..., width].
template <typename T>
std::span<T> row_of(std::span<T> all, std::size_t row, std::size_t width) {
  return all.subspan(row * width, width);
}

std::size_t place(std::int32_t index, Dim extent, const char* what) {
  require(index >= 0 && index < extent, std::string(what) + ": expected 0 to " +
                                            to_string(extent - 1) + ", found " +
                                            std::to_string(index));
  return static_cast<std::size_t>(index);
}

/// The keys and values that a token may see.
struct AttentionTokens {
  std::span<const float> keys;    ///< [tokens, kv_heads D]
  std::span<const float> values;  ///< [tokens, kv_heads E]
  std::size_t first = 0;
  std::size_t last = 0;            ///< included
  std::span<const float> sinks{};  ///< of all heads, or none
};

float score(const Attention& op, std::span<const float> q, std::span<const float> k) {
  float sum = 0;
  for (std::size_t d = 0; d < q.size(); ++d) sum += q[d] * k[d];
  sum *= op.scale;
  if (op.softcap == 0) return sum;
  return op.softcap * static_cast<float>(elementary::tanh(sum / op.softcap));
}

/// One head of one token.
void attend_head(const Attention& op, std::size_t head, const AttentionTokens& tokens,
                 std::span<const float> q, std::span<float> y) {
  const std::size_t group = head / (op.heads / op.kv_heads);
  std::vector<float> p(tokens.last + 1);
  float largest = -std::numeric_limits<float>::infinity();
  for (std::size_t t = tokens.first; t <= tokens.last; ++t) {
    const auto key = row_of(tokens.keys, t * op.kv_heads + group, q.size());
    largest = elementary::larger(largest, p[t] = score(op, q, key));
  }
  float sum = 0;
  for (std::size_t t = tokens.first; t <= tokens.last; ++t) {
    sum += p[t] = static_cast<float>(elementary::exp(p[t] - largest));
  }
  if (!tokens.sinks.empty()) {
    sum += static_cast<float>(elementary::exp(tokens.sinks[head] - largest));
  }
  std::ranges::fill(y, 0.0F);
  for (std::size_t t = tokens.first; t <= tokens.last; ++t) {
    const auto value = row_of(tokens.values, t * op.kv_heads + group, y.size());
    for (std::size_t e = 0; e < y.size(); ++e) y[e] += p[t] * value[e];
  }
  for (float& number : y) number /= sum;
}

void attend_token(const Attention& op, AttentionTokens tokens, std::span<const float> q,
                  std::span<float> y) {
  if (op.window > 0 && tokens.last >= op.window) tokens.first = tokens.last + 1 - op.window;
  for (std::size_t h = 0; h < op.heads; ++h) {
    attend_head(op, h, tokens, row_of(q, h, q.size() / op.heads),
                row_of(y, h, y.size() / op.heads));
  }
}

ValueType infer_with_states(const Attention& op, InputTypes inputs) {
  require_rank(inputs, 0, 2);
  const Dim rows = inputs[0]->shape[0];
  require_places(inputs, Attention::kSlots, rows);
  require_places(inputs, Attention::kPositions, rows);
  const Dim width = inputs[2]->shape[2] / static_cast<Dim>(op.kv_heads);
  return dense_type(ElementType::kFloat32, {rows, width * static_cast<Dim>(op.heads)});
}

/// @param steps  on either side of zero
void round_to_integers(std::span<float> head, float steps) {
  float largest = 0;
  for (const float x : head) largest = elementary::larger(largest, std::fabs(x));
  const float scale = largest / steps;
  const float inverse = largest == 0 ? 0 : steps / largest;
  for (float& x : head) x = scale * std::nearbyint(x * inverse);
}

void round_to_nibbles(std::span<float> head) {
  using numerics::NibbleGroup;
  std::array<std::uint8_t, NibbleGroup::kNumbers> codes;
  for (std::size_t i = 0; i < head.size(); i += NibbleGroup::kNumbers) {
    const auto numbers = head.subspan(i, std::min(NibbleGroup::kNumbers, head.size() - i));
    const auto used = std::span(codes).first(numbers.size());
    const NibbleGroup group = numerics::encode_nibbles(numbers, used);
    std::ranges::transform(used, numbers.begin(), [&](std::uint8_t code) {
      return static_cast<float>(code) * group.unit() + group.first();
    });
  }
}

}  // namespace

std::string_view to_string(CacheNumbers numbers) {
  switch (numbers) {
    case CacheNumbers::kFloat32:
      return "float32";
    case CacheNumbers::kFloat16:
      return "float16";
    case CacheNumbers::kInt8:
      return "int8";
    case CacheNumbers::kInt6:
      return "int6";
    case CacheNumbers::kInt4:
      return "int4";
  }
  return "float32";
}

std::string_view to_string(RotaryPairing pairing) {
  return pairing == RotaryPairing::kNeox ? "halves" : "neighbours";
}

ValueType infer_types(const AppendRows& op, InputTypes inputs) {
  require_rank(inputs, 0, 3);
  require_rank(inputs, 1, 2);
  const Shape& state = inputs[0]->shape;
  const Shape& rows = inputs[1]->shape;
  require(state.is_static() && state[2] == rows[1],
          "expected rows of the width of " + state.to_string() + ", found " + rows.to_string());
  require_heads("rows", rows[1], op.heads);
  for (const std::size_t i : {std::size_t{2}, std::size_t{3}}) require_places(inputs, i, rows[0]);
  return *inputs[0];
}

ValueType infer_types(const Attention& op, InputTypes inputs) {
  require(op.kv_heads > 0 && op.heads % op.kv_heads == 0,
          "expected heads that are a multiple of the " + std::to_string(op.kv_heads) +
              " of keys, found " + std::to_string(op.heads));
  require(std::isfinite(op.scale) && std::isfinite(op.softcap) && op.softcap >= 0,
          "scale and softcap: expected numbers, the softcap not below zero");
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    require_rank(inputs, i, 3);
    require_heads(i == 1 ? "keys" : "values", inputs[i]->shape[2], op.kv_heads);
  }
  require_float(inputs, 0);
  require_heads("queries", inputs[0]->shape.back(), op.heads);
  require_same_tokens(inputs, 1, 2);
  const Dim size = inputs[1]->shape[2] / static_cast<Dim>(op.kv_heads);
  require(inputs[0]->shape.back() == size * static_cast<Dim>(op.heads),
          "expected heads of " + to_string(size) + " numbers, as keys have, found queries " +
              inputs[0]->shape.to_string());
  const auto is_there = [&](std::size_t i) { return inputs.size() > i && inputs[i] != nullptr; };
  if (is_there(Attention::kSinks)) {
    const ValueType sinks = dense_type(ElementType::kFloat32, {static_cast<Dim>(op.heads)});
    require(*inputs[Attention::kSinks] == sinks, "sinks: expected " + sinks.to_string() +
                                                     ", found " +
                                                     inputs[Attention::kSinks]->to_string());
  }
  if (is_there(Attention::kSlots) || is_there(Attention::kPositions)) {
    return infer_with_states(op, inputs);
  }
  require_rank(inputs, 0, 3);
  require_same_tokens(inputs, 0, 1);
  require(!depends_on_batch(inputs[0]->shape[1]), "axis 1 (tokens) must not be the batch");
  Shape y = inputs[0]->shape;
  y[2] = inputs[2]->shape[2] / static_cast<Dim>(op.kv_heads) * static_cast<Dim>(op.heads);
  return dense_type(ElementType::kFloat32, y);
}

ValueType infer_types(const Rotary& op, InputTypes inputs) {
  require_float(inputs, 0);
  for (const std::size_t i : {std::size_t{2}, std::size_t{3}}) require_rank(inputs, i, 2);
  const Shape& x = inputs[0]->shape;
  require(x.rank() >= 2, "expected at least 2 axes, found " + x.to_string());
  require_heads("numbers", x.back(), op.heads);
  require(
      op.dims > 0 && op.dims % 2 == 0 && op.dims <= static_cast<std::size_t>(x.back()) / op.heads,
      "dims: expected an even number up to the " +
          std::to_string(static_cast<std::size_t>(x.back()) / op.heads) + " of a head, found " +
          std::to_string(op.dims));
  const Shape& cos = inputs[2]->shape;
  require(cos == inputs[3]->shape && cos[1] == static_cast<Dim>(op.dims / 2),
          "expected tables of " + std::to_string(op.dims / 2) + " angles, found " +
              cos.to_string() + " and " + inputs[3]->shape.to_string());
  require(inputs[1] != nullptr && inputs[1]->is_dense(ElementType::kInt32),
          "positions: expected int32");
  const auto places = inputs[1]->shape.dims();
  const auto leading = x.dims().first(x.rank() - 1);
  require(
      places.size() <= leading.size() && std::ranges::equal(places, leading.last(places.size())),
      "positions: expected the leading axes of " + x.to_string() + ", found " +
          inputs[1]->shape.to_string());
  return *inputs[0];
}

void round_to_cache(const AppendRows& op, std::span<float> row) {
  if (op.numbers == CacheNumbers::kFloat32) return;
  if (op.numbers == CacheNumbers::kFloat16) {
    for (float& x : row) x = float_from_half(half_from_float(x));
    return;
  }
  for (std::size_t h = 0; h < op.heads; ++h) {
    const auto head = row_of(row, h, row.size() / op.heads);
    numerics::rotate_blocks(head);
    if (op.numbers == CacheNumbers::kInt8) round_to_integers(head, 127);
    if (op.numbers == CacheNumbers::kInt6) round_to_integers(head, 31);
    if (op.numbers == CacheNumbers::kInt4) round_to_nibbles(head);
    numerics::rotate_blocks(head);
  }
}

Tensor evaluate(const AppendRows& op, InputTensors inputs) {
  Tensor result = inputs[0]->clone();
  const Shape& shape = result.shape();
  const auto width = static_cast<std::size_t>(shape[2]);
  const auto slots = inputs[2]->as<std::int32_t>();
  const auto positions = inputs[3]->as<std::int32_t>();
  for (std::size_t n = 0; n < slots.size(); ++n) {
    const std::size_t slot = place(slots[n], shape[0], "slot");
    const std::size_t position = place(positions[n], shape[1], "position");
    const auto to =
        row_of(result.as<float>(), slot * static_cast<std::size_t>(shape[1]) + position, width);
    std::ranges::copy(row_of(inputs[1]->as<float>(), n, width), to.begin());
    round_to_cache(op, to);
  }
  return result;
}

Tensor evaluate(const Attention& op, InputTensors inputs) {
  Tensor result = output_tensor(op, inputs);
  const auto is_there = [&](std::size_t i) { return inputs.size() > i && inputs[i] != nullptr; };
  const bool has_states = is_there(Attention::kSlots);
  const std::span<const float> sinks =
      is_there(Attention::kSinks) ? inputs[Attention::kSinks]->as<float>() : std::span<float>();
  const Shape& keys = inputs[1]->shape();
  const auto tokens = static_cast<std::size_t>(keys[1]);
  const auto width = static_cast<std::size_t>(result.shape().back());
  const std::size_t rows = width == 0 ? 0 : result.size() / width;
  for (std::size_t n = 0; n < rows; ++n) {
    std::size_t sample = tokens == 0 ? 0 : n / tokens;
    std::size_t last = tokens == 0 ? 0 : n % tokens;
    if (has_states) {
      sample = place(inputs[Attention::kSlots]->as<std::int32_t>()[n], keys[0], "slot");
      last = place(inputs[Attention::kPositions]->as<std::int32_t>()[n], keys[1], "position");
    }
    const auto part = [&](std::size_t i) {
      const std::span<const float> all = inputs[i]->as<float>();
      return row_of(all, sample, tokens * static_cast<std::size_t>(inputs[i]->shape()[2]));
    };
    const std::span<const float> q = inputs[0]->as<float>();
    attend_token(op, {part(1), part(2), 0, last, sinks}, row_of(q, n, q.size() / rows),
                 row_of(result.as<float>(), n, result.size() / rows));
  }
  return result;
}

Tensor evaluate(const Rotary& op, InputTensors inputs) {
  Tensor result = inputs[0]->clone();
  const auto width = static_cast<std::size_t>(result.shape().back());
  const std::size_t size = width / op.heads;
  const std::size_t half = op.dims / 2;
  const auto positions = inputs[1]->as<std::int32_t>();
  const bool halves = op.pairing == RotaryPairing::kNeox;
  for (std::size_t n = 0; n < result.size() / width; ++n) {
    const std::size_t p = place(positions[n % positions.size()], inputs[2]->shape()[0], "position");
    const auto cos = row_of(inputs[2]->as<float>(), p, half);
    const auto sin = row_of(inputs[3]->as<float>(), p, half);
    for (std::size_t h = 0; h < op.heads; ++h) {
      const auto head = row_of(result.as<float>(), n * op.heads + h, size);
      for (std::size_t i = 0; i < half; ++i) {
        float& a = head[halves ? i : 2 * i];
        float& b = head[halves ? i + half : 2 * i + 1];
        const float turned = a * cos[i] - b * sin[i];
        b = a * sin[i] + b * cos[i];
        a = turned;
      }
    }
  }
  return result;
}

std::string attributes(const AppendRows& op) {
  if (op.numbers == CacheNumbers::kFloat32) return "";
  return std::string(to_string(op.numbers)) + " heads=" + std::to_string(op.heads);
}

std::string attributes(const Attention& op) {
  std::string text = "heads=" + std::to_string(op.heads) + "/" + std::to_string(op.kv_heads) +
                     " scale=" + std::to_string(op.scale);
  if (op.softcap != 0) text += " softcap=" + std::to_string(op.softcap);
  if (op.window != 0) text += " window=" + std::to_string(op.window);
  return text;
}

std::string attributes(const Rotary& op) {
  return "heads=" + std::to_string(op.heads) + " dims=" + std::to_string(op.dims) + " " +
         std::string(to_string(op.pairing));
}

}  // namespace halftone::ir
