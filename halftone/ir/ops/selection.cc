// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/selection.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "halftone/ir/extent.h"

namespace halftone::ir {
namespace {

Extent product_of(const Shape& shape) {
  Extent product(1);
  for (const Dim dim : shape.dims()) product = product * extent_of(dim);
  return product;
}

template <typename T>
void list_nonzero(std::span<const T> x, const Shape& shape, std::span<std::int64_t> y) {
  const std::size_t rank = shape.rank();
  std::size_t found = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == T{0}) continue;
    std::size_t rest = i;
    for (std::size_t axis = rank; axis-- > 0;) {
      const auto extent = static_cast<std::size_t>(shape[axis]);
      y[axis * x.size() + found] = static_cast<std::int64_t>(rest % extent);
      rest /= extent;
    }
    ++found;
  }
}

/// A box by its corners.
struct Box {
  float top;
  float left;
  float bottom;
  float right;
  [[nodiscard]] float area() const { return (bottom - top) * (right - left); }
};

Box box_of(std::span<const float> b, bool centers) {
  if (centers) {
    return {b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
  }
  return {std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]), std::max(b[1], b[3])};
}

/// Whether the intersection over union of two boxes exceeds a threshold.
bool overlap(const Box& a, const Box& b, float threshold) {
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (!(height > 0) || !(width > 0)) return false;
  const float common = height * width;
  const float all = a.area() + b.area() - common;
  return a.area() > 0 && b.area() > 0 && all > 0 && common / all > threshold;
}

/// The selected boxes of one class.
std::vector<std::size_t> selected(const NonMaxSuppression& op, std::span<const Box> boxes,
                                  std::span<const float> scores) {
  std::vector<std::size_t> order;
  for (std::size_t s = 0; s < scores.size(); ++s) {
    const bool is_all = std::isinf(op.score_threshold) && op.score_threshold < 0;
    if (is_all || scores[s] > op.score_threshold) order.push_back(s);
  }
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return scores[a] > scores[b] || (std::isnan(scores[b]) && !std::isnan(scores[a]));
  });
  std::vector<std::size_t> chosen;
  for (const std::size_t s : order) {
    if (chosen.size() >= op.max_per_class) break;
    const bool is_covered = std::ranges::any_of(chosen, [&](std::size_t other) {
      return overlap(boxes[s], boxes[other], op.iou_threshold);
    });
    if (!is_covered) chosen.push_back(s);
  }
  return chosen;
}

/// Slices of a tensor along an axis, as rows of a matrix.
template <typename T>
std::vector<std::vector<T>> slices_of(std::span<const T> x, const AxisView& view) {
  std::vector<std::vector<T>> slices(view.extent);
  for (std::size_t o = 0; o < view.outer; ++o) {
    for (std::size_t i = 0; i < view.extent; ++i) {
      const auto part = x.subspan((o * view.extent + i) * view.inner, view.inner);
      slices[i].insert(slices[i].end(), part.begin(), part.end());
    }
  }
  return slices;
}

template <typename T>
bool is_below(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a);
  }
  return a < b;
}

/// First indices and inverse of distinct slices.
struct Distinct {
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> inverse;
};

template <typename T>
Distinct distinct(const std::vector<std::vector<T>>& slices, bool sorted) {
  const auto less = [&](std::size_t a, std::size_t b) {
    return std::ranges::lexicographical_compare(slices[a], slices[b], [](const T& x, const T& y) {
      if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(x) && std::isnan(y)) return false;
      }
      return is_below(x, y);
    });
  };
  std::vector<std::size_t> order(slices.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, less);
  Distinct found;
  found.inverse.resize(slices.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    const bool is_new = k == 0 || less(order[k - 1], order[k]);
    if (is_new) found.first.push_back(static_cast<std::int64_t>(order[k]));
    found.inverse[order[k]] = std::ssize(found.first) - 1;
  }
  if (sorted) return found;
  std::vector<std::size_t> by_index(found.first.size());
  std::iota(by_index.begin(), by_index.end(), std::size_t{0});
  std::ranges::sort(by_index, {}, [&](std::size_t u) { return found.first[u]; });
  std::vector<std::int64_t> rank(by_index.size());
  for (std::size_t r = 0; r < by_index.size(); ++r) rank[by_index[r]] = static_cast<Dim>(r);
  for (std::int64_t& u : found.inverse) u = rank[static_cast<std::size_t>(u)];
  std::ranges::sort(found.first);
  return found;
}

Distinct distinct_slices(const Unique& op, const Tensor& x) {
  const AxisView view = axis_view(x.shape(), op.axis);
  if (x.element() == ElementType::kFloat32) {
    return distinct(slices_of<float>(x.as<float>(), view), op.sorted);
  }
  if (x.element() == ElementType::kUint64) {
    return distinct(slices_of<std::uint64_t>(x.as<std::uint64_t>(), view), op.sorted);
  }
  const Tensor whole = x.cast(ElementType::kInt64);
  return distinct(slices_of<std::int64_t>(whole.as<std::int64_t>(), view), op.sorted);
}

}  // namespace

ValueType infer_types(const NonZero& /*op*/, InputTypes inputs) {
  require_dense(inputs, 0);
  const Shape& x = inputs[0]->shape;
  require(x.rank() >= 1, "input 0: expected at least one axis, found a scalar");
  return dense_type(ElementType::kInt64, {static_cast<Dim>(x.rank()), dim_of(product_of(x))});
}

