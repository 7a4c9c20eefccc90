// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/quantize.h"

#include <utility>

#include "halftone/api/elapsed.h"
#include "halftone/base/error.h"
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

void check_quantized(const Network& network, const compress::Recipe& recipe,
                     const std::filesystem::path& output, const formats::ExportOptions& form) {
  const ir::Graph graph = prepared(network, Purpose::kFit);
  if (!form.is_standard()) {
    try {
      return formats::check_model(graph, output);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUnsupported) throw;
      // Formats have layers in codes that they lack in float32.
    }
  }
  formats::check_model(compress::with_rule_codes(graph, recipe), output, form);
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
  if (!job.full_integer) return check_quantized(network, job.recipe, job.output, job.form);
  if (job.form.is_standard()) {
    fail(ErrorKind::kUsage,
         "full integers have operators that other runtimes know in any case; leave out standard "
         "or matmul-nbits");
  }
  formats::check_model(prepared(network, Purpose::kFit), job.output);
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
  check_output(job.output, {&job.input, 1});
  const Network network = load(job.input, job.import);
  check_form(job, network);
  const data::Dataset data = job.data.open();
  const compress::QuantizeResult result = quantize_for(job, network, data);
  QuantizeReport report = report_of(result);
  report.input_bytes = network.file_bytes;
  if (job.options.devices.rank() == 0) {
    save(result.graph, job.output, job.form);
    report.output_bytes = std::filesystem::file_size(job.output);
  }
  report.seconds = elapsed.seconds();
  return report;
}

}  // namespace halftone
