// SPDX-License-Identifier: Apache-2.0
// Operators that place tokens or choose what multiplies them.
#include <iterator>
#include <utility>

#include "halftone/ir/extent.h"
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

std::vector<OperatorCase> placing_cases() {
  return {
      append("AppendRows", CacheNumbers::kFloat32),
      append("AppendRowsHalf", CacheNumbers::kFloat16),
      append("AppendRowsInt8", CacheNumbers::kInt8),
      append("AppendRowsInt6", CacheNumbers::kInt6),
      append("AppendRowsInt4", CacheNumbers::kInt4),
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
      rotary("RotaryHalves", RotaryPairing::kNeox, 8),
      rotary("RotaryNeighbours", RotaryPairing::kInterleaved, 8),
      rotary("RotaryPart", RotaryPairing::kNeox, 4),
      experts("ExpertProduct", {3, 12}),
      experts("ExpertProductOwnRows", {3, 2, 12}),
      experts("ExpertProductSilu", {3, 12}, {{ActivationKind::kSilu}}),
  };
}

/// A case in its three forms. Rows are of two sequences, one of which begins anew.
template <typename Op>
void add_recurrence(std::vector<OperatorCase>& cases, const std::string& name, Op op,
                    const Shape& state, const std::vector<CaseInput>& inputs) {
  const auto with_tokens = [&](const std::vector<Dim>& tokens) {
    std::vector<CaseInput> result = inputs;
    for (CaseInput& input : result) {
      // Those of tokens have the batch as their first axis.
      if (!is_batch(input.type.shape[0])) continue;
      std::vector<Dim> dims = tokens;
      dims.push_back(input.type.shape[1]);
      input.type.shape = Shape(std::move(dims));
    }
    return result;
  };
  op.form = RecurrenceForm::kSamples;
  cases.push_back({name, op, with_tokens({kBatch, 5})});
  for (const RecurrenceForm form : {RecurrenceForm::kRows, RecurrenceForm::kState}) {
    op.form = form;
    std::vector<CaseInput> all = {numbers_input(state, Domain::kSmall), places({0, 1, 0, 0}),
                                  places({3, 0, 4, 5})};
    for (CaseInput& input : with_tokens({4})) all.push_back(std::move(input));
    cases.push_back(
        {name + (form == RecurrenceForm::kRows ? "Rows" : "State"), op, std::move(all)});
  }
}

/// An input with numbers for each token.
CaseInput of_tokens(Dim width, Domain domain = Domain::kSmall) {
  return numbers_input({kBatch, width}, domain);
}

std::vector<OperatorCase> recurrence_cases() {
  std::vector<OperatorCase> cases;
  add_recurrence(cases, "ShortConvolution", ShortConvolution{}, {2, 3, 19},
                 {of_tokens(19), numbers_input({4, 19}), numbers_input({19})});
  add_recurrence(cases, "ShortConvolutionSilu", ShortConvolution{{ActivationKind::kSilu}},
                 {2, 2, 8}, {of_tokens(8), numbers_input({3, 8})});
  add_recurrence(cases, "SelectiveScan", SelectiveScan{2}, {2, 3, 24},
                 {of_tokens(24), of_tokens(4), numbers_input({4}, Domain::kSmall), of_tokens(6),
                  of_tokens(6), numbers_input({4})});
  add_recurrence(cases, "SelectiveScanOfChannels", SelectiveScan{}, {2, 3, 19},
                 {of_tokens(19), of_tokens(19), numbers_input({3, 19}, Domain::kSmall),
                  of_tokens(3), of_tokens(3), numbers_input({19})});
  add_recurrence(cases, "GatedDelta", GatedDelta{2}, {2, 4, 3, 5},
                 {of_tokens(6), of_tokens(6), of_tokens(20), of_tokens(4), of_tokens(4)});
  return cases;
}

}  // namespace

std::vector<OperatorCase> sequence_cases() {
  std::vector<OperatorCase> cases = recurrence_cases();
  std::vector<OperatorCase> others = placing_cases();
  cases.insert(cases.end(), std::make_move_iterator(others.begin()),
               std::make_move_iterator(others.end()));
  return cases;
}

}  // namespace halftone::ir::test
