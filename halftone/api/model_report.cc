// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/model_report.h"

#include <algorithm>
#include <map>
#include <utility>

#include "halftone/api/evaluate.h"
#include "halftone/api/fixed_part.h"
#include "halftone/api/loss_causes.h"
#include "halftone/api/open_form.h"
#include "halftone/api/run.h"
#include "halftone/api/sample_shapes.h"
#include "halftone/api/value_histograms.h"
#include "halftone/api/worst_samples.h"
#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/compress/stages.h"
#include "halftone/numerics/distortion.h"

namespace halftone {
namespace {

/// Networks of more layers have histograms of fewer bins, so that their reports stay small.
constexpr std::size_t kManyLayers = 100;

std::string file_name(const std::string& path) {
  const std::filesystem::path name = std::filesystem::path(path).filename();
  return name.empty() ? path : name.string();
}

/// Layers by name. Of several with one name, each is found once.
class LayersByName {
 public:
  explicit LayersByName(const std::vector<LayerFigures>& layers) {
    for (std::size_t i = layers.size(); i > 0; --i) {
      indices_[layers[i - 1].info.name].push_back(i - 1);
    }
  }
  /// The next layer of this name.
  std::optional<std::size_t> take(const std::string& name) {
    const auto found = indices_.find(name);
    if (found == indices_.end() || found->second.empty()) return std::nullopt;
    const std::size_t index = found->second.back();
    found->second.pop_back();
    return index;
  }

 private:
  std::map<std::string, std::vector<std::size_t>> indices_;  ///< descending
};

void add_nodes(NetworkFigures& figures, const ir::Graph& graph) {
  std::map<ir::ValueId, std::size_t> computed;
  std::map<ir::NodeId, std::size_t> layers;
  for (const ir::NodeId id : layers_of(graph)) layers.emplace(id, layers.size());
  for (const ir::ValueId id : graph.inputs()) {
    computed[id] = figures.nodes.size();
    figures.nodes.push_back(
        {graph.value(id).name, "Input", graph.value(id).type.to_string(), {}, {}});
  }
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    NodeFigures added{node.name,
                      std::string(name_of(node.op)),
                      graph.value(node.output).type.to_string(),
                      {},
                      {}};
    for (const ir::ValueId input : node.inputs) {
      const auto found = computed.find(input);
      if (found != computed.end()) added.inputs.push_back(found->second);
    }
    if (const auto layer = layers.find(id); layer != layers.end()) added.layer = layer->second;
    computed[node.output] = figures.nodes.size();
    figures.nodes.push_back(std::move(added));
  }
}

/// The network as a file describes it: its own, or the one that save() would write.
Inspection inspect_stored(const Network& network) {
  if (network.file_bytes > 0) return inspect(network.graph, network.format, network.file_bytes);
  try {
    return inspect(network.graph, "circle", to_bytes(network, "circle").bytes.size());
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUnsupported) throw;
  }
  return inspect(network.graph, "onnx", to_bytes(network, "onnx").bytes.size());
}

NetworkFigures describe(const Network& network) {
  NetworkFigures figures{file_name(network.name), inspect_stored(network)};
  figures.inspection.text.clear();
  figures.inspection.layers.clear();
  const ir::Graph graph = prepared(network, Purpose::kConvert);
  for (LayerInfo& layer : inspect(graph, figures.inspection.format, 0).layers) {
    figures.layers.push_back({std::move(layer), ""});
  }
  add_nodes(figures, graph);
  return figures;
}

