// SPDX-License-Identifier: Apache-2.0
// The ONNX model under construction.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "halftone/formats/node_writer.h"
#include "halftone/formats/onnx/export.h"
#include "halftone/formats/options.h"
#include "halftone/ir/graph.h"
#include "onnx.pb.h"

namespace halftone::formats::onnx {

/// Adds nodes and initializers to a model and assigns unique names.
class Exporter {
 public:
  explicit Exporter(const ir::Graph& graph, const ExportOptions& options = {});
  /// For the body of a loop, with names that the enclosing graph does not have.
  /// @param captured  what the last inputs of the body are called in the enclosing graph
  Exporter(const ir::Graph& body, Exporter& outer, const std::vector<std::string>& captured);

  [[nodiscard]] const ir::Graph& graph() const { return graph_; }
  /// The type of a value; in an ImageScope, that of its image.
  [[nodiscard]] const ir::ValueType& type(ir::ValueId id) const;

  /// The name of a dense value for its readers; a constant is added as an initializer for its first
  /// reader.
  /// @throws Error kUnsupported for a value encoded in a basis
  std::string read(ir::ValueId id);
  /// The same for a constant whose initializer `make_tensor` creates, for its first reader.
  std::string read_as(ir::ValueId id, const std::function<onnx_pb::TensorProto()>& make_tensor);
  /// The name of the numbers of a constant of codes, with its axes in another order: those of a
  /// DequantizeLinear, which is added for the first reader. @pre is_standard()
  std::string read_numbers(ir::ValueId id, const std::vector<std::size_t>& permutation);
  /// The name of the initializer with a constant's bases, which `make_tensor` creates for the first
  /// reader.
  std::string read_bases(ir::ValueId id, const std::function<onnx_pb::TensorProto()>& make_tensor);
  /// The name of a node's output; in an ImageScope, that of its image.
  [[nodiscard]] const std::string& name(ir::ValueId id) const;

  // ONNX has channels as axis 1, the graph as the last axis. The *image* of a value is the value
  // with channels first. A file holds a value, its image, or both: each is added for its first
  // reader, by a Transpose of the other.

  /// The name of the image for its readers.
  std::string read_image(ir::ValueId id);
  /// Whether the file holds the image.
  [[nodiscard]] bool has_image(ir::ValueId id) const { return images_.contains(id); }
  /// The name of a new image, for the node that computes it.
  std::string add_image(ir::ValueId id);
  /// Takes what has this name for the image of a value, or for the value.
  void set_image(ir::ValueId id, const std::string& name);
  void set_name(ir::ValueId id, const std::string& name);

  /// While it exists, read(), name() and type() of values of this rank mean images, and constants
  /// are read with axes as they must be to be combined with them.
  class ImageScope {
   public:
    ImageScope(Exporter& exporter, std::size_t rank) : exporter_(exporter) {
      exporter.image_rank_ = rank;
    }
    ImageScope(const ImageScope&) = delete;
    ImageScope& operator=(const ImageScope&) = delete;
    ~ImageScope() { exporter_.image_rank_ = 0; }

   private:
    Exporter& exporter_;
  };
  /// An unused name: `wanted`, with a number appended if it is taken.
  std::string fresh(const std::string& wanted);

  /// Adds an initializer and returns its name.
  std::string add_initializer(const std::string& wanted, onnx_pb::TensorProto proto);
  /// Adds a parameter of an operator, which no reader asks for by name, or finds an equal one.
  /// @param role  its name, with a number appended if it is taken
  std::string add_parameter(const std::string& role, onnx_pb::TensorProto proto);
  std::string add_scalar(const std::string& role, float value);
  std::string add_integers(const std::string& role, const std::vector<std::int64_t>& values);

  /// The name of an extent that depends on symbols: `add` adds its nodes when first asked.
  /// @param text  of the extent
  const std::string& computed_extent(const std::string& text,
                                     const std::function<std::string()>& add);

