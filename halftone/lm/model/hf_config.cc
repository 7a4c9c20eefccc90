// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/hf_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "halftone/base/json/json_text.h"
#include "halftone/base/printable.h"
#include "halftone/lm/model/architectures.h"
#include "halftone/lm/model/config_reader.h"
#include "halftone/lm/model/hf_parts.h"

namespace halftone::lm {
namespace {

using nlohmann::json;

/// The object about the decoder: of models that see pictures too, a part.
json decoder_object(std::string_view text, const std::string& name) {
  json parsed = json::parse(json_of_python(text), nullptr, false);
  if (!parsed.is_object()) fail(ErrorKind::kFormat, name + ": is no JSON object");
  const auto decoder = parsed.find("text_config");
  if (decoder != parsed.end() && decoder->is_object()) return *decoder;
  return parsed;
}

/// Whether a list of blocks, if there is one, leaves networks for experts.
bool may_have_experts(const Description& d) {
  for (std::size_t block = 0; block < d.dense.size(); ++block) {
    if (d.has_network(block) && !d.dense[block]) return true;
  }
  return d.dense.empty();
}

void read_expert_sizes(const ConfigReader& config, const Architecture& architecture,
                       Description& d) {
  config.read(FieldPart::kExperts, d);
  if (d.experts <= 1 || !may_have_experts(d)) d.experts = 0;
  const bool has_dense = std::ranges::any_of(d.dense, [](bool is) { return is; });
  if (d.experts == 0 || !has_dense) d.dense.clear();
  if (d.experts == 0) return;
  d.renormalizes = architecture.hf_renormalizes;
  config.read(FieldPart::kExpertShares, d);
  if (d.dense_blocks != 0 || !d.dense.empty()) d.dense_inner = d.inner;
  config.read(FieldPart::kExpertInner, d);
  config.read(FieldPart::kActiveExperts, d);
  d.shared_inner = config.whole({"n_shared_experts"}).value_or(0) * d.inner;
  config.read(FieldPart::kSharedInner, d);
  if (config.text({"topk_method"}) != "greedy") config.read(FieldPart::kExpertGroups, d);
}

/// Whether a key is the number of a block without a window.
bool is_full_block(const Description& d, const std::string& key) {
  for (std::size_t i = 0; i < d.blocks; ++i) {
    if (key == std::to_string(i)) return !d.is_windowed(i);
  }
  return false;
}

/// A size of the blocks without a window: `per_layer_config` has it for each of them.
std::optional<std::size_t> full_size(const ConfigReader& config, const Description& d,
                                     const char* name, const char* old_name) {
  const auto blocks = config.part("per_layer_config");
  if (!blocks) return config.whole({old_name});
  std::optional<std::size_t> size;
  for (const std::string& key : blocks->keys()) {
    const auto block = blocks->part(key.c_str());
    const bool is_full = is_full_block(d, key);
    const auto found = block ? block->whole({name}) : std::nullopt;
    if (!is_full || (size && found != size)) {
      config.fail_key("per_layer_config",
                      "'" + printable(key) +
                          "': sizes of this block alone are "
                          "not described here",
                      ErrorKind::kUnsupported);
    }
    size = found;
  }
  return size;
}

/// Gemma 4: blocks of several sizes, which share keys and have inputs of their own.
/// @pre d.windowed is set
void read_differing(const ConfigReader& config, Description& d) {
  constexpr std::size_t kUsualFullWidth = 512;
  d.full_head_width = full_size(config, d, "head_dim", "global_head_dim").value_or(kUsualFullWidth);
  d.keys_are_values = config.flag("attention_k_eq_v", false);
  const auto full_heads = full_size(config, d, "num_key_value_heads", "num_global_key_value_heads");
  d.full_kv_heads = d.keys_are_values ? full_heads.value_or(d.kv_heads) : d.kv_heads;
  d.has_block_factor = true;
  d.has_network_beside = config.flag("enable_moe_block", false);
  if (!d.has_network_beside) {
    d.experts = d.active_experts = 0;
  } else if (d.experts == 0) {
    config.fail_key("num_experts", "is missing, though 'enable_moe_block' is true");
  } else {
    d.dense_inner = config.needed_whole({"intermediate_size"});
  }
}

void read_sharing(const ConfigReader& config, const Architecture& architecture, Description& d) {
  config.read(FieldPart::kSharing, d);
  if (d.sharing_blocks != 0 && config.flag("use_double_wide_mlp", false)) {
    d.sharing_inner = 2 * d.inner;
  }
  const auto rows = config.whole({"vocab_size_per_layer_input"});
  if (d.block_input_width == 0 || !rows || *rows == d.vocabulary) return;
  if (architecture.has_streams && *rows != 0 && *rows < d.vocabulary) {
    d.block_input_rows = *rows;
    return;
  }
  config.fail_key("vocab_size_per_layer_input",
                  "expected " + std::to_string(d.vocabulary) + ", as vocab_size, found " +
                      std::to_string(*rows),
                  ErrorKind::kUnsupported);
}

/// Latent attention: keys and values of all heads from one row.
void read_latents(const ConfigReader& config, Description& d) {
  config.read(FieldPart::kLatent, d);
  if (d.latent_width == 0) return;
  config.read(FieldPart::kQueryLatent, d);
  config.read(FieldPart::kLatentHeads, d);
  d.head_width = config.needed_whole({"qk_nope_head_dim"}) + d.rotary_dims;
  d.kv_heads = d.heads;
}

void read_heads(const ConfigReader& config, Description& d) {
  config.read(FieldPart::kHeadCount, d);
  d.kv_heads = d.heads;
  config.read(FieldPart::kKvHeads, d);
  d.head_width = d.heads == 0 ? 0 : d.width / d.heads;
  config.read(FieldPart::kHeads, d);
  d.value_width = d.head_width;
}

void read_config_sizes(const ConfigReader& config, const Architecture& architecture,
                       Description& d) {
  if (d.has_single_branches) {
    read_config_branches(config, d);
  } else {
    config.read(FieldPart::kBlocks, d);
  }
  config.read(FieldPart::kUnusedBlocks, d);
  config.read(FieldPart::kSizes, d);
  read_heads(config, d);
  d.inner = 4 * d.width;
  if (architecture.has_streams) {
    read_config_inners(config, d);
  } else {
    config.read(FieldPart::kInner, d);
  }
  read_expert_sizes(config, architecture, d);
  read_latents(config, d);
  read_config_recurrences(config, architecture, d);
  if (config.flag("use_sliding_window", true)) config.read(FieldPart::kWindow, d);
}

FeedForward function_of(const ConfigReader& config, const Architecture& architecture) {
  const std::string name =
      config.text({"mlp_hidden_act", "hidden_activation", "hidden_act", "activation_function"});
  constexpr std::pair<std::string_view, FeedForward> kFunctions[] = {
      {"silu", FeedForward::kSilu},        {"swish", FeedForward::kSilu},
      {"gelu", FeedForward::kGelu},        {"gelu_pytorch_tanh", FeedForward::kGeluTanh},
      {"relu", FeedForward::kRelu},        {"gelu_new", FeedForward::kGeluTanh},
      {"relu2", FeedForward::kReluSquared}};
  // Clamped functions have no name; files say another.
  const FeedForward usual = architecture.start.function;
  const bool is_usual = usual == FeedForward::kClampedSwish || name.empty() ||
                        (architecture.hf_gelu_is_tanh && name == "gelu");
  if (is_usual) return usual;
  for (const auto& [known, function] : kFunctions) {
    if (name == known) return function;
  }
  config.fail_key("hidden_act",
                  "'" + printable(name) +
                      "': known: silu, gelu, gelu_pytorch_tanh, gelu_new, "
                      "relu, relu2",
                  ErrorKind::kUnsupported);
}

/// What the class of a model_type gives experts for scores.
void check_scores(const ConfigReader& config, const Description& d) {
  const std::string function = config.text({"scoring_func"});
  const std::string expected = d.has_sigmoid_scores ? "sigmoid" : "softmax";
  if (function.empty() || d.experts == 0 || function == expected) return;
  config.fail_key("scoring_func",
                  "'" + printable(function) + "': expected " + expected + " of this model_type",
                  ErrorKind::kUnsupported);
}

/// Blocks of several kinds, of which the sizes do not tell.
void refuse_mixed_blocks(const ConfigReader& config) {
  const json* dense = config.find({"mlp_only_layers"}).value;
  const bool has_dense = dense != nullptr && dense->is_array() && !dense->empty();
  if (has_dense || config.whole({"decoder_sparse_step"}).value_or(1) != 1) {
    config.fail_key("mlp_only_layers",
                    "blocks without experts between those with experts are not described here",
                    ErrorKind::kUnsupported);
  }
}

/// Weights that are read as they are: blocks and scales of MXFP4.
bool has_mxfp4_experts(const ConfigReader& config, const Architecture& architecture) {
  const auto method = config.part("quantization_config");
  return architecture.has_mxfp4_experts && method && method->text({"quant_method"}) == "mxfp4";
}

/// What would compute something else if it were ignored.
void refuse_unknown(const ConfigReader& config, const Architecture& architecture) {
  const auto refuse = [&](const char* key, const std::string& message) {
    config.fail_key(key, message, ErrorKind::kUnsupported);
  };
  refuse_mixed_blocks(config);
  if (config.has("quantization_config") && !has_mxfp4_experts(config, architecture)) {
    refuse("quantization_config",
           "weights that a package has quantized are not read here; use "
           "the folder of the unquantized model or a GGUF file");
  }
  for (const char* key : {"scale_attn_by_inverse_layer_idx", "add_cross_attention",
                          "use_bidirectional_attention", "qk_layernorm"}) {
    // Of pictures, which have no tokens here.
    const auto* value = config.find({key}).value;
    if (value != nullptr && *value == "vision") continue;
    if (value != nullptr && *value == "all")
      refuse(key, "attention of this kind is not described here");
    if (config.flag(key, false)) refuse(key, "attention of this kind is not described here");
  }
  if (architecture.hf_norms_have_own_gains && config.flag("use_qk_norm", false)) {
    refuse("use_qk_norm", "norms of heads with gains of their own are not described here");
  }
  if (config.has("clip_qkv")) refuse("clip_qkv", "bounded queries are not described here");
}

void read_biases(const ConfigReader& config, const Architecture& architecture, Description& d) {
  if (config.flag("use_bias", false)) {
    d.has_qkv_bias = d.has_output_bias = d.has_ffn_bias = true;
  }
  if (config.flag("attention_bias", false)) {
    d.has_qkv_bias = true;
    d.has_output_bias = architecture.hf_biases_output;
  }
  d.has_output_bias = config.flag("attention_out_bias", d.has_output_bias);
  for (const char* key : {"qkv_bias", "use_qkv_bias"}) {
    d.has_qkv_bias = config.flag(key, d.has_qkv_bias);
  }
  d.has_ffn_bias = config.flag("mlp_bias", d.has_ffn_bias);
}

/// Factors and caps.
void read_factors(const ConfigReader& config, const Architecture& architecture, Description& d) {
  const auto scalar = config.number({"query_pre_attn_scalar"});
  // Files of Gemma 3n may have it, which nothing reads there.
  if (scalar && architecture.start.score_scale == 0) d.score_scale = 1 / std::sqrt(*scalar);
  d.score_cap = d.logit_cap = 0;
  config.read(FieldPart::kCaps, d);
  config.read(FieldPart::kFactors, d);
  if (!config.flag("scale_attn_weights", true)) d.score_scale = 1;
  const double logits =
      config.number({"logits_scaling", "logit_scale", "lm_head_multiplier"}).value_or(1);
  d.logit_factor = architecture.has_factors ? 1 / logits : logits;
}

void read_computation(const ConfigReader& config, const Architecture& architecture,
                      Description& d) {
  d.function = function_of(config, architecture);
  d.norm_offset = architecture.hf_norm_offset;
  config.read(d.has_single_branches ? FieldPart::kLayerNorm : FieldPart::kNorm, d);
  if (config.flag("use_qk_norm", false)) d.normalizes_heads = true;
  if (config.flag("use_parallel_residual", false)) d.is_parallel = d.shares_pre_norm = true;
  read_biases(config, architecture, d);
  read_factors(config, architecture, d);
  check_scores(config, d);
}

void read_window_layers(const ConfigReader& config, Description& d) {
  if (d.window == 0) return;
  if (const json* types = config.find({"layer_types"}).value) {
    if (!types->is_array()) config.fail_key("layer_types", "expected a list");
    for (const json& type : *types) {
      d.windowed.push_back(type == "sliding_attention");
      if (d.windowed.back() || type == "full_attention") continue;
      config.fail_key("layer_types",
                      printable(type.dump()) + ": known: sliding_attention, full_attention",
                      ErrorKind::kUnsupported);
    }
    return;
  }
  const auto period = config.whole({"sliding_window_pattern", "_sliding_window_pattern"});
  const auto first = config.whole({"max_window_layers"});
  if (!(period && *period > 0) && !first) return;
  for (std::size_t i = 0; i < d.blocks && d.blocks <= (1 << 12); ++i) {
    d.windowed.push_back(period && *period > 0 ? i % *period < *period - 1 : i >= *first);
  }
}

template <typename... Keys>
constexpr std::array<const char*, sizeof...(Keys)> keys(Keys... all) {
  return {all...};
}

/// Keys that change what a class computes that knows them, beside those of fields.
constexpr auto kEffects =
    keys("activation_sparsity_pattern", "alibi", "attention_bias", "attention_k_eq_v",
         "attention_out_bias", "clip_qkv", "enable_moe_block", "global_head_dim", "logit_scale",
         "logits_scaling", "mlp_bias", "no_rope_layers", "partial_rotary_factor",
         "per_layer_config", "qk_layernorm", "qkv_bias", "query_pre_attn_scalar", "rotary_pct",
         "use_bias", "use_parallel_residual", "use_qk_norm", "use_qkv_bias");

/// Parts whose keys do so, too: of the others, files have some that their class does not read.
constexpr std::array kEffectParts = {
    FieldPart::kFactors, FieldPart::kCaps,    FieldPart::kWindow,      FieldPart::kSharing,
    FieldPart::kStreams, FieldPart::kExperts, FieldPart::kSharedInner, FieldPart::kWindowBase};

bool has_effect(const json& value) {
  return !(value.is_null() || value == false || value == 0 || value == 1);
}

/// A key that means something elsewhere, in a file whose class does not know it, nor another name
/// of it.
void refuse_unread(const json& file, const json& known, const ConfigReader& config) {
  const auto is_known = [&](const char* name) { return known.contains(name); };
  const auto refuse = [&](const char* key) {
    const auto found = file.find(key);
    if (found == file.end() || !has_effect(*found)) return;
    config.fail_key(key, "transformers does not read it for this model_type; leave it out",
                    ErrorKind::kUnsupported);
  };
  for (const char* key : kEffects) {
    if (!is_known(key)) refuse(key);
  }
  for (const DescriptionField& field : description_fields()) {
    const bool is_other = std::ranges::find(kEffectParts, field.part) == kEffectParts.end();
    if (is_other || std::ranges::any_of(field.config, is_known)) continue;
    std::ranges::for_each(field.config, refuse);
  }
}

/// Parts whose fields each class calls by another name: what it does not know it does not read.
constexpr std::array kOwnNames = {FieldPart::kScan, FieldPart::kScanHeads, FieldPart::kKernelBias};

/// The keys of a file over the usual ones of its class. Classes take each name of the number of
/// experts: that of the file counts.
json merged_keys(const json& file, const json& usual) {
  json merged = usual;
  const auto is_in = [](const json& object) {
    return [&object](const char* name) { return object.contains(name); };
  };
  for (const DescriptionField& field : description_fields()) {
    if (field.part != FieldPart::kExperts || std::ranges::none_of(field.config, is_in(file)))
      continue;
    for (const char* name : field.config) merged.erase(name);
  }
  merged.update(file);
  for (const DescriptionField& field : description_fields()) {
    if (std::ranges::find(kOwnNames, field.part) == kOwnNames.end()) continue;
    for (const char* name : field.config) {
      if (!usual.contains(name)) merged.erase(name);
    }
  }
  return merged;
}

/// The object about the decoder, and what its architecture says.
struct Decoder {
  json object;
  const Architecture* architecture;
};

std::string lower_letters(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c >= 'A' && c <= 'Z') result += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) result += c;
  }
  return result;
}

