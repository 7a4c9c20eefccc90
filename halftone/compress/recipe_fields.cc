// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/recipe_fields.h"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

#include "halftone/compress/reconstruct/rounded_weights.h"

namespace halftone::compress {
namespace {

using Range = FieldRange;
using numerics::Granularity;

constexpr double kMaxGroup = 2147483648;  // 2^31

template <typename T>
using Names = std::vector<std::pair<std::string_view, T>>;

// The words of each enumeration, by its type.
Names<Granularity> names_of(Granularity) {
  return {{"tensor", Granularity::kTensor},
          {"channel", Granularity::kChannel},
          {"group", Granularity::kGroup}};
}
Names<ActivationScales> names_of(ActivationScales) {
  using Scales = ActivationScales;
  return {{"fitted", Scales::kFitted},
          {"sample", Scales::kSample},
          {"row", Scales::kRow},
          {"group", Scales::kGroup}};
}
Names<Calibrator> names_of(Calibrator) {
  Names<Calibrator> names;
  for (const auto each : {Calibrator::kFit, Calibrator::kMinMax, Calibrator::kMovingAverage,
                          Calibrator::kPercentile, Calibrator::kMse, Calibrator::kKl}) {
    names.emplace_back(to_string(each), each);
  }
  return names;
}
/// Without kGroups, which no recipe chooses.
Names<ir::Arithmetic> names_of(ir::Arithmetic) {
  Names<ir::Arithmetic> names;
  for (const auto each : {ir::Arithmetic::kAuto, ir::Arithmetic::kBits, ir::Arithmetic::kIntegers,
                          ir::Arithmetic::kFloat}) {
    names.emplace_back(to_string(each), each);
  }
  return names;
}
Names<LevelSolver> names_of(LevelSolver) {
  return {{"least-squares", LevelSolver::kLeastSquares}, {"gradient", LevelSolver::kGradient}};
}
Names<Schedule> names_of(Schedule) {
  return {{"layerwise", Schedule::kLayerwise},
          {"phases", Schedule::kPhases},
          {"independent", Schedule::kIndependent}};
}
Names<ReconstructRounding> names_of(ReconstructRounding) {
  return {{"straight-through", ReconstructRounding::kStraightThrough},
          {"adaptive", ReconstructRounding::kAdaptive}};
}
Names<ReconstructUnit> names_of(ReconstructUnit) {
  return {{"block", ReconstructUnit::kBlock}, {"layer", ReconstructUnit::kLayer}};
}

template <typename T>
std::vector<std::string> words_of() {
  std::vector<std::string> words;
  for (const auto& each : names_of(T{})) words.emplace_back(each.first);
  return words;
}
template <typename T>
std::string word_of(T value) {
  const Names<T> names = names_of(value);
  const auto found = std::ranges::find(names, value, &Names<T>::value_type::second);
  return found == names.end() ? "" : std::string(found->first);
}
template <typename T>
T value_of(const std::string& word) {
  const Names<T> names = names_of(T{});
  return std::ranges::find(names, word, &Names<T>::value_type::first)->second;
}

/// Sets what a text sets, whose words are right.
struct Reads {
  template <typename Text, typename T>
  void operator()(const std::optional<Text>& text, T& value) const {
    if (!text) return;
    if constexpr (std::is_enum_v<T>) {
      value = value_of<T>(*text);
    } else {
      value = static_cast<T>(*text);
    }
  }
  template <typename Text, typename T>
  void operator()(const std::optional<Text>& text, std::optional<T>& value) const {
    if (text) (*this)(text, value.emplace());
  }
};

/// Sets the text of what is set.
struct Writes {
  template <typename Text, typename T>
  void operator()(std::optional<Text>& text, const T& value) const {
    if constexpr (std::is_enum_v<T>) {
      text = word_of(value);
    } else {
      text = static_cast<Text>(value);
    }
  }
  template <typename Text, typename T>
  void operator()(std::optional<Text>& text, const std::optional<T>& value) const {
    if (value) (*this)(text, *value);
  }
};

/// Calls visit(text, value) for each setting of a layer but its number systems.
template <typename Text, typename Settings, typename Visit>
void visit_settings(Text& text, Settings& settings, const Visit& visit) {
  visit(text.weight_bits, settings.weight_bits);
  visit(text.activation_bits, settings.activation_bits);
  visit(text.weight_offset, settings.weight_offset);
  visit(text.activation_offset, settings.activation_offset);
  visit(text.granularity, settings.granularity);
  visit(text.group_size, settings.group_size);
  visit(text.activation_scales, settings.activation_scales);
  visit(text.activation_group_size, settings.activation_group_size);
  visit(text.calibrator, settings.calibrator);
  visit(text.percentile, settings.percentile);
  visit(text.momentum, settings.momentum);
  visit(text.skip, settings.skip);
  visit(text.arithmetic, settings.arithmetic);
}

/// The same for the settings of the fit.
template <typename Text, typename Options, typename Visit>
void visit_fit(Text& text, Options& fit, const Visit& visit) {
  auto& weights = fit.weights;
  visit(text.basis_solver, weights.levels.solver);
  visit(text.iterations, weights.levels.iterations);
  visit(text.learning_rate, weights.levels.learning_rate);
  visit(text.l2_penalty, weights.levels.l2_penalty);
  visit(text.input_weighted, weights.input_weighted);
  visit(text.error_feedback, weights.feedback);
  visit(text.refine, weights.refine);
  visit(text.refine_sweeps, weights.refine_sweeps);
  visit(text.bias_correction, weights.bias_correction);
  visit(text.damping, weights.damping.uniform);
  visit(text.equalize, fit.equalize);
  visit(text.schedule, fit.schedule);
  visit(text.refit_activations, fit.refit_activations);
  visit(text.activation_samples, fit.activation_samples);
  visit(text.input_rows, fit.input_rows);
  visit(text.small_ratios, fit.small_ratios);
  auto& reconstruct = fit.reconstruct;
  visit(text.reconstruct_steps, reconstruct.steps);
  visit(text.reconstruct_rounding, reconstruct.rounding);
  visit(text.reconstruct_unit, reconstruct.unit);
  visit(text.reconstruct_batch, reconstruct.batch);
  visit(text.reconstruct_samples, reconstruct.samples);
  visit(text.drop, reconstruct.drop);
  visit(text.weight_rate, reconstruct.weight_rate);
  visit(text.level_rate, reconstruct.level_rate);
  visit(text.bias_rate, reconstruct.bias_rate);
  visit(text.rounding_penalty, reconstruct.rounding_penalty);
}

/// A number as people read it.
std::string shown_number(double value) { return Field{"", &value, ""}.value_text(); }

/// A field whose text is one of the words of an enumeration.
template <typename T>
Field word_field(std::string name, std::optional<std::string>* place, std::string text, T usual) {
  return Field{std::move(name), place, std::move(text), {}, words_of<T>()}.usually(word_of(usual));
}

Fields bits_fields(v0::LayerSettings& s) {
  const auto bits = Range::between(1, numerics::kMaxCodeBits);
  const auto field = [&](const char* name, std::optional<int>* place, const char* text) {
    return Field{name, place, text, bits}.usually(std::to_string(kUsualBits)).with_zero("none");
  };
  return {field("weight_bits", &s.weight_bits, "Bits per weight, or none for float32"),
          field("activation_bits", &s.activation_bits,
                "Bits per activation, the input of a layer, or none for float32")};
}

Fields system_fields(v0::LayerSettings& s) {
  return {
      Field{"scheme", &s.scheme,
            "Number system: one of `halftone systems`, or float: the layer stays as it is"}
          .usually(std::string(ActivationFormat().system->name)),
      {"weight_scheme", &s.weight_scheme, "The same, of weights only"},
      {"type", &s.type,
       "Type of weights: a number system with bits and groups as nvfp4 or int4/64, a vector basis "
       "as 2x6, or of a language model also one of GGUF as Q3_K"},
      {"activation_scheme", &s.activation_scheme, "The same, of activations only"},
      Field{"weight_offset", &s.weight_offset,
            "Learned levels have an offset; the other systems say themselves"}
          .usually("true"),
      Field{"activation_offset", &s.activation_offset, "The same of activations"}.usually("true"),
  };
}

Fields block_fields(v0::LayerSettings& s) {
  return {
      word_field("granularity", &s.granularity,
                 "Which weights share a scale; a channel is an output", Granularity::kChannel),
      Field{"group_size", &s.group_size,
            "Inputs whose weights share a scale; implies granularity group",
            Range::between(1, kMaxGroup)}
          .usually(std::to_string(kUsualWeightGroup)),
      word_field(
          "activation_scales", &s.activation_scales,
          "Scales of activations: one, fitted to data, or computed at run time for each sample, "
          "row or group",
          ActivationScales::kFitted),
      Field{"activation_group_size", &s.activation_group_size,
            "Activations that share a scale; implies activation_scales group",
            Range::between(1, kMaxGroup)}
          .usually(std::to_string(kUsualActivationGroup)),
  };
}

Fields range_fields(v0::LayerSettings& s) {
  static const RangeOptions usual;
  return {
      word_field(
          "calibrator", &s.calibrator,
          "How levels of activations follow from the samples: fit (the least error of a sample), "
          "or evenly over a range: min-max, moving-average, percentile, mse, kl",
          usual.calibrator),
      Field{"percentile", &s.percentile, "Percent of the values in the range of percentile",
            Range::between(50, 100)}
          .usually(shown_number(usual.percentile)),
      Field{"momentum", &s.momentum, "Weight of older batches in moving-average",
            Range::between(0, 1)}
          .usually(shown_number(usual.momentum)),
  };
}

Fields level_fields(v0::FitSettings& s) {
  return {
      {"equalize", &s.equalize, "Give channels the same range in two layers, before the fit"},
      Field{"basis_solver",
            &s.basis_solver,
            "Step 1: closed forms, or gradient descent with an L2 penalty",
            {},
            words_of<LevelSolver>()},
      {"iterations", &s.iterations, "Limit of step 1", Range::between(1, 100000)},
      {"learning_rate", &s.learning_rate, "Of gradient descent", Range::between(1e-9, 1)},
      {"l2_penalty", &s.l2_penalty, "Of gradient descent", Range::between(0, 1e3)},
      {"input_weighted", &s.input_weighted, "Step 1 weights each input by its second moment"},
      {"error_feedback", &s.error_feedback,
       "Step 2: spread errors over the columns that are not encoded yet"},
      {"refine", &s.refine, "Step 3: alternate codes and levels"},
      {"refine_sweeps", &s.refine_sweeps, "Limit of step 3", Range::between(1, 10000)},
      {"bias_correction", &s.bias_correction, "The bias absorbs the mean output error"},
      {"damping", &s.damping,
       "Pull towards the float weights, as a share of the mean second moment",
       Range::between(1e-9, 1e3)},
  };
}

Fields order_fields(v0::FitSettings& s) {
  return {
      Field{"schedule",
            &s.schedule,
            "Layer by layer, or all weights and then all activations (phases), or each layer as if "
            "it were the only quantized one (independent)",
            {},
            words_of<Schedule>()},
      {"refit_activations", &s.refit_activations,
       "Step 4: fit activations in the quantized network"},
      {"activation_samples", &s.activation_samples, "Values kept per activation",
       Range::between(256, 1 << 28)},
      {"input_rows", &s.input_rows, "Rows of a layer's input that its weights are fitted to",
       Range::between(256, 1099511627776)},  // 2^40
      {"small_ratios", &s.small_ratios,
       "Faster 2-bit convolutions: coefficients p : q with p + q <= 7"},
  };
}

Fields reconstruct_fields(v0::FitSettings& s) {
  return {
      {"reconstruct_steps", &s.reconstruct_steps,
       "Step 5: gradient steps for each block; 400 is a good start", Range::between(0, 1000000)},
      Field{"reconstruct_rounding",
            &s.reconstruct_rounding,
            "How the level of a weight is learned; adaptive is AdaRound",
            {},
            words_of<ReconstructRounding>()},
      Field{"reconstruct_unit",
            &s.reconstruct_unit,
            "What is refined at once",
            {},
            words_of<ReconstructUnit>()},
      {"reconstruct_batch", &s.reconstruct_batch, "Samples per step", Range::between(4, 4096)},
      {"reconstruct_samples", &s.reconstruct_samples, "Calibration samples kept in memory",
       Range::between(4, 1 << 24)},
      {"drop", &s.drop, "Share of activations that stay float in a step", Range::between(0, 1)},
      Field{"weight_rate", &s.weight_rate, "Learning rate of Adam, in level spacings; decays to 0",
            Range::between(0, 1)}
          .usually(shown_number(kStraightThroughRate) + ", or adaptive " +
                   shown_number(kAdaptiveRate)),
      {"level_rate", &s.level_rate, "The same for bases and offsets", Range::between(0, 1)},
      {"bias_rate", &s.bias_rate, "The same for biases, in units of the output's root mean square",
       Range::between(0, 1)},
      {"rounding_penalty", &s.rounding_penalty, "Drives weights to levels (adaptive)",
       Range::between(0, 1e3)},
  };
}

/// @throws Error kUsage if a value is out of range, or no word of its key
void check_fields(const Fields& fields) {
  for (const Field& field : fields) field.check();
}

std::optional<numerics::NamedSystem> system_named(const std::optional<std::string>& name) {
  if (!name) return std::nullopt;
  return numerics::named_system(*name);
}

v0::LayerSettings text_of(const LayerSettings& settings) {
  v0::LayerSettings text;
  visit_settings(text, settings, Writes{});
  if (settings.weight_system != nullptr) text.weight_scheme = settings.weight_system->name;
  if (settings.activation_system != nullptr) {
    text.activation_scheme = settings.activation_system->name;
  }
  if (!settings.weight_type.empty()) text.type = settings.weight_type;
  const bool has_vectors =
      settings.weight_system != nullptr && settings.weight_system->vectors != nullptr;
  if (has_vectors && settings.weight_bits != 0) text.weight_bits.reset();
  return text;
}

v0::FitSettings text_of(const FitOptions& fit) {
  v0::FitSettings text;
  visit_fit(text, fit, Writes{});
  for (const Field& field : fields_of(text)) {
    if (field.value_text() == field.usual) field.reset();
  }
  return text;
}

}  // namespace

Fields fields_of(v0::LayerSettings& settings) {
  Fields fields = bits_fields(settings);
  for (Fields more : {system_fields(settings), block_fields(settings), range_fields(settings)}) {
    fields = joined(std::move(fields), std::move(more));
  }
  fields.push_back({"skip", &settings.skip, "The layer stays float32"});
  fields.back().usual = "false";
  fields.push_back(
      word_field("arithmetic", &settings.arithmetic,
                 "What layers with codes compute, stored in the file: auto (by the bits), "
                 "bits, integers (of 8 bits) or float",
                 ir::Arithmetic::kAuto));
  return fields;
}

Fields fields_of(v0::FitSettings& settings) {
  const auto list = [](v0::FitSettings& s) {
    return joined(joined(level_fields(s), order_fields(s)), reconstruct_fields(s));
  };
  Fields fields = list(settings);
  const FitOptions options;
  v0::FitSettings usual;
  visit_fit(usual, options, Writes{});
  const Fields usual_fields = list(usual);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].usual.empty()) fields[i].usual = usual_fields[i].value_text();
  }
  return fields;
}

