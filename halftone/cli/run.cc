// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>

#include "halftone/base/error.h"
#include "halftone/base/printable.h"
#include "halftone/cli/command.h"
#include "halftone/data/npy.h"
#include "halftone/report/report.h"
#include "halftone/runtime/execute/session.h"

namespace halftone::cli {
namespace {

struct RunOptions {
  CommonOptions common;
  std::string model;
  std::vector<std::string> inputs;
  std::string output;
  bool int8_activations = true;
  runtime::FloatOrder float_order = runtime::FloatOrder::kFastest;
};

/// Converts an array to the element type of a graph input.
ir::Tensor to_tensor(const data::NpyArray& array, ir::ElementType element) {
  const ir::Shape shape(std::vector<ir::Dim>(array.shape.begin(), array.shape.end()));
  if (element == ir::ElementType::kFloat32) {
    return ir::Tensor::from<float>(shape, array.floats());
  }
  return ir::Tensor::from<std::int64_t>(shape, array.integers()).cast(element);
}

data::NpyArray to_array(const ir::Tensor& tensor) {
  const auto dims = tensor.shape().dims();
  std::vector<std::size_t> shape(dims.begin(), dims.end());
  switch (tensor.element()) {
    case ir::ElementType::kFloat32:
      return data::make_npy(tensor.as<float>(), shape);
    case ir::ElementType::kInt8:
      return data::make_npy(tensor.as<std::int8_t>(), shape);
    case ir::ElementType::kInt32:
      return data::make_npy(tensor.as<std::int32_t>(), shape);
    case ir::ElementType::kInt64:
      return data::make_npy(tensor.as<std::int64_t>(), shape);
    case ir::ElementType::kUint8:
    case ir::ElementType::kBool:
      break;
    case ir::ElementType::kInt16:
    case ir::ElementType::kUint16:
      return to_array(tensor.cast(ir::ElementType::kInt32));
    case ir::ElementType::kUint32:
    case ir::ElementType::kUint64:
      return to_array(tensor.cast(ir::ElementType::kInt64));
    case ir::ElementType::kFloat64:
      return to_array(tensor.cast(ir::ElementType::kFloat32));
  }
  return data::make_npy(tensor.as<std::uint8_t>(), shape);
}

std::vector<ir::Tensor> read_inputs(const RunOptions& options, const ir::Graph& graph) {
  if (options.inputs.size() != graph.inputs().size()) {
    fail(ErrorKind::kUsage, options.model + ": expected " + std::to_string(graph.inputs().size()) +
                                " --input files, found " + std::to_string(options.inputs.size()));
  }
  std::vector<ir::Tensor> tensors;
  for (std::size_t i = 0; i < options.inputs.size(); ++i) {
    const data::NpyArray array = data::read_npy(options.inputs[i]);
    if (std::ranges::count(array.shape, 0U) > 0) {
      const ir::Shape found(std::vector<ir::Dim>(array.shape.begin(), array.shape.end()));
      fail(ErrorKind::kShape,
           options.inputs[i] + ": expected at least one sample, found shape " + found.to_string());
    }
    const ir::ValueType& type = graph.value(graph.inputs()[i]).type;
    tensors.push_back(
        with_context(options.inputs[i], [&] { return to_tensor(array, type.encoding.element); }));
  }
  return tensors;
}

/// The batch size, from the first input that has a batch extent.
std::size_t batch_of(const ir::Graph& graph, const std::vector<ir::Tensor>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ir::Shape& wanted = graph.value(graph.inputs()[i]).type.shape;
    for (std::size_t axis = 0; axis < wanted.rank(); ++axis) {
      if (wanted[axis] == ir::kBatch && axis < inputs[i].shape().rank()) {
        return static_cast<std::size_t>(inputs[i].shape()[axis]);
      }
    }
  }
  return 1;
}

void run(const RunOptions& options, const Machine& machine) {
  if (!machine.is_first()) return;
  apply(options.common);
  ir::Graph graph = load_to_run(options.model);
  const std::vector<ir::Tensor> inputs = read_inputs(options, graph);
  // One thread, so that the results do not depend on the number of threads.
  const runtime::PlanOptions plan{batch_of(graph, inputs), 1, options.int8_activations,
                                  options.float_order};
  runtime::Session session(runtime::make_plan(std::move(graph), plan));
  const std::vector<ir::Tensor> outputs =
      with_context(options.model, [&] { return session.run(inputs); });

  const std::filesystem::path folder = options.output;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail(ErrorKind::kIo, options.output + ": cannot create: " + error.message());
  std::vector<report::OutputFile> files;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::filesystem::path path = folder / ("out" + std::to_string(i) + ".npy");
    data::write_npy(path, to_array(outputs[i]));
    files.push_back({path.string(), outputs[i].type()});
  }
  std::cout << (options.common.json ? report::to_json(files) : printable(report::to_text(files)));
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App* verb = add_verb(app, "run", "Run a network once on NumPy files",
                            "halftone run model.onnx --input x.npy -o results", options->common);
  verb->add_option("model", options->model, "ONNX, TFLite or circle file")
      ->required()
      ->check(some_path());
  verb->add_option("--input", options->inputs, "A .npy file for each input, in order")
      ->required()
      ->check(some_path());
  verb->add_option("-o,--output", options->output, "Folder for out0.npy, out1.npy, ...")
      ->required()
      ->check(some_path());
  add_activation_option(*verb, options->int8_activations);
  add_float_order_option(*verb, options->float_order);
  verb->final_callback([options, &action] {
    action = [options](const Machine& machine) { run(*options, machine); };
  });
}

}  // namespace halftone::cli
