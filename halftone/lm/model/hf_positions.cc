// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <string_view>

#include "halftone/base/elementary.h"
#include "halftone/base/printable.h"
#include "halftone/lm/model/hf_parts.h"

namespace halftone::lm {
namespace {

using nlohmann::json;

double as_real(std::size_t number) { return static_cast<double>(number); }

/// A scaling of positions and the keys beside those of all.
struct ScalingRow {
  std::string_view type;
  std::array<std::string_view, 7> keys{};
};

constexpr std::array kCommonKeys = {
    "rope_type", "type", "rope_theta", "partial_rotary_factor", "original_max_position_embeddings",
    "factor"};

constexpr ScalingRow kScalings[] = {
    {"default"},
    {"linear"},
    {"dynamic", {"alpha"}},
    {"llama3", {"low_freq_factor", "high_freq_factor"}},
    {"yarn",
     {"attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate"}},
    {"proportional"},
    {"longrope", {"short_factor", "long_factor", "attention_factor"}},
};

/// One scaling: rope_scaling, rope_parameters, or their part of a kind of blocks.
class Scaling {
 public:
  Scaling(const ConfigReader& config, const ConfigReader& keys, const char* name,
          const Architecture& architecture, const Description& sizes)
      : config_(config), keys_(keys), name_(name), architecture_(architecture), sizes_(sizes) {
    type_ = keys.text({"rope_type", "type"});
    if (type_.empty()) type_ = "default";
    const bool is_old_longrope = type_ == "su" || (type_ == "yarn" && architecture.hf_yarn_is_long);
    if (is_old_longrope) type_ = "longrope";
    check_keys();
  }

  /// @param angles  have the base
  /// @return what rotated elements are multiplied by
  double read(RotaryAngles& angles) const {
    if (type_ == "linear") {
      angles.divisors.assign(sizes_.rotary_dims / 2, keys_.needed_number({"factor"}));
    } else if (type_ == "llama3") {
      angles.divisors = llama3_divisors(angles.base);
    } else if (type_ == "dynamic") {
      read_dynamic(angles);
    } else if (type_ == "proportional") {
      angles.divisors = proportional_divisors();
    } else if (type_ == "yarn") {
      return read_yarn(angles.yarn);
    } else if (type_ == "longrope") {
      return read_long_factors(angles);
    }
    return 1;
  }
  /// What scores of latent attention are multiplied by.
  [[nodiscard]] double score_factor() const {
    const double scale = keys_.number({"mscale_all_dim"}).value_or(0);
    if (type_ == "default" || scale == 0) return 1;
    const double factor = keys_.needed_number({"factor"});
    const double one = factor <= 1 ? 1 : 0.1 * scale * elementary::log(factor) + 1;
    return one * one;
  }
  /// The context that positions were trained for, before they were scaled.
  [[nodiscard]] std::size_t original_context() const {
    const char* key = "original_max_position_embeddings";
    if (type_ == "dynamic") return sizes_.context;
    return config_.whole({key}).value_or(keys_.whole({key}).value_or(sizes_.context));
  }

 private:
  void check_keys() const {
    const auto* const row = std::ranges::find(kScalings, type_, &ScalingRow::type);
    if (row == std::end(kScalings)) {
      config_.fail_key(name_,
                       "type '" + printable(type_) +
                           "': its angles are not described here; known: default, linear, dynamic, "
                           "llama3, yarn, longrope, proportional",
                       ErrorKind::kUnsupported);
    }
    for (const std::string& key : keys_.keys()) {
      // Qwen 3.5 has sections for the axes of pictures, which are one for texts.
      const bool is_section = key == "mrope_section" || key == "mrope_interleaved";
      const bool is_known = std::ranges::find(kCommonKeys, key) != kCommonKeys.end() ||
                            (is_section && architecture_.hf_has_picture_axes) ||
                            std::ranges::find(row->keys, key) != row->keys.end();
      if (is_known) continue;
      config_.fail_key(name_, "'" + printable(key) + "': is no key of type '" + type_ + "'",
                       ErrorKind::kUnsupported);
    }
  }

  /// The ratio of contexts, unless a factor is there.
  [[nodiscard]] double factor() const {
    const double ratio = as_real(sizes_.context) / as_real(original_context());
    return keys_.number({"factor"}).value_or(ratio);
  }