  /// Adds a node. The caller may set attributes on the returned reference, valid until the next
  /// call.
  onnx_pb::NodeProto& add_node(std::string_view op_type, const std::vector<std::string>& inputs,
                               const std::string& output);
  /// Sets the name of the nodes added from now on; the first gets it unchanged.
  void set_node_name(const std::string& name) { node_name_ = name; }
  /// Requires at least this version of the standard operator set.
  void require_opset(std::int64_t version);
  /// Records that an operator of Halftone's own domain is used.
  /// @throws Error kUnsupported in the standard form
  void require_halftone_domain();
  /// Records that an operator of ONNX Runtime's domain is used.
  void require_microsoft_domain() { uses_microsoft_domain_ = true; }
  [[nodiscard]] const ExportOptions& options() const { return options_; }
  /// Whether codes are written for operators of ONNX; see standard_form().
  [[nodiscard]] bool is_standard() const { return options_.is_standard(); }
  /// Whether a layer adds its bias in a node of its own, since its input is rounded: ONNX Runtime
  /// 1.32 rounds the bias of such a layer to multiples of the product of the scales, which are
  /// coarse with few bits.
  [[nodiscard]] bool adds_bias_apart(const ir::Node& layer) const;
  /// A constant of codes in the standard form; null for other values.
  [[nodiscard]] const ir::EncodedTensor* codes(ir::ValueId id) const;

  /// Marks a value as computed by nodes of the file that were added already.
  void set_written(ir::ValueId id) { written_.insert(id); }
  [[nodiscard]] bool is_written(ir::ValueId id) const { return written_.contains(id); }

  void add_input(ir::ValueId id);
  /// Names the states in the metadata.
  void add_states();
  void add_output(ir::ValueId id);
  /// @return the model, with an external file if it is too large without
  OnnxModel finish(const ExternalFile& external);
  /// @return the body of a loop; the enclosing model has its names and requirements then
  onnx_pb::GraphProto finish_body(Exporter& outer);
  /// Adds an input or output of a body. @param name  of the value
  void add_body_input(const std::string& name, const ir::ValueType& type);
  void add_body_output(const std::string& name, const ir::ValueType& type);

 private:
  /// Gives an input or output of the graph its name.
  /// @throws Error kUnsupported if another one has it
  void claim(const char* role, ir::ValueId id);
  void add_transpose(const std::string& input, const std::vector<std::size_t>& permutation,
                     const std::string& output);
  std::string read_constant_image(ir::ValueId id);
  onnx_pb::TensorProto encode_later(std::shared_ptr<const ir::Constant> constant);
  void embed_later();
  [[nodiscard]] std::vector<ExternalTensor> move_out(const std::string& file);
  onnx_pb::ValueInfoProto value_info(const std::string& name, const ir::ValueType& type) const;

