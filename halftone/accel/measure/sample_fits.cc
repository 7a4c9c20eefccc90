// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/measure/sample_fits.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "halftone/accel/estimate.h"

namespace halftone::accel {
namespace {

double rounded_products(const Product& product, const Rounding& rounding) {
  ComputeUnit unit;
  unit.tile_channels = rounding.channels;
  unit.tile_inner = rounding.inner;
  const std::size_t inner = unit.rounded_inner(product);
  return static_cast<double>(product.count) * static_cast<double>(product.rows) *
         static_cast<double>(inner) * static_cast<double>(product.cols);
}

/// The terms of the model over the time: once, products or operations, outputs, bytes of weights.
using Terms = std::array<double, 4>;

Terms terms_of(const Sample& sample, const Rounding& rounding) {
  const Operation& operation = sample.operation;
  Terms terms = {1, operation.operations + operation.functions, operation.outputs, 0};
  if (operation.has_product()) {
    terms[1] = rounded_products(operation.product, rounding);
    // Convolutions use each weight for many rows.
    if (operation.op == "FullyConnected") terms[3] = operation.reads[1].bytes;
  }
  for (double& term : terms) term /= sample.seconds;
  return terms;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

}  // namespace

RelativeFit<4> fit_samples(const Samples& samples, const Rounding& rounding) {
  std::vector<Terms> rows;
  for (const Sample* each : samples) rows.push_back(terms_of(*each, rounding));
  RelativeFit<4> found = fit_relative<4>(rows);
  // A unit has a rate: where products and outputs grow alike, products carry the time.
  if (found.coefficients[1] == 0) {
    for (Terms& row : rows) row[2] = 0;
    found = fit_relative<4>(rows);
  }
  return found;
}

OperatorRule rule_of(const std::string& op, const RelativeFit<4>& fitted) {
  OperatorRule rule;
  rule.operators = {op};
  rule.overhead_s = fitted.coefficients[0];
  rule.s_per_operation = fitted.coefficients[1];
  rule.s_per_output = fitted.coefficients[2];
  return rule;
}

std::string comparison_of(const Accelerator& chip, std::span<const Sample> samples) {
  std::vector<double> errors;
  for (const Sample& sample : samples) {
    const Operation& operation = sample.operation;
    // Operands of a small network are in the caches: three operations in place of one alone.
    const Estimate result = estimate({"sample", 1, {operation, operation, operation}}, chip);
    errors.push_back(std::abs(result.operations[1].seconds / sample.seconds - 1));
  }
  const int percent = static_cast<int>(std::lround(100 * median(errors)));
  return "median error " + std::to_string(percent) + " % over the " +
         std::to_string(errors.size()) + " operations that the description was fitted to";
}

}  // namespace halftone::accel
