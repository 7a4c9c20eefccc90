// SPDX-License-Identifier: Apache-2.0
// Operators that only move elements, on a tape. The reference implementation runs on element
// numbers and so tells the source of each element.
#include <algorithm>
#include <cstdint>

#include "halftone/gradient/steps.h"

namespace halftone::gradient {
namespace {

/// The inputs of a node with their elements replaced by numbers that identify them.
struct Numbered {
  std::vector<ir::Tensor> inputs;   ///< int32, from 1 on; indices and lengths as they are
  std::vector<std::size_t> begins;  ///< the number of each input's first element, and the end
};

Numbered numbered(const StepContext& context) {
  Numbered result;
  std::int32_t next = 1;
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    result.begins.push_back(static_cast<std::size_t>(next));
    const ir::Value& value = context.graph.value(context.node.inputs[i]);
    if (value.type.encoding.element == ir::ElementType::kFloat32) {
      result.inputs.emplace_back(ir::ElementType::kInt32, value.type.shape);
      for (std::int32_t& number : result.inputs.back().as<std::int32_t>()) number = next++;
    } else {
      result.inputs.push_back(typed_input(context, i));
    }
  }
  result.begins.push_back(static_cast<std::size_t>(next));
  return result;
}

/// The source of an element: an input and an index in it, or kNowhere for a zero.
struct Source {
  static constexpr std::uint32_t kNowhere = 0xffffffff;
  std::uint32_t input = kNowhere;
  std::uint32_t place = 0;
};

std::vector<Source> sources_of(const StepContext& context) {
  const Numbered given = numbered(context);
  std::vector<const ir::Tensor*> inputs;
  for (const ir::Tensor& tensor : given.inputs) inputs.push_back(&tensor);
  const ir::Tensor moved = ir::evaluate_operator(context.node.op, inputs);
  std::vector<Source> sources;
  for (const std::int32_t number : moved.as<std::int32_t>()) {
    sources.emplace_back();
    if (number <= 0) continue;
    const auto n = static_cast<std::size_t>(number);
    const auto after = std::ranges::upper_bound(given.begins, n);
    const auto input = static_cast<std::size_t>(after - given.begins.begin()) - 1;
    sources.back() = {static_cast<std::uint32_t>(input),
                      static_cast<std::uint32_t>(n - given.begins[input])};
  }
  return sources;
}

}  // namespace

TapeStep move_step(const StepContext& context) {
  // Shared by both directions; found again in each run if indices or lengths may change.
  const bool is_fixed = std::ranges::all_of(context.node.inputs, [&](ir::ValueId id) {
    const ir::Value& value = context.graph.value(id);
    return value.type.encoding.element == ir::ElementType::kFloat32 || value.constant != nullptr;
  });
  const auto sources = std::make_shared<std::vector<Source>>();
  if (is_fixed) *sources = sources_of(context);
  const auto x = context.inputs;
  const auto dx = context.input_gradients;
  const auto y = context.output;
  const auto dy = context.output_gradient;
  return {[=] {
            if (!is_fixed) *sources = sources_of(context);
            for (std::size_t i = 0; i < y.size(); ++i) {
              const Source from = (*sources)[i];
              y[i] = from.input == Source::kNowhere ? 0.0F : x[from.input][from.place];
            }
          },
          [=] {
            for (std::size_t i = 0; i < dy.size(); ++i) {
              const Source from = (*sources)[i];
              if (from.input == Source::kNowhere || dx[from.input].empty()) continue;
              dx[from.input][from.place] += dy[i];
            }
          }};
}

}  // namespace halftone::gradient
