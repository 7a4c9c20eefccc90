// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/hf_config.h"

#include <cmath>
#include <numbers>

#include "halftone/base/elementary.h"
#include "halftone/base/printable.h"
#include "halftone/lm/model/architectures.h"
#include "halftone/lm/model/config_reader.h"

namespace halftone::lm {
namespace {

using nlohmann::json;

/// The object about the decoder: of models that see pictures too, a part.
json decoder_object(std::string_view text, const std::string& name) {
  json parsed = json::parse(text, nullptr, false);
  if (!parsed.is_object()) fail(ErrorKind::kFormat, name + ": is no JSON object");
  const auto decoder = parsed.find("text_config");
  if (decoder != parsed.end() && decoder->is_object()) return *decoder;
  return parsed;
}

/// Gemma 3's files leave out what is as in its largest variant.
json with_gemma3_sizes(const json& object) {
  json merged = json::parse(R"({"vocab_size": 262208, "num_attention_heads": 8,
    "num_key_value_heads": 4, "head_dim": 256, "query_pre_attn_scalar": 256,
    "max_position_embeddings": 131072, "rms_norm_eps": 1e-6, "sliding_window": 4096})");
  merged.update(object);
  return merged;
}

void read_expert_sizes(const ConfigReader& config, Description& d) {
  d.experts = config.whole({"num_local_experts", "num_experts"}).value_or(0);
  if (d.experts <= 1) d.experts = 0;
  if (d.experts == 0) return;
  d.inner = config.whole({"moe_intermediate_size"}).value_or(d.inner);
  d.active_experts = config.needed_whole({"num_experts_per_tok"});
  d.shared_inner = config.whole({"shared_expert_intermediate_size"}).value_or(0);
}

void read_config_sizes(const ConfigReader& config, Description& d) {
  const bool is_gpt2 = config.text({"model_type"}) == "gpt2";
  d.blocks = config.needed_whole({"num_hidden_layers", "n_layer"});
  d.width = config.needed_whole({"hidden_size", "n_embd"});
  d.heads = config.needed_whole({"num_attention_heads", "n_head"});
  d.kv_heads = config.whole({"num_key_value_heads"}).value_or(d.heads);
  const std::size_t divided = d.heads == 0 ? 0 : d.width / d.heads;
  d.head_width = d.value_width = config.whole({"head_dim"}).value_or(divided);
  d.vocabulary = config.needed_whole({"vocab_size"});
  d.context = config.whole({"max_position_embeddings", "n_positions", "n_ctx"}).value_or(0);
  d.inner = is_gpt2 ? config.whole({"n_inner"}).value_or(4 * d.width)
                    : config.needed_whole({"intermediate_size"});
  d.is_gated = !is_gpt2;
  d.ties_embeddings = config.flag("tie_word_embeddings", d.ties_embeddings || is_gpt2);
  read_expert_sizes(config, d);
  if (config.flag("use_sliding_window", true)) {
    d.window = config.whole({"sliding_window"}).value_or(0);
  }
}

FeedForward function_of(const ConfigReader& config, const Architecture& architecture) {
  const std::string name = config.text({"hidden_activation", "hidden_act", "activation_function"});
  // Files of the first Gemma say "gelu" and mean the approximation.
  if (name.empty() || (architecture.hf == "gemma" && name == "gelu")) return architecture.function;
  if (name == "silu" || name == "swish") return FeedForward::kSilu;
  if (name == "gelu") return FeedForward::kGelu;
  if (name == "gelu_pytorch_tanh" || name == "gelu_new") return FeedForward::kGeluTanh;
  if (name == "relu") return FeedForward::kRelu;
  if (name == "relu2") return FeedForward::kReluSquared;
  config.fail_key("hidden_act",
                  "'" + printable(name) +
                      "': known: silu, gelu, gelu_pytorch_tanh, gelu_new, "
                      "relu, relu2",
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

/// What would compute something else if it were ignored.
void refuse_unknown(const ConfigReader& config) {
  const auto refuse = [&](const char* key, const std::string& message) {
    config.fail_key(key, message, ErrorKind::kUnsupported);
  };
  refuse_mixed_blocks(config);
  if (config.has("quantization_config")) {
    refuse("quantization_config",
           "weights that a package has quantized are not read here; use "
           "the folder of the unquantized model or a GGUF file");
  }
  for (const char* key :
       {"scale_attn_by_inverse_layer_idx", "add_cross_attention", "use_bidirectional_attention"}) {
    if (config.flag(key, false)) refuse(key, "attention of this kind is not described here");
  }
}

void read_computation(const ConfigReader& config, const Architecture& architecture,
                      Description& d) {
  d.function = function_of(config, architecture);
  d.norm_offset = architecture.hf_norm_offset;
  d.norm_epsilon = config.needed_number(
      {architecture.norm == Norm::kRms ? "rms_norm_eps" : "layer_norm_epsilon"});
  if (config.flag("attention_bias", false)) d.has_qkv_bias = d.has_output_bias = true;
  d.has_qkv_bias = config.flag("qkv_bias", d.has_qkv_bias);
  d.has_ffn_bias = config.flag("mlp_bias", d.has_ffn_bias);
  d.score_cap = config.number({"attn_logit_softcapping"}).value_or(0);
  d.logit_cap = config.number({"final_logit_softcapping"}).value_or(0);
  if (const auto scalar = config.number({"query_pre_attn_scalar"})) {
    d.score_scale = 1 / std::sqrt(*scalar);
  }
  if (!config.flag("scale_attn_weights", true)) d.score_scale = 1;
  d.renormalizes = config.flag("norm_topk_prob", architecture.hf == "mixtral");
  d.has_shared_gate = d.shared_inner != 0;
}

void read_window_layers(const ConfigReader& config, Description& d) {
  if (d.window == 0) return;
  if (const json* types = config.find({"layer_types"}).value) {
    if (!types->is_array()) config.fail_key("layer_types", "expected a list");
    for (const json& type : *types) d.windowed.push_back(type == "sliding_attention");
    return;
  }
  const auto period = config.whole({"sliding_window_pattern", "_sliding_window_pattern"});
  const auto first = config.whole({"max_window_layers"});
  if (!(period && *period > 0) && !first) return;
  for (std::size_t i = 0; i < d.blocks && d.blocks <= (1 << 12); ++i) {
    d.windowed.push_back(period && *period > 0 ? i % *period < *period - 1 : i >= *first);
  }
}

/// Llama 3's rule: slow angles are divided by a factor, fast ones are not, between them the
/// frequencies are interpolated.
std::vector<double> llama3_divisors(const ConfigReader& keys, std::size_t dims, double base) {
  const double factor = keys.needed_number({"factor"});
  const double low = keys.needed_number({"low_freq_factor"});
  const double high = keys.needed_number({"high_freq_factor"});
  const double original = keys.needed_number({"original_max_position_embeddings"});
  std::vector<double> divisors(dims / 2, 1);
  for (std::size_t i = 0; i < divisors.size(); ++i) {
    const double exponent = 2 * static_cast<double>(i) / static_cast<double>(dims);
    const double turns = original / (2 * std::numbers::pi * elementary::pow(base, exponent));
    const double share = (turns - low) / (high - low);
    if (turns < low) divisors[i] = factor;
    if (turns >= low && turns <= high) divisors[i] = 1 / ((1 - share) / factor + share);
  }
  return divisors;
}

void read_long_factors(const ConfigReader& config, const ConfigReader& keys, Description& d) {
  d.rotary.divisors = keys.needed_numbers("short_factor");
  d.rotary.long_divisors = keys.needed_numbers("long_factor");
  const char* original = "original_max_position_embeddings";
  d.original_context =
      keys.has(original) ? keys.needed_whole({original}) : config.needed_whole({original});
  const auto context = static_cast<double>(d.context);
  const auto trained = static_cast<double>(d.original_context);
  const double factor = keys.number({"factor"}).value_or(context / trained);
  d.rotary_factor =
      factor > 1 ? std::sqrt(1 + elementary::log(factor) / elementary::log(trained)) : 1;
  d.rotary_factor = keys.number({"attention_factor"}).value_or(d.rotary_factor);
}

/// @param keys  rope_scaling, or rope_parameters of newer files
void read_scaling(const ConfigReader& config, const ConfigReader& keys, Description& d) {
  d.rotary.base = keys.number({"rope_theta"}).value_or(d.rotary.base);
  const std::string type = keys.text({"rope_type", "type"});
  if (type.empty() || type == "default" || d.rotary_dims > (1 << 16)) return;
  if (type == "linear") {
    d.rotary.divisors.assign(d.rotary_dims / 2, keys.needed_number({"factor"}));
  } else if (type == "llama3") {
    d.rotary.divisors = llama3_divisors(keys, d.rotary_dims, d.rotary.base);
  } else if (type == "longrope" || type == "su") {
    read_long_factors(config, keys, d);
  } else {
    config.fail_key("rope_scaling",
                    "type '" + printable(type) +
                        "': its angles are not described here; known: "
                        "default, linear, llama3, longrope",
                    ErrorKind::kUnsupported);
  }
}

void read_config_positions(const ConfigReader& config, Description& d) {
  if (d.positions != Positions::kRotary) return;
  d.rotary.base = config.number({"rope_theta"}).value_or(d.rotary.base);
  d.window_rotary.base = config.number({"rope_local_base_freq"}).value_or(d.window_rotary.base);
  const auto scaling =
      config.part(config.has("rope_parameters") ? "rope_parameters" : "rope_scaling");
  double share = config.number({"partial_rotary_factor"}).value_or(1);
  if (scaling) share = scaling->number({"partial_rotary_factor"}).value_or(share);
  if (!(share > 0 && share <= 1)) {
    config.fail_key("partial_rotary_factor", "expected a number above 0 and at most 1");
  }
  d.rotary_dims = static_cast<std::size_t>(static_cast<double>(d.head_width) * share);
  if (!scaling) return;
  const auto windowed = scaling->part("sliding_attention");
  if (windowed) {
    d.window_rotary.base = windowed->number({"rope_theta"}).value_or(d.window_rotary.base);
    if (windowed->text({"rope_type"}) != "default") {
      config.fail_key("rope_parameters",
                      "scaled positions of blocks with a window are not "
                      "described here",
                      ErrorKind::kUnsupported);
    }
  }
  const auto full = scaling->part("full_attention");
  read_scaling(config, full ? *full : *scaling, d);
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
  for (const std::string_view start : {architecture.hf, architecture.gguf}) {
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
  json object = decoder_object(text, name);
  const std::string type = ConfigReader(object, name).text({"model_type"});
  if (type.empty()) fail(ErrorKind::kFormat, name + ": needs 'model_type'");
  const Architecture& architecture =
      with_context(name, [&]() -> const Architecture& { return architecture_of_hf(type); });
  if (type == "gemma3_text") object = with_gemma3_sizes(object);
  return {std::move(object), &architecture};
}

Description sizes_of(const ConfigReader& config, const Architecture& architecture) {
  Description d = start_description(architecture);
  d.ties_embeddings = architecture.ties_embeddings;
  read_config_sizes(config, d);
  read_window_layers(config, d);
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
  refuse_unknown(config);
  Description d = sizes_of(config, architecture);
  read_computation(config, architecture, d);
  read_config_positions(config, d);
  complete(d, architecture);
  with_context(name, [&] { check(d); });
  return d;
}

}  // namespace halftone::lm