  const ir::Graph& graph_;
  std::vector<SharedBytes> later_;  ///< large tensors that have no data in the model yet
  std::shared_ptr<onnx_pb::ModelProto> model_ = std::make_shared<onnx_pb::ModelProto>();
  std::map<ir::ValueId, std::string> names_;
  std::map<ir::ValueId, std::string> bases_;   ///< names of the initializers of bases
  std::map<ir::ValueId, std::string> images_;  ///< names
  std::map<ir::ValueId, ir::ValueType> image_types_;
  std::set<ir::ValueId> written_;
  std::set<ir::ValueId> only_images_;  ///< values of which the file holds only the image
  std::map<std::pair<ir::ValueId, std::size_t>, std::string> constant_images_;  ///< by rank
  std::size_t image_rank_ = 0;  ///< 0: no ImageScope
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, std::string> parameters_;  ///< the names, by their bytes
  std::unordered_map<std::string, std::size_t> roles_;       ///< the parameters of each
  std::unordered_map<std::string, std::string> extents_;     ///< names, by their texts
  std::unordered_set<std::string> node_names_;
  std::unordered_set<std::string> initialized_;
  std::string node_name_;
  std::int64_t opset_ = 17;
  bool uses_halftone_domain_ = false;
  bool uses_microsoft_domain_ = false;
  ExportOptions options_;
  /// Names of the numbers of codes, by the order of their axes.
  std::map<std::pair<ir::ValueId, std::vector<std::size_t>>, std::string> numbers_;
};

void set_attribute(onnx_pb::NodeProto& node, const std::string& name, std::int64_t value);
void set_attribute(onnx_pb::NodeProto& node, const std::string& name, float value);
void set_attribute(onnx_pb::NodeProto& node, const std::string& name, std::string_view value);
void set_attribute(onnx_pb::NodeProto& node, const std::string& name,
                   const std::vector<std::int64_t>& values);
void set_attribute(onnx_pb::NodeProto& node, const std::string& name,
                   const std::vector<float>& values);
void set_attribute(onnx_pb::NodeProto& node, const std::string& name,
                   const std::vector<std::string>& values);

/// @throws Error kUnsupported, always
[[noreturn]] void unsupported(const std::string& what);

/// Adds the ONNX nodes for a node of the graph.
/// @throws Error kUnsupported if ONNX has no equivalent
void export_node(Exporter& exporter, const ir::Node& node);
/// Adds the activation as nodes from one name to another.
/// @throws Error kUnsupported as export_node()
void export_activation(Exporter& exporter, const ir::Activation& activation,
                       const std::string& input, const std::string& output);

/// Adds a layer whose input or weights are in a basis as an operator of Halftone's domain.
/// @return the node, for further attributes
onnx_pb::NodeProto& export_in_basis(Exporter& exporter, const ir::Node& node,
                                    std::string_view op_type, const std::string& output);
/// Adds QuantizeLinear and DequantizeLinear for an Encode in a float of up to eight bits.
void export_rounding(Exporter& exporter, const ir::Node& node, const ir::Encode& op);
/// Adds a MatMulNBits for a FullyConnected whose weights are codes in groups.
void export_matmul_nbits(Exporter& exporter, const ir::Node& node, const std::string& output);
/// Whether the options and the weights allow it.
bool becomes_matmul_nbits(const Exporter& exporter, const ir::Node& node);
/// Codes in a file, and the value whose type they have.
struct NamedCodes {
  std::string name;
  ir::ValueId value;
};
/// Adds a DequantizeLinear.
void export_dequantize(Exporter& exporter, const ir::DequantizeLinear& op, const NamedCodes& codes,
                       const std::string& output);
/// Whether a value is dequantized from a constant, with one scale or one per output, and only read
/// as the filters of convolutions, which write it.
bool is_stored_filter(const ir::Graph& graph, ir::ValueId id);
/// Adds an operator of Halftone's domain.
void export_fake_quantize(Exporter& exporter, const ir::Node& node, const ir::FakeQuantize& op);

/// Whether a node is a recurrent layer of floats that ONNX has no operator for.
bool is_own_float_recurrent(const ir::Graph& graph, const ir::Node& node);
/// Whether a FullyConnected is written as part of the recurrent layer that reads it.
bool belongs_to_recurrent(const ir::Graph& graph, const ir::Node& node);

using Writer = NodeWriter<Exporter>;
using WriterEntry = ir::OperatorEntry<Writer>;

/// How an operator is written; null if no attributes make it an operator of ONNX.
Writer find_writer(const ir::Operator& op);

// The operators that can be written, one table per family.
std::span<const WriterEntry> convolution_writers();
std::span<const WriterEntry> linear_writers();
std::span<const WriterEntry> loop_writers();
std::span<const WriterEntry> moving_writers();
std::span<const WriterEntry> recurrent_writers();
std::span<const WriterEntry> reduce_writers();
std::span<const WriterEntry> resample_writers();
std::span<const WriterEntry> selection_writers();

}  // namespace halftone::formats::onnx
