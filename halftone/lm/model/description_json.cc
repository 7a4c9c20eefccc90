// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/description_json.h"

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <type_traits>

#include "halftone/base/error.h"
#include "halftone/base/printable.h"

namespace halftone::lm {
namespace {

using nlohmann::json;

/// The names of an enumeration, in its order.
std::span<const std::string_view> names_of(Norm /*of*/) {
  static constexpr std::array<std::string_view, 2> kNames = {"rms", "layer"};
  return kNames;
}
std::span<const std::string_view> names_of(Positions /*of*/) {
  static constexpr std::array<std::string_view, 2> kNames = {"rotary", "learned"};
  return kNames;
}
std::span<const std::string_view> names_of(Pairing /*of*/) {
  static constexpr std::array<std::string_view, 2> kNames = {"neighbours", "halves"};
  return kNames;
}
std::span<const std::string_view> names_of(Mixer /*of*/) {
  static constexpr std::array<std::string_view, 7> kNames = {
      "attention", "convolution", "scan", "delta", "attention_and_scan", "none", "channel_scan"};
  return kNames;
}
std::span<const std::string_view> names_of(FeedForward /*of*/) {
  static constexpr std::array<std::string_view, 6> kNames = {
      "silu", "gelu", "gelu_tanh", "relu", "relu_squared", "clamped_swish"};
  return kNames;
}

/// Calls visit(name, field) for each field of the first version of files, and visit.later(name,
/// field, usual) for those that came later, which are left out where they are as usual: the only
/// list of fields.
template <typename Angles, typename Visit>
void visit_angles(Angles& angles, const Visit& visit) {
  static const RotaryAngles usual;
  visit("base", angles.base);
  visit("divisors", angles.divisors);
  visit("long_divisors", angles.long_divisors);
  visit.later("dynamic_factor", angles.dynamic_factor, usual.dynamic_factor);
  visit.later("yarn_factor", angles.yarn.factor, usual.yarn.factor);
  visit.later("yarn_fast_turns", angles.yarn.fast_turns, usual.yarn.fast_turns);
  visit.later("yarn_slow_turns", angles.yarn.slow_turns, usual.yarn.slow_turns);
  visit.later("yarn_truncates", angles.yarn.truncates, usual.yarn.truncates);
}

const Description& usual() {
  static const Description description;
  return description;
}

template <typename D, typename Visit>
void visit_recurrences(D& d, const Visit& visit) {
  visit.later("mixers", d.mixers, usual().mixers);
  visit.later("has_single_branches", d.has_single_branches, usual().has_single_branches);
  visit.later("taps", d.taps, usual().taps);
  visit.later("has_kernel_bias", d.has_kernel_bias, usual().has_kernel_bias);
  visit.later("scan_inner", d.scan_inner, usual().scan_inner);
  visit.later("scan_heads", d.scan_heads, usual().scan_heads);
  visit.later("scan_groups", d.scan_groups, usual().scan_groups);
  visit.later("scan_states", d.scan_states, usual().scan_states);
  visit.later("scan_rank", d.scan_rank, usual().scan_rank);
  visit.later("has_log_decays", d.has_log_decays, usual().has_log_decays);
  visit.later("has_scan_norm", d.has_scan_norm, usual().has_scan_norm);
  visit.later("norms_before_gate", d.norms_before_gate, usual().norms_before_gate);
  visit.later("scan_input_factors", d.scan_input_factors, usual().scan_input_factors);
  visit.later("scan_factor", d.scan_factor, usual().scan_factor);
  visit.later("attention_factor", d.attention_factor, usual().attention_factor);
  visit.later("gate_factor", d.gate_factor, usual().gate_factor);
  visit.later("down_factor", d.down_factor, usual().down_factor);
  visit.later("merges_gate", d.merges_gate, usual().merges_gate);
  visit.later("merges_steps", d.merges_steps, usual().merges_steps);
  visit.later("tiles_heads", d.tiles_heads, usual().tiles_heads);
}

template <typename D, typename Visit>
void visit_attention(D& d, const Visit& visit) {
  visit("heads", d.heads);
  visit("kv_heads", d.kv_heads);
  visit("head_width", d.head_width);
  visit("value_width", d.value_width);
  visit.later("latent_width", d.latent_width, usual().latent_width);
  visit.later("query_latent_width", d.query_latent_width, usual().query_latent_width);
  visit("score_scale", d.score_scale);
  visit("score_cap", d.score_cap);
  visit("window", d.window);
  visit("windowed", d.windowed);
  visit("has_qkv_bias", d.has_qkv_bias);
  visit("has_output_bias", d.has_output_bias);
  visit.later("gates_attention", d.gates_attention, usual().gates_attention);
  visit("normalizes_heads", d.normalizes_heads);
  visit.later("normalizes_together", d.normalizes_together, usual().normalizes_together);
  visit.later("normalizes_rotated", d.normalizes_rotated, usual().normalizes_rotated);
  visit.later("has_sinks", d.has_sinks, usual().has_sinks);
  visit.later("full_head_width", d.full_head_width, usual().full_head_width);
  visit.later("full_kv_heads", d.full_kv_heads, usual().full_kv_heads);
  visit.later("keys_are_values", d.keys_are_values, usual().keys_are_values);
  visit.later("sharing_blocks", d.sharing_blocks, usual().sharing_blocks);
  visit.later("sharing_inner", d.sharing_inner, usual().sharing_inner);
  visit.later("normalizes_values", d.normalizes_values, usual().normalizes_values);
  visit("positions", d.positions);
  visit("pairing", d.pairing);
  visit("rotary_dims", d.rotary_dims);
  visit("rotary", d.rotary);
  visit("window_rotary", d.window_rotary);
  visit.later("unrotated", d.unrotated, usual().unrotated);
  visit("original_context", d.original_context);
  visit("rotary_factor", d.rotary_factor);
}

template <typename D, typename Visit>
void visit_experts(D& d, const Visit& visit) {
  visit("experts", d.experts);
  visit("active_experts", d.active_experts);
  visit.later("dense_blocks", d.dense_blocks, usual().dense_blocks);
  visit.later("dense", d.dense, usual().dense);
  visit.later("dense_inner", d.dense_inner, usual().dense_inner);
  visit.later("has_network_beside", d.has_network_beside, usual().has_network_beside);
  visit.later("has_sigmoid_scores", d.has_sigmoid_scores, usual().has_sigmoid_scores);
  visit.later("has_choice_bias", d.has_choice_bias, usual().has_choice_bias);
  visit.later("has_expert_bias", d.has_expert_bias, usual().has_expert_bias);
  visit.later("expert_groups", d.expert_groups, usual().expert_groups);
  visit.later("active_groups", d.active_groups, usual().active_groups);
  visit.later("sums_group_scores", d.sums_group_scores, usual().sums_group_scores);
  visit.later("share_factor", d.share_factor, usual().share_factor);
  visit("softmax_after_choice", d.softmax_after_choice);
  visit("renormalizes", d.renormalizes);
  visit("shared_inner", d.shared_inner);
  visit("has_shared_gate", d.has_shared_gate);
}

template <typename D, typename Visit>
void visit_streams(D& d, const Visit& visit) {
  visit.later("inners", d.inners, usual().inners);
  visit.later("gate_cutoffs", d.gate_cutoffs, usual().gate_cutoffs);
  visit.later("block_input_rows", d.block_input_rows, usual().block_input_rows);
  visit.later("streams", d.streams, usual().streams);
  visit.later("scales_first_stream", d.scales_first_stream, usual().scales_first_stream);
  visit.later("bypass_rank", d.bypass_rank, usual().bypass_rank);
}

template <typename D, typename Visit>
void visit_fields(D& d, const Visit& visit) {
  visit("architecture", d.architecture);
  visit("blocks", d.blocks);
  visit("width", d.width);
  visit("vocabulary", d.vocabulary);
  visit("context", d.context);
  visit("embedding_factor", d.embedding_factor);
  visit.later("residual_factor", d.residual_factor, usual().residual_factor);
  visit("ties_embeddings", d.ties_embeddings);
  visit.later("has_head_bias", d.has_head_bias, usual().has_head_bias);
  visit.later("logit_factor", d.logit_factor, usual().logit_factor);
  visit("logit_cap", d.logit_cap);
  visit("norm", d.norm);
  visit("norm_epsilon", d.norm_epsilon);
  visit("norm_offset", d.norm_offset);
  visit.later("has_norm_gain", d.has_norm_gain, usual().has_norm_gain);
  visit.later("has_norm_bias", d.has_norm_bias, usual().has_norm_bias);
  visit.later("has_pre_norms", d.has_pre_norms, usual().has_pre_norms);
  visit("has_post_norms", d.has_post_norms);
  visit("has_sub_norms", d.has_sub_norms);
  visit.later("is_parallel", d.is_parallel, usual().is_parallel);
  visit.later("shares_pre_norm", d.shares_pre_norm, usual().shares_pre_norm);
  visit("has_final_transform", d.has_final_transform);
  visit_recurrences(d, visit);
  visit_attention(d, visit);
  visit("function", d.function);
  visit("is_gated", d.is_gated);
  visit("inner", d.inner);
  visit("has_ffn_bias", d.has_ffn_bias);
  visit.later("block_input_width", d.block_input_width, usual().block_input_width);
  visit.later("has_block_factor", d.has_block_factor, usual().has_block_factor);
  visit_streams(d, visit);
  visit.later("gate_slope", d.gate_slope, usual().gate_slope);
  visit.later("gate_limit", d.gate_limit, usual().gate_limit);
  visit_experts(d, visit);
}

/// Fields to JSON.
struct FieldWriter {
  json& object;

