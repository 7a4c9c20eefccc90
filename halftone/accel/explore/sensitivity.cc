// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/explore/sensitivity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/hash.h"
#include "halftone/base/state/state_file.h"
#include "halftone/compress/evaluate.h"
#include "halftone/compress/graft.h"
#include "halftone/compress/input_hash.h"
#include "halftone/compress/layers.h"

namespace halftone::accel {
namespace {

/// By the name of the layer that alone is quantized.
using LossesByName = std::map<std::string, Loss>;

template <typename Part>
std::string hash_of(const Part& part) {
  Hash hash;
  compress::add_to_hash(hash, part);
  return hash_text(hash.value());
}

StateFile state_of(const Measurement& on, const std::filesystem::path& path) {
  JobIdentity identity;
  if (!path.empty()) {
    Hash recipe;
    recipe.add(compress::to_toml(on.recipe));
    identity = {{"network", hash_of(on.graph)},
                {"data", hash_of(on.samples)},
                {"test data", hash_of(on.evaluation)},
                {"recipe", hash_text(recipe.value())},
                {"seed", std::to_string(on.options.seed)}};
  }
  const bool writes = on.options.devices.empty() || on.options.devices.rank() == 0;
  return {path, "losses of single layers", identity, writes};
}

StateFile::Json to_json(const LossesByName& losses) {
  StateFile::Json json = StateFile::Json::object();
  for (const auto& [name, loss] : losses) json[name] = {loss.noise, loss.drop};
  return json;
}

LossesByName losses_from(const StateFile::Json& json) {
  LossesByName losses;
  for (const auto& [name, loss] : json.items()) {
    losses[name] = {loss.at(0).get<double>(), loss.at(1).get<double>()};
  }
  return losses;
}

/// What a quantized network loses against the float network.
Loss loss_of(const Measurement& on, const ir::Graph& quantized) {
  compress::EvaluateOptions how;
  how.batch = on.batch;
  how.devices = on.options.devices;
  how.execution.float_order = runtime::FloatOrder::kFixed;
  const compress::Evaluation result = compress::evaluate(quantized, on.evaluation, &on.graph, how);
  const compress::Comparison& reference = *result.reference;
  // Fractions of whole samples, so that 5 of 500 are 0.01 and not a little more.
  const auto samples = static_cast<double>(result.samples);
  const double lost =
      reference.value ? std::round(*reference.value * samples) - std::round(result.value * samples)
                      : samples - std::round(reference.agreement * samples);
  return {std::pow(10, -reference.sqnr_db / 10), lost / samples};
}

ir::Graph quantized(const Measurement& on, const ir::Graph& graph, const compress::Recipe& recipe,
                    const ProgressSink& progress) {
  compress::QuantizeOptions options = on.options;
  options.progress = progress;
  return compress::quantize(graph, on.samples, recipe, options).graph;
}

/// Whether a layer that is quantized alone has the same codes as with Schedule::kIndependent.
bool is_fitted_alone(const compress::FitOptions& fit) {
  return fit.schedule == compress::Schedule::kIndependent ||
         (fit.schedule == compress::Schedule::kLayerwise && fit.reconstruct.steps == 0);
}

/// Measures single layers at a pair of bits.
class PairMeasurement {
 public:
  PairMeasurement(const Measurement& on, const SearchedLayers& layers, BitPair bits,
                  ProgressSink progress)
      : on_(on), layers_(layers), bits_(bits), progress_(std::move(progress)) {}

  [[nodiscard]] LossesByName measure(const std::vector<std::string>& names) const {
    LossesByName losses;
    const double each = 1 / static_cast<double>(names.size());
    if (!is_fitted_alone(on_.recipe.fit)) {
      for (const std::string& name : names) {
        const double done = each * static_cast<double>(losses.size());
        losses[name] =
            measure_loss(on_, of_layers({name}), halftone::part_of(progress_, done, done + each));
      }
      return losses;
    }
    const ir::Graph& network = layers_.network;
    const ir::Graph fitted =
        quantized(on_, network, independent(names), halftone::part_of(progress_, 0, 0.5));
    for (const compress::LayerPair& pair : compress::paired_layers(network, fitted)) {
      const std::string& name = network.node(pair.original).name;
      if (std::ranges::count(names, name) == 0) continue;
      tell(0.5 + 0.5 * each * static_cast<double>(losses.size()), name);
      losses[name] = loss_of(on_, compress::graft(network, fitted, {&pair, 1}));
    }
    return losses;
  }

 private:
  void tell(double fraction, const std::string& name) const {
    if (!progress_) return;
    progress_(fraction,
              fmt::format("measuring {} with {} and {} bits", name, bits_.weights, bits_.inputs));
  }

