// SPDX-License-Identifier: Apache-2.0
// The state of an export, and its interface for the operator families.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "circle_generated.h"
#include "halftone/base/shared_bytes.h"
#include "halftone/formats/circle/code_nodes.h"
#include "halftone/formats/circle/flavor.h"
#include "halftone/formats/circle/operator_code.h"
#include "halftone/formats/node_writer.h"
#include "halftone/ir/extent.h"
#include "halftone/ir/graph.h"

namespace halftone::formats::circle {

/// Index of a tensor in the file; kNoTensor where an optional input is absent.
using TensorIndex = std::int32_t;
inline constexpr TensorIndex kNoTensor = -1;

/// What the subgraphs of a file share.
struct FileParts {
  schema::ModelT model;
  std::unordered_multimap<std::size_t, std::uint32_t> buffers;  ///< by hash of the bytes
  std::map<std::pair<OperatorCode, std::string>, std::uint32_t> codes;
  std::size_t data_bytes = 0;
};

/// Turns a lowered graph into a file, node by node in the order of execution.
class Exporter {
 public:
  /// @param graph  result of lowered(); must outlive this object
  Exporter(const ir::Graph& graph, CircleFlavor flavor);

  /// @throws Error as export_circle()
  SharedBytes run();
  /// The same with the network as one operator: see one_operator.h.
  /// @param network  result of run() of another exporter of the graph
  SharedBytes run_as_one_operator(std::span<const std::byte> network);

  [[nodiscard]] const ir::Graph& graph() const { return graph_; }
  [[nodiscard]] CircleFlavor flavor() const { return flavor_; }

  /// Whether the node at hand computes with codes; tensor() then gives those of its operands.
  [[nodiscard]] bool in_codes() const { return node_in_codes_ != nullptr; }
  /// The codes of an operand of such a node, otherwise the value itself.
  [[nodiscard]] ir::ValueId stored(ir::ValueId value) const;

  /// The tensor of a value, added on the first call.
  /// @throws Error kUnsupported if the file has no such tensor
  TensorIndex tensor(ir::ValueId value);
  /// Adds a constant tensor that is not a value of the graph.
  TensorIndex constant(const std::string& name, schema::TensorType type, const ir::Shape& shape,
                       std::span<const std::byte> bytes);
  /// The same with scales.
  TensorIndex constant(const std::string& name, const ir::Tensor& codes,
                       const ir::AffineParameters& parameters);
  /// Adds a float32 variable with initial value zero.
  TensorIndex variable(const std::string& name, const ir::Shape& shape);
  /// Adds a vector of integers that parameterizes an operator.
  TensorIndex integers(std::span<const std::int64_t> numbers);
  /// The extents of a shape as a vector of integers. Where they depend on the batch or on data,
  /// operators compute them at run time, from the shape of an input of the graph or from what
  /// defines them.
  TensorIndex extents(const ir::Shape& shape);
  /// Vectors of int32 [1] as one.
  TensorIndex list(std::vector<TensorIndex> parts);

  /// Adds a tensor that is no value of the graph and that an operator computes.
  TensorIndex computed_tensor(const std::string& name, const ir::ValueType& type);
  /// Adds another subgraph to the file. @return its index
  std::int32_t add_subgraph(const ir::Graph& graph, const std::string& name);

  void add(OperatorCode code, std::vector<TensorIndex> inputs, ir::ValueId output,
           schema::BuiltinOptionsUnion options = {});
  /// The same for any outputs.
  void add(OperatorCode code, std::vector<TensorIndex> inputs, std::vector<TensorIndex> outputs,
           schema::BuiltinOptionsUnion options = {}) {
    add_to(subgraph(), code, std::move(inputs), std::move(outputs), std::move(options));
  }
  /// The same with all inputs of a node, and further ones that the file wants.
  void add_node(OperatorCode code, const ir::Node& node, schema::BuiltinOptionsUnion options = {},
                std::initializer_list<TensorIndex> more = {});
  void add_custom(const std::string& name, std::vector<TensorIndex> inputs, ir::ValueId output,
                  std::span<const std::byte> options);

  /// An operator whose result, int32 [count], is no value of the graph.
  TensorIndex computed(OperatorCode code, std::vector<TensorIndex> inputs, ir::Dim count,
                       schema::BuiltinOptionsUnion options = {});

