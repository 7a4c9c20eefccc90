// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/run.h"

#include <system_error>
#include <utility>

#include "halftone/api/stream.h"
#include "halftone/api/tensor_files.h"
#include "halftone/base/error.h"
#include "halftone/base/file_uses.h"

namespace halftone {
namespace {

void check_number_of_inputs(const Network& network, std::size_t found) {
  const std::size_t expected = network.graph.untied(network.graph.inputs()).size();
  if (found == expected) return;
  fail(ErrorKind::kUsage,
       network.name + ": expected " + std::to_string(expected) + " inputs, found " +
           std::to_string(found),
       Hint::kInputs);
}

/// The batch size, from the first input that has a batch extent.
std::size_t batch_of(const ir::Graph& graph, std::span<const ir::Tensor> inputs) {
  const std::vector<ir::ValueId> given = graph.untied(graph.inputs());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ir::Shape& wanted = graph.value(given[i]).type.shape;
    for (std::size_t axis = 0; axis < wanted.rank(); ++axis) {
      if (wanted[axis] == ir::kBatch && axis < inputs[i].shape().rank()) {
        return static_cast<std::size_t>(inputs[i].shape()[axis]);
      }
    }
  }
  return 1;
}

std::filesystem::path output_file(const RunJob& job, std::size_t i) {
  return job.folder / ("out" + std::to_string(i) + ".npy");
}

void check_files(const RunJob& job, std::size_t num_outputs) {
  FileUses uses;
  uses.read("model", job.network);
  for (const std::filesystem::path& input : job.inputs) uses.read("input", input);
  for (std::size_t i = 0; i < num_outputs; ++i) uses.write("output", output_file(job, i));
  uses.check();
}

void create_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail(ErrorKind::kIo, folder.string() + ": cannot create: " + error.message());
}

}  // namespace

std::shared_ptr<const runtime::Plan> make_plan(Network network, std::size_t batch,
                                               const RunOptions& options) {
  return runtime::make_plan(prepared(std::move(network), Purpose::kRun),
                            {batch, options.threads, options.execution});
}

runtime::Session make_session(Network network, std::size_t batch, const RunOptions& options) {
  return runtime::Session(make_plan(std::move(network), batch, options));
}

std::vector<ir::Tensor> run(Network network, std::span<const ir::Tensor> inputs,
                            const RunOptions& options) {
  check_number_of_inputs(network, inputs.size());
  const std::string name = network.name;
  std::vector<std::optional<ir::Shape>> shapes;
  for (const ir::Tensor& input : inputs) shapes.emplace_back(input.shape());
  network = with_shapes(std::move(network), shapes);
  const std::size_t batch = batch_of(network.graph, inputs);
  runtime::Session session = make_session(std::move(network), batch, options);
  return with_context(name, [&] { return session.run(inputs); });
}

std::vector<OutputFile> run_files(const RunJob& job) {
  Network network = load(job.network, job.import);
  if (!job.stream || job.inputs.size() > network.graph.untied(network.graph.inputs()).size()) {
    check_number_of_inputs(network, job.inputs.size());
  }
  if (!is_open(network)) check_files(job, network.graph.outputs().size());
  const std::vector<ir::ValueId> given = network.graph.untied(network.graph.inputs());
  std::vector<ir::Tensor> inputs;
  for (std::size_t i = 0; i < job.inputs.size(); ++i) {
    const ir::ValueType& type = network.graph.value(given.at(i)).type;
    inputs.push_back(read_tensor(job.inputs[i], type.encoding.element));
  }
  const std::vector<ir::Tensor> outputs =
      job.stream ? run_stream(std::move(network), inputs, {*job.stream, job.options})
                 : run(std::move(network), inputs, job.options);
  check_files(job, outputs.size());
  create_folder(job.folder);
  NewFiles written;
  std::vector<OutputFile> files;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::filesystem::path path = output_file(job, i);
    add_tensor(written, path, outputs[i]);
    files.push_back({path.string(), outputs[i].type()});
  }
  written.finish();
  return files;
}

}  // namespace halftone
