// SPDX-License-Identifier: Apache-2.0
#include "halftone/export_c/scope.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/ir/operator.h"
#include "halftone/ir/ops/convolution.h"
#include "halftone/ir/ops/traits.h"

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

std::string decimal(std::int64_t number) {
  // The smallest numbers of a type are no literals of C.
  const bool is_smallest = number == INT32_MIN || number == INT64_MIN;
  return is_smallest ? std::to_string(number + 1) + " - 1" : std::to_string(number);
}

}  // namespace

std::string exact(float number) {
  if (std::isinf(number)) return number > 0 ? "(1.0f / 0.0f)" : "-(1.0f / 0.0f)";
  if (std::isnan(number)) return "(0.0f / 0.0f)";
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
  return lines_of(elements, decimal);
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
  if (value.type.is_dense(ir::ElementType::kBool)) return {"uint8_t", "u8"};
  if (value.type.is_dense(ir::ElementType::kInt64)) return {"int64_t", "i64"};
  fail(ErrorKind::kUnsupported, "value '" + value.name + "': C programs have no values of " +
                                    encoding.to_string() +
                                    ", only int8, uint8, int32, int64, bool, float32 and codes of "
                                    "few bits");
}

Scope::Scope(const NodeToWrite& what, std::string prefix, std::size_t index)
    : what_(what), prefix_(std::move(prefix)), index_(index) {
  layer_.name = what.node.name;
  layer_.op = std::string(ir::name_of(what.node.op));
}

namespace {

double size_of(const ir::Shape& shape) { return static_cast<double>(shape.element_count()); }

/// Positions of a window; 0 without one.
double taps_of(const NodeToWrite& what) {
  const auto product = [](std::span<const ir::Dim> extents) {
    double taps = 1;
    for (const ir::Dim each : extents) taps *= static_cast<double>(each);
    return taps;
  };
  if (const auto* pool = std::get_if<ir::Pool>(&what.node.op)) return product(pool->kernel);
  if (!std::holds_alternative<ir::Conv>(what.node.op)) return 0;
  return product(ir::kernel_extents(what.graph.value(what.inputs[1]).type.shape));
}

/// Of layers with weights, products of two values and pools; 0 of others.
double num_multiplications(const NodeToWrite& what, double taps) {
  const auto shape = [&](std::size_t i) -> const ir::Shape& {
    return what.graph.value(what.inputs[i]).type.shape;
  };
  const ir::Shape& y = what.graph.value(what.output).type.shape;
  if (std::holds_alternative<ir::Pool>(what.node.op)) return taps * size_of(y);
  if (std::holds_alternative<ir::MatMul>(what.node.op)) {
    return size_of(y) * static_cast<double>(shape(0).back());
  }
  const ir::LayerKind kind = ir::traits_of(what.node.op).layer;
  if (kind != ir::LayerKind::kAffine && kind != ir::LayerKind::kRecurrent) return 0;
  const bool is_transposed = std::holds_alternative<ir::ConvTranspose>(what.node.op);
  const ir::Shape& rows = is_transposed ? shape(0) : y;
  return size_of(shape(1)) * static_cast<double>(runtime::row_extent(rows).rows);
}

/// Bits of the codes that a layer encodes numbers to: of its output, or of the states of a
/// recurrent layer; 8 of others.
int bits_of_codes(const NodeToWrite& what) {
  const ir::Encoding& output = what.graph.value(what.output).type.encoding;
  if (output.codes != nullptr) return output.codes->bits;
  const auto* recurrent = std::get_if<ir::Recurrent>(&what.node.op);
  return recurrent != nullptr && recurrent->state_encoding != nullptr
             ? recurrent->state_encoding->bits
             : 8;
}

}  // namespace

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

void Scope::add_text(const std::string& kernel) {
  layer_.texts.insert(kernel);
  if (!is_rare_) called_.insert(kernel);
}

void Scope::call(const std::string& kernel, const std::string& arguments) {
  add_text(kernel);
  layer_.kernel = "ht_" + kernel;
  line(layer_.kernel + "(" + arguments + ");");
}

void Scope::call_after(const std::string& kernel, const std::string& arguments) {
  add_text(kernel);
  line("ht_" + kernel + "(" + arguments + ");");
}

void Scope::call_within(const std::string& kernel, const std::string& arguments, bool is_main) {
  add_text(kernel);
  if (is_main) layer_.kernel = "ht_" + kernel;
  has_rows_ = true;
  line("  ht_" + kernel + "(" + arguments + ");");
}

void Scope::multiplies(Kernel kernel, const Product& product, std::size_t count) {
  const auto times = static_cast<double>(count);
  row_products_ += times * instructions(kernel, what_.core, product);
  row_inputs_ += times * static_cast<double>(product.inputs);
}

LayerFunction Scope::take() {
  LayerWork& work = layer_.work;
  const auto rows = static_cast<double>(this->rows());
  work.elements = size_of(output().shape);
  work.products = rows * row_products_;
  const double taps = taps_of(what_);
  work.rounds = has_rows_ ? rows : std::max(1.0, work.elements * taps);
  const double multiplications = num_multiplications(what_, taps);
  double read = rows * row_inputs_;
  for (std::size_t i = 0; read == 0 && i < what_.inputs.size(); ++i) {
    if (has_input(i) && constant(i) == nullptr) read += size_of(input(i).shape);
  }
  for (const std::string& text : called_) {
    const bool multiplies = multiplications > 0 && row_inputs_ == 0;
    work.steps[text] = text.starts_with("encode_")     ? work.elements * bits_of_codes(what_)
                       : !multiplies                   ? read
                       : layer_.kernel == "ht_" + text ? multiplications
                                                       : work.elements;
  }
  for (const auto& [text, own] : own_steps_) work.steps[text] = own;
  return std::move(layer_);
}

}  // namespace halftone::export_c
