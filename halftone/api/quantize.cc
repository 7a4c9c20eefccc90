// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/quantize.h"

#include <utility>

#include "halftone/api/elapsed.h"
#include "halftone/base/error.h"
#include "halftone/base/file_uses.h"
#include "halftone/base/paths.h"
#include "halftone/compress/full_integer.h"
#include "halftone/compress/rule_codes.h"
#include "halftone/formats/model.h"
#include "halftone/passes/float_ends.h"

namespace halftone {
namespace {

const passes::CodeForm& codes_of(formats::ModelFormat format) {
  return format == formats::ModelFormat::kOnnx ? passes::kOnnxCodes : passes::kTfliteCodes;
}

/// The result of a fit on floats with the inputs and outputs of its network.
compress::QuantizeResult with_ends_of(const Network& network, compress::QuantizeResult result) {
  passes::restore_ends(result.graph, network.graph);
  return result;
}

}  // namespace

compress::QuantizeResult quantize(const Network& network, const data::Dataset& data,
                                  const compress::Recipe& recipe,
                                  const compress::QuantizeOptions& options) {
  return with_ends_of(
      network, compress::quantize(prepared(network, Purpose::kFitOnFloats), data, recipe, options));
}

compress::QuantizeResult quantize_to_integers(const Network& network, const data::Dataset& data,
                                              const compress::Recipe& recipe,
                                              const compress::QuantizeOptions& options,
                                              std::string_view format) {
  const passes::CodeForm& form = codes_of(formats::format_named(format));
  return with_ends_of(network,
                      compress::quantize_to_integers(prepared(network, Purpose::kFitOnFloats), data,
                                                     recipe, options, form));
}

QuantizeReport report_of(const compress::QuantizeResult& result) {
  QuantizeReport report;
  report.layers = result.layers;
  report.skipped_blocks = result.skipped_blocks;
  report.equalized_pairs = result.equalized_pairs;
  return report;
}

namespace {

/// Whether the output can hold the network, and the codes that it gets.
void check_form(const QuantizeJob& job, const Network& network) {
  const ir::Graph graph = prepared(network, Purpose::kFit);
  if (!job.form.is_standard()) return formats::check_model(graph, job.output);
  if (job.full_integer) {
    fail(ErrorKind::kUsage,
         "full integers have operators that other runtimes know in any case; leave out standard "
         "or matmul-nbits");
  }
  formats::check_model(compress::with_rule_codes(graph, job.recipe), job.output, job.form);
}

compress::QuantizeResult quantize_for(const QuantizeJob& job, const Network& network,
                                      const data::Dataset& data) {
  if (!job.full_integer) return quantize(network, data, job.recipe, job.options);
  return quantize_to_integers(network, data, job.recipe, job.options,
                              to_string(formats::model_format(job.output)));
}

}  // namespace

QuantizeReport quantize_file(const QuantizeJob& job) {
  const Elapsed elapsed;
  FileUses uses;
  uses.read("model", job.input);
  job.data.add_to(uses);
  uses.write("output", job.output);
  uses.check();
  const Network network = load(job.input, job.import);
  check_form(job, network);
  const data::Dataset data = job.data.open();
  const compress::QuantizeResult result = quantize_for(job, network, data);
  QuantizeReport report = report_of(result);
  report.input_bytes = network.file_bytes;
  if (job.options.devices.rank() == 0) {
    save(result.graph, job.output, job.form);
    report.output_bytes = bytes_of_file(job.output);
  }
  report.seconds = elapsed.seconds();
  return report;
}

}  // namespace halftone
