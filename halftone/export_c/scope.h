// SPDX-License-Identifier: Apache-2.0
// A layer of the C program while it is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "halftone/export_c/code_memory.h"
#include "halftone/export_c/pack/kernel_costs.h"
#include "halftone/ir/graph.h"
#include "halftone/runtime/value.h"

namespace halftone::export_c {

/// A constant array of the program.
struct ConstantArray {
  std::string name;
  std::string type;      ///< "int8_t"
  std::string elements;  ///< lines, each with its indent
  std::size_t count = 0;
  std::size_t bytes = 0;
  bool is_table = false;  ///< of a function, else weights
};

/// A value that a layer reads or writes, and its name in the function.
struct Operand {
  std::string name;
  ir::ValueId value = ir::kAbsent;
};

/// Memory that a layer uses while it runs.
struct Scratch {
  std::string name;
  std::string type;
  std::size_t bytes = 0;  ///< a multiple of 4
};

/// What a layer does in a run, for its number of instructions.
struct LayerWork {
  double products = 0;  ///< instructions() of the kernels that multiply
  /// Of each text that the layer calls, but for lines that hardly ever run: of layers with
  /// `products` the inputs of all windows, of others the multiplications of the kernel that the
  /// layer is named for, without them elements that are read; or as Scope::takes_steps().
  std::map<std::string, double> steps;
  double elements = 0;  ///< of the output
  double rounds = 0;    ///< rows or pixels in a loop; of other windows their taps; else 1
};

/// A function of the program.
struct LayerFunction {
  std::string name;
  std::string op;
  std::string kernel;           ///< the C function that it calls
  std::vector<Operand> inputs;  ///< computed values
  Operand output;
  std::vector<Scratch> scratch;  ///< one behind the other
  std::vector<ConstantArray> arrays;
  std::set<std::string> texts;  ///< of kernels
  std::string body;             ///< statements behind the pointers to operands
  bool may_overwrite = false;   ///< whether the output may begin where the first input does
  bool is_by_pixel = false;     ///< whether it computes the pixel p of its output, `sums`
  LayerWork work;
};

/// What a node of the graph becomes: the node, and a conversion behind it that its kernel includes.
struct NodeToWrite {
  const ir::Graph& graph;
  const ir::Node& node;
  std::span<const runtime::CodeLayout> layouts;  ///< of codes, by value
  const ir::Requantize* requantize = nullptr;    ///< of the sums of the node
  const ir::Encode* encode = nullptr;            ///< of the outputs of a FullyConnected
  const ir::Lookup* a_integers = nullptr;        ///< of the operands of a Binary
  const ir::Lookup* b_integers = nullptr;
  std::vector<ir::ValueId> inputs{};  ///< of all together
  ir::ValueId output = ir::kAbsent;
  Core core = Core::kM4;  ///< for which kernels are chosen
  /// The functions of values that are computed by pixel, see functions_by_pixel().
  const std::map<ir::ValueId, std::size_t>* by_pixel = nullptr;

  /// Whether the output shares the memory of the input.
  [[nodiscard]] bool is_alias() const { return std::holds_alternative<ir::Reshape>(node.op); }
};

/// Collects a layer. Functions that write a node return false if it is none of theirs, and refuse()
/// what they have no kernel for.
class Scope {
 public:
  /// @param prefix  of all names: "net"
  Scope(const NodeToWrite& what, std::string prefix, std::size_t index);

  template <typename Op>
  [[nodiscard]] const Op* op() const {
    return std::get_if<Op>(&what_.node.op);
  }
  [[nodiscard]] const NodeToWrite& what() const { return what_; }
  [[nodiscard]] const ir::ValueType& input(std::size_t i) const {
    return what_.graph.value(what_.inputs[i]).type;
  }
  [[nodiscard]] const ir::ValueType& output() const { return what_.graph.value(what_.output).type; }
  [[nodiscard]] bool has_input(std::size_t i) const {
    return i < what_.inputs.size() && what_.inputs[i] != ir::kAbsent;
  }
  [[nodiscard]] const ir::Constant* constant(std::size_t i) const {
    return has_input(i) ? what_.graph.constant(what_.inputs[i]) : nullptr;
  }
  /// How the codes of the input lie.
  [[nodiscard]] CodeRows input_codes() const { return codes(what_.inputs[0]); }
  [[nodiscard]] CodeRows output_codes() const { return codes(what_.output); }

  /// @throws Error kUnsupported "node 'a' (Conv2D): C has no kernel for REASON"
  [[noreturn]] void refuse(const std::string& reason) const;
  /// refuse() unless a computed input has this type. @param what  "the input"
  void require_input(std::size_t i, ir::ElementType element, const std::string& what) const;
  void require_output(ir::ElementType element) const;

