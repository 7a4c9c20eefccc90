// SPDX-License-Identifier: Apache-2.0
// Determinant of linear.h.
#include <algorithm>
#include <cmath>
#include <utility>

#include "halftone/ir/extent.h"
#include "halftone/ir/ops/linear.h"

namespace halftone::ir {
namespace {

/// By elimination with row pivots, in double.
double determinant(std::vector<double> a, std::size_t n) {
  double product = 1;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t row = k + 1; row < n; ++row) {
      if (std::abs(a[row * n + k]) > std::abs(a[pivot * n + k])) pivot = row;
    }
    if (a[pivot * n + k] == 0) return 0;
    if (pivot != k) {
      product = -product;
      for (std::size_t col = k; col < n; ++col) std::swap(a[pivot * n + col], a[k * n + col]);
    }
    product *= a[k * n + k];
    for (std::size_t row = k + 1; row < n; ++row) {
      const double factor = a[row * n + k] / a[k * n + k];
      for (std::size_t col = k; col < n; ++col) a[row * n + col] -= factor * a[k * n + col];
    }
  }
  return product;
}

}  // namespace

ValueType infer_types(const Determinant& /*op*/, InputTypes inputs) {
  require_float(inputs, 0);
  const Shape& x = inputs[0]->shape;
  const std::size_t rank = x.rank();
  require(rank >= 2 && may_be_equal(x[rank - 2], x[rank - 1]) && !depends_on_batch(x[rank - 1]),
          "input 0: expected square matrices, found " + x.to_string());
  return dense_type(ElementType::kFloat32,
                    Shape(std::vector<Dim>(x.dims().begin(), x.dims().end() - 2)));
}

Tensor evaluate(const Determinant& op, InputTensors inputs) {
  Tensor result = output_tensor(op, inputs);
  const auto n = static_cast<std::size_t>(inputs[0]->shape().back());
  const auto x = inputs[0]->as<float>();
  for (std::size_t m = 0; m < result.size(); ++m) {
    const auto matrix = x.subspan(m * n * n, n * n);
    result.as<float>()[m] = static_cast<float>(determinant({matrix.begin(), matrix.end()}, n));
  }
  return result;
}

std::string attributes(const Determinant& /*op*/) { return ""; }

}  // namespace halftone::ir
