// SPDX-License-Identifier: Apache-2.0
#include "bench/layers.h"

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "bench/limits.h"
#include "bench/plain_network.h"
#include "halftone/api/network.h"
#include "halftone/numerics/test_data.h"
#include "halftone/runtime/execute/session.h"
#include "halftone/runtime/test_graphs.h"

namespace halftone::bench {
namespace {

using Sessions = std::vector<std::unique_ptr<runtime::Session>>;

/// The kernels of a plan's fully connected layers.
std::string kernels_of(const runtime::Plan& plan) {
  std::string names;
  for (const runtime::PlanStep& step : plan.steps()) {
    if (step.op != ir::FullyConnected::kName || names.ends_with(step.kernel)) continue;
    names += (names.empty() ? "" : ", ") + step.kernel;
  }
  return names;
}

ir::Constant random_weights(const LayerShape& shape, const LayerFormat& format, Random& random) {
  const ir::Shape extents{static_cast<ir::Dim>(shape.o), static_cast<ir::Dim>(shape.n)};
  if (format.weight_bits == 0) return ir::test::random_tensor(extents, random);
  const auto granularity =
      format.group == 0 ? numerics::Granularity::kChannel : numerics::Granularity::kGroup;
  auto encoding = std::make_shared<numerics::MatrixEncoding>(numerics::random_encoding(
      random, shape.o, shape.n, format.weight_bits, true, granularity, format.group));
  return ir::EncodedTensor{extents, std::move(encoding),
                           numerics::random_planes(random, shape.o, shape.n, format.weight_bits)};
}

ir::Graph layer_graph(const LayerShape& shape, const LayerFormat& format) {
  Random random(1);
  ir::Graph graph;
  const ir::Shape extents{ir::kBatch, static_cast<ir::Dim>(shape.n)};
  ir::ValueId x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, extents));
  if (format.input_bits != 0) {
    ir::Encode encode;
    encode.encoding = runtime::testing::activation_encoding(format.input_bits, true, random);
    x = graph.add_node("encode", encode, {x});
  }
  const auto w = graph.add_constant("w", random_weights(shape, format, random));
  graph.add_output(graph.add_node("layer", ir::FullyConnected{}, {x, w}));
  return graph;
}

/// The work of a kernel on a layer; no unit for kernels unknown to this suite.
Work work_of(const runtime::PlanStep& step, const LayerShape& shape, const LayerFormat& format) {
  const std::string& kernel = step.kernel;
  const double products =
      static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.o);
  Work work;
  if (kernel == "onednn_f32" || kernel == "fixed_order_f32") {
    work.operations = 2 * products;
    work.unit = Limit::kFloat;
  } else if (step.body.variant == "planes") {
    work.operations = look_ups_per_product() * products * format.weight_bits;
    work.unit = Limit::kLookUp;
  } else if (kernel == "int8_levels") {
    work.operations = 2 * products;
    work.unit = Limit::kInt8;
  } else if (kernel == "xnor_popcount") {
    work.operations = 2 * products * format.weight_bits * format.input_bits;
    work.unit = Limit::kBinary;
  }
  return work;
}

std::unique_ptr<runtime::Session> make_session(const ir::Graph& graph,
                                               const runtime::PlanSettings& options) {
  auto session = std::make_unique<runtime::Session>(runtime::make_plan(graph, options));
  Random random(2);
  for (float& value : session->input_as<float>(0)) value = static_cast<float>(random.uniform());
  return session;
}

/// Runs the sessions in turn.
std::function<void()> in_turns(Sessions sessions) {
  return [sessions = std::make_shared<Sessions>(std::move(sessions)),
          next = std::size_t{0}]() mutable {
    (*sessions)[next]->run();
    if (++next == sessions->size()) next = 0;
  };
}

}  // namespace

std::size_t num_copies(Residence residence, std::size_t weight_bytes) {
  return residence == Residence::kHot ? 1 : 1 + 4 * caches().l3 / weight_bytes;
}

Prepared prepare_layer(const LayerShape& shape, const LayerFormat& format, Residence residence,
                       int threads) {
  const ir::Graph graph = layer_graph(shape, format);
  const runtime::PlanSettings options{.batch = shape.m, .threads = threads};
  Sessions sessions;
  sessions.push_back(make_session(graph, options));
  const runtime::Plan& plan = sessions.front()->plan();
  const runtime::PlanStep& step = plan.steps().back();
  const std::string kernel =
      step.body.variant.empty() ? step.kernel : std::string(step.body.variant);
  const std::size_t bytes = plan.packed_weight_bytes();
  Work work = work_of(step, shape, format);
  work.bytes = static_cast<double>(bytes);
  work.memory = residence == Residence::kCold ? Limit::kDram : level_that_holds(bytes);
  while (sessions.size() < num_copies(residence, bytes)) {
    sessions.push_back(make_session(graph, options));
  }
  return {in_turns(std::move(sessions)), kernel, work};
}

Prepared prepare_network(int bits, std::size_t batch, int threads) {
  runtime::testing::Perceptron shape;
  if (bits != 0) shape.bits = bits;
  Sessions sessions;
  sessions.push_back(
      make_session(runtime::testing::make_perceptron(shape), {.batch = batch, .threads = threads}));
  const std::string kernels = kernels_of(sessions.front()->plan());
  return {in_turns(std::move(sessions)), kernels, std::nullopt};
}

Prepared prepare_network_peer(OnnxRuntimeFormat format, std::size_t batch, int threads) {
  const std::filesystem::path file = std::filesystem::temp_directory_path() /
                                     ("halftone_bench." + std::to_string(getpid()) + ".onnx");
  save(runtime::testing::make_perceptron({}), file);
  Prepared prepared = prepare_onnx_runtime(file, format, batch, threads);
  std::filesystem::remove(file);
  return prepared;
}

Prepared prepare_file(const std::string& file, int threads) {
  Sessions sessions;
  sessions.push_back(
      make_session(prepared(load(file), Purpose::kRunOnFloats), {.batch = 1, .threads = threads}));
  return {in_turns(std::move(sessions)), "", std::nullopt};
}

Prepared prepare_plain_network(int bits, std::size_t batch) {
  runtime::testing::Perceptron shape;
  shape.bits = bits;
  const auto network = std::make_shared<PlainNetwork>(runtime::testing::make_perceptron(shape));
  Random random(2);
  std::vector<float> x(batch * shape.inputs);
  for (float& value : x) value = static_cast<float>(random.uniform());
  std::vector<float> y(batch * shape.outputs);
  const auto run = [network, batch, shape, x = std::move(x), y = std::move(y)]() mutable {
    for (std::size_t i = 0; i < batch; ++i) {
      network->run(std::span(x).subspan(i * shape.inputs, shape.inputs),
                   std::span(y).subspan(i * shape.outputs, shape.outputs));
    }
  };
  return {run, "plain loops", std::nullopt};
}

}  // namespace halftone::bench