void add_kernels(NetworkFigures& figures, const Network& network, const ModelReportOptions& options,
                 const ProgressSink& progress) {
  const runtime::ExecutionOptions& execution = options.evaluation.execution;
  if (options.measures_times) {
    MeasuredPlan found =
        measure(network, {options.samples_per_run, options.min_seconds, {}, execution, progress});
    figures.plan = std::move(found.plan);
    figures.profile = std::move(found.profile);
  } else {
    const std::size_t batch = with_context(
        network.name, [&] { return batch_of(network.graph, options.samples_per_run); });
    figures.plan = make_plan(network, batch, {1, execution});
  }
  LayersByName layers(figures.layers);
  for (std::size_t i = 0; i < figures.plan->steps().size(); ++i) {
    const runtime::PlanStep& step = figures.plan->steps()[i];
    if (const auto layer = layers.take(step.name)) figures.layers[*layer].step = i;
  }
}

/// A network and what a report needs of it.
struct Part {
  Part(const Network& of, const data::Dataset* data)
      : network(of), sized(data == nullptr ? of : with_samples(of, data->parts()[0])) {
    figures = describe(sized);
    SizedGraph found = data == nullptr ? SizedGraph{prepared(of, Purpose::kFitOnFloats)}
                                       : prepared_for(of, *data, Purpose::kFitOnFloats);
    graph = fixed_part(std::move(found.graph));
    resize = std::move(found.resize);
  }
  const Network& network;
  Network sized;  ///< with the extents of the most samples, whose kernels are shown
  NetworkFigures figures;
  ir::Graph graph;  ///< whose layers are compared: float32 at its ends, weights codes or float32
  compress::Resize resize;
};

/// The model, those beside, the reference.
std::vector<Part> parts_of(const ReportedNetworks& networks, const data::Dataset* data) {
  std::vector<Part> parts;
  parts.emplace_back(networks.model, data);
  for (const Network* each : networks.beside) parts.emplace_back(*each, data);
  if (networks.reference != nullptr) parts.emplace_back(*networks.reference, data);
  return parts;
}

/// Makes the report of networks that are open.
class Reporter {
 public:
  Reporter(const ReportedNetworks& networks, const data::Dataset* data,
           const ModelReportOptions& options)
      : options_(options),
        has_reference_(networks.reference != nullptr),
        parts_(parts_of(networks, data)),
        bins_(parts_.front().figures.layers.size() > kManyLayers ? 24 : 64),
        data_(data),
        stages_(options.evaluation.progress, num_stages()) {}

  ModelReport run() {
    if (data_ != nullptr) {
      report_.data = file_name(data_->name());
      report_.num_samples = data_->size();
    }
    for (Part& part : parts_) {
      if (data_ != nullptr) evaluate_part(part);
      add_kernels(part.figures, part.sized, options_,
                  stages_.next("measuring " + part.figures.name));
    }
    const std::size_t num_compared = parts_.size() - (has_reference_ ? 1 : 0);
    for (std::size_t i = 0; i < num_compared; ++i) compare_layers(parts_[i]);
    add_causes(parts_.front());
    add_values(parts_.front());
    report_.classes = options_.classes;
    report_.model = std::move(parts_.front().figures);
    for (std::size_t i = 1; i < num_compared; ++i) {
      report_.beside.push_back(std::move(parts_[i].figures));
    }
    if (has_reference_) report_.reference = std::move(parts_.back().figures);
    return std::move(report_);
  }

 private:
  /// Evaluations, kernels and comparisons, then causes and activations.
  [[nodiscard]] std::size_t num_stages() const {
    const std::size_t compared = has_reference_ ? parts_.size() - 1 : 0;
    return (data_ != nullptr ? 2 : 1) * parts_.size() + compared + (has_reference_ ? 2 : 1);
  }
  [[nodiscard]] const Part* reference() const { return has_reference_ ? &parts_.back() : nullptr; }

  /// How layers are compared in a graph that grows from that of a part.
  [[nodiscard]] compress::LayerErrorOptions how(const ProgressSink& progress,
                                                const Part& part) const {
    compress::LayerErrorOptions options{progress, options_.evaluation.devices};
    options.resize = part.resize;
    return options;
  }
  /// Of networks that differ in their layers.
  static bool is_usual(const Error& error) {
    return error.kind() == ErrorKind::kShape || error.kind() == ErrorKind::kUnsupported;
  }
  static bool is_computed(const Part& part) { return !part.network.graph.definitions().empty(); }

