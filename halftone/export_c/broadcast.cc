// SPDX-License-Identifier: Apache-2.0
#include "halftone/export_c/broadcast.h"

#include <algorithm>

#include "halftone/export_c/write_layers.h"
#include "halftone/ir/strides.h"

namespace halftone::export_c {
namespace {

std::string four(const std::vector<std::int64_t>& numbers) {
  return "{" + arguments(numbers[0], numbers[1], numbers[2], numbers[3]) + "}";
}

}  // namespace

OperandAxes operand_axes(const Scope& scope) {
  const ir::Shape& y = scope.output().shape;
  if (y.element_count() == 0) scope.refuse("an empty output");
  const std::size_t count = scope.what().inputs.size();
  OperandAxes axes;
  axes.steps.resize(count);
  std::vector<std::vector<std::size_t>> strides;
  for (std::size_t k = 0; k < count; ++k) {
    const auto of_operand = ir::broadcast_strides(scope.input(k).shape, y);
    strides.emplace_back(of_operand.begin(), of_operand.end());
  }
  for (std::size_t i = y.rank(); i-- > 0;) {
    if (y[i] == 1) continue;
    bool joins = !axes.extents.empty();
    for (std::size_t k = 0; k < count && joins; ++k) {
      joins =
          static_cast<std::int64_t>(strides[k][i]) == axes.steps[k].front() * axes.extents.front();
    }
    if (joins) {
      axes.extents.front() *= y[i];
      continue;
    }
    axes.extents.insert(axes.extents.begin(), y[i]);
    for (std::size_t k = 0; k < count; ++k) {
      axes.steps[k].insert(axes.steps[k].begin(), static_cast<std::int64_t>(strides[k][i]));
    }
  }
  if (axes.extents.size() > kMaxAxes) scope.refuse("more than four axes");
  const std::size_t missing = kMaxAxes - axes.extents.size();
  axes.extents.insert(axes.extents.begin(), missing, 1);
  for (std::vector<std::int64_t>& steps : axes.steps) steps.insert(steps.begin(), missing, 0);
  return axes;
}

void add_axes(Scope& scope, const OperandAxes& axes, std::initializer_list<const char*> names) {
  scope.line("static const int32_t extents[4] = " + four(axes.extents) + ";");
  std::size_t operand = 0;
  for (const char* name : names) {
    scope.line("static const int32_t " + std::string(name) +
               "_steps[4] = " + four(axes.steps[operand++]) + ";");
  }
}

std::string operand(Scope& scope, std::size_t i, const std::string& name) {
  const ir::Constant* constant = scope.constant(i);
  if (constant == nullptr) {
    scope.reads(name, i);
    return name;
  }
  const auto& tensor = std::get<ir::Tensor>(*constant);
  const ir::ElementType element = tensor.element();
  if (element == ir::ElementType::kFloat32) return scope.array<float>(name, tensor.as<float>());
  if (element == ir::ElementType::kBool || element == ir::ElementType::kUint8) {
    return scope.array<std::uint8_t>(name, tensor.as<std::uint8_t>());
  }
  if (element == ir::ElementType::kInt8) {
    return scope.array<std::int8_t>(name, tensor.as<std::int8_t>());
  }
  if (element == ir::ElementType::kInt32) {
    return scope.array<std::int32_t>(name, tensor.as<std::int32_t>());
  }
  if (element != ir::ElementType::kInt64) {
    scope.refuse("a constant of " + scope.input(i).to_string());
  }
  return scope.array<std::int64_t>(name, tensor.as<std::int64_t>());
}

}  // namespace halftone::export_c
