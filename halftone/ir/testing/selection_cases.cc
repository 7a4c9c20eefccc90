// SPDX-License-Identifier: Apache-2.0
// Operators that find elements or pool regions.
#include "halftone/ir/testing/operator_cases.h"

namespace halftone::ir::test {
namespace {

CaseInput given(Shape shape, std::vector<float> values) {
  CaseInput input = numbers_input(std::move(shape));
  input.values = std::move(values);
  return input;
}

CaseInput images_of(std::vector<float> values) {
  const auto count = static_cast<Dim>(values.size());
  return integers_input(ElementType::kInt64, {count}, std::move(values));
}

/// Two boxes that overlap by a third, one apart, one within the first.
CaseInput boxes() {
  return given({1, 4, 4}, {0, 0, 2, 2, 0, 1, 2, 3, 5, 5, 7, 8, 0.5F, 0.5F, 1.5F, 1.5F});
}

CaseInput scores() { return given({1, 2, 4}, {0.9F, 0.8F, 0.7F, 0.6F, 0.2F, 0.5F, 0.5F, 0.4F}); }

CaseInput regions() { return given({3, 4}, {0, 0, 4, 4, 1, 2, 3.5F, 3, 4.6F, -1, 9, 2.5F}); }

}  // namespace

std::vector<OperatorCase> selection_cases() {
  const Window window{{2}, {1}, {1}, {0}};
  return {
      {"NonZero", NonZero{}, {given({2, 3}, {0, 1, 0, 2, 0, -3})}},
      {"NonZeroOfNone", NonZero{}, {given({3}, {0, 0, 0})}},
      {"NonZeroFlags", NonZero{}, {integers_input(ElementType::kBool, {4}, {1, 0, 1, 1})}},
      {"NonMaxSuppression", NonMaxSuppression{3, 0.25F}, {boxes(), scores()}},
      {"NonMaxSuppressionAbove", NonMaxSuppression{1, 0.5F, 0.45F, true}, {boxes(), scores()}},
      {"NonMaxSuppressionOfInputs",
       NonMaxSuppression{},
       {boxes(), scores(), integers_input(ElementType::kInt64, {1}, {2}), given({}, {0.25F}),
        given({1}, {0.45F})}},
      {"NonMaxSuppressionOfAThreshold",
       NonMaxSuppression{2, 0.25F},
       {boxes(), scores(), absent_input(), absent_input(), given({}, {0.55F})}},
      {"UniqueFirst", Unique{}, {given({5}, {3, 1, 3, 2, 1})}},
      {"UniqueInverse", Unique{0, true, UniqueResult::kInverse}, {given({5}, {3, 1, 3, 2, 1})}},
      {"UniqueColumns",
       Unique{1, false, UniqueResult::kInverse},
       {integers_input(ElementType::kInt32, {2, 4}, {2, 1, 2, 1, 5, 4, 5, 3})}},
      {"MaxPoolIndex", MaxPoolIndex{{3}, window}, {numbers_input({kBatch, 6, 2})}},
      {"RoiAlign",
       RoiAlign{2, 2, 2},
       {numbers_input({2, 6, 5, 3}), regions(), images_of({1, 0, 1})}},
      {"RoiAlignOfAnySize",
       RoiAlign{3, 2, 0, 0.5F, false},
       {numbers_input({2, 6, 5, 3}), regions(), images_of({1, 0, 1})}},
      {"RoiAlignLargest",
       RoiAlign{2, 2, 2, 1, true, true},
       {numbers_input({2, 6, 5, 3}), regions(), images_of({1, 0, 1})}},
      {"MaxRoiPool",
       MaxRoiPool{2, 2, 1},
       {numbers_input({2, 6, 5, 3}), regions(), images_of({1, 0, 1})}},
      {"Determinant", Determinant{}, {numbers_input({2, 3, 3})}},
      {"DeterminantOfBatch", Determinant{}, {numbers_input({kBatch, 4, 4})}},
  };
}

}  // namespace halftone::ir::test