  /// Accuracy, agreement with the reference and, of the model itself, the worst samples.
  void evaluate_part(Part& part) {
    const bool is_reference = &part == reference();
    const Network* other = is_reference || !has_reference_ ? nullptr : &reference()->network;
    const ProgressSink progress = stages_.next("evaluating " + part.figures.name);
    if (!data_->has_labels() && other == nullptr) return;
    compress::EvaluateSettings options = options_.evaluation;
    options.progress = progress;
    if (is_computed(part) || (other != nullptr && is_computed(*reference()))) {
      // Outputs of sizes that depend on data have no classes.
      part.figures.evaluation = evaluate(part.network, *data_, other, options);
      return;
    }
    SampleRanking ranking(*data_, part.graph, other == nullptr ? nullptr : &reference()->graph);
    options.visit = [&](std::size_t sample, std::span<const float> scores,
                        std::span<const float> theirs) { ranking.add(sample, scores, theirs); };
    part.figures.evaluation = evaluate(part.network, *data_, other, options);
    part.figures.confusion = ranking.confusion();
    if (&part != &parts_.front()) return;
    report_.measure = ranking.measure();
    report_.worst = ranking.worst(options_.num_worst);
  }

  /// Errors of layers, and their weights beside those of the reference.
  void compare_layers(Part& part) {
    if (!has_reference_) return;
    const ProgressSink progress = stages_.next("comparing the layers of " + part.figures.name);
    const ir::Graph& original = reference()->graph;
    try {
      const auto pairs = compress::paired_layers(original, part.graph);
      std::vector<compress::LayerError> errors;
      if (data_ != nullptr) {
        errors = compress::layer_errors(original, part.graph, pairs, *data_,
                                        how(progress, *reference()));
      }
      LayersByName layers(part.figures.layers);
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        const auto at = layers.take(part.graph.node(pairs[i].quantized).name);
        if (!at) continue;
        LayerFigures& layer = part.figures.layers[*at];
        layer.reference_name = original.node(pairs[i].original).name;
        if (data_ != nullptr) layer.error = errors[i];
        add_weight_error(layer, part.graph, pairs[i]);
      }
    } catch (const Error& error) {
      if (!is_usual(error)) throw;
      report_.missing.push_back(part.figures.name + ": errors of layers: " + error.what());
    }
  }

  /// Which layers cause the loss, and what 8 bits take.
  void add_causes(Part& part) {
    if (!has_reference_) return;
    const ProgressSink progress = stages_.next("finding the causes of losses");
    const LossCauseOptions options{options_.evaluation.devices, progress, reference()->resize};
    try {
      add_loss_causes(part.figures, {reference()->graph, part.graph}, data_, options);
    } catch (const Error& error) {
      if (!is_usual(error)) throw;
      report_.missing.push_back(part.figures.name + ": causes of losses: " + error.what());
    }
    add_eight_bit_bytes(part.figures, reference()->network);
  }

  /// Weights of a layer in the graph to compare; null if they are computed.
  static const ir::Constant* weights_of(const ir::Graph& graph, ir::NodeId id) {
    const ir::Node& node = graph.node(id);
    return graph.constant(node.inputs[weights_input(node.op)]);
  }

  static const ir::Tensor* float_weights_of(const ir::Graph& graph, ir::NodeId id) {
    const auto* dense = std::get_if<ir::Tensor>(weights_of(graph, id));
    const bool is_float = dense != nullptr && dense->element() == ir::ElementType::kFloat32;
    return is_float ? dense : nullptr;
  }

  void add_weight_error(LayerFigures& layer, const ir::Graph& graph, compress::LayerPair pair) {
    const ir::Tensor* original = float_weights_of(reference()->graph, pair.original);
    if (original == nullptr) return;
    const ir::Constant& own = *weights_of(graph, pair.quantized);
    numerics::Distortion distortion;
    distortion.add(original->as<float>(), to_float(own).as<float>());
    layer.weight_sqnr_db = distortion.sqnr_db();
    layer.weights = weight_histogram(own, original, {bins_});
    layer.weights_are_reference = layer.weights.has_value();
  }

  /// Histograms of weights that no reference has given, and of what layers read.
  void add_values(Part& part) {
    const ProgressSink progress = stages_.next("counting activations");
    const ir::Graph& graph = part.graph;
    LayersByName layers(part.figures.layers);
    std::vector<ir::ValueId> values;
    std::vector<std::pair<std::size_t, ir::NodeId>> readers;  // layers, by value
    for (const ir::NodeId id : layers_of(graph)) {
      const auto at = layers.take(graph.node(id).name);
      if (!at) continue;
      LayerFigures& layer = part.figures.layers[*at];
      const ir::Constant* weights = weights_of(graph, id);
      if (!layer.weights && weights != nullptr)
        layer.weights = weight_histogram(*weights, nullptr, {bins_});
      const auto input = compress::layer_input(graph, graph.node(id));
      if (data_ == nullptr || !input) continue;
      values.push_back(*input);
      readers.emplace_back(*at, id);
    }
    if (values.empty()) return;
    const auto histograms = compress::value_histograms(graph, values, *data_, how(progress, part));
    for (std::size_t i = 0; i < readers.size(); ++i) {
      ValueHistogram histogram = binned(histograms[i], {bins_, true});
      const auto& codes = graph.value(graph.node(readers[i].second).inputs[0]).type.encoding.codes;
      if (codes != nullptr) add_levels(histogram, *codes);
      part.figures.layers[readers[i].first].inputs = std::move(histogram);
    }
  }

  const ModelReportOptions& options_;
  bool has_reference_;
  std::vector<Part> parts_;    ///< as of parts_of()
  std::size_t bins_;           ///< of a histogram: fewer where there are many
  const data::Dataset* data_;  ///< null: none
  compress::Stages stages_;
  ModelReport report_;
};

}  // namespace

