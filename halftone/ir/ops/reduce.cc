// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "halftone/base/elementary.h"
#include "halftone/ir/element.h"
#include "halftone/ir/extent.h"
#include "halftone/ir/strides.h"

namespace halftone::ir {
namespace {

Shape without_axes(const Shape& x, std::span<const std::size_t> axes, bool keep_dims) {
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (!std::ranges::binary_search(axes, i)) {
      dims.push_back(x[i]);
    } else if (keep_dims) {
      dims.push_back(1);
    }
  }
  return Shape(std::move(dims));
}

/// Strides into the output along the axes of the input: 0 along reduced axes.
std::vector<std::size_t> output_strides(const Reduce& op, const Shape& x) {
  const Shape kept = without_axes(x, op.axes, true);
  std::vector<std::size_t> strides = row_major_strides(kept);
  for (const std::size_t axis : op.axes) strides[axis] = 0;
  return strides;
}

/// Calls visit(element of x, index of the output) for every element in order.
template <typename T, typename Visit>
void for_each_element(const Reduce& op, const Tensor& x, Visit&& visit) {
  StridedWalk<1> walk(x.shape(), {output_strides(op, x.shape())});
  for (const T value : x.as<T>()) {
    visit(value, walk.offset(0));
    walk.next();
  }
}

/// One term of the sum.
double term(ReduceKind kind, double x, double largest) {
  switch (kind) {
    case ReduceKind::kL1:
      return std::abs(x);
    case ReduceKind::kL2:
    case ReduceKind::kSumSquare:
      return x * x;
    case ReduceKind::kLogSumExp:
      return x == largest ? 1 : elementary::exp(x - largest);
    case ReduceKind::kSum:
    case ReduceKind::kMean:
    case ReduceKind::kMax:
    case ReduceKind::kMin:
    case ReduceKind::kProd:
    case ReduceKind::kLogSum:
      break;
  }
  return x;
}

double finished(ReduceKind kind, double sum, double largest, double count) {
  switch (kind) {
    case ReduceKind::kMean:
      return sum / count;
    case ReduceKind::kL2:
      return std::sqrt(sum);
    case ReduceKind::kLogSum:
      return elementary::log(sum);
    case ReduceKind::kLogSumExp:
      return largest + elementary::log(sum);
    case ReduceKind::kSum:
    case ReduceKind::kMax:
    case ReduceKind::kMin:
    case ReduceKind::kProd:
    case ReduceKind::kL1:
    case ReduceKind::kSumSquare:
      break;
  }
  return sum;
}

template <typename T>
void reduce_extreme(const Reduce& op, const Tensor& x, std::span<T> y) {
  const bool largest = op.kind == ReduceKind::kMax;
  using Limits = std::numeric_limits<T>;
  const T high = Limits::has_infinity ? Limits::infinity() : Limits::max();
  const T low = Limits::has_infinity ? static_cast<T>(-high) : Limits::lowest();
  std::ranges::fill(y, largest ? low : high);
  for_each_element<T>(op, x, [&](T value, std::size_t i) {
    y[i] = largest ? elementary::larger(y[i], value) : elementary::smaller(y[i], value);
  });
}

/// Sums and products of integers, modulo 2^64.
template <typename T>
void reduce_wrapping(const Reduce& op, const Tensor& x, std::span<T> y) {
  std::vector<std::uint64_t> results(y.size(), op.kind == ReduceKind::kProd ? 1 : 0);
  for_each_element<T>(op, x, [&](T value, std::size_t i) {
    const auto wide = static_cast<std::uint64_t>(value);
    switch (op.kind) {
      case ReduceKind::kProd:
        results[i] *= wide;
        break;
      case ReduceKind::kSumSquare:
        results[i] += wide * wide;
        break;
      case ReduceKind::kL1:
        results[i] += value < T{0} ? std::uint64_t{0} - wide : wide;
        break;
      case ReduceKind::kSum:
      case ReduceKind::kMean:
      case ReduceKind::kMax:
      case ReduceKind::kMin:
      case ReduceKind::kL2:
      case ReduceKind::kLogSum:
      case ReduceKind::kLogSumExp:
        results[i] += wide;
    }
  });
  std::ranges::transform(results, y.begin(), [](std::uint64_t r) { return static_cast<T>(r); });
}

/// The nearest value of the type; NaN becomes integer 0.
template <typename T>
T narrowed(double y) {
  if constexpr (std::is_integral_v<T>) {
    if (std::isnan(y)) return 0;
    if (y <= static_cast<double>(std::numeric_limits<T>::lowest())) {
      return std::numeric_limits<T>::lowest();
    }
    if (y >= static_cast<double>(std::numeric_limits<T>::max())) {
      return std::numeric_limits<T>::max();
    }
  }
  return static_cast<T>(y);
}

template <typename T>
void reduce_double(const Reduce& op, const Tensor& x, Tensor& result) {
  const std::size_t count = result.size();
  std::vector<double> largest(count, 0);
  if (op.kind == ReduceKind::kLogSumExp) {
    std::ranges::fill(largest, -std::numeric_limits<double>::infinity());
    for_each_element<T>(op, x, [&](T value, std::size_t i) {
      largest[i] = std::max(largest[i], static_cast<double>(value));
    });
  }
  const bool multiplies = op.kind == ReduceKind::kProd;
  std::vector<double> sums(count, multiplies ? 1 : 0);
  for_each_element<T>(op, x, [&](T value, std::size_t i) {
    const double next = term(op.kind, static_cast<double>(value), largest[i]);
    sums[i] = multiplies ? sums[i] * next : sums[i] + next;
  });
  const double per_output =
      count == 0 ? 0 : static_cast<double>(x.size()) / static_cast<double>(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double y = finished(op.kind, sums[i], largest[i], per_output);
    result.as<T>()[i] = narrowed<T>(y);
  }
}

bool stays_integer(ReduceKind kind) {
  return kind == ReduceKind::kSum || kind == ReduceKind::kProd || kind == ReduceKind::kL1 ||
         kind == ReduceKind::kSumSquare;
}

/// Cumulative sums along the axis, line by line.
template <typename T, typename Sum>
void cumulate(const CumSum& op, const Tensor& x, Tensor& result) {
  const auto [outer, extent, inner] = axis_view(x.shape(), op.axis);
  const auto from = x.as<T>();
  const auto to = result.as<T>();
  for (std::size_t line = 0; line < outer * inner; ++line) {
    const std::size_t base = line / inner * extent * inner + line % inner;
    Sum sum{0};
    for (std::size_t i = 0; i < extent; ++i) {
      const std::size_t at = base + (op.reverse ? extent - 1 - i : i) * inner;
      const Sum before = sum;
      sum += static_cast<Sum>(from[at]);
      to[at] = static_cast<T>(op.exclusive ? before : sum);
    }
  }
}

}  // namespace

