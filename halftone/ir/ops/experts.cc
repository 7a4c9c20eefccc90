// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/experts.h"

#include <algorithm>

#include "halftone/ir/ops/indexing.h"

namespace halftone::ir {

ValueType infer_types(const ExpertProduct& /*op*/, InputTypes inputs) {
  require_float(inputs, 0);
  if (inputs[1]->encoding.blocks == nullptr) require_float(inputs, 1);
  require_indices(inputs, 2);
  const Shape& x = inputs[0]->shape;
  const Shape& w = inputs[1]->shape;
  const Shape& chosen = inputs[2]->shape;
  require(w.rank() == 3 && w.is_static() && w[0] > 0,
          "weights: expected [experts, outputs, inputs], found " + w.to_string());
  require(x.rank() >= 1 && x.back() == w[2],
          "input " + x.to_string() + " does not fit weights " + w.to_string());
  require(chosen.rank() >= 1 && !is_batch(chosen.back()),
          "experts: expected [..., k], found " + chosen.to_string());
  const auto rows = x.dims().first(x.rank() - 1);
  const auto pairs = chosen.dims();
  require(
      std::ranges::equal(rows, pairs) || std::ranges::equal(rows, pairs.first(pairs.size() - 1)),
      "experts " + chosen.to_string() + " do not fit the rows of input " + x.to_string());
  std::vector<Dim> y(pairs.begin(), pairs.end());
  y.push_back(w[1]);
  return dense_type(ElementType::kFloat32, Shape(std::move(y)));
}

Tensor evaluate(const ExpertProduct& op, InputTensors inputs) {
  Tensor result = output_tensor(op, inputs);
  const Tensor chosen = inputs[2]->cast(ElementType::kInt64);
  const Shape& w = inputs[1]->shape();
  const auto experts = static_cast<std::size_t>(w[0]);
  const auto outputs = static_cast<std::size_t>(w[1]);
  const auto n = static_cast<std::size_t>(w[2]);
  const bool has_own_rows = inputs[0]->shape().rank() > inputs[2]->shape().rank();
  const std::size_t share = has_own_rows ? 1 : static_cast<std::size_t>(chosen.shape().back());
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::size_t pair = i / outputs;
    const std::size_t expert = resolve_index(chosen.as<std::int64_t>()[pair], experts);
    const auto x = inputs[0]->as<float>().subspan(pair / share * n, n);
    const auto row = inputs[1]->as<float>().subspan((expert * outputs + i % outputs) * n, n);
    double sum = 0;
    for (std::size_t k = 0; k < n; ++k) {
      sum += static_cast<double>(x[k]) * static_cast<double>(row[k]);
    }
    result.as<float>()[i] = apply(op.activation, static_cast<float>(sum));
  }
  return result;
}

std::string attributes(const ExpertProduct& op) {
  return op.activation == Activation{} ? "" : "activation=" + to_string(op.activation);
}

}  // namespace halftone::ir
