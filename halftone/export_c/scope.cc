// SPDX-License-Identifier: Apache-2.0
#include "halftone/export_c/scope.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/ir/operator.h"

namespace halftone::export_c {
namespace {

constexpr std::size_t kColumns = 100;

/// Texts as lines that end with a comma each.
template <typename T, typename Text>
std::string lines_of(std::span<const T> elements, const Text& text) {
  std::string all;
  std::string line = " ";
  for (const T& each : elements) {
    const std::string word = " " + text(each) + ",";
    if (line.size() + word.size() > kColumns) {
      all += line + "\n";
      line = " ";
    }
    line += word;
  }
  return all + line + "\n";
}

std::string decimal(std::int32_t number) {
  // -2147483648 is no literal of C.
  return number == INT32_MIN ? "-2147483647 - 1" : std::to_string(number);
}

}  // namespace

std::string exact(float number) {
  if (std::isinf(number)) return number > 0 ? "(1.0f / 0.0f)" : "-(1.0f / 0.0f)";
  if (std::isnan(number)) return "NAN";
  std::array<char, 40> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), std::abs(number),
                                 std::chars_format::hex)
                       .ptr;
  return (std::signbit(number) ? "-0x" : "0x") + std::string(digits.data(), end) + "f";
}

std::string elements_text(std::span<const std::int8_t> elements) {
  return lines_of(elements, [](std::int8_t each) { return std::to_string(each); });
}
std::string elements_text(std::span<const std::uint8_t> elements) {
  return lines_of(elements, [](std::uint8_t each) { return std::to_string(each); });
}
std::string elements_text(std::span<const std::int16_t> elements) {
  return lines_of(elements, [](std::int16_t each) { return std::to_string(each); });
}
std::string elements_text(std::span<const std::int32_t> elements) {
  return lines_of(elements, decimal);
}
std::string elements_text(std::span<const std::int64_t> elements) {
  return lines_of(elements, [](std::int64_t each) { return std::to_string(each); });
}
std::string elements_text(std::span<const std::uint32_t> elements) {
  return lines_of(elements, [](std::uint32_t each) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text = "0x";
    for (int shift = 28; shift >= 0; shift -= 4) text += kDigits[each >> shift & 15];
    return text + "u";
  });
}
std::string elements_text(std::span<const float> elements) { return lines_of(elements, exact); }

CType scratch_type(std::string_view type) {
  if (type == "int8_t") return {"int8_t", "i8"};
  if (type == "float") return {"float", "f32"};
  if (type == "double") return {"double", "f64"};
  if (type == "uint32_t") return {"uint32_t", "u32"};
  return {"int32_t", "i32"};
}

CType c_type(const ir::Graph& graph, ir::ValueId id, runtime::CodeLayout layout) {
  const ir::Value& value = graph.value(id);
  const ir::Encoding& encoding = value.type.encoding;
  if (encoding.codes != nullptr) {
    const CodeRows rows = code_rows(graph, id, layout);
    if (rows.is_planes()) return {"uint32_t", "u32"};
    return rows.is_bytes() ? CType{"int8_t", "i8"} : CType{"uint8_t", "u8"};
  }
  if (value.type.is_dense(ir::ElementType::kInt8)) return {"int8_t", "i8"};
  if (value.type.is_dense(ir::ElementType::kInt32)) return {"int32_t", "i32"};
  if (value.type.is_dense(ir::ElementType::kFloat32)) return {"float", "f32"};
  if (value.type.is_dense(ir::ElementType::kUint8)) return {"uint8_t", "u8"};
  if (value.type.is_dense(ir::ElementType::kInt64)) return {"int64_t", "i64"};
  fail(ErrorKind::kUnsupported, "value '" + value.name + "': C programs have no values of " +
                                    encoding.to_string() +
                                    ", only int8, uint8, int32, float32 and codes of few bits");
}

Scope::Scope(const NodeToWrite& what, std::string prefix, std::size_t index)
    : what_(what), prefix_(std::move(prefix)), index_(index) {
  layer_.name = what.node.name;
  layer_.op = std::string(ir::name_of(what.node.op));
}

void Scope::refuse(const std::string& reason) const {
  fail(ErrorKind::kUnsupported, ir::describe(what_.node) + ": C has no kernel for " + reason);
}

namespace {

/// What helps where codes are not int8.
std::string help_for(const ir::ValueType& type) {
  if (!type.is_dense(ir::ElementType::kUint8)) return "";
  return "; 'quantize --full-integer' to a .tflite file has int8";
}

}  // namespace

void Scope::require_input(std::size_t i, ir::ElementType element, const std::string& what) const {
  if (constant(i) != nullptr) refuse(what + " being constant");
  if (!input(i).is_dense(element)) {
    refuse(what + " " + input(i).to_string() + ", only for " + std::string(to_string(element)) +
           help_for(input(i)));
  }
}

void Scope::require_output(ir::ElementType element) const {
  if (output().is_dense(element)) return;
  refuse("the output " + output().to_string() + ", only for " + std::string(to_string(element)) +
         help_for(output()));
}

void Scope::reads(std::string name, std::size_t input) {
  layer_.inputs.push_back({std::move(name), what_.inputs[input]});
}

void Scope::writes(std::string name) { layer_.output = {std::move(name), what_.output}; }

void Scope::compute_pixel(std::size_t input, const std::string& pixel, const std::string& y) {
  const std::size_t function = what_.by_pixel->at(what_.inputs[input]);
  line("  " + prefix_ + "_layer_" + std::to_string(function) + "(net, " + pixel + ", " + y + ");");
}

void Scope::line(const std::string& text) {
  const bool is_indented = layer_.is_by_pixel && text.starts_with("  ");
  layer_.body += (is_indented ? "" : "  ") + text + "\n";
}

void Scope::scratch(std::string name, std::string type, std::size_t elements) {
  const std::size_t each = type == "int8_t" ? 1 : type == "double" ? 8 : 4;
  const std::size_t bytes = (elements * each + 3) / 4 * 4;
  layer_.scratch.push_back({std::move(name), std::move(type), bytes});
}

std::string Scope::add_array(const std::string& kind, ConstantArray array) {
  array.name = prefix_ + "_" + kind + "_" + std::to_string(index_);
  layer_.arrays.push_back(std::move(array));
  return layer_.arrays.back().name;
}

void Scope::call(const std::string& kernel, const std::string& arguments) {
  layer_.texts.insert(kernel);
  layer_.kernel = "ht_" + kernel;
  line(layer_.kernel + "(" + arguments + ");");
}

void Scope::call_after(const std::string& kernel, const std::string& arguments) {
  layer_.texts.insert(kernel);
  line("ht_" + kernel + "(" + arguments + ");");
}

void Scope::call_within(const std::string& kernel, const std::string& arguments, bool is_main) {
  layer_.texts.insert(kernel);
  if (is_main) layer_.kernel = "ht_" + kernel;
  line("  ht_" + kernel + "(" + arguments + ");");
}

}  // namespace halftone::export_c