  /// Llama 3's rule: slow angles are divided by a factor, fast ones are not, between them the
  /// frequencies are interpolated.
  [[nodiscard]] std::vector<double> llama3_divisors(double base) const {
    const double factor = keys_.needed_number({"factor"});
    const double low = keys_.needed_number({"low_freq_factor"});
    const double high = keys_.needed_number({"high_freq_factor"});
    const auto dims = static_cast<double>(sizes_.rotary_dims);
    std::vector<double> divisors(sizes_.rotary_dims / 2, 1);
    for (std::size_t i = 0; i < divisors.size(); ++i) {
      const double exponent = 2 * static_cast<double>(i) / dims;
      const double turns = static_cast<double>(original_context()) /
                           (2 * std::numbers::pi * elementary::pow(base, exponent));
      const double share = (turns - low) / (high - low);
      if (turns < low) divisors[i] = factor;
      if (turns >= low && turns <= high) divisors[i] = 1 / ((1 - share) / factor + share);
    }
    return divisors;
  }

  /// The first pairs of whole heads turn, the others do not.
  [[nodiscard]] std::vector<double> proportional_divisors() const {
    constexpr double kNever = 1e30;
    const std::size_t dims =
        sizes_.full_head_width == 0 ? sizes_.head_width : sizes_.full_head_width;
    const double share = keys_.number({"partial_rotary_factor"}).value_or(1);
    if (!(share > 0 && share <= 1)) {
      config_.fail_key("partial_rotary_factor", "expected a number above 0 and at most 1");
    }
    const double factor = keys_.number({"factor"}).value_or(1);
    const auto turned = static_cast<std::size_t>(std::floor(share * as_real(dims) / 2));
    std::vector<double> divisors(dims / 2, kNever);
    std::fill_n(divisors.begin(), turned, factor);
    return divisors;
  }

  void read_dynamic(RotaryAngles& angles) const {
    const auto alpha = keys_.number({"alpha"});
    if (!alpha || *alpha == 0) {
      angles.dynamic_factor = keys_.needed_number({"factor"});
      return;
    }
    if (!architecture_.hf_alpha_is_base) {
      config_.fail_key(name_, "'alpha': is no key of type 'dynamic'", ErrorKind::kUnsupported);
    }
    // Hunyuan's files mean one base for all contexts.
    const auto dims = static_cast<double>(sizes_.rotary_dims);
    angles.base *= elementary::pow(*alpha, dims / (dims - 2));
  }

  double read_yarn(Yarn& yarn) const {
    yarn.factor = factor();
    // 0 means none.
    if (yarn.fast_turns == 0) yarn.fast_turns = Yarn().fast_turns;
    if (yarn.slow_turns == 0) yarn.slow_turns = Yarn().slow_turns;
    yarn.truncates = keys_.flag("truncate", true);
    const auto attention = [&](double scale) {
      return yarn.factor <= 1 ? 1 : 0.1 * scale * elementary::log(yarn.factor) + 1;
    };
    const double scale = keys_.number({"mscale"}).value_or(0);
    const double all_scale = keys_.number({"mscale_all_dim"}).value_or(0);
    const bool has_both = scale != 0 && all_scale != 0;
    return keys_.number({"attention_factor"})
        .value_or(has_both ? attention(scale) / attention(all_scale) : attention(1));
  }

  double read_long_factors(RotaryAngles& angles) const {
    angles.divisors = keys_.needed_numbers("short_factor");
    angles.long_divisors = keys_.needed_numbers("long_factor");
    const double trained = static_cast<double>(original_context());
    const double grown = factor();
    const double usual =
        grown > 1 ? std::sqrt(1 + elementary::log(grown) / elementary::log(trained)) : 1;
    return keys_.number({"attention_factor"}).value_or(usual);
  }

