// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/run/stages.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/paths.h"

namespace halftone::train {
namespace {

constexpr int kDefaultBits = 3;  // if the recipe names none

/// The whole text as an integer.
std::optional<int> number_of(std::string_view text) {
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end) return std::nullopt;
  return number;
}

/// Zero bits mean float32, which is more than any number of bits.
void raise(std::optional<int>& bits, int least) {
  if (bits && *bits != 0) bits = std::max(*bits, least);
}

std::vector<EpochResult> joined(std::vector<EpochResult> first,
                                const std::vector<EpochResult>& rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

/// The options of one stage of a run.
LearnOptions options_of(const LearnOptions& options, std::size_t epochs, const std::string& suffix,
                        const std::vector<EpochResult>& before) {
  LearnOptions result = options;
  result.epochs = epochs;
  CheckpointOptions& checkpoint = result.checkpoint;
  if (!checkpoint.path.empty()) checkpoint.path += suffix;
  // An interrupted run has no checkpoints of the later stages.
  if (checkpoint.resume) checkpoint.resume = path_exists(checkpoint.path);
  if (options.record) {
    result.record = [&options, before](const std::vector<EpochResult>& epochs_of_stage) {
      options.record(joined(before, epochs_of_stage));
    };
  }
  return result;
}

}  // namespace

std::vector<Stage> parse_stages(const std::vector<std::string>& texts) {
  std::vector<Stage> stages;
  for (const std::string& text : texts) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    const std::string_view whole = text;
    const std::optional<int> bits = number_of(whole.substr(0, colon));
    const std::optional<int> epochs = number_of(whole.substr(std::min(colon + 1, text.size())));
    if (!bits || !epochs || *bits < 1 || *bits > numerics::kMaxBits || *epochs < 1) {
      fail(ErrorKind::kUsage,
           "stage: expected BITS:EPOCHS with 1 to 8 bits and at least one epoch, found '" + text +
               "'");
    }
    if (!stages.empty() && *bits >= stages.back().bits) {
      fail(ErrorKind::kUsage, "stage: expected fewer bits than the " +
                                  std::to_string(stages.back().bits) +
                                  " of the stage before, found '" + text + "'");
    }
    stages.push_back({*bits, static_cast<std::size_t>(*epochs)});
  }
  return stages;
}

compress::Recipe with_bits_of(const Stage& stage, compress::Recipe recipe) {
  compress::LayerSettings& defaults = recipe.defaults;
  defaults.weight_bits = defaults.weight_bits.value_or(kDefaultBits);
  defaults.activation_bits = defaults.activation_bits.value_or(kDefaultBits);
  raise(defaults.weight_bits, stage.bits);
  raise(defaults.activation_bits, stage.bits);
  raise(recipe.ends.weight_bits, stage.bits);
  raise(recipe.ends.activation_bits, stage.bits);
  for (compress::LayerOverride& layer : recipe.overrides) {
    raise(layer.settings.weight_bits, stage.bits);
    raise(layer.settings.activation_bits, stage.bits);
  }
  return recipe;
}

TrainedGraph train_in_stages(ir::Graph network, const StagedStudent& student,
                             const TrainingData& data, const StudentOptions& student_options,
                             const LearnOptions& options) {
  const std::vector<Stage>& stages = student.stages;
  std::vector<EpochResult> before;
  const auto train_stage = [&](const compress::Recipe& bits, const LearnOptions& how) {
    const ir::Graph graph = student.make(network, bits);
    TrainedGraph result = train(graph, &network, data, student_options, how);
    result.epochs = before = joined(before, result.epochs);
    return result;
  };
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const std::string suffix = ".stage" + std::to_string(i + 1);
    TrainedGraph result = train_stage(with_bits_of(stages[i], student.recipe),
                                      options_of(options, stages[i].epochs, suffix, before));
    if (result.interrupted) return result;
    network = std::move(result.original);
  }
  if (stages.empty()) return train_stage(student.recipe, options);
  const std::size_t num_before = before.size();
  TrainedGraph result =
      train_stage(student.recipe, options_of(options, options.epochs, "", before));
  if (result.best) *result.best += num_before;
  return result;
}

}  // namespace halftone::train
