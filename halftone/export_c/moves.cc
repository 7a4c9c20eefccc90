// SPDX-License-Identifier: Apache-2.0
// Operators that move elements: all are copies from steps of bytes to others.
#include <algorithm>
#include <vector>

#include "halftone/export_c/write_layers.h"

namespace halftone::export_c {
namespace {

/// Bytes of the elements of a shape from an axis on.
std::int64_t bytes_from(const ir::ValueType& type, std::size_t axis) {
  auto bytes = static_cast<std::int64_t>(ir::size_bytes(type.encoding.element));
  for (std::size_t i = axis; i < type.shape.rank(); ++i) bytes *= type.shape[i];
  return bytes;
}

/// The steps of all axes in bytes.
std::vector<std::int64_t> steps_of(const ir::ValueType& type) {
  std::vector<std::int64_t> steps;
  for (std::size_t i = 0; i < type.shape.rank(); ++i) steps.push_back(bytes_from(type, i + 1));
  return steps;
}

/// A copy of axes.
struct Copy {
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> from;
  std::vector<std::int64_t> to;
};

/// Joins axes that lie behind each other on both sides.
void join_axes(Copy& copy) {
  for (std::size_t i = copy.extents.size(); i-- > 1;) {
    const bool joins = copy.from[i - 1] == copy.from[i] * copy.extents[i] &&
                       copy.to[i - 1] == copy.to[i] * copy.extents[i];
    if (!joins && copy.extents[i - 1] != 1) continue;
    copy.extents[i - 1] *= copy.extents[i];
    copy.from[i - 1] = copy.from[i];
    copy.to[i - 1] = copy.to[i];
    const auto at = static_cast<std::ptrdiff_t>(i);
    copy.extents.erase(copy.extents.begin() + at);
    copy.from.erase(copy.from.begin() + at);
    copy.to.erase(copy.to.begin() + at);
  }
}

std::string list(std::vector<std::int64_t> numbers, std::int64_t before) {
  numbers.insert(numbers.begin(), kMaxAxes - numbers.size(), before);
  return "{" + arguments(numbers[0], numbers[1], numbers[2], numbers[3]) + "}";
}

/// @param x, y  where the first element lies
void write_copy(Scope& scope, Copy copy, const std::string& x, const std::string& y,
                const std::string& number) {
  auto element = static_cast<std::int64_t>(ir::size_bytes(scope.output().encoding.element));
  join_axes(copy);
  if (copy.from.back() == element && copy.to.back() == element) {
    // Whole runs are the elements.
    element *= copy.extents.back();
    copy.extents.back() = 1;
  }
  if (copy.extents.size() > kMaxAxes) scope.refuse("more than four axes");
  for (const auto& [name, numbers, before] : {std::tuple("extents", copy.extents, std::int64_t{1}),
                                              std::tuple("from", copy.from, std::int64_t{0}),
                                              std::tuple("to", copy.to, std::int64_t{0})}) {
    scope.line("static const int32_t " + std::string(name) + number +
               "[4] = " + list(numbers, before) + ";");
  }
  scope.call("copy", arguments(x, "extents" + number, "from" + number, y, "to" + number, element));
}

void require_dense(const Scope& scope, std::size_t i) {
  if (scope.constant(i) != nullptr) scope.refuse("an input that is constant");
  if (!scope.input(i).encoding.is_dense()) scope.refuse("codes of few bits");
  if (scope.output().shape.element_count() == 0) scope.refuse("an empty output");
}

std::vector<std::int64_t> extents_of(const ir::Shape& shape) {
  std::vector<std::int64_t> extents;
  for (std::size_t i = 0; i < shape.rank(); ++i) extents.push_back(shape[i]);
  return extents;
}

/// The address some bytes behind a pointer.
std::string behind(const std::string& pointer, std::int64_t bytes, bool is_const) {
  if (bytes == 0) return pointer;
  return std::string(is_const ? "(const char *)" : "(char *)") + pointer + " + " +
         std::to_string(bytes);
}

/// An input of a Concat: a value, or a constant array.
std::string part(Scope& scope, std::size_t i) {
  const std::string name = "x" + std::to_string(i);
  if (const ir::Constant* constant = scope.constant(i)) {
    const auto& tensor = std::get<ir::Tensor>(*constant);
    if (tensor.element() == ir::ElementType::kInt8) {
      return scope.array<std::int8_t>(name, tensor.as<std::int8_t>());
    }
    if (tensor.element() != ir::ElementType::kFloat32) scope.refuse("a constant of this type");
    return scope.array<float>(name, tensor.as<float>());
  }
  require_dense(scope, i);
  scope.reads(name, i);
  return name;
}

void write_concat(Scope& scope, const ir::Concat& op) {
  scope.writes("y");
  std::int64_t at = 0;
  for (std::size_t i = 0; i < scope.what().inputs.size(); ++i) {
    const std::string name = part(scope, i);
    write_copy(
        scope,
        {extents_of(scope.input(i).shape), steps_of(scope.input(i)), steps_of(scope.output())},
        name, behind("y", at, false), std::to_string(i));
    at += bytes_from(scope.input(i), op.axis);
  }
}

void write_slice(Scope& scope, const ir::Slice& op) {
  require_dense(scope, 0);
  std::vector<std::int64_t> from = steps_of(scope.input(0));
  const std::int64_t begin = static_cast<std::int64_t>(op.begin) * from[op.axis];
  from[op.axis] *= op.step;
  scope.reads("x", 0);
  scope.writes("y");
  write_copy(scope, {extents_of(scope.output().shape), from, steps_of(scope.output())},
             behind("x", begin, true), "y", "");
}

void write_transpose(Scope& scope, const ir::Transpose& op) {
  require_dense(scope, 0);
  const std::vector<std::int64_t> steps = steps_of(scope.input(0));
  std::vector<std::int64_t> from;
  for (const std::size_t axis : op.permutation) from.push_back(steps[axis]);
  scope.reads("x", 0);
  scope.writes("y");
  write_copy(scope, {extents_of(scope.output().shape), from, steps_of(scope.output())}, "x", "y",
             "");
}

/// Fills the output with the constant of a Pad.
void add_padding(Scope& scope) {
  const std::int64_t bytes = bytes_from(scope.output(), 0);
  const ir::Constant* constant = scope.constant(1);
  if (scope.has_input(1) && constant == nullptr) scope.refuse("padding that is computed");
  const auto* tensor = constant == nullptr ? nullptr : &std::get<ir::Tensor>(*constant);
  const auto is_zero = [](std::byte b) { return b == std::byte{0}; };
  if (tensor == nullptr || std::ranges::all_of(tensor->bytes(), is_zero)) {
    return scope.line("memset(y, " + arguments(0, bytes) + ");");
  }
  if (tensor->bytes().size() == 1) {
    const int byte = std::to_integer<int>(tensor->bytes()[0]);
    return scope.line("memset(y, " + arguments(byte, bytes) + ");");
  }
  if (tensor->element() != ir::ElementType::kFloat32) scope.refuse("padding of this type");
  scope.call("fill_f32",
             arguments("y", scope.output().shape.element_count(), exact(tensor->as<float>()[0])));
}

void write_pad(Scope& scope, const ir::Pad& op) {
  require_dense(scope, 0);
  const std::vector<std::int64_t> to = steps_of(scope.output());
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < to.size(); ++i) {
    begin += static_cast<std::int64_t>(op.before[i]) * to[i];
  }
  scope.reads("x", 0);
  scope.writes("y");
  add_padding(scope);
  write_copy(scope, {extents_of(scope.input(0).shape), steps_of(scope.input(0)), to}, "x",
             behind("y", begin, false), "");
}

}  // namespace

bool write_move(Scope& scope) {
  if (const auto* concat = scope.op<ir::Concat>()) {
    write_concat(scope, *concat);
  } else if (const auto* slice = scope.op<ir::Slice>()) {
    write_slice(scope, *slice);
  } else if (const auto* transpose = scope.op<ir::Transpose>()) {
    write_transpose(scope, *transpose);
  } else if (const auto* pad = scope.op<ir::Pad>();
             pad != nullptr && pad->mode == ir::PadMode::kConstant) {
    write_pad(scope, *pad);
  } else {
    return false;
  }
  return true;
}

}  // namespace halftone::export_c