  const ConfigReader& config_;
  const ConfigReader& keys_;
  const char* name_;
  const Architecture& architecture_;
  const Description& sizes_;
  std::string type_;
};

/// An object with the keys of scaled positions.
struct ScalingObject {
  const char* name = "rope_parameters";
  std::optional<ConfigReader> keys{};
};

/// What config.json says of positions: of all blocks, or of the two kinds of blocks.
struct ScalingObjects {
  ScalingObject full{};
  std::optional<ConfigReader> windowed{};
};

ScalingObjects scalings_of(const ConfigReader& config) {
  ScalingObjects found;
  const auto take = [&](const char* name) {
    const auto object = config.part(name);
    if (!object || object->keys().empty()) return;
    const auto full = object->part("full_attention");
    const auto windowed = object->part("sliding_attention");
    if (windowed) found.windowed = windowed;
    if (full || !windowed) found.full = {name, full ? full : object};
  };
  take("rope_parameters");
  take("rope_scaling");
  return found;
}

/// Blocks where a list says 0.
void read_unrotated(const ConfigReader& config, Description& d) {
  const json* list = config.find({"no_rope_layers"}).value;
  if (list != nullptr && !list->is_array()) config.fail_key("no_rope_layers", "expected a list");
  if (list != nullptr && list->size() != d.blocks) {
    config.fail_key("no_rope_layers", "expected one entry for each of " + std::to_string(d.blocks) +
                                          " blocks, found " + std::to_string(list->size()));
  }
  if (list != nullptr) {
    for (const json& is_rotated : *list) {
      const bool is_flag = is_rotated.is_boolean();
      d.unrotated.push_back(is_flag ? !is_rotated.get<bool>() : is_rotated == 0);
    }
    return;
  }
  const auto period = config.whole({"no_rope_layer_interval"}).value_or(0);
  for (std::size_t i = 0; period != 0 && i < d.blocks && d.blocks <= (1 << 12); ++i) {
    d.unrotated.push_back((i + 1) % period == 0);
  }
}

void read_rotary_dims(const ConfigReader& config, const ConfigReader& scaling, Description& d) {
  if (d.latent_width != 0) return;  // these have a key of their own
  d.rotary_dims = d.head_width;
  if (scaling.text({"rope_type", "type"}) == "proportional") return;  // its own factor
  const char* key = "partial_rotary_factor";
  const auto usual = config.number({key});
  const double share = scaling.number({key}).value_or(usual.value_or(1));
  if (!(share > 0 && share <= 1)) {
    config.fail_key(key, "expected a number above 0 and at most 1");
  }
  // Architectures that know the key have a usual value.
  if (!usual && share != 1) {
    config.fail_key(key, "the blocks of this model_type rotate whole heads",
                    ErrorKind::kUnsupported);
  }
  d.rotary_dims = static_cast<std::size_t>(static_cast<double>(d.head_width) * share);
}

void read_window_positions(const ConfigReader& config, const ConfigReader& keys, Description& d) {
  d.window_rotary.base = keys.number({"rope_theta"}).value_or(d.window_rotary.base);
  const std::string type = keys.text({"rope_type", "type"});
  if (type.empty() || type == "default") return;
  config.fail_key("sliding_attention",
                  "scaled positions of blocks with a window are not described here",
                  ErrorKind::kUnsupported);
}

}  // namespace

void read_config_positions(const ConfigReader& config, const Architecture& architecture,
                           Description& d) {
  if (rotates_nothing(architecture)) return;
  const auto [full, windowed] = scalings_of(config);
  if (d.positions != Positions::kRotary) {
    if (!full.keys) return;
    config.fail_key(full.name, "positions of this model_type are learned", ErrorKind::kUnsupported);
  }
  d.pairing = config.flag("rope_interleave", true) ? architecture.hf_pairing : Pairing::kNeox;
  config.read(FieldPart::kBase, d);
  config.read(FieldPart::kWindowBase, d);
  read_unrotated(config, d);
  if (windowed) read_window_positions(config, *windowed, d);
  read_rotary_dims(config, full.keys ? *full.keys : config, d);
  if (!full.keys || std::max(d.rotary_dims, d.full_head_width) > (1 << 16)) return;
  const Scaling scaling(config, *full.keys, full.name, architecture, d);
  full.keys->read(FieldPart::kBase, d);
  full.keys->read(FieldPart::kYarn, d);
  d.rotary_factor = scaling.read(d.rotary);
  const bool is_trained_for =
      d.rotary.yarn.factor != 0 || d.rotary.dynamic_factor != 0 || !d.rotary.long_divisors.empty();
  if (is_trained_for) d.original_context = scaling.original_context();
  if (d.latent_width != 0)
    d.score_scale = scaling.score_factor() / std::sqrt(as_real(d.head_width));
}

}  // namespace halftone::lm
