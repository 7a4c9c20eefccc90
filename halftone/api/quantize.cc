// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/quantize.h"

#include <utility>

#include "halftone/api/elapsed.h"
#include "halftone/compress/full_integer.h"
#include "halftone/formats/model.h"

namespace halftone {

compress::QuantizeResult quantize(Network network, const data::Dataset& data,
                                  const compress::Recipe& recipe,
                                  const compress::QuantizeOptions& options) {
  return compress::quantize(prepared(std::move(network), Purpose::kFit), data, recipe, options);
}

namespace {

compress::QuantizeResult quantize_for(const QuantizeJob& job, const ir::Graph& graph,
                                      const data::Dataset& data) {
  if (!job.full_integer) return compress::quantize(graph, data, job.recipe, job.options);
  const bool is_onnx = formats::model_format(job.output) == formats::ModelFormat::kOnnx;
  return compress::quantize_to_integers(graph, data, job.recipe, job.options,
                                        is_onnx ? passes::kOnnxCodes : passes::kTfliteCodes);
}

}  // namespace

QuantizeReport quantize_file(const QuantizeJob& job) {
  const Elapsed elapsed;
  check_output(job.output, {&job.input, 1});
  Network network = load(job.input, job.import);
  QuantizeReport report;
  report.input_bytes = network.file_bytes;
  const ir::Graph graph = prepared(std::move(network), Purpose::kFit);
  formats::check_model(graph, job.output);
  const data::Dataset data = job.data.open();
  compress::QuantizeResult result = quantize_for(job, graph, data);
  if (job.options.devices.rank() == 0) {
    save(result.graph, job.output);
    report.output_bytes = std::filesystem::file_size(job.output);
  }
  report.layers = std::move(result.layers);
  report.skipped_blocks = std::move(result.skipped_blocks);
  report.equalized_pairs = result.equalized_pairs;
  report.seconds = elapsed.seconds();
  return report;
}

}  // namespace halftone