LayerSettings settings_of(const v0::LayerSettings& text, const TypeCheck& check_type) {
  v0::LayerSettings checked = text;
  check_fields(fields_of(checked));
  LayerSettings settings;
  visit_settings(text, settings, Reads{});
  SchemeNames names{.weights = system_named(text.weight_scheme),
                    .activations = system_named(text.activation_scheme)};
  if (text.scheme != "float") {
    names.both = system_named(text.scheme);
  } else if (!text.skip) {
    settings.skip = true;
  }
  if (text.type && check_type) {
    check_type(*text.type);
    settings.weight_type = *text.type;
  } else if (text.type) {
    names.weights = system_named(text.type);
  }
  // The activations of language models are none of a scheme's business.
  if (check_type) names = {.weights = names.weights ? names.weights : names.both};
  set_systems(settings, names);
  return settings;
}

FitOptions options_of(const v0::FitSettings& text) {
  FitOptions options;
  visit_fit(text, options, Reads{});
  return options;
}

v0::Recipe text_of(const Recipe& recipe) {
  v0::Recipe text{text_of(recipe.defaults), text_of(recipe.ends), {}, text_of(recipe.fit)};
  for (const LayerOverride& each : recipe.overrides) {
    text.layers.push_back({each.pattern, text_of(each.settings)});
  }
  visit_useless(text, [](std::size_t, const Field& field, const std::string&) { field.reset(); });
  return text;
}

}  // namespace halftone::compress