 private:
  /// A subgraph of the file of another exporter.
  Exporter(const ir::Graph& graph, const Exporter& outer);
  [[nodiscard]] schema::SubGraphT& subgraph() const { return *file_->model.subgraphs[subgraph_]; }
  void collect_quantization();
  void begin();
  void add_operators();
  void add_network(std::span<const std::byte> network);
  SharedBytes finish();
  void sign();
  /// Variables of the states, and a subgraph that makes them zero before the first run.
  void begin_states();
  void end_states();
  /// Adds the handle of a variable to a subgraph.
  TensorIndex handle(schema::SubGraphT& graph, const std::string& name);
  void add_to(schema::SubGraphT& graph, OperatorCode code, std::vector<TensorIndex> inputs,
              std::vector<TensorIndex> outputs, schema::BuiltinOptionsUnion options);
  std::string unique(const std::string& name);
  std::unique_ptr<schema::TensorT> describe(const std::string& name, schema::TensorType type,
                                            const ir::Shape& shape);
  std::uint32_t buffer(std::span<const std::byte> bytes);
  std::uint32_t operator_code(OperatorCode code, const std::string& custom_name);
  TensorIndex append(std::unique_ptr<schema::TensorT> tensor);
  schema::OperatorT& append_operator(std::vector<TensorIndex> inputs, TensorIndex output);
  /// Extents as tensors, int32 [1].
  TensorIndex batch();
  TensorIndex symbol(const std::string& name);
  TensorIndex atom(const ir::Extent::Atom& atom);
  TensorIndex extent(const ir::Extent& extent);

  const ir::Graph& graph_;
  CircleFlavor flavor_;
  CodeNodes code_nodes_;
  const ir::Node* node_in_codes_ = nullptr;
  std::shared_ptr<FileParts> file_;  ///< shared by the exporters of its subgraphs
  std::size_t subgraph_ = 0;
  std::vector<TensorIndex> variables_;  ///< handles of the states
  std::vector<TensorIndex> outputs_;    ///< of the network as one operator
  std::map<ir::ValueId, TensorIndex> tensors_;
  std::map<ir::ValueId, ir::AffineParameters> quantization_;
  std::set<std::string> names_;                 ///< of tensors, those of the ends first
  std::map<std::string, std::size_t> copies_;   ///< the number of tensors that wanted a name
  std::map<std::string, TensorIndex> extents_;  ///< by text, those that are computed
};

/// @throws Error kUnsupported if a FlatBuffer cannot hold this many bytes of weights beside its
///         tables
void check_data_size(std::size_t data_bytes);

/// The options of an operator as the file's union of options.
template <typename Options>
schema::BuiltinOptionsUnion united(Options options) {
  schema::BuiltinOptionsUnion result;
  result.Set(std::move(options));
  return result;
}

using Writer = NodeWriter<Exporter>;
using WriterEntry = ir::OperatorEntry<Writer>;

/// How an operator is written; null if no attributes make it an operator of the file. Operators
/// that lowered() replaces have none.
Writer find_writer(const ir::Operator& op);

// The operators that can be written, one table per family; most are in ops/operators_export.cc.
std::span<const WriterEntry> reduce_writers();
std::span<const WriterEntry> loop_writers();
std::span<const WriterEntry> search_writers();

/// Adds the operators of one node. @throws Error kUnsupported if the format has none for it
void export_node(Exporter& exporter, const ir::Node& node);

/// The code of a fused activation. @throws Error kUnsupported if it has none
schema::ActivationFunctionType activation_type(const ir::Activation& activation);

/// Adds a tensor of bases, in the narrowest type that represents them exactly.
TensorIndex scales_tensor(Exporter& exporter, const char* name, const ir::Tensor& bases);

/// Writes a FullyConnected whose weights, input or both are in a basis.
void export_lowbit(Exporter& exporter, const ir::Node& node);
void export_fake_quantize(Exporter& exporter, const ir::Node& node);

/// Writes a Conv or a Pool. @throws Error kUnsupported if the format has no equivalent
void export_convolution(Exporter& exporter, const ir::Node& node);
void export_transposed(Exporter& exporter, const ir::Node& node);
void export_pool(Exporter& exporter, const ir::Node& node);

/// Writes a recurrent layer: as an LSTM of the format with its projection, or as a custom operator.
void export_recurrent(Exporter& exporter, const ir::Node& node);
/// Whether a node is a recurrent layer of floats that becomes a custom operator.
bool is_own_float_recurrent(const ir::Graph& graph, const ir::Node& node);
/// Whether a FullyConnected is written as part of the recurrent layer that reads it.
bool belongs_to_recurrent(const ir::Graph& graph, const ir::Node& node);

}  // namespace halftone::formats::circle
