// SPDX-License-Identifier: Apache-2.0
// Operators that place tokens or choose what multiplies them.
#include "halftone/ir/testing/operator_cases.h"

namespace halftone::ir::test {
namespace {

CaseInput places(std::vector<float> values) {
  const Shape shape{static_cast<Dim>(values.size())};
  return integers_input(ElementType::kInt32, shape, std::move(values));
}

OperatorCase with_states(std::string name, const Attention& op) {
  return {std::move(name),
          op,
          {numbers_input({3, 16}), numbers_input({2, 20, 8}), numbers_input({2, 20, 12}),
           places({0, 1, 0}), places({3, 17, 0})}};
}

OperatorCase with_sinks(std::string name, const Attention& op) {
  OperatorCase test = with_states(std::move(name), op);
  test.inputs.push_back(numbers_input({static_cast<Dim>(op.heads)}));
  return test;
}

OperatorCase append(std::string name, CacheNumbers numbers) {
  return {
      std::move(name),
      AppendRows{numbers, 2},
      {numbers_input({2, 20, 8}), numbers_input({3, 8}), places({0, 1, 0}), places({3, 17, 0})}};
}

OperatorCase rotary(std::string name, RotaryPairing pairing, std::size_t dims) {
  const auto pairs = static_cast<Dim>(dims / 2);
  return {std::move(name),
          Rotary{2, dims, pairing},
          {numbers_input({kBatch, 3, 16}), places({4, 0, 2}), numbers_input({5, pairs}),
           numbers_input({5, pairs})}};
}

/// Rows of four experts, of which no row chooses the last.
OperatorCase experts(std::string name, Shape x, const ExpertProduct& op = {}) {
  return {std::move(name),
          op,
          {numbers_input(std::move(x)), numbers_input({4, 19, 12}),
           integers_input(ElementType::kInt64, {3, 2}, {2, 0, 0, 1, 1, 2})}};
}

}  // namespace

std::vector<OperatorCase> sequence_cases() {
  return {
      append("AppendRows", CacheNumbers::kFloat32),
      append("AppendRowsHalf", CacheNumbers::kFloat16),
      append("AppendRowsInt8", CacheNumbers::kInt8),
      with_states("Attention", {4, 2, 0.5F}),
      with_states("AttentionWindow", {4, 2, 0.5F, 0, 4}),
      with_states("AttentionSoftcap", {4, 2, 0.5F, 3}),
      with_sinks("AttentionSinks", {4, 2, 0.5F, 0, 4}),
      {"AttentionOfSamples",
       Attention{4, 2, 0.5F},
       {numbers_input({kBatch, 5, 16}), numbers_input({kBatch, 5, 8}),
        numbers_input({kBatch, 5, 12})}},
      {"AttentionOfSamplesSinks",
       Attention{4, 2, 0.5F},
       {numbers_input({kBatch, 5, 16}), numbers_input({kBatch, 5, 8}),
        numbers_input({kBatch, 5, 12}), absent_input(), absent_input(), numbers_input({4})}},
      rotary("RotaryHalves", RotaryPairing::kHalves, 8),
      rotary("RotaryNeighbours", RotaryPairing::kNeighbours, 8),
      rotary("RotaryPart", RotaryPairing::kHalves, 4),
      experts("ExpertProduct", {3, 12}),
      experts("ExpertProductOwnRows", {3, 2, 12}),
      experts("ExpertProductSilu", {3, 12}, {{ActivationKind::kSilu}}),
  };
}

}  // namespace halftone::ir::test
