// SPDX-License-Identifier: Apache-2.0
// A node of a session of ONNX Runtime as a network: of one layer, or what the node has in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "halftone/formats/onnx/own_operators.h"
#include "halftone/onnxruntime/host.h"
#include "halftone/runtime/execute/session.h"

namespace halftone::onnx_pb {
class ModelProto;
}  // namespace halftone::onnx_pb

namespace halftone::onnxruntime {

/// The network of a node. Its constants are read once; each shape of the other inputs has a plan,
/// the last `kShapes` of which are kept. Runs of several threads use sessions of their own. Float
/// layers add in the fixed order, so that outputs have the same bits on every processor.
class NodeNetwork {
 public:
  static constexpr std::size_t kShapes = 8;

  /// @param threads  that a run may use; 0: those of the process
  /// @throws Error kFormat, kUnsupported or kShape, naming the node, as formats::import_onnx()
  NodeNetwork(const Host& host, const OrtKernelInfo& node, const formats::onnx::OwnOperator& op,
              int threads);
  ~NodeNetwork();
  NodeNetwork(const NodeNetwork&) = delete;
  NodeNetwork& operator=(const NodeNetwork&) = delete;

  /// Reads the inputs of the context and writes its outputs.
  /// @throws Error as the constructor, for inputs of other shapes
  void run(OrtKernelContext& context);

 private:
  /// A plan for the shapes of the inputs, and sessions that no run uses now.
  struct Prepared {
    std::vector<std::vector<std::int64_t>> shapes;
    std::shared_ptr<const runtime::Plan> plan;
    std::vector<std::vector<std::int64_t>> outputs;  ///< their extents
    std::vector<std::unique_ptr<runtime::Session>> idle;
  };

  void read_network(const std::string& bytes);
  void read_layer(const OrtKernelInfo& node, const formats::onnx::OwnOperator& op);
  void read_attributes(const OrtKernelInfo& node, const formats::onnx::OwnOperator& op);
  void read_inputs(const OrtKernelInfo& node);
  [[nodiscard]] std::shared_ptr<Prepared> prepared(const std::vector<HostTensor>& inputs);
  [[nodiscard]] std::shared_ptr<Prepared> make(const std::vector<HostTensor>& inputs) const;
  [[nodiscard]] std::unique_ptr<runtime::Session> take(Prepared& from);

  Host host_;
  int threads_;
  std::string name_;
  std::unique_ptr<onnx_pb::ModelProto> model_;   ///< its inputs have no types yet
  std::vector<std::size_t> given_;               ///< the inputs of the node that are its inputs
  std::mutex mutex_;                             ///< guards what follows
  std::deque<std::shared_ptr<Prepared>> plans_;  ///< the latest first
};

}  // namespace halftone::onnxruntime
