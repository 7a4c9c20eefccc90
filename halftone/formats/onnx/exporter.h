// SPDX-License-Identifier: Apache-2.0
// The ONNX model under construction.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "halftone/ir/graph.h"
#include "onnx.pb.h"

namespace halftone::formats::onnx {

/// Adds nodes and initializers to a model and hands out names, each once.
class Exporter {
 public:
  explicit Exporter(const ir::Graph& graph);

  [[nodiscard]] const ir::Graph& graph() const { return graph_; }
  [[nodiscard]] const ir::ValueType& type(ir::ValueId id) const { return graph_.value(id).type; }

  /// The name by which nodes read a dense value; a constant becomes an initializer with its first
  /// reader.
  /// @throws Error kUnsupported for codes of a basis
  std::string read(ir::ValueId id);
  /// The same for a constant whose initializer the caller makes, when it is the first reader.
  std::string read_as(ir::ValueId id, const std::function<onnx_pb::TensorProto()>& make_tensor);
  /// The name of the initializer with a constant's bases, which the first reader makes.
  std::string read_bases(ir::ValueId id, const std::function<onnx_pb::TensorProto()>& make_tensor);
  /// The name a node writes its output to.
  [[nodiscard]] const std::string& name(ir::ValueId id) const { return names_.at(id); }
  /// The name, or with a number behind it if it is taken.
  std::string fresh(const std::string& wanted);

  /// Adds an initializer and returns its name.
  std::string add_initializer(const std::string& wanted, onnx_pb::TensorProto proto);
  std::string add_scalar(const std::string& wanted, float value);
  std::string add_integers(const std::string& wanted, const std::vector<std::int64_t>& values);

  /// Adds a node; what else it needs is set on the reference, which holds until the next call.
  onnx_pb::NodeProto& add_node(std::string_view op_type, const std::vector<std::string>& inputs,
                               const std::string& output);
  /// Names the nodes added from now on; the first gets the plain name.
  void set_node_name(const std::string& name) { node_name_ = name; }
  /// The standard operator set must be at least this one.
  void require_opset(std::int64_t version);
  /// Uses an operator of Halftone's own domain.
  void require_halftone_domain() { uses_halftone_domain_ = true; }

  void add_input(ir::ValueId id);
  void add_output(ir::ValueId id);
  /// @return the serialized model
  std::vector<std::byte> finish();

 private:
  onnx_pb::ValueInfoProto value_info(const std::string& name, const ir::ValueType& type) const;

  const ir::Graph& graph_;
  onnx_pb::ModelProto model_;
  std::map<ir::ValueId, std::string> names_;
  std::map<ir::ValueId, std::string> bases_;  ///< names of their initializers
  std::unordered_set<std::string> taken_;
  std::unordered_set<std::string> node_names_;
  std::unordered_set<std::string> initialized_;
  std::string node_name_;
  std::int64_t opset_ = 17;
  bool uses_halftone_domain_ = false;
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

// export_operators.cc

/// Adds what a node of the graph is in ONNX.
/// @throws Error kUnsupported if it is nothing there
void export_node(Exporter& exporter, const ir::Node& node);
/// Adds the function as nodes from one name to another.
/// @throws Error kUnsupported as export_node()
void export_activation(Exporter& exporter, const ir::Activation& activation,
                       const std::string& input, const std::string& output);

// export_convolution.cc

void export_operator(Exporter& exporter, const ir::Node& node, const ir::Conv& op);
void export_operator(Exporter& exporter, const ir::Node& node, const ir::ConvTranspose& op);
void export_operator(Exporter& exporter, const ir::Node& node, const ir::Pool& op);

// export_lowbit.cc

/// Adds a layer whose input or weights are in a basis as an operator of Halftone's own.
/// @return the node, for what else the operator says
onnx_pb::NodeProto& export_in_basis(Exporter& exporter, const ir::Node& node,
                                    std::string_view op_type, const std::string& output);

// export_recurrent.cc

void export_operator(Exporter& exporter, const ir::Node& node, const ir::Recurrent& op);
/// Whether a FullyConnected is written by the recurrent layer that reads it.
bool belongs_to_recurrent(const ir::Graph& graph, const ir::Node& node);

// export_linear.cc

void export_operator(Exporter& exporter, const ir::Node& node, const ir::FullyConnected& op);
void export_operator(Exporter& exporter, const ir::Node& node, const ir::MatMul& op);

// export_statistics.cc

void export_operator(Exporter& exporter, const ir::Node& node, const ir::Reduce& op);
void export_operator(Exporter& exporter, const ir::Node& node, const ir::ArgReduce& op);
void export_operator(Exporter& exporter, const ir::Node& node, const ir::CumSum& op);
void export_operator(Exporter& exporter, const ir::Node& node, const ir::TopK& op);
void export_operator(Exporter& exporter, const ir::Node& node, const ir::Normalize& op);
void export_operator(Exporter& exporter, const ir::Node& node, const ir::LocalNormalize& op);

// export_moving.cc

void export_operator(Exporter& exporter, const ir::Node& node, const ir::Where& op);
void export_operator(Exporter& exporter, const ir::Node& node, const ir::Gather& op);
void export_operator(Exporter& exporter, const ir::Node& node, const ir::GatherElements& op);
void export_operator(Exporter& exporter, const ir::Node& node, const ir::GatherND& op);
void export_operator(Exporter& exporter, const ir::Node& node, const ir::ScatterElements& op);
void export_operator(Exporter& exporter, const ir::Node& node, const ir::ScatterND& op);
void export_operator(Exporter& exporter, const ir::Node& node, const ir::OneHot& op);
void export_operator(Exporter& exporter, const ir::Node& node, const ir::Pad& op);
void export_operator(Exporter& exporter, const ir::Node& node, const ir::BroadcastTo& op);
void export_operator(Exporter& exporter, const ir::Node& node, const ir::Tile& op);
void export_operator(Exporter& exporter, const ir::Node& node, const ir::ReverseSequence& op);
void export_operator(Exporter& exporter, const ir::Node& node, const ir::Resize& op);
void export_operator(Exporter& exporter, const ir::Node& node, const ir::GridSample& op);

}  // namespace halftone::formats::onnx
