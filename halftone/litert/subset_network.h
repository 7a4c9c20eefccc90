// SPDX-License-Identifier: Apache-2.0
// Some nodes of a graph of LiteRT as a network: layers that a delegate takes together, or the
// network that one node has in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "halftone/base/shared_bytes.h"
#include "halftone/ir/graph.h"
#include "halftone/litert/host.h"
#include "halftone/litert/interface.h"
#include "halftone/runtime/execute/session.h"

namespace halftone::litert {

/// The network of a kernel of LiteRT, with a plan for the extents of its inputs at last. Float
/// layers add in the fixed order, so that outputs have the same bits on every processor.
class SubsetNetwork {
 public:
  /// @param threads  that a run may use; 0: those of the interpreter
  /// @throws Error kUnsupported as Host::tensor(), or for a network beside other operators; else as
  ///         formats::circle_inputs()
  SubsetNetwork(const Host& host, const TfLiteDelegateParams& params, int threads);

  /// Gives the outputs the extents that follow from those of the inputs, where these are known.
  /// @throws Error as formats::import_circle() and hosted_plan(); kFormat for a network of other
  ///         inputs or outputs than the node has
  void prepare(const Host& host);
  /// Reads the inputs and writes the outputs. @throws Error as prepare()
  void run(const Host& host);

 private:
  void read_network(const HostNode& node);
  void read_layers(const Host& host, const TfLiteDelegateParams& params);
  void plan(const Host& host, const std::vector<HostTensor>& inputs);
  /// The indices of the ends of a graph among those of the operator, which has states last.
  [[nodiscard]] std::vector<std::size_t> order_of_ends(const ir::Graph& graph, bool outputs) const;

  int threads_;
  std::string name_;
  SharedBytes file_;                ///< of the network
  std::vector<std::string> names_;  ///< of its inputs, without states
  std::vector<int> inputs_;         ///< tensors of LiteRT
  std::vector<int> outputs_;
  int planned_threads_ = -1;
  std::vector<std::vector<std::int64_t>> planned_;   ///< extents of the inputs that the plan has
  std::vector<std::vector<std::int64_t>> computed_;  ///< extents of the outputs, in their order
  std::vector<std::size_t> input_order_;  ///< of each input of the plan, its index in inputs_
  std::vector<std::size_t> output_order_;
  std::unique_ptr<runtime::Session> session_;
};

}  // namespace halftone::litert
