// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/one_operator.h"

#include "halftone/base/error.h"
#include "halftone/formats/onnx/exporter.h"
#include "halftone/formats/onnx/registry.h"
#include "onnx.pb.h"

namespace halftone::formats::onnx {

using onnx_pb::ModelProto;

OnnxModel as_one_operator(const OnnxModel& model) {
  if (!model.external.empty()) {
    fail(ErrorKind::kUnsupported,
         "one operator with a file of external data: expected a model of less than 2 GiB");
  }
  const ModelProto& inner = *model.message;
  OnnxModel outer{std::make_shared<ModelProto>()};
  ModelProto& message = *outer.message;
  message.set_ir_version(inner.ir_version());
  message.set_producer_name(inner.producer_name());
  *message.mutable_metadata_props() = inner.metadata_props();
  for (const auto& set : inner.opset_import()) {
    if (set.domain().empty()) *message.add_opset_import() = set;
  }
  auto& own = *message.add_opset_import();
  own.set_domain(std::string(kHalftoneDomain));
  own.set_version(1);
  auto& graph = *message.mutable_graph();
  graph.set_name(inner.graph().name());
  *graph.mutable_input() = inner.graph().input();
  *graph.mutable_output() = inner.graph().output();
  auto& node = *graph.add_node();
  node.set_domain(std::string(kHalftoneDomain));
  node.set_op_type(kNetwork);
  node.set_name("network");
  for (const auto& input : graph.input()) node.add_input(input.name());
  for (const auto& output : graph.output()) node.add_output(output.name());
  const std::vector<std::byte> bytes = onnx_bytes(model);
  set_attribute(node, kNetworkBytes,
                std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  return outer;
}

bool is_one_operator(const ModelProto& model) {
  const auto& graph = model.graph();
  return graph.node_size() == 1 && graph.node(0).domain() == kHalftoneDomain &&
         graph.node(0).op_type() == kNetwork;
}

const std::string& network_bytes(const ModelProto& model) {
  static const std::string none;
  for (const auto& attribute : model.graph().node(0).attribute()) {
    if (attribute.name() == kNetworkBytes) return attribute.s();
  }
  return none;
}

}  // namespace halftone::formats::onnx
