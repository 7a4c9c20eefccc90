// SPDX-License-Identifier: Apache-2.0
// Codes of 8 bits and of bases, and arithmetic on them.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "halftone/ir/testing.h"
#include "halftone/ir/testing/operator_cases.h"

namespace halftone::ir::test {
namespace {

std::vector<OperatorCase> product_cases() {
  std::vector<OperatorCase> cases;
  for (const ElementType element : {ElementType::kInt8, ElementType::kUint8}) {
    const std::string name(to_string(element));
    const auto codes = [&](Shape shape) { return integers_input(element, std::move(shape)); };
    const CaseInput bias = integers_input(ElementType::kInt32, {5});
    cases.push_back({"FullyConnected" + name,
                     FullyConnected{{}, {3, {1}}},
                     {codes({kBatch, 9}), codes({5, 9}), bias}});
    cases.push_back({"MatMul" + name,
                     MatMul{false, false, {3, {0, 1, 2, 3, 4}}},
                     {codes({kBatch, 9}), codes({9, 5})}});
    Conv conv{.window = plain_window(2)};
    conv.zero_points = {3, {2}};
    cases.push_back({"Conv" + name, conv, {codes({kBatch, 4, 5, 3}), codes({5, 2, 2, 3}), bias}});
    for (const PoolKind kind : {PoolKind::kMax, PoolKind::kAverage}) {
      const Pool op{kind, {2, 2}, plain_window(2)};
      cases.push_back({std::string(name_of(op)) + name, op, {codes({kBatch, 3, 3, 2})}});
    }
    cases.push_back({"Softmax" + name, Softmax{1, 0.1F, false}, {codes({kBatch, 9})}});
  }
  return cases;
}

std::vector<OperatorCase> conversion_cases() {
  const AffineParameters one{{0.25F}, {3}, 0};
  const AffineParameters many{{0.25F, 0.5F, 1}, {3, 0, 2}, 1};
  const CaseInput codes = integers_input(ElementType::kInt8, {kBatch, 3, 4});
  // Levels and thresholds that Tanh reaches.
  const auto small = std::make_shared<const numerics::MatrixEncoding>(
      numerics::tensor_encoding(numerics::make_basis(std::vector{0.2F, 0.4F})));
  Lookup lookup;
  for (std::size_t i = 0; i < Lookup::kCodes; ++i) {
    lookup.table.push_back(static_cast<std::int32_t>(i * i % 256) - 128);
  }
  return {
      {"QuantizeLinear", QuantizeLinear{one, ElementType::kInt8}, {numbers_input({kBatch, 9})}},
      {"QuantizeLinearHalfAway",
       QuantizeLinear{one, ElementType::kInt8, CodeRounding::kHalfAway},
       {numbers_input({kBatch, 9})}},
      {"QuantizeLinearAxis",
       QuantizeLinear{many, ElementType::kUint8},
       {numbers_input({kBatch, 3, 4})}},
      {"DequantizeLinear", DequantizeLinear{one}, {codes}},
      {"DequantizeLinearAxis", DequantizeLinear{many}, {codes}},
      {"Requantize",
       Requantize{.multipliers = {0.37}, .zero_point = 3},
       {integers_input(ElementType::kInt32, {kBatch, 9})}},
      {"RequantizeHalfAway",
       Requantize{.multipliers = {0.5}, .zero_point = 3, .rounding = CodeRounding::kHalfAway},
       {integers_input(ElementType::kInt32, {kBatch, 9})}},
      {"RequantizeTwice",
       Requantize{
           .multipliers = {0.37, 0.5, 0.21}, .zero_point = -3, .rounding = CodeRounding::kTwice},
       {integers_input(ElementType::kInt32, {kBatch, 3})}},
      {"Lookup", lookup, {codes}},
      {"Encode", Encode{odd_encoding()}, {numbers_input({kBatch, 70})}},
      {"EncodeTanh", Encode{small, {ActivationKind::kTanh}}, {numbers_input({kBatch, 9})}},
  };
}

std::vector<OperatorCase> rounding_cases() {
  return {
      {"FakeQuantize",
       FakeQuantize{&numerics::find_system("int"), 8, {numerics::Granularity::kTensor, 0}},
       {numbers_input({kBatch, 3, 10})}},
      {"FakeQuantizeRows",
       FakeQuantize{&numerics::find_system("affine"), 12, {numerics::Granularity::kChannel, 0}},
       {numbers_input({kBatch, 3, 10})}},
      {"FakeQuantizeOverflowing",
       FakeQuantize{&numerics::find_system("e5m2_nan"), 8, {numerics::Granularity::kTensor, 0}},
       {numbers_input({kBatch, 3, 10})}},
      {"FakeQuantizeGroups",
       FakeQuantize{&numerics::find_system("mxfp4"), 4, {numerics::Granularity::kGroup, 32}},
       {numbers_input({kBatch, 70})}},
  };
}

}  // namespace

std::vector<OperatorCase> integer_cases() {
  std::vector<OperatorCase> cases = product_cases();
  for (const auto& more : {conversion_cases(), rounding_cases()}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  return cases;
}

}  // namespace halftone::ir::test
