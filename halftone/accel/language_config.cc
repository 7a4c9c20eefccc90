// SPDX-License-Identifier: Apache-2.0
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "halftone/accel/language.h"
#include "halftone/base/error.h"

namespace halftone::accel {
namespace {

using Json = nlohmann::json;
using Names = std::initializer_list<const char*>;

/// Reads keys that have several names.
class Config {
 public:
  Config(const Json& json, std::string name) : json_(json), name_(std::move(name)) {}

  [[nodiscard]] std::size_t needed(Names names) const {
    const Json* found = find(names);
    if (found == nullptr) fail(ErrorKind::kFormat, name_ + ": needs '" + *names.begin() + "'");
    return whole(*found, *names.begin());
  }

  [[nodiscard]] std::size_t otherwise(Names names, std::size_t value) const {
    const Json* found = find(names);
    return found == nullptr ? value : whole(*found, *names.begin());
  }

  [[nodiscard]] bool flag(const char* key, bool value) const {
    const Json* found = find({key});
    if (found == nullptr) return value;
    if (!found->is_boolean()) fail(ErrorKind::kFormat, name_ + ": '" + key + "' is no boolean");
    return found->get<bool>();
  }

  [[nodiscard]] std::string text(const char* key) const {
    const Json* found = find({key});
    return found != nullptr && found->is_string() ? found->get<std::string>() : "";
  }

 private:
  [[nodiscard]] const Json* find(Names names) const {
    for (const char* name : names) {
      const auto found = json_.find(name);
      if (found != json_.end() && !found->is_null()) return &*found;
    }
    return nullptr;
  }

  [[nodiscard]] std::size_t whole(const Json& json, const char* key) const {
    constexpr std::uint64_t kMaxExtent = std::uint64_t{1} << 32;
    if (json.is_number_unsigned() && json.get<std::uint64_t>() <= kMaxExtent) {
      return json.get<std::size_t>();
    }
    fail(ErrorKind::kFormat, name_ + ": '" + key + "': expected a whole number from 0 to 2^32");
  }

  const Json& json_;
  std::string name_;
};

void check_shape(const LanguageModel& model) {
  const auto above_zero = [&](std::size_t value, const char* what) {
    if (value == 0) fail(ErrorKind::kFormat, model.name + ": '" + what + "' is 0");
  };
  above_zero(model.layers, "num_hidden_layers");
  above_zero(model.width, "hidden_size");
  above_zero(model.heads, "num_attention_heads");
  above_zero(model.kv_heads, "num_key_value_heads");
  above_zero(model.head_width, "head_dim");
  above_zero(model.inner, "intermediate_size");
  above_zero(model.vocabulary, "vocab_size");
  if (model.heads % model.kv_heads != 0) {
    fail(ErrorKind::kFormat, model.name + ": num_key_value_heads " +
                                 std::to_string(model.kv_heads) + " does not divide " +
                                 std::to_string(model.heads) + " heads");
  }
  if (model.active_experts == 0 || model.active_experts > model.experts) {
    fail(ErrorKind::kFormat, model.name + ": expected 1 to " + std::to_string(model.experts) +
                                 " experts per token, found " +
                                 std::to_string(model.active_experts));
  }
}

LanguageModel read_model(const Json& json, const std::string& name) {
  const Config config(json, name);
  LanguageModel model;
  model.name = name;
  model.layers = config.needed({"num_hidden_layers", "n_layer"});
  model.width = config.needed({"hidden_size", "n_embd"});
  model.heads = config.needed({"num_attention_heads", "n_head"});
  model.kv_heads = config.otherwise({"num_key_value_heads"}, model.heads);
  const std::size_t divided = model.heads == 0 ? 0 : model.width / model.heads;
  model.head_width = config.otherwise({"head_dim"}, divided);
  model.vocabulary = config.needed({"vocab_size"});
  const bool is_gpt2 = config.text("model_type") == "gpt2";
  model.inner = is_gpt2 ? config.otherwise({"n_inner"}, 4 * model.width)
                        : config.needed({"intermediate_size"});
  model.experts = config.otherwise({"num_local_experts", "num_experts"}, 1);
  if (model.experts > 1) {
    model.inner = config.otherwise({"moe_intermediate_size"}, model.inner);
    model.active_experts = config.needed({"num_experts_per_tok"});
    model.shared_inner = config.otherwise({"shared_expert_intermediate_size"}, 0);
  }
  if (config.flag("use_sliding_window", true)) {
    model.window = config.otherwise({"sliding_window"}, 0);
  }
  model.is_gated = !is_gpt2;
  model.ties_embeddings = config.flag("tie_word_embeddings", is_gpt2);
  check_shape(model);
  return model;
}

}  // namespace

LanguageModel parse_language_model(std::string_view json, const std::string& name) {
  const Json parsed = Json::parse(json, nullptr, false);
  if (!parsed.is_object()) fail(ErrorKind::kFormat, name + ": is no JSON object");
  // Models that see pictures too describe the decoder in a part of its own.
  const auto text = parsed.find("text_config");
  return read_model(text != parsed.end() && text->is_object() ? *text : parsed, name);
}

}  // namespace halftone::accel
