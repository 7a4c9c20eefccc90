// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include "halftone/base/printable.h"
#include "halftone/lm/model/hf_parts.h"

namespace halftone::lm {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxBlocks = 1 << 12;

/// Names of blocks in a list.
constexpr std::array<std::string_view, 2> kAttentionNames = {"full_attention", "attention"};
constexpr std::array<std::string_view, 3> kRecurrenceNames = {"conv", "linear_attention", "mamba"};

bool is_network(std::string_view name) { return name == "mlp" || name == "moe"; }

/// The mixer of a block whose kind has a name.
Mixer mixer_of(const ConfigReader& config, const char* key, const std::string& name,
               Mixer recurrence, const Description& d) {
  const auto is = [&](std::string_view known) { return name == known; };
  if (std::ranges::any_of(kAttentionNames, is)) return Mixer::kAttention;
  if (std::ranges::any_of(kRecurrenceNames, is)) return recurrence;
  if (d.has_single_branches && is_network(name)) return Mixer::kNone;
  config.fail_key(key, "'" + printable(name) + "': blocks of this kind are not described here",
                  ErrorKind::kUnsupported);
}

/// A list with the kind of each block.
void read_list(const ConfigReader& config, const char* key, const json& list, Mixer recurrence,
               Description& d) {
  if (!list.is_array()) config.fail_key(key, "expected a list");
  if (list.size() != d.blocks) {
    config.fail_key(key, "expected one entry for each of " + std::to_string(d.blocks) +
                             " blocks, found " + std::to_string(list.size()));
  }
  for (const json& name : list) {
    const auto text = name.is_string() ? name.get<std::string>() : name.dump();
    d.mixers.push_back(mixer_of(config, key, text, recurrence, d));
    if (d.has_single_branches) d.dense.push_back(text == "mlp");
  }
}

/// Numbers of the blocks with attention; without a list, all have it.
void read_numbers(const ConfigReader& config, const char* key, Mixer recurrence, Description& d) {
  if (!config.has(key)) return;
  d.mixers.assign(std::min(d.blocks, kMaxBlocks), recurrence);
  for (const double number : config.needed_numbers(key)) {
    if (!(number >= 0 && number < static_cast<double>(d.mixers.size()))) {
      config.fail_key(key, "expected numbers of blocks");
    }
    d.mixers[static_cast<std::size_t>(number)] = Mixer::kAttention;
  }
}

constexpr const char* kPattern = "hybrid_override_pattern";

/// Letters of older files of Nemotron-H as a list.
json list_of_pattern(const ConfigReader& config) {
  json list = json::array();
  for (const char letter : config.text({kPattern})) {
    const char* name = letter == 'M'   ? "mamba"
                       : letter == '*' ? "attention"
                       : letter == '-' ? "mlp"
                       : letter == 'E' ? "moe"
                                       : nullptr;
    if (name == nullptr) config.fail_key(kPattern, "expected the letters M, *, - and E");
    list.push_back(name);
  }
  return list;
}

/// The feed-forward network of LFM2 is two thirds as wide as its key says, and a multiple.
void read_lfm2_inner(const ConfigReader& config, Description& d) {
  std::size_t& inner = d.experts == 0 ? d.inner : d.dense_inner;
  inner = config.whole({"block_ff_dim"}).value_or(inner);
  if (!config.flag("block_auto_adjust_ff_dim", false)) return;
  inner = 2 * inner / 3;
  const auto factor = config.number({"block_ffn_dim_multiplier"});
  if (!factor) return;
  inner = static_cast<std::size_t>(*factor * static_cast<double>(inner));
  const std::size_t multiple = config.needed_whole({"block_multiple_of"});
  if (multiple == 0) config.fail_key("block_multiple_of", "expected a number above 0");
  inner = (inner + multiple - 1) / multiple * multiple;
}

void refuse_bias(const ConfigReader& config, const char* key) {
  if (!config.flag(key, false)) return;
  config.fail_key(key, "recurrences with biases are not described here", ErrorKind::kUnsupported);
}

void read_convolutions(const ConfigReader& config, Description& d) {
  refuse_bias(config, "conv_bias");
  config.read(FieldPart::kConvolution, d);
  d.ties_embeddings = config.flag("tie_embedding", d.ties_embeddings);
  d.has_choice_bias = config.flag("use_expert_bias", d.has_choice_bias);
  read_lfm2_inner(config, d);
}

/// Steps may have bounds; usual ones are zero and infinity.
void refuse_step_bounds(const ConfigReader& config) {
  const auto [key, bounds] = config.find({"mamba_dt_limit", "time_step_limit"});
  if (bounds == nullptr) return;
  if (bounds->dump() == R"([0.0,{"__float__":"Infinity"}])") return;
  config.fail_key(key, "bounds of the steps of a recurrence are not described here",
                  ErrorKind::kUnsupported);
}

/// The sizes of Mamba 2.
void read_scan(const ConfigReader& config, Description& d) {
  refuse_bias(config, "mamba_proj_bias");
  refuse_step_bounds(config);
  d.has_kernel_bias = true;
  config.read(FieldPart::kKernelBias, d);
  config.read(FieldPart::kScan, d);
  config.read(FieldPart::kScanHeads, d);
  d.scan_inner =
      config.whole({"mamba_d_ssm"}).value_or(config.needed_whole({"mamba_expand"}) * d.width);
  d.has_log_decays = true;
  const char* key = "mamba_d_head";
  const json* head = config.find({key}).value;
  if (head == nullptr || (head->is_string() && head->get<std::string>() == "auto")) return;
  if (config.needed_whole({key}) * d.scan_heads != d.scan_inner) {
    config.fail_key(
        key, "expected heads that are as wide as all channels, " + std::to_string(d.scan_inner));
  }
}

/// Experts without gates in some blocks.
void read_nemotron_experts(const ConfigReader& config, Description& d) {
  d.shared_inner = config.needed_whole({"moe_shared_expert_intermediate_size"});
  for (const char* key : {"moe_latent_size", "mlp_bias"}) {
    const json* value = config.find({key}).value;
    if (value == nullptr || *value == false) continue;
    config.fail_key(key, "experts of this kind are not described here", ErrorKind::kUnsupported);
  }
}

/// Nemotron-H. Steps have no lower bound, time_step_min: the published models were trained without,
/// and transformers applies it to whole texts alone, not to the tokens that follow.
void read_nemotron(const ConfigReader& config, Description& d) {
  for (const char* key : {"use_bias", "mamba_proj_bias"}) refuse_bias(config, key);
  refuse_step_bounds(config);
  const auto refuse = [&](const char* key, const std::string& what) {
    config.fail_key(key, what + " not described here", ErrorKind::kUnsupported);
  };
  if (config.flag("attention_bias", false)) refuse("attention_bias", "biases of attention are");
  if (config.has("sliding_window")) refuse("sliding_window", "windows of this model_type are");
  const std::string function = config.text({"mamba_hidden_act"});
  if (!function.empty() && function != "silu") {
    refuse("mamba_hidden_act", "'" + printable(function) + "': recurrences with it are");
  }
  d.head_width = d.value_width = config.whole({"head_dim", "attention_head_dim"}).value_or(128);
  d.has_kernel_bias = true;
  config.read(FieldPart::kKernelBias, d);
  config.read(FieldPart::kScan, d);
  config.read(FieldPart::kScanHeads, d);
  d.scan_inner = d.scan_heads * config.needed_whole({"mamba_head_dim"});
  d.has_log_decays = true;
  if (d.experts != 0) read_nemotron_experts(config, d);
}

/// Whether a block's number divided by a period leaves an offset, for each block.
std::vector<bool> read_period(const ConfigReader& config, const Description& d,
                              const char* period_key, const char* offset_key) {
  const std::size_t period = config.needed_whole({period_key});
  const std::size_t offset = config.needed_whole({offset_key});
  if (offset >= period) {
    config.fail_key(offset_key, "expected a number below that of '" + std::string(period_key) +
                                    "', " + std::to_string(period));
  }
  std::vector<bool> is_there;
  for (std::size_t i = 0; i < std::min(d.blocks, kMaxBlocks); ++i) {
    is_there.push_back(i % period == offset);
  }
  return is_there;
}

/// Which blocks of Jamba have experts.
void read_jamba_experts(const ConfigReader& config, Description& d) {
  if (d.experts == 0) return;
  d.dense = read_period(config, d, "expert_layer_period", "expert_layer_offset");
  d.dense.flip();
  d.dense_inner = d.inner;
  if (std::ranges::all_of(d.dense, [](bool is) { return is; })) d.experts = d.active_experts = 0;
  const bool has_dense = std::ranges::any_of(d.dense, [](bool is) { return is; });
  if (d.experts == 0 || !has_dense) {
    d.dense.clear();
    d.dense_inner = 0;
  }
}

/// The sizes of Mamba as Jamba has it.
void read_jamba(const ConfigReader& config, Description& d) {
  refuse_bias(config, "mamba_proj_bias");
  const std::string function = config.text({"hidden_act"});
  if (function != "silu") {
    config.fail_key("hidden_act",
                    "'" + printable(function) +
                        "': recurrences with it are not "
                        "described here",
                    ErrorKind::kUnsupported);
  }
  for (const bool has_attention :
       read_period(config, d, "attn_layer_period", "attn_layer_offset")) {
    d.mixers.push_back(has_attention ? Mixer::kAttention : Mixer::kChannelScan);
  }
  d.has_kernel_bias = true;
  config.read(FieldPart::kKernelBias, d);
  config.read(FieldPart::kScan, d);
  d.has_scan_norm = false;
  d.scan_inner = d.scan_heads = config.needed_whole({"mamba_expand"}) * d.width;
  d.scan_groups = 1;
  const char* key = "mamba_dt_rank";
  const json* rank = config.find({key}).value;
  const bool is_auto = rank == nullptr || *rank == "auto";
  d.scan_rank = is_auto ? (d.width + 15) / 16 : config.needed_whole({key});
  d.has_log_decays = true;
  read_jamba_experts(config, d);
}

/// The sizes of a gated delta rule.
void read_delta(const ConfigReader& config, const Architecture& architecture, Description& d) {
  config.read(FieldPart::kScan, d);
  config.read(FieldPart::kScanHeads, d);
  d.scan_inner = config.needed_whole({"linear_value_head_dim"}) * d.scan_heads;
  d.has_log_decays = true;
  d.merges_gate = d.merges_steps = architecture.groups_delta_rows;
}

/// Without a list, every fourth block has attention, or what a key says.
void read_interval(const ConfigReader& config, Description& d) {
  const char* key = "full_attention_interval";
  const std::size_t period = config.whole({key}).value_or(4);
  if (period == 0) config.fail_key(key, "expected a number above 0");
  for (std::size_t i = 0; i < std::min(d.blocks, kMaxBlocks); ++i) {
    d.mixers.push_back((i + 1) % period == 0 ? Mixer::kAttention : Mixer::kDelta);
  }
}

/// Granite has one network beside experts, or it alone; and positions only if the file says so.
void read_granite(const ConfigReader& config, Description& d) {
  const std::size_t shared = config.needed_whole({"shared_intermediate_size"});
  (d.experts == 0 ? d.inner : d.shared_inner) = shared;
  const std::string positions = config.text({"position_embedding_type"});
  if (positions != "rope") d.unrotated.assign(std::min(d.blocks, kMaxBlocks), true);
  if (!positions.empty() && positions != "rope" && positions != "nope") {
    config.fail_key("position_embedding_type", "'" + printable(positions) + "': known: rope, nope",
                    ErrorKind::kUnsupported);
  }
}

/// A list of factors; ones if there is none.
std::vector<double> factors_of(const ConfigReader& config, const char* key, std::size_t count) {
  if (!config.has(key)) return std::vector<double>(count, 1);
  std::vector<double> factors = config.needed_numbers(key);
  if (factors.size() == count) return factors;
  config.fail_key(key, "expected " + std::to_string(count) + " numbers, found " +
                           std::to_string(factors.size()));
}

/// The factors of Falcon-H1. Those of queries and keys are one of scores; that of all inputs of
/// attention is one of its output, too.
void read_falcon(const ConfigReader& config, Description& d) {
  refuse_bias(config, "projectors_bias");
  const auto factor = [&](const char* key) { return config.number({key}).value_or(1); };
  const double in = factor("attention_in_multiplier");
  if (in != 1 && config.flag("attention_bias", false)) {
    config.fail_key("attention_in_multiplier", "with biases of attention it is not described here",
                    ErrorKind::kUnsupported);
  }
  d.score_scale = in * in * factor("key_multiplier") / std::sqrt(static_cast<double>(d.head_width));
  d.attention_factor = in * factor("attention_out_multiplier");
  d.scan_factor = factor("ssm_out_multiplier");
  d.scan_input_factors = factors_of(config, "ssm_multipliers", 5);
  for (double& each : d.scan_input_factors) each *= factor("ssm_in_multiplier");
  const std::vector<double> network = factors_of(config, "mlp_multipliers", 2);
  d.gate_factor = network[0];
  d.down_factor = network[1];
  d.has_scan_norm = config.flag("mamba_rms_norm", false);
  d.norms_before_gate = d.has_scan_norm && config.flag("mamba_norm_before_gate", true);
  const auto is_one = [](double each) { return each == 1; };
  if (std::ranges::all_of(d.scan_input_factors, is_one)) d.scan_input_factors.clear();
}

/// Files whose blocks all have attention are those of other architectures.
void forget_recurrence(Description& d) {
  d.mixers.clear();
  d.taps = d.scan_inner = d.scan_heads = d.scan_groups = d.scan_states = 0;
  d.has_kernel_bias = d.has_log_decays = false;
}

/// Where there is no list of blocks.
void read_usual_mixers(const ConfigReader& config, Mixer recurrence, Description& d) {
  if (recurrence == Mixer::kConvolution) read_numbers(config, "full_attn_idxs", recurrence, d);
  if (recurrence == Mixer::kDelta) read_interval(config, d);
  const bool is_scan = recurrence == Mixer::kScan || recurrence == Mixer::kAttentionAndScan;
  if (is_scan) d.mixers.assign(std::min(d.blocks, kMaxBlocks), recurrence);
}

}  // namespace