/// "Qwen2MoeForCausalLM" of "qwen2_moe", "GPT2LMHeadModel" of "gpt2".
bool is_class_of(std::string_view name, const Architecture& architecture) {
  const std::string letters = lower_letters(name);
  for (const std::string_view start :
       {architecture.hf, std::string_view(architecture.start.architecture)}) {
    const std::string wanted = lower_letters(start);
    if (!letters.starts_with(wanted)) continue;
    const std::string_view rest = std::string_view(letters).substr(wanted.size());
    if (rest.starts_with("for") || rest.starts_with("lm") || rest.starts_with("model")) return true;
  }
  return false;
}

/// Without the tensors nothing else tells that a class computes something else.
void check_class(const ConfigReader& config, const Architecture& architecture) {
  const json* classes = config.find({"architectures"}).value;
  if (classes == nullptr) return;
  if (!classes->is_array()) config.fail_key("architectures", "expected a list");
  for (const json& each : *classes) {
    const std::string name = each.is_string() ? each.get<std::string>() : each.dump();
    if (is_class_of(name, architecture)) continue;
    config.fail_key("architectures",
                    "'" + printable(name) + "' is not the network of model_type '" +
                        std::string(architecture.hf) + "': its blocks are not described here",
                    ErrorKind::kUnsupported);
  }
}