  /// Adds an operand of this name. @return the name
  void reads(std::string name, std::size_t input);
  void writes(std::string name);
  [[nodiscard]] const std::string& output_name() const { return layer_.output.name; }
  /// Whether readers of a value ask for it pixel by pixel.
  [[nodiscard]] bool is_by_pixel(ir::ValueId id) const {
    return what_.by_pixel != nullptr && what_.by_pixel->contains(id);
  }
  /// Adds a line in a loop that computes a pixel of an input which is_by_pixel().
  /// @param y  where its channels go
  void compute_pixel(std::size_t input, const std::string& pixel, const std::string& y);
  /// Allows that the output lies in the memory of the first input.
  void may_overwrite() { layer_.may_overwrite = true; }
  /// Makes the layer a function of one pixel: lines of the loop over pixels are its lines.
  void write_by_pixel() { layer_.is_by_pixel = true; }
  /// @param type  float64 only as the first
  void scratch(std::string name, std::string type, std::size_t elements);
  /// Adds a constant array. @return its name in C
  template <typename T>
  std::string array(const std::string& kind, std::span<const T> elements, bool is_table = false);
  /// Adds a line to the body of the function.
  void line(const std::string& text);
  /// Adds a text whose functions the body calls.
  void needs(const std::string& text) { layer_.texts.insert(text); }
  /// Names the layer for a kernel.
  void named_for(const std::string& kernel) { layer_.kernel = "ht_" + kernel; }
  /// Adds the line "ht_kernel(arguments);".
  /// @param kernel  the name of its text
  void call(const std::string& kernel, const std::string& arguments);
  /// The same behind the kernel that the layer is named for.
  void call_after(const std::string& kernel, const std::string& arguments);
  /// The same in a loop. @param is_main  whether the layer is named for the kernel
  void call_within(const std::string& kernel, const std::string& arguments, bool is_main = false);

  /// Counts products of a row or pixel. @param count  how many of this kind
  void multiplies(Kernel kernel, const Product& product, std::size_t count = 1);
  /// Says how many steps a text takes in a run, where they are others than LayerWork says: of
  /// floats behind products, pairs of digits and planes of all outputs.
  void takes_steps(const std::string& text, std::size_t steps) {
    own_steps_[text] += static_cast<double>(steps);
  }
  /// Whether the lines that follow hardly ever run.
  void set_rare(bool is_rare) { is_rare_ = is_rare; }
  /// Rows or pixels of the output.
  [[nodiscard]] std::size_t rows() const { return runtime::row_extent(output().shape).rows; }

  /// @pre all has been added
  [[nodiscard]] LayerFunction take();

 private:
  [[nodiscard]] CodeRows codes(ir::ValueId id) const {
    return code_rows(what_.graph, id, what_.layouts[static_cast<std::size_t>(id)]);
  }
  std::string add_array(const std::string& kind, ConstantArray array);
  void add_text(const std::string& kernel);

  const NodeToWrite& what_;
  std::string prefix_;
  std::size_t index_;
  LayerFunction layer_;
  double row_products_ = 0;  ///< instructions of a row or pixel
  double row_inputs_ = 0;    ///< that products of a row or pixel multiply
  bool has_rows_ = false;    ///< whether kernels are called in a loop over rows or pixels
  bool is_rare_ = false;
  std::set<std::string> called_;  ///< texts
  std::map<std::string, double> own_steps_;
};

/// "int8_t" of a value in the arena, and the member of the arena that has it: "i8".
struct CType {
  std::string_view type;
  std::string_view member;

  [[nodiscard]] std::size_t bytes() const {
    return member.ends_with("64") ? 8 : member.ends_with("8") ? 1 : 4;
  }
};
/// That of scratch: "int8_t", "float", ...; of others, words.
CType scratch_type(std::string_view type);
/// @throws Error kUnsupported if C programs have no such values
CType c_type(const ir::Graph& graph, ir::ValueId id, runtime::CodeLayout layout);

/// Elements as lines of C.
std::string elements_text(std::span<const std::int8_t> elements);
std::string elements_text(std::span<const std::uint8_t> elements);
std::string elements_text(std::span<const std::int16_t> elements);
std::string elements_text(std::span<const std::int32_t> elements);
std::string elements_text(std::span<const std::int64_t> elements);
std::string elements_text(std::span<const std::uint32_t> elements);
std::string elements_text(std::span<const float> elements);
/// A float with all its bits: "0x1.8p+1f".
std::string exact(float number);

template <typename T>
std::string Scope::array(const std::string& kind, std::span<const T> elements, bool is_table) {
  const char* type = std::is_same_v<T, std::int8_t>     ? "int8_t"
                     : std::is_same_v<T, std::uint8_t>  ? "uint8_t"
                     : std::is_same_v<T, std::int16_t>  ? "int16_t"
                     : std::is_same_v<T, std::int32_t>  ? "int32_t"
                     : std::is_same_v<T, std::int64_t>  ? "int64_t"
                     : std::is_same_v<T, std::uint32_t> ? "uint32_t"
                                                        : "float";
  return add_array(
      kind, {{}, type, elements_text(elements), elements.size(), elements.size_bytes(), is_table});
}

}  // namespace halftone::export_c