  /// Only these layers are quantized.
  [[nodiscard]] compress::Recipe of_layers(const std::vector<std::string>& names) const {
    compress::Recipe recipe = on_.recipe;
    compress::LayerSettings skipped;
    skipped.skip = true;
    for (const std::string& name : layers_.names) {
      if (std::ranges::count(names, name) > 0) continue;
      recipe.overrides.push_back({compress::literal_pattern(name), skipped});
    }
    return with_bits(recipe, names, std::vector<BitPair>(names.size(), bits_));
  }

  /// Each of these layers is fitted as if it were the only quantized one.
  [[nodiscard]] compress::Recipe independent(const std::vector<std::string>& names) const {
    compress::Recipe recipe = of_layers(names);
    recipe.fit.schedule = compress::Schedule::kIndependent;
    recipe.fit.equalize = false;  // which needs two quantized layers
    return recipe;
  }

  const Measurement& on_;
  const SearchedLayers& layers_;
  BitPair bits_;
  ProgressSink progress_;
};

/// The names of the layers that may have a pair of bits.
std::vector<std::string> names_with(const std::vector<LayerSensitivity>& layers, BitPair bits) {
  std::vector<std::string> names;
  for (const LayerSensitivity& each : layers) {
    if (std::ranges::count(each.pairs, bits) > 0) names.push_back(each.name);
  }
  return names;
}

/// Whether losses are those of these layers, and of no other ones.
bool are_of(const LossesByName& losses, const std::vector<std::string>& names) {
  return losses.size() == names.size() &&
         std::ranges::all_of(names, [&](const auto& name) { return losses.contains(name); });
}

}  // namespace

compress::Recipe with_bits(const compress::Recipe& recipe, std::span<const std::string> layers,
                           std::span<const BitPair> bits) {
  compress::Recipe result = recipe;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    compress::LayerSettings settings;
    settings.weight_bits = bits[i].weights;
    settings.activation_bits = bits[i].inputs;
    result.overrides.push_back({compress::literal_pattern(layers[i]), settings});
  }
  return result;
}

SearchedLayers searched_layers(const ir::Graph& graph, const compress::Recipe& recipe) {
  SearchedLayers result{compress::with_layers(graph, recipe), {}, {}};
  std::map<ir::ValueId, Tie> readers;
  for (const ir::NodeId id : compress::quantizable_layers(result.network)) {
    const ir::Node& node = result.network.node(id);
    const compress::LayerRecipe layer = recipe.for_layer(node.name);
    if (!layer.weights && !layer.activations) continue;
    result.names.push_back(node.name);
    Tie& tie = readers[node.inputs[ir::weights_input(node.op)]];
    tie.patterns.push_back(compress::literal_pattern(node.name));
    tie.where = "layers with the same weights";
  }
  if (result.names.empty()) {
    fail(ErrorKind::kUnsupported, "the recipe keeps all layers float: there are no bits to choose",
         Hint::kRecipe);
  }
  for (auto& [weights, tie] : readers) {
    if (tie.patterns.size() > 1) result.shared.push_back(std::move(tie));
  }
  return result;
}

Loss measure_loss(const Measurement& on, const compress::Recipe& recipe,
                  const ProgressSink& progress) {
  return loss_of(on, quantized(on, on.graph, recipe, progress));
}

std::vector<LayerSensitivity> measure_sensitivities(const Measurement& on,
                                                    const SearchedLayers& layers,
                                                    const Space& space,
                                                    const std::filesystem::path& state) {
  static_cast<void>(space.ties_of(layers.names));
  StateFile kept = state_of(on, state);
  std::vector<LayerSensitivity> result;
  for (const std::string& name : layers.names) result.push_back({name, space.pairs_of(name), {}});
  const std::vector<BitPair> pairs = space.pairs_of(layers.names);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const std::vector<std::string> names = names_with(result, pairs[i]);
    const std::string choice = fmt::format("{}/{}", pairs[i].weights, pairs[i].inputs);
    std::optional<LossesByName> losses = kept.find(choice, losses_from);
    if (!losses || !are_of(*losses, names)) {
      const auto count = static_cast<double>(pairs.size());
      const auto done = static_cast<double>(i);
      const ProgressSink own =
          halftone::part_of(on.options.progress, done / count, (done + 1) / count);
      losses = PairMeasurement(on, layers, pairs[i], own).measure(names);
      kept.add(choice, to_json(*losses));
    }
    for (LayerSensitivity& each : result) {
      if (losses->contains(each.name)) each.losses.push_back(losses->at(each.name));
    }
  }
  return result;
}

}  // namespace halftone::accel
