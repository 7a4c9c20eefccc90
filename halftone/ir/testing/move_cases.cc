// SPDX-License-Identifier: Apache-2.0
// Operators that move elements, look them up or interpolate between them.
#include "halftone/ir/testing/operator_cases.h"

namespace halftone::ir::test {
namespace {

CaseInput indices(Shape shape, std::vector<float> values) {
  return integers_input(ElementType::kInt64, std::move(shape), std::move(values));
}

std::vector<OperatorCase> extend_cases() {
  return {
      {"BroadcastTo", BroadcastTo{{2, 3, 4}}, {numbers_input({3, 1})}},
      {"BroadcastToItself", BroadcastTo{{1, 1}}, {numbers_input({kBatch, 3, 4})}},
      {"Tile", Tile{{1, 2}}, {numbers_input({kBatch, 3})}},
      {"TileTwoAxes", Tile{{3, 2}}, {numbers_input({2, 2})}},
      {"PadReflect", Pad{PadMode::kReflect, {0, 1}, {0, 2}}, {numbers_input({kBatch, 4})}},
      {"PadReflectFar", Pad{PadMode::kReflect, {2, 4}, {0, 5}}, {numbers_input({3, 3})}},
      {"PadEdge", Pad{PadMode::kEdge, {1, 0, 2}, {0, 0, 1}}, {numbers_input({2, 2, 3})}},
      {"PadWrap", Pad{PadMode::kWrap, {0, 4}, {3, 1}}, {numbers_input({2, 3})}},
      {"PadZeros", Pad{PadMode::kConstant, {0, 1}, {0, 0}}, {numbers_input({kBatch, 3})}},
      {"PadNumber",
       Pad{PadMode::kConstant, {0, 1}, {1, 2}},
       {numbers_input({2, 3}), numbers_input(Shape{})}},
      {"ReverseSequence", ReverseSequence{0, 1}, {numbers_input({2, 4}), indices({2}, {3, 2})}},
      {"ReverseSequenceInner",
       ReverseSequence{1, 0},
       {numbers_input({4, 2, 3}), indices({2}, {4, 0})}},
  };
}

std::vector<OperatorCase> gather_cases() {
  return {
      {"Gather", Gather{1}, {numbers_input({kBatch, 3, 2}), indices({4}, {2, -3, 2, 1})}},
      {"GatherTable", Gather{0}, {numbers_input({3, 2}), indices({2, 2}, {2, 0, -1, 2})}},
      {"GatherOne", Gather{1}, {numbers_input({kBatch, 2}), indices(Shape{}, {-1})}},
      {"GatherInt32",
       Gather{0},
       {numbers_input({3}), integers_input(ElementType::kInt32, {2}, {2, 0})}},
      {"GatherElements",
       GatherElements{1},
       {numbers_input({2, 3}), indices({2, 2}, {2, 2, 0, -1})}},
      {"GatherElementsOuter",
       GatherElements{0},
       {numbers_input({2, 3}), indices({4, 2}, {1, 0, 0, 1, -1, 1, -2, 0})}},
      {"GatherND", GatherND{}, {numbers_input({3, 2}), indices({2, 1}, {2, 0})}},
      {"GatherNDElements",
       GatherND{},
       {numbers_input({3, 2}), indices({4, 2}, {2, 0, -1, -2, 0, 1, 2, 0})}},
      {"GatherNDDeep",
       GatherND{},
       {numbers_input({2, 3, 2}), indices({2, 2, 2}, {1, 0, -1, 2, 0, 1, 1, 0})}},
      {"GatherNDBatch", GatherND{1}, {numbers_input({2, 3, 2}), indices({2, 2, 1}, {2, 0, -1, 1})}},
      {"GatherNDBatchElements",
       GatherND{1},
       {numbers_input({2, 3, 2}), indices({2, 2}, {2, 0, -1, 1})}},
      {"OneHot",
       OneHot{1, 30},
       {integers_input(ElementType::kInt64, {kBatch, 4}), numbers_input({2})}},
  };
}

std::vector<OperatorCase> scatter_cases() {
  std::vector<OperatorCase> cases;
  static constexpr const char* kNames[] = {"Replace", "Add", "Mul", "Max", "Min"};
  for (std::size_t i = 0; i <= static_cast<std::size_t>(Scatter::kMin); ++i) {
    const auto reduction = static_cast<Scatter>(i);
    const auto add = [&](const std::string& name, const Operator& op, Shape x, CaseInput at,
                         Shape updates) {
      cases.push_back(
          {name + kNames[i],
           op,
           {numbers_input(std::move(x)), std::move(at), numbers_input(std::move(updates))}});
    };
    const ScatterND nd{reduction};
    add("ScatterElements", ScatterElements{1, reduction}, {2, 3}, indices({2, 2}, {2, 2, 0, -1}),
        {2, 2});
    add("ScatterElementsOuter", ScatterElements{0, reduction}, {3, 2},
        indices({4, 1}, {1, 0, 1, 1}), {4, 1});
    add("ScatterND", nd, {3, 2}, indices({3, 1}, {2, 0, -1}), {3, 2});
    add("ScatterNDElements", nd, {3, 2}, indices({3, 2}, {2, 0, 1, 1, -1, -2}), {3});
    add("ScatterNDDeep", nd, {2, 2, 2}, indices({2, 1, 2}, {1, 0, 0, 1}), {2, 1, 2});
  }
  return cases;
}

}  // namespace

std::vector<OperatorCase> layout_cases() {
  const CaseInput integers = integers_input(ElementType::kInt8, {kBatch, 3, 4});
  std::vector<OperatorCase> cases = {
      {"Reshape", Reshape{{kBatch, 6}}, {numbers_input({kBatch, 3, 2})}},
      {"ReshapeToNumber", Reshape{{}}, {numbers_input({1, 1})}},
      {"ReshapeIntegers", Reshape{{kBatch, 4, 3}}, {integers}},
      {"Transpose", Transpose{{2, 0, 1}}, {numbers_input({kBatch, 3, 4})}},
      {"TransposeIntegers", Transpose{{0, 2, 1}}, {integers}},
      {"Concat",
       Concat{1},
       {numbers_input({kBatch, 3}), numbers_input({kBatch, 2}), numbers_input({kBatch, 1})}},
      {"ConcatOne", Concat{0}, {numbers_input({2, 3})}},
      {"Slice", Slice{1, 1, 2, 3}, {numbers_input({kBatch, 7})}},
      {"SliceBackwards", Slice{1, 3, -2, 2}, {numbers_input({kBatch, 4, 2})}},
      {"SliceReversed", Slice{0, 3, -1, 4}, {numbers_input({4, 2})}},
      {"SliceOfNothing", Slice{1, 0, 1, 0}, {numbers_input({kBatch, 7})}},
  };
  const auto extended = extend_cases();
  cases.insert(cases.end(), extended.begin(), extended.end());
  return cases;
}

std::vector<OperatorCase> indexing_cases() {
  std::vector<OperatorCase> cases = gather_cases();
  const auto scattered = scatter_cases();
  cases.insert(cases.end(), scattered.begin(), scattered.end());
  return cases;
}

std::vector<OperatorCase> resampling_cases() {
  std::vector<OperatorCase> cases;
  static constexpr const char* kModes[] = {"Nearest", "Linear", "Cubic"};
  for (std::size_t mode = 0; mode <= static_cast<std::size_t>(Interpolation::kCubic); ++mode) {
    const std::string name = kModes[mode];
    for (std::size_t i = 0; i <= static_cast<std::size_t>(Coordinates::kCropAndResize); ++i) {
      for (const std::size_t count : {3U, 5U, 9U}) {
        for (const bool flag : {false, true}) {
          Resize op{.axis = 1, .count = count, .scale = static_cast<float>(count) / 5};
          op.mode = static_cast<Interpolation>(mode);
          op.coordinates = static_cast<Coordinates>(i);
          op.exclude_outside = op.antialias = flag;
          op.begin = -0.3F;
          op.end = 0.9F;
          op.extrapolation = 2;
          cases.push_back({"Resize" + name + std::to_string(i) + "To" + std::to_string(count) +
                               (flag ? "Flags" : ""),
                           op,
                           {numbers_input({kBatch, 5, 2})}});
        }
      }
    }
    for (std::size_t i = 0; i <= static_cast<std::size_t>(Surroundings::kReflection); ++i) {
      cases.push_back(
          {"GridSample" + name + std::to_string(i),
           GridSample{static_cast<Interpolation>(mode), static_cast<Surroundings>(i), i == 1},
           {numbers_input({kBatch, 3, 4, 2}), numbers_input({kBatch, 2, 2, 2}, Domain::kSmall)}});
    }
  }
  return cases;
}

}  // namespace halftone::ir::test
