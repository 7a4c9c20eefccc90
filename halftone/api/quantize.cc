// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/quantize.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "halftone/api/checked_save.h"
#include "halftone/api/elapsed.h"
#include "halftone/api/fit_warnings.h"
#include "halftone/api/open_form.h"
#include "halftone/api/sample_shapes.h"
#include "halftone/base/error.h"
#include "halftone/base/file_uses.h"
#include "halftone/compress/full_integer.h"
#include "halftone/compress/rule_codes.h"
#include "halftone/formats/model.h"
#include "halftone/ir/open_extents.h"
#include "halftone/passes/decode_codes.h"

namespace halftone {
namespace {

const passes::CodeForm& codes_of(formats::ModelFormat format) {
  return format == formats::ModelFormat::kOnnx ? passes::kOnnxCodes : passes::kTfliteCodes;
}

/// The network whose layers an output must hold in one form or another.
ir::Graph to_check(const Network& network) {
  ir::Graph graph = prepared(network, Purpose::kFit);
  passes::decode_bytes(graph);
  return graph;
}

/// Fits the float form of a network.
/// @param fit  fit(graph on floats, options) returns the result
/// @return     with the inputs and outputs of the network, and all warnings
template <typename Fit>
compress::QuantizedGraph fitted(const Network& network, const data::Dataset& data,
                                const compress::QuantizeSettings& options, const Fit& fit) {
  const std::optional<OpenForm> open = open_form(network, data);
  const Network bound = with_samples(network, data.parts()[0]);
  compress::QuantizeSettings how = options;
  how.resize = resize_of(open, data);
  const ir::Graph graph = open ? open->filled() : prepared(bound, Purpose::kQuantize);
  compress::QuantizedGraph result = fit(graph, how);
  const auto warn = [&](std::vector<std::string> more) {
    std::ranges::move(more, std::back_inserter(result.warnings));
  };
  warn(kept_layers(graph));
  warn(costly_layers(graph, result, data, how));
  warn(slow_layers(result.graph));
  if (const auto reason = reopen(open, result.graph)) warn({*reason});
  const bool stays_open = !ir::open_extents(result.graph).empty();
  passes::restore_ends(result.graph, stays_open ? network.graph : bound.graph);
  result.input_weight_bytes = compress::constant_bytes(bound.graph);
  return result;
}

}  // namespace

compress::QuantizedGraph quantize(const Network& network, const data::Dataset& data,
                                  const compress::Recipe& recipe,
                                  const compress::QuantizeSettings& options) {
  return fitted(network, data, options, [&](const ir::Graph& graph, const auto& how) {
    return compress::quantize(graph, data, recipe, how);
  });
}

compress::QuantizedGraph quantize_to_integers(const Network& network, const data::Dataset& data,
                                              const compress::Recipe& recipe,
                                              const compress::QuantizeSettings& options,
                                              std::string_view format) {
  const passes::CodeForm& form = codes_of(formats::format_named(format));
  return fitted(network, data, options, [&](const ir::Graph& graph, const auto& how) {
    for (const std::string& line : kept_layers(graph)) {
      fail(ErrorKind::kUnsupported, line + "; other runtimes do not know them");
    }
    return compress::quantize_to_integers(graph, data, recipe, how, form);
  });
}

void check_quantized(const Network& network, const compress::Recipe& recipe,
                     const std::filesystem::path& output, const formats::ExportOptions& form) {
  const ir::Graph graph = to_check(network);
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

QuantizeReport report_of(const compress::QuantizedGraph& result) {
  QuantizeReport report;
  report.input_weight_bytes = result.input_weight_bytes;
  report.output_weight_bytes = compress::constant_bytes(result.graph);
  report.layers = result.layers;
  report.skipped_blocks = result.skipped_blocks;
  report.equalized_pairs = result.equalized_pairs;
  report.warnings = result.warnings;
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
  formats::check_model(to_check(network), job.output);
}

compress::QuantizedGraph quantize_for(const QuantizeJob& job, const Network& network,
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
  Network network = load(job.input, job.import);
  if (!is_open(network)) check_form(job, network);
  const data::Dataset data = job.data.open();
  const Network bound = with_samples(network, data.parts()[0]);
  if (is_open(network)) check_form(job, bound);
  // Other formats have no open extents beside the batch.
  if (formats::model_format(job.output) != formats::ModelFormat::kOnnx) {
    compress::require_one_size(data);
    network = bound;
  }
  const compress::QuantizedGraph result = quantize_for(job, network, data);
  QuantizeReport report = report_of(result);
  report.input_bytes = network.file_bytes;
  if (job.options.devices.rank() == 0) {
    report.output_bytes = save_checked(result.graph, job.output, job.form, data);
  }
  report.seconds = elapsed.seconds();
  return report;
}

}  // namespace halftone
