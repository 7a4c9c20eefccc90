// SPDX-License-Identifier: Apache-2.0
// A node of the file as a function of ONNX's operators: how operators of ONNX Runtime are read.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "halftone/formats/onnx/node_builder.h"

namespace halftone::formats::onnx {

/// The operator set of ONNX's Attention with windows and lengths.
inline constexpr std::int64_t kAttentionOpset = 25;

/// The output of Attention's scores with their masks, as qk_matmul_output_mode.
inline constexpr std::int64_t kWithMasks = 2;

/// Gives a node an attribute.
onnx_pb::NodeProto& with_int(onnx_pb::NodeProto& proto, const char* name, std::int64_t value);

/// @throws Error kUnsupported with `what` if the node has input `first` or one behind it
void refuse_inputs(NodeBuilder& node, std::size_t first, const std::string& what);

/// @throws Error kUnsupported with the name of the first of these attributes that is not 0
void refuse_attributes(NodeBuilder& node, std::initializer_list<const char*> names);

/// The known extents of an input. @throws Error kShape for another rank
ir::Shape shape_of(NodeBuilder& node, std::size_t i, std::size_t rank);

/// The zero points of codes that lie packed along their last axis, uint8: those of an input, or the
/// middle of the codes without one.
/// @param shape  of the zero points. @throws Error kUnsupported unless they are constants; kShape
ir::Tensor zero_codes(NodeBuilder& node, std::size_t i, const ir::Shape& shape, int bits);

/// A function that computes what a node of the file does, whose inputs are named "in0", "in1", ...
/// and whose first output is "y".
class Function {
 public:
  using Names = std::vector<std::string>;

  /// @param opset  the version of ONNX's operators in the function
  explicit Function(NodeBuilder& node, std::int64_t opset = 17);

  void add_output(const std::string& name) { function_.add_output(name); }
  void set_opset(std::int64_t version);

  /// Input i; "" if the node has none.
  [[nodiscard]] std::string in(std::size_t i) const;

  onnx_pb::NodeProto& add(const std::string& op_type, const Names& inputs,
                          const std::string& output);
  /// The same, with attributes of the node but for those named.
  onnx_pb::NodeProto& add_with_attributes(const std::string& op_type, const Names& inputs,
                                          const std::string& output,
                                          const Names& but_for = {"channels_last", "opset"});

  /// A constant. @return its name
  std::string constant(const std::string& name, onnx_pb::TensorProto value);
  /// Constant codes of unsigned integers of 2, 4 or 8 bits. @return their name
  /// @param values  uint8, one for each element
  std::string codes(const std::string& name, const ir::Tensor& values, int bits);
  /// A constant vector. @return its name
  std::string integers(const std::string& name, const std::vector<std::int64_t>& values);
  /// An extent, which may be open. @return its name
  std::string extent(const std::string& name, const Extent& extent);
  /// 0, 1, 2, .. below an extent. @return its name
  std::string counted(const std::string& name, const Extent& count);
  /// A constant scalar. @return its name
  std::string scalar(const std::string& name, float value);
  /// Elements begin to end - 1 of an axis. @return the output
  std::string slice(const std::string& x, std::int64_t axis, std::int64_t begin, std::int64_t end,
                    const std::string& output);
  /// @return the output
  std::string transpose(const std::string& x, const std::vector<std::int64_t>& order,
                        const std::string& output);

  /// The numbers of the codes of input i, whose scale and zero point are the inputs behind it.
  std::string dequantize(std::size_t i);
  /// The output: the codes of numbers, with the scale and zero point of two inputs.
  void quantize(const std::string& numbers, std::size_t scale, std::size_t zero);

  /// Adds the function in the node's place. @throws Error as its operators
  void build();

 private:
  NodeBuilder& node_;
  onnx_pb::FunctionProto function_;
  onnx_pb::NodeProto call_;  ///< the node, with extents as more inputs
};

}  // namespace halftone::formats::onnx