std::string_view to_string(ReduceKind kind) {
  static constexpr std::string_view kNames[] = {"Sum", "Mean", "Max",       "Min",    "Prod",
                                                "L1",  "L2",   "SumSquare", "LogSum", "LogSumExp"};
  const auto i = static_cast<std::size_t>(kind);
  return i < std::size(kNames) ? kNames[i] : "unknown";
}

ValueType infer_types(const Reduce& op, InputTypes inputs) {
  require_dense(inputs, 0);
  // A count, as of what is found, may be of all samples together.
  const bool counts = op.kind == ReduceKind::kSum && inputs[0]->is_dense(ElementType::kInt64);
  require_axes(counts ? inputs[0]->shape.with_batch(1) : inputs[0]->shape, op.axes);
  const bool compares = op.kind == ReduceKind::kMax || op.kind == ReduceKind::kMin;
  require(compares || inputs[0]->encoding.element != ElementType::kBool,
          "input 0: expected float32 or integers, found " + inputs[0]->to_string());
  return {without_axes(inputs[0]->shape, op.axes, op.keep_dims), inputs[0]->encoding};
}

ValueType infer_types(const ArgReduce& op, InputTypes inputs) {
  require_dense(inputs, 0);
  const Shape& x = inputs[0]->shape;
  require_axis(x, op.axis);
  require(x[op.axis] > 0 || is_expression(x[op.axis]), "axis " + std::to_string(op.axis) + " of " +
                                                           x.to_string() +
                                                           ": expected at least one element");
  return dense_type(ElementType::kInt64, without_axes(x, {&op.axis, 1}, op.keep_dims));
}

ValueType infer_types(const CumSum& op, InputTypes inputs) {
  require_dense(inputs, 0);
  require_axis(inputs[0]->shape, op.axis);
  require(inputs[0]->encoding.element != ElementType::kBool,
          "input 0: expected float32 or integers, found " + inputs[0]->to_string());
  return *inputs[0];
}

Tensor evaluate(const Reduce& op, InputTensors inputs) {
  Tensor result = output_tensor(op, inputs);
  with_element(result.element(), [&](auto zero) {
    using T = decltype(zero);
    const bool compares = op.kind == ReduceKind::kMax || op.kind == ReduceKind::kMin;
    if (compares) return reduce_extreme<T>(op, *inputs[0], result.as<T>());
    if constexpr (std::is_integral_v<T>) {
      if (stays_integer(op.kind)) return reduce_wrapping<T>(op, *inputs[0], result.as<T>());
    }
    reduce_double<T>(op, *inputs[0], result);
  });
  return result;
}

Tensor evaluate(const ArgReduce& op, InputTensors inputs) {
  Tensor result = output_tensor(op, inputs);
  const auto [outer, extent, inner] = axis_view(inputs[0]->shape(), op.axis);
  const auto indices = result.as<std::int64_t>();
  with_element(inputs[0]->element(), [&, extent = extent, inner = inner](auto zero) {
    using T = decltype(zero);
    const auto x = inputs[0]->as<T>();
    for (std::size_t line = 0; line < indices.size(); ++line) {
      const std::size_t base = line / inner * extent * inner + line % inner;
      std::size_t best = 0;
      for (std::size_t i = 1; i < extent; ++i) {
        const T value = x[base + i * inner];
        const T leader = x[base + best * inner];
        const bool better = op.largest ? value > leader : value < leader;
        if (better || (op.last && value == leader)) best = i;
      }
      indices[line] = static_cast<std::int64_t>(best);
    }
  });
  return result;
}

Tensor evaluate(const CumSum& op, InputTensors inputs) {
  Tensor result = output_tensor(op, inputs);
  with_element(result.element(), [&](auto zero) {
    using T = decltype(zero);
    using Sum = std::conditional_t<std::is_same_v<T, float>, double, std::uint64_t>;
    if (result.size() != 0) cumulate<T, Sum>(op, *inputs[0], result);
  });
  return result;
}

std::string attributes(const Reduce& op) {
  return std::string(to_string(op.kind)) + " axes=" + joined(op.axes) +
         (op.keep_dims ? " keep" : "");
}

std::string attributes(const ArgReduce& op) {
  return std::string(op.largest ? "largest" : "smallest") + " axis=" + std::to_string(op.axis) +
         (op.last ? " last" : "") + (op.keep_dims ? " keep" : "");
}

std::string attributes(const CumSum& op) {
  return "axis=" + std::to_string(op.axis) + (op.exclusive ? " exclusive" : "") +
         (op.reverse ? " reverse" : "");
}

}  // namespace halftone::ir
