// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/description_fields.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "halftone/base/testing.h"
#include "halftone/lm/model/description_json.h"
#include "halftone/lm/model/gguf_keys.h"
#include "halftone/lm/model/hf_config.h"
#include "halftone/lm/model/hf_parts.h"
#include "halftone/lm/model/new_gguf.h"
#include "halftone/lm/model/testing.h"

namespace halftone::lm {
namespace {

using nlohmann::json;

/// Sizes that no class has by itself.
const json& small_sizes() {
  static const json sizes = {{"vocab_size", 96},
                             {"hidden_size", 64},
                             {"num_hidden_layers", 4},
                             {"num_attention_heads", 4},
                             {"num_key_value_heads", 2},
                             {"intermediate_size", 80},
                             {"max_position_embeddings", 64},
                             {"head_dim", 16},
                             {"query_pre_attn_scalar", 16},
                             {"n_embd", 64},
                             {"n_layer", 4},
                             {"n_head", 4},
                             {"n_positions", 64},
                             {"num_mtp_layers", 0},
                             {"moe_intermediate_size", 40},
                             {"mamba_n_heads", 16},
                             {"mamba_d_head", 8},
                             {"mamba_d_ssm", 128},
                             {"mamba_d_state", 10},
                             {"linear_num_key_heads", 2},
                             {"linear_num_value_heads", 2},
                             {"rms_norm_eps", 0.00390625},
                             {"embedding_multiplier", 6},
                             {"residual_multiplier", 0.5},
                             {"final_logit_softcapping", 1.5},
                             {"routed_scaling_factor", 1.75},
                             {"rope_theta", 5000},
                             {"sliding_window", 8},
                             {"num_kv_shared_layers", 1},
                             {"hidden_size_per_layer_input", 12},
                             {"vocab_size_per_layer_input", 96}};
  return sizes;
}

/// A config.json of a class with these sizes, where it knows their keys.
json small_config(const Architecture& architecture) {
  json config = {{"model_type", architecture.hf}, {"num_experts_per_tok", 2}};
  const json usual = hf_defaults(architecture.hf);
  for (const auto& item : usual.items()) {
    if (small_sizes().contains(item.key())) config[item.key()] = small_sizes()[item.key()];
  }
  if (architecture.start.renormalizes) config["norm_topk_prob"] = true;  // as llama.cpp does
  if (architecture.gguf_ties)
    config.update({{"tie_word_embeddings", true}, {"hidden_act", "silu"}});
  if (!architecture.has_factors) config.erase("embedding_multiplier");
  const bool has_windows =
      architecture.gguf_window_blocks == 0 && !architecture.start.has_single_branches;
  if (!has_windows) config["sliding_window"] = nullptr;
  if (architecture.has_full_heads) config["num_kv_shared_layers"] = 0;  // the last has no window
  const bool has_list = usual.contains("layer_types") && usual["layer_types"].is_null();
  if (has_list && architecture.recurrence != Mixer::kAttention) {
    config["layer_types"] = {"conv", "conv", "full_attention", "conv"};  // or another recurrence
  }
  if (architecture.start.has_single_branches) config["hybrid_override_pattern"] = "M-M*";
  if (architecture.recurrence == Mixer::kChannelScan) {
    config.update({{"attn_layer_period", 2}, {"attn_layer_offset", 1}});
  }
  return config;
}

/// The description that a config.json with the fields of another has, key by key.
Description from_fields(const Architecture& architecture, Description d) {
  const json known = hf_defaults(architecture.hf);
  json config = small_config(architecture);
  constexpr FieldPart kParts[] = {
      FieldPart::kSizes,     FieldPart::kBlocks,       FieldPart::kNorm,
      FieldPart::kHeadCount, FieldPart::kKvHeads,      FieldPart::kHeads,
      FieldPart::kLatent,    FieldPart::kLatentHeads,  FieldPart::kCaps,
      FieldPart::kWindow,    FieldPart::kSharing,      FieldPart::kStreams,
      FieldPart::kScanHeads, FieldPart::kExpertGroups, FieldPart::kExpertShares};
  for (const FieldPart part : kParts) {
    const bool is_absent = (part == FieldPart::kExpertShares && d.experts == 0) ||
                           (part == FieldPart::kWindow && d.window == 0);
    visit_part(part, d, [&](const DescriptionField& field, auto& value) {
      for (const char* name : field.config) {
        if (known.contains(name) && !is_absent) config[name] = value;
      }
    });
  }
  return describe_config(config.dump(), "config.json");
}

TEST(DescriptionFields, GoThroughFilesOfEveryArchitecture) {
  for (const Architecture& architecture : architectures()) {
    SCOPED_TRACE(std::string(architecture.hf) + ", " + architecture.start.architecture);
    const Description d = describe_config(small_config(architecture).dump(), "config.json");
    EXPECT_EQ(description_from_json(description_to_json(d)), d);
    EXPECT_EQ(from_fields(architecture, d), d);
    if (d.has_mixer(Mixer::kChannelScan) && d.experts != 0) continue;  // routers tell
    std::vector<formats::NewGgufTensor> tensors = new_gguf_divisors(d);
    for (const NewGgufPlace& place : new_gguf_places(d)) {
      const std::size_t rank = place.parts[0].role == WeightRole::kBypassLeft ? d.bypass_rank : 1;
      tensors.push_back(
          {place.name, {rank}, &formats::gguf_float32(), source_of(counting(place.name, {rank}))});
    }
    const Description read = describe_gguf(formats::gguf_of(new_gguf_keys(d, "tiny"), tensors));
    EXPECT_EQ(description_to_json(read), description_to_json(described_by_gguf(d)));
  }
}

TEST(DescriptionFields, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  std::set<std::pair<FieldPart, std::string>> keys;
  for (const DescriptionField& field : description_fields()) {
    SCOPED_TRACE(field.name);
    EXPECT_EQ(field.since == Since::kNoFile, std::string(field.name).empty());
    EXPECT_TRUE(field.since == Since::kNoFile || names.insert(field.name).second);
    EXPECT_EQ(field.part == FieldPart::kNone, field.config.empty() && field.gguf == nullptr);
    EXPECT_TRUE(field.gguf == nullptr || keys.emplace(field.part, field.gguf).second);
  }
}

/// Bytes of a description that no row covers are padding. A flag just in front of padding may hide.
TEST(DescriptionFields, AreAllInTheTable) {
  Description d;
  const auto* const begin = reinterpret_cast<const std::byte*>(&d);
  std::vector<bool> is_covered(sizeof(Description));
  for (const DescriptionField& field : description_fields()) {
    const auto cover = [&](const auto* value) {
      const auto first = reinterpret_cast<const std::byte*>(value) - begin;
      std::fill_n(is_covered.begin() + first, sizeof(*value), true);
    };
    std::visit(cover, field.place(d));
  }
  // Of up to seven bytes, in front of a count, a number or a list.
  std::size_t missing = 0;
  for (std::size_t i = 0; i < is_covered.size(); ++i) {
    if (is_covered[i]) continue;
    const std::size_t aligned = (i + 7) / 8 * 8;
    const bool is_padding = std::all_of(is_covered.begin() + static_cast<std::ptrdiff_t>(i),
                                        is_covered.begin() + static_cast<std::ptrdiff_t>(aligned),
                                        [](bool is) { return !is; });
    missing += is_padding ? 0U : 1U;
  }
  EXPECT_EQ(missing, 0U);
}

}  // namespace
}  // namespace halftone::lm