  template <typename T>
  void operator()(const char* name, const T& field) const {
    if constexpr (std::is_enum_v<T>) {
      object[name] = names_of(field)[static_cast<std::size_t>(field)];
    } else if constexpr (std::is_same_v<T, std::vector<Mixer>>) {
      json names = json::array();
      for (const Mixer mixer : field) {
        names.push_back(names_of(mixer)[static_cast<std::size_t>(mixer)]);
      }
      object[name] = std::move(names);
    } else if constexpr (std::is_same_v<T, RotaryAngles>) {
      json part = json::object();
      visit_angles(field, FieldWriter{part});
      object[name] = std::move(part);
    } else {
      object[name] = field;
    }
  }
  template <typename T>
  void later(const char* name, const T& field, const T& usual) const {
    if (field != usual) (*this)(name, field);
  }
};

[[noreturn]] void fail_field(const char* name, const std::string& message) {
  fail(ErrorKind::kFormat, "description of the model: '" + std::string(name) + "': " + message);
}

/// JSON to fields.
struct FieldReader {
  const json& object;
  std::size_t& count;

  template <typename T>
  void operator()(const char* name, T& field) const {
    const auto found = object.find(name);
    if (found == object.end()) fail_field(name, "is missing");
    ++count;
    if constexpr (std::is_enum_v<T>) {
      field = named<T>(name, *found);
    } else if constexpr (std::is_same_v<T, std::vector<Mixer>>) {
      if (!found->is_array()) fail_field(name, "expected a list");
      for (const json& mixer : *found) field.push_back(named<Mixer>(name, mixer));
    } else if constexpr (std::is_same_v<T, RotaryAngles>) {
      if (!found->is_object()) fail_field(name, "expected an object");
      std::size_t inside = 0;
      visit_angles(field, FieldReader{*found, inside});
    } else {
      read(name, *found, field);
    }
  }
  template <typename T>
  void later(const char* name, T& field, const T& /*usual*/) const {
    if (object.contains(name)) (*this)(name, field);
  }