Decoder read_decoder(std::string_view text, const std::string& name) {
  const json object = decoder_object(text, name);
  const std::string type = ConfigReader(object, name).text({"model_type"});
  if (type.empty()) fail(ErrorKind::kFormat, name + ": needs 'model_type'");
  const Architecture& architecture =
      with_context(name, [&]() -> const Architecture& { return architecture_of_hf(type); });
  const json usual = hf_defaults(type);
  refuse_unread(object, usual, ConfigReader(object, name));
  return {merged_keys(object, usual), &architecture};
}

Description sizes_of(const ConfigReader& config, const Architecture& architecture) {
  Description d = start_description(architecture);
  read_config_sizes(config, architecture, d);
  read_window_layers(config, d);
  read_sharing(config, architecture, d);
  if (architecture.has_streams) read_config_streams(config, d);
  if (architecture.has_full_heads) {
    // The last block sees all, whatever a file says.
    if (d.windowed.empty()) complete(d, architecture);
    if (!d.windowed.empty()) d.windowed.back() = false;
    read_differing(config, d);
  }
  const bool is_plain = d.mixers.empty() && !architecture.plain_gguf.empty();
  if (is_plain) d.architecture = architecture.plain_gguf;
  const std::string_view name = architecture_of_gguf(d.architecture).experts_gguf;
  if (d.experts != 0 && !name.empty()) d.architecture = name;
  return d;
}

}  // namespace

Description config_sizes(std::string_view json_text, const std::string& name) {
  const Decoder decoder = read_decoder(json_text, name);
  const ConfigReader config(decoder.object, name);
  check_class(config, *decoder.architecture);
  refuse_mixed_blocks(config);
  Description d = sizes_of(config, *decoder.architecture);
  complete(d, *decoder.architecture);
  return d;
}

Description describe_config(std::string_view json_text, const std::string& name) {
  const Decoder decoder = read_decoder(json_text, name);
  const Architecture& architecture = *decoder.architecture;
  const ConfigReader config(decoder.object, name);
  refuse_unknown(config, architecture);
  Description d = sizes_of(config, architecture);
  read_computation(config, architecture, d);
  read_config_positions(config, architecture, d);
  complete(d, architecture);
  with_context(name, [&] { check(d); });
  return d;
}

}  // namespace halftone::lm
