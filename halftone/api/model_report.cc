// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/model_report.h"

#include <algorithm>
#include <map>
#include <utility>

#include "halftone/api/evaluate.h"
#include "halftone/api/run.h"
#include "halftone/api/value_histograms.h"
#include "halftone/api/worst_samples.h"
#include "halftone/base/error.h"
#include "halftone/compress/stages.h"
#include "halftone/formats/model.h"
#include "halftone/numerics/distortion.h"
#include "halftone/passes/float_ends.h"
#include "halftone/passes/simplify.h"

namespace halftone {
namespace {

/// Networks of more layers have histograms of fewer bins, so that their reports stay small.
constexpr std::size_t kManyLayers = 100;

/// The graph whose layers are compared: float32 at its ends, weights that are codes or float32.
ir::Graph graph_to_compare(const Network& network) {
  ir::Graph graph = network.graph;
  passes::give_float_ends(graph);
  passes::simplify(graph, {.widen = true});
  return graph;
}

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

NetworkFigures describe(const Network& network, const std::filesystem::path& path) {
  NetworkFigures figures{file_name(network.name),
                         inspect(network.graph, std::string(to_string(formats::model_format(path))),
                                 network.file_bytes)};
  figures.inspection.text.clear();
  figures.inspection.layers.clear();
  const ir::Graph graph = prepared(network, Purpose::kConvert);
  for (LayerInfo& layer : inspect(graph, figures.inspection.format, 0).layers) {
    figures.layers.push_back({std::move(layer), ""});
  }
  add_nodes(figures, graph);
  return figures;
}

void add_kernels(NetworkFigures& figures, const Network& network, const ModelReportJob& job,
                 const ProgressSink& progress) {
  const runtime::ExecutionOptions& execution = job.evaluation.execution;
  if (job.measures_times) {
    Measurement found =
        measure(network, {job.samples_per_run, job.min_seconds, {}, execution, progress});
    figures.plan = std::move(found.plan);
    figures.profile = std::move(found.profile);
  } else {
    const std::size_t batch =
        with_context(network.name, [&] { return batch_of(network.graph, job.samples_per_run); });
    figures.plan = make_plan(network, batch, {1, execution});
  }
  LayersByName layers(figures.layers);
  for (std::size_t i = 0; i < figures.plan->steps().size(); ++i) {
    const runtime::Step& step = figures.plan->steps()[i];
    if (const auto layer = layers.take(step.name)) figures.layers[*layer].step = i;
  }
}

/// A network and what a report needs of it.
struct Part {
  Network network;
  NetworkFigures figures;
  ir::Graph graph;  ///< graph_to_compare()
};

/// Makes the report of networks that are open.
class Reporter {
 public:
  Reporter(const ModelReportJob& job, std::vector<Part> parts)
      : job_(job),
        parts_(std::move(parts)),
        bins_(parts_.front().figures.layers.size() > kManyLayers ? 24 : 64),
        stages_(job.evaluation.progress, num_stages()) {
    if (job.data) data_.emplace(job.data->open());
  }

  ModelReport run() {
    if (data_) {
      report_.data = file_name(data_->name());
      report_.num_samples = data_->size();
    }
    for (Part& part : parts_) {
      if (data_) evaluate_part(part);
      add_kernels(part.figures, part.network, job_, stages_.next("measuring " + part.figures.name));
    }
    compare_layers(parts_.front());
    if (has_beside()) compare_layers(parts_[1]);
    add_values(parts_.front());
    report_.model = std::move(parts_.front().figures);
    if (has_beside()) report_.beside = std::move(parts_[1].figures);
    if (has_reference()) report_.reference = std::move(parts_.back().figures);
    return std::move(report_);
  }

 private:
  [[nodiscard]] bool has_reference() const { return !job_.reference.empty(); }
  [[nodiscard]] bool has_beside() const { return !job_.beside.empty(); }
  [[nodiscard]] std::size_t num_stages() const { return 3 * parts_.size() + 1; }
  [[nodiscard]] const Part* reference() const { return has_reference() ? &parts_.back() : nullptr; }

  /// Accuracy, agreement with the reference and, of the model itself, the worst samples.
  void evaluate_part(Part& part) {
    const bool is_reference = &part == reference();
    const Network* other = is_reference || !has_reference() ? nullptr : &reference()->network;
    const ProgressSink progress = stages_.next("evaluating " + part.figures.name);
    if (!data_->has_labels() && other == nullptr) return;
    compress::EvaluateOptions options = job_.evaluation;
    options.progress = progress;
    SampleRanking ranking(*data_, part.graph, other == nullptr ? nullptr : &reference()->graph);
    options.visit = [&](std::size_t sample, std::span<const float> scores,
                        std::span<const float> theirs) { ranking.add(sample, scores, theirs); };
    part.figures.evaluation = evaluate(part.network, *data_, other, options);
    if (&part != &parts_.front()) return;
    report_.measure = ranking.measure();
    report_.worst = ranking.worst(job_.num_worst);
  }

  /// Errors of layers, and their weights beside those of the reference.
  void compare_layers(Part& part) {
    if (!has_reference()) return;
    const ProgressSink progress = stages_.next("comparing the layers of " + part.figures.name);
    const ir::Graph& original = reference()->graph;
    try {
      const auto pairs = compress::paired_layers(original, part.graph);
      std::vector<compress::LayerError> errors;
      if (data_) {
        errors = compress::layer_errors(original, part.graph, pairs, *data_,
                                        {progress, job_.evaluation.devices});
      }
      LayersByName layers(part.figures.layers);
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        const auto at = layers.take(part.graph.node(pairs[i].quantized).name);
        if (!at) continue;
        LayerFigures& layer = part.figures.layers[*at];
        layer.reference_name = original.node(pairs[i].original).name;
        if (data_) layer.error = errors[i];
        add_weight_error(layer, part.graph, pairs[i]);
      }
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kShape) throw;
      report_.missing.push_back(part.figures.name + ": errors of layers: " + error.what());
    }
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
      if (!data_ || !input) continue;
      values.push_back(*input);
      readers.emplace_back(*at, id);
    }
    if (values.empty()) return;
    const auto histograms =
        compress::value_histograms(graph, values, *data_, {progress, job_.evaluation.devices});
    for (std::size_t i = 0; i < readers.size(); ++i) {
      ValueHistogram histogram = binned(histograms[i], {bins_, true});
      const auto& codes = graph.value(graph.node(readers[i].second).inputs[0]).type.encoding.codes;
      if (codes != nullptr) add_levels(histogram, *codes);
      part.figures.layers[readers[i].first].inputs = std::move(histogram);
    }
  }

  const ModelReportJob& job_;
  std::vector<Part> parts_;  ///< the model, the one beside, the reference
  std::size_t bins_;         ///< of a histogram: fewer where there are many
  compress::Stages stages_;
  std::optional<data::Dataset> data_;
  ModelReport report_;
};

}  // namespace

ModelReport report_model(const ModelReportJob& job) {
  std::vector<std::filesystem::path> paths{job.model};
  if (!job.beside.empty()) paths.push_back(job.beside);
  if (!job.reference.empty()) paths.push_back(job.reference);
  std::vector<Part> parts;
  for (Network& network : load_all(paths, job.import)) {
    NetworkFigures figures = describe(network, paths[parts.size()]);
    ir::Graph graph = graph_to_compare(network);
    parts.push_back({std::move(network), std::move(figures), std::move(graph)});
  }
  return Reporter(job, std::move(parts)).run();
}

}  // namespace halftone