ModelReport report_model(const ReportedNetworks& networks, const data::Dataset* data,
                         const ModelReportOptions& options) {
  if (networks.beside.size() > kMaxBeside) {
    fail(ErrorKind::kUsage, "expected at most " + std::to_string(kMaxBeside) +
                                " networks beside the model, found " +
                                std::to_string(networks.beside.size()));
  }
  return Reporter(networks, data, options).run();
}

std::vector<std::string> read_class_names(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  std::vector<std::string> names;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string name = text.substr(at, end - at);
    name.erase(name.find_last_not_of(" \t\r") + 1);
    names.push_back(std::move(name));
    if (names.back().empty()) {
      fail(ErrorKind::kFormat, path.string() + ":" + std::to_string(names.size()) +
                                   ": expected the name of a class, found an empty line");
    }
    at = end + 1;
  }
  return names;
}

ModelReport report_files(const ModelReportJob& job) {
  std::vector<std::filesystem::path> paths{job.model};
  paths.insert(paths.end(), job.beside.begin(), job.beside.end());
  if (!job.reference.empty()) paths.push_back(job.reference);
  ModelReportOptions options = job.options;
  if (!job.classes.empty()) options.classes = read_class_names(job.classes);
  std::vector<Network> found = load_all(paths, job.import);
  std::optional<data::Dataset> data;
  if (job.data) data.emplace(job.data->open());
  ReportedNetworks networks{found.front()};
  for (std::size_t i = 1; i <= job.beside.size(); ++i) networks.beside.push_back(&found[i]);
  if (!job.reference.empty()) networks.reference = &found.back();
  return report_model(networks, data ? &*data : nullptr, options);
}

}  // namespace halftone