 private:
  /// The value of an enumeration that has a name.
  template <typename T>
  static T named(const char* name, const json& value) {
    const auto names = names_of(T());
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (value == names[i]) return static_cast<T>(i);
    }
    fail_field(name, "unknown: " + printable(value.dump()));
  }
  template <typename T>
  static void read(const char* name, const json& value, T& field) {
    const bool fits = std::is_same_v<T, bool>          ? value.is_boolean()
                      : std::is_same_v<T, std::size_t> ? value.is_number_unsigned()
                      : std::is_same_v<T, double>      ? value.is_number()
                      : std::is_same_v<T, std::string> ? value.is_string()
                                                       : value.is_array();
    if (!fits) fail_field(name, "expected another type than " + printable(value.dump()));
    try {
      field = value.get<T>();
    } catch (const json::exception&) {
      fail_field(name, "expected a list of other elements");
    }
  }
};

}  // namespace

std::string description_to_json(const Description& description) {
  json object = json::object();
  visit_fields(description, FieldWriter{object});
  return object.dump();
}

Description description_from_json(std::string_view text) {
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object()) fail(ErrorKind::kFormat, "description of the model: is no JSON object");
  Description description;
  std::size_t count = 0;
  visit_fields(description, FieldReader{object, count});
  if (count != object.size()) {
    fail(ErrorKind::kFormat, "description of the model: has " + std::to_string(object.size()) +
                                 " fields, expected " + std::to_string(count) +
                                 "; a newer Halftone may read it");
  }
  check(description);
  return description;
}

}  // namespace halftone::lm
