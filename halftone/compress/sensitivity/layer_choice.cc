// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/sensitivity/layer_choice.h"

#include <algorithm>
#include <charconv>

#include "halftone/base/error.h"
#include "halftone/numerics/named_system.h"
#include "halftone/numerics/vector_basis.h"

namespace halftone::compress {
namespace {

[[noreturn]] void fail_choice(std::string_view text) {
  fail(ErrorKind::kUsage,
       "choice: expected float or [SYSTEM:]BITS[/[SYSTEM:]BITS], such as 2, 4/8, 3/none, "
       "symmetric:8, int8 or 2x6, found '" +
           std::string(text) + "'");
}

struct SystemAndBits {
  const numerics::NumberSystem* system = nullptr;  ///< null: none is named
  int bits = 0;                                    ///< 0: float32
};

SystemAndBits system_and_bits(std::string_view part, std::string_view text) {
  SystemAndBits result;
  if (const auto colon = part.find(':'); colon != std::string_view::npos) {
    result.system = &numerics::find_system(part.substr(0, colon));
    if (result.system->vectors != nullptr) fail_choice(text);
    part = part.substr(colon + 1);
  }
  if (part == "none" && result.system == nullptr) return result;
  const bool is_name = !part.empty() && (part[0] < '0' || part[0] > '9');
  if (result.system == nullptr && (is_name || numerics::shipped_vector_basis(part) != nullptr)) {
    const numerics::NamedSystem named = numerics::lookup_named_system(part);
    const bool has_bits =
        named.system != nullptr && (named.bits || named.system->min_bits == named.system->max_bits);
    if (!has_bits) fail_choice(text);
    return {named.system, named.bits.value_or(named.system->max_bits)};
  }
  const char* end = part.data() + part.size();
  const auto [rest, error] = std::from_chars(part.data(), end, result.bits);
  if (error != std::errc() || rest != end || result.bits < 1) fail_choice(text);
  return result;
}

}  // namespace

LayerChoice choice_named(std::string_view text) {
  LayerChoice choice{std::string(text), {}};
  if (text == "float") {
    choice.settings.skip = true;
    return choice;
  }
  const auto slash = text.find('/');
  const SystemAndBits weights = system_and_bits(text.substr(0, slash), text);
  const bool are_vectors = weights.system != nullptr && weights.system->vectors != nullptr;
  SystemAndBits inputs = weights;
  if (are_vectors) inputs = {nullptr, numerics::kMaxBits};
  if (slash != std::string_view::npos) {
    inputs = system_and_bits(text.substr(slash + 1), text);
    if (inputs.system != nullptr && inputs.system->vectors != nullptr) fail_choice(text);
    if (inputs.system == nullptr && !are_vectors) inputs.system = weights.system;
  }
  if (weights.bits == 0 && inputs.bits == 0) fail_choice(text);
  const numerics::NumberSystem& basis = numerics::find_system("basis");
  if (!are_vectors) choice.settings.weight_bits = weights.bits;
  choice.settings.activation_bits = inputs.bits;
  choice.settings.weight_system = weights.system != nullptr ? weights.system : &basis;
  choice.settings.activation_system = inputs.system != nullptr ? inputs.system : &basis;
  Recipe recipe;
  recipe.defaults = choice.settings;
  with_context("choice '" + choice.name + "'", [&] { return recipe.for_layer(""); });
  return choice;
}

std::vector<LayerChoice> choices_named(std::span<const std::string> texts) {
  std::vector<LayerChoice> choices;
  for (const std::string& text : texts) {
    choices.push_back(choice_named(text));
    if (std::ranges::count(choices, text, &LayerChoice::name) > 1) {
      fail(ErrorKind::kUsage, "choice '" + text + "' is there twice");
    }
  }
  if (choices.empty()) fail(ErrorKind::kUsage, "choices: expected one or more, found none");
  return choices;
}

Recipe with_choice(const Recipe& recipe, const LayerChoice& choice) {
  Recipe result = recipe;
  result.defaults = choice.settings.over(recipe.defaults);
  return result;
}

LayerOverride override_for(const Recipe& recipe, const std::string& layer,
                           const LayerChoice& choice) {
  LayerOverride result{literal_pattern(layer), choice.settings, "budget"};
  const LayerSettings stated = recipe.overrides_of(layer);
  const auto drop = [](auto& mine, const auto& theirs) {
    if (theirs) mine = {};
  };
  drop(result.settings.weight_bits, stated.weight_bits);
  drop(result.settings.activation_bits, stated.activation_bits);
  drop(result.settings.weight_system, stated.weight_system);
  const bool are_vectors =
      result.settings.weight_system != nullptr && result.settings.weight_system->vectors != nullptr;
  if (are_vectors) drop(result.settings.weight_system, stated.weight_bits);
  drop(result.settings.activation_system, stated.activation_system);
  drop(result.settings.skip, stated.skip);
  return result;
}

}  // namespace halftone::compress