void read_config_branches(const ConfigReader& config, Description& d) {
  const auto [key, list] = config.find({"layers_block_type", "layer_types"});
  if (list == nullptr && !config.has(kPattern)) {
    config.fail_key("layers_block_type", "is missing: it says which blocks have attention");
  }
  const json kinds = list == nullptr ? list_of_pattern(config) : *list;
  d.blocks = kinds.is_array() ? kinds.size() : 0;
  read_list(config, list == nullptr ? kPattern : key, kinds, Mixer::kScan, d);
}

void read_config_recurrences(const ConfigReader& config, const Architecture& architecture,
                             Description& d) {
  if (architecture.recurrence == Mixer::kAttention) return;
  if (d.has_single_branches) return read_nemotron(config, d);
  if (architecture.recurrence == Mixer::kChannelScan) return read_jamba(config, d);
  const bool has_list = architecture.recurrence != Mixer::kAttentionAndScan;
  const json* list = config.find({"layer_types"}).value;
  if (has_list && list != nullptr) {
    read_list(config, "layer_types", *list, architecture.recurrence, d);
  } else {
    read_usual_mixers(config, architecture.recurrence, d);
  }
  if (architecture.recurrence == Mixer::kConvolution) read_convolutions(config, d);
  if (architecture.recurrence == Mixer::kDelta) read_delta(config, architecture, d);
  if (architecture.recurrence == Mixer::kScan) {
    read_scan(config, d);
    read_granite(config, d);
  }
  if (architecture.recurrence == Mixer::kAttentionAndScan) {
    read_scan(config, d);
    read_falcon(config, d);
  }
  const bool has_none =
      std::ranges::all_of(d.mixers, [](Mixer mixer) { return mixer == Mixer::kAttention; });
  if (has_none && !architecture.plain_gguf.empty()) forget_recurrence(d);
}

}  // namespace halftone::lm