Tensor evaluate(const NonZero& op, InputTensors inputs) {
  Tensor result = output_tensor(op, inputs);
  const auto y = result.as<std::int64_t>();
  std::ranges::fill(y, -1);
  const Tensor& x = *inputs[0];
  if (x.element() == ElementType::kFloat32) {
    list_nonzero<float>(x.as<float>(), x.shape(), y);
  } else {
    const Tensor whole = x.cast(ElementType::kInt64);
    list_nonzero<std::int64_t>(whole.as<std::int64_t>(), x.shape(), y);
  }
  return result;
}

std::string attributes(const NonZero& /*op*/) { return ""; }

namespace {

constexpr std::size_t kMaxPerClassInput = 2;
constexpr std::size_t kIouInput = 3;
constexpr std::size_t kScoreInput = 4;

template <typename Inputs>
bool has_input(const Inputs& inputs, std::size_t i) {
  return i < inputs.size() && inputs[i] != nullptr;
}

void require_one(InputTypes inputs, std::size_t i, ElementType element) {
  if (!has_input(inputs, i)) return;
  const ValueType& type = *inputs[i];
  require(type.is_dense(element) && type.shape.is_static() && type.shape.element_count() == 1,
          "input " + std::to_string(i) + ": expected one " + std::string(to_string(element)) +
              ", found " + type.to_string());
}

void require_iou_threshold(float threshold) {
  require(threshold >= 0 && threshold <= 1,
          "iou_threshold: expected 0 to 1, found " + std::to_string(threshold));
}

/// The operator with what its inputs say in place of attributes.
NonMaxSuppression with_inputs(NonMaxSuppression op, InputTensors inputs) {
  if (has_input(inputs, kMaxPerClassInput)) {
    const std::int64_t most = inputs[kMaxPerClassInput]->as<std::int64_t>()[0];
    op.max_per_class = static_cast<std::size_t>(std::max<std::int64_t>(most, 0));
  }
  if (has_input(inputs, kIouInput)) op.iou_threshold = inputs[kIouInput]->as<float>()[0];
  if (has_input(inputs, kScoreInput)) op.score_threshold = inputs[kScoreInput]->as<float>()[0];
  require_iou_threshold(op.iou_threshold);
  return op;
}

}  // namespace

ValueType infer_types(const NonMaxSuppression& op, InputTypes inputs) {
  require_float(inputs, 0);
  require_float(inputs, 1);
  const Shape& boxes = inputs[0]->shape;
  const Shape& scores = inputs[1]->shape;
  require(boxes.rank() == 3 && scores.rank() == 3 && may_be_equal(boxes[0], scores[0]) &&
              may_be_equal(boxes[1], scores[2]) && may_be_equal(boxes[2], 4),
          "scores " + scores.to_string() + " do not fit boxes " + boxes.to_string());
  require_one(inputs, kMaxPerClassInput, ElementType::kInt64);
  require_one(inputs, kIouInput, ElementType::kFloat32);
  require_one(inputs, kScoreInput, ElementType::kFloat32);
  require_iou_threshold(op.iou_threshold);
  const auto all = static_cast<std::size_t>(std::int64_t{1} << 40);
  const auto most = static_cast<std::int64_t>(
      has_input(inputs, kMaxPerClassInput) ? all : std::min(op.max_per_class, all));
  const Extent each = Extent::least(most, extent_of(boxes[1]));
  return dense_type(ElementType::kInt64,
                    {dim_of(extent_of(scores[0]) * extent_of(scores[1]) * each), 3});
}

Tensor evaluate(const NonMaxSuppression& attributes, InputTensors inputs) {
  const NonMaxSuppression op = with_inputs(attributes, inputs);
  Tensor result = output_tensor(attributes, inputs);
  const auto y = result.as<std::int64_t>();
  std::ranges::fill(y, -1);
  const Shape& shape = inputs[1]->shape();
  const auto classes = static_cast<std::size_t>(shape[1]);
  const auto count = static_cast<std::size_t>(shape[2]);
  const auto numbers = inputs[0]->as<float>();
  const auto scores = inputs[1]->as<float>();
  auto row = y.begin();
  for (std::size_t n = 0; n < static_cast<std::size_t>(shape[0]); ++n) {
    std::vector<Box> boxes;
    for (std::size_t s = 0; s < count; ++s) {
      boxes.push_back(box_of(numbers.subspan((n * count + s) * 4, 4), op.centers));
    }
    for (std::size_t c = 0; c < classes; ++c) {
      const auto of_class = scores.subspan((n * classes + c) * count, count);
      for (const std::size_t s : selected(op, boxes, of_class)) {
        for (const std::size_t index : {n, c, s}) *row++ = static_cast<std::int64_t>(index);
      }
    }
  }
  return result;
}

std::string attributes(const NonMaxSuppression& op) {
  return "max_per_class=" + std::to_string(op.max_per_class) +
         " iou_threshold=" + std::to_string(op.iou_threshold) +
         " score_threshold=" + std::to_string(op.score_threshold) + (op.centers ? " centers" : "");
}

ValueType infer_types(const Unique& op, InputTypes inputs) {
  require_dense(inputs, 0);
  require_axis(inputs[0]->shape, op.axis);
  return dense_type(ElementType::kInt64, {inputs[0]->shape[op.axis]});
}

Tensor evaluate(const Unique& op, InputTensors inputs) {
  Tensor result = output_tensor(op, inputs);
  const auto y = result.as<std::int64_t>();
  std::ranges::fill(y, -1);
  const Distinct found = distinct_slices(op, *inputs[0]);
  std::ranges::copy(op.result == UniqueResult::kFirst ? found.first : found.inverse, y.begin());
  return result;
}

std::string attributes(const Unique& op) {
  return "axis=" + std::to_string(op.axis) + (op.sorted ? " sorted" : "") +
         (op.result == UniqueResult::kFirst ? " first" : " inverse");
}

}  // namespace halftone::ir
