// SPDX-License-Identifier: Apache-2.0
// Folders of Hugging Face with decoded weights.
#include <map>
#include <nlohmann/json.hpp>

#include "halftone/base/file.h"
#include "halftone/base/testing.h"
#include "halftone/lm/model/hf_config.h"
#include "halftone/lm/quantize/testing.h"
#include "halftone/lm/quantize/write_model.h"

namespace halftone::lm {
namespace {

using formats::NewSafetensorsTensor;
using nlohmann::json;

const json kLlama = {{"architectures", {"LlamaForCausalLM"}},
                     {"model_type", "llama"},
                     {"hidden_size", 64},
                     {"num_hidden_layers", 2},
                     {"num_attention_heads", 2},
                     {"num_key_value_heads", 1},
                     {"intermediate_size", 128},
                     {"vocab_size", 40},
                     {"max_position_embeddings", 16},
                     {"rms_norm_eps", 1e-5},
                     {"hidden_act", "silu"},
                     {"tie_word_embeddings", true},
                     {"torch_dtype", "bfloat16"}};
const json kGpt2 = {{"architectures", {"GPT2LMHeadModel"}},
                    {"model_type", "gpt2"},
                    {"n_embd", 64},
                    {"n_layer", 2},
                    {"n_head", 2},
                    {"n_positions", 16},
                    {"vocab_size", 40},
                    {"layer_norm_epsilon", 1e-5},
                    {"activation_function", "gelu_new"}};
const json kMixtral = [] {
  json config = kLlama;
  config["architectures"] = {"MixtralForCausalLM"};
  config["model_type"] = "mixtral";
  config["num_local_experts"] = 3;
  config["num_experts_per_tok"] = 2;
  config["tie_word_embeddings"] = false;
  return config;
}();

class WriteFolder : public WithFolder {
 protected:
  /// Writes a folder with random weights, as its architecture keeps them.
  Model make(const json& config) {
    const std::filesystem::path folder = path("model");
    std::filesystem::remove_all(folder);
    std::filesystem::create_directory(folder);
    write_file(folder / "config.json", config.dump());
    write_file(folder / "tokenizer.json", std::string_view("{\"of\": \"the model\"}"));
    write_file(folder / "old.bin", std::string_view("weights"));
    const Description d = describe_config(config.dump(), "config.json");
    const bool is_gpt2 = config["model_type"] == "gpt2";
    std::map<std::string, NamedTensor> tensors;
    RandomWeights weights;
    for (const WeightId& id : needed_weights(d)) {
      const Place place = places_of(d, is_gpt2 ? Naming::kHfGpt2 : Naming::kHf, id)[0];
      add(id, place, d, weights, tensors);
    }
    std::vector<NamedTensor> list;
    for (auto& [name, tensor] : tensors) list.push_back(std::move(tensor));
    write_file(folder / "model.safetensors", safetensors_bytes(list));
    return open_model(folder);
  }

  /// Fits a model, writes the folder and opens it.
  Model decoded(const Model& model, const TypeRecipe& recipe) {
    const Folding folding(model, {.rotates = true, .seed = 3});
    Samples samples{8, {}, {}};
    for (TokenId i = 0; i < 8; ++i) {
      samples.fit.push_back({1, i, 7, static_cast<TokenId>(2 * i), 11, 30, 5, 2});
    }
    const TypeChoice choice = choose_types(model, recipe, true);
    const FittedMatrices fitted = fit_model(model, folding, choice, samples, {});
    std::filesystem::remove_all(path("out"));
    write_folder_model(path("out"), path("model"), folding, fitted);
    write_own_model(path("decoded.safetensors"), folding, fitted, {}, FittedForm::kDecoded);
    return open_model(path("out"));
  }

 private:
  static void add(const WeightId& id, const Place& place, const Description& d,
                  RandomWeights& weights, std::map<std::string, NamedTensor>& tensors) {
    const std::vector<std::size_t> shape = shape_of(d, id);
    const std::size_t outputs = shape[0];
    const std::size_t inputs = shape.size() > 1 ? shape[1] : 1;
    const std::size_t all = place.outputs == 0 ? outputs : place.outputs;
    const bool is_head = id.role == WeightRole::kHead;
    NamedTensor& tensor = tensors[(is_head ? "" : "model.") + place.name];
    if (tensor.values.empty()) {
      std::vector<std::size_t> extents = {all};
      if (shape.size() > 1) extents.push_back(inputs);
      if (place.is_transposed) std::swap(extents[0], extents[1]);
      tensor = {(is_head ? "" : "model.") + place.name, extents, std::vector<float>(all * inputs)};
    }
    std::vector<float> values = weights(id, outputs * inputs);
    if (is_norm(id.role)) {
      for (float& gain : values) gain = 1 + gain / 4;  // 0.5 to 1.5
    }
    for (std::size_t o = 0; o < outputs; ++o) {
      for (std::size_t i = 0; i < inputs; ++i) {
        const std::size_t row = place.begin + o;
        tensor.values[place.is_transposed ? i * all + row : row * inputs + i] =
            values[o * inputs + i];
      }
    }
  }
};

TEST_F(WriteFolder, KeepsTheBasisAndTheOrderOfTheModel) {
  for (const json& config : {kLlama, kGpt2, kMixtral}) {
    const Model model = make(config);
    const Model out = decoded(model, {.blocks = "Q8_0"});
    EXPECT_EQ(out.description, model.description);
    for (const WeightId& id : needed_weights(model.description)) {
      const std::vector<float> before = model.weights.at(id).decode();
      const std::vector<float> after = out.weights.at(id).decode();
      const std::vector<WeightId> fitted = matrices_to_fit(model.description);
      if (std::ranges::find(fitted, WeightId{id.role, id.block, id.part, 0}) == fitted.end()) {
        EXPECT_EQ(after, before) << to_string(id);
        continue;
      }
      // Steps of 1/127 of the largest weight, at most 4 times the mean one, leave 0.01; feedback
      // may double it where samples are few, and gains differ by a factor of 3.
      EXPECT_LT(relative_distance(after, before), 0.06) << to_string(id);
      EXPECT_NE(after, before) << to_string(id);
    }
    // The same numbers in Halftone's own file.
    const Model own = open_model(path("decoded.safetensors"));
    EXPECT_EQ(logits_of(own), logits_of(out));
  }
}

TEST_F(WriteFolder, CopiesOtherFiles) {
  const Model model = make(kLlama);
  (void)decoded(model, {.blocks = "Q8_0"});
  const std::filesystem::path out = path("out");
  EXPECT_EQ(read_file(out / "tokenizer.json"),
            read_file(std::filesystem::path(path("model")) / "tokenizer.json"));
  EXPECT_FALSE(std::filesystem::exists(out / "old.bin"));
  const auto bytes = read_file(out / "config.json");
  const json config = json::parse(reinterpret_cast<const char*>(bytes.data()),
                                  reinterpret_cast<const char*>(bytes.data()) + bytes.size());
  EXPECT_EQ(config["torch_dtype"], "float32");
  EXPECT_EQ(config["hidden_size"], 64);
}

TEST_F(WriteFolder, LeavesNothingWithoutAllMatricesOfATensor) {
  const Model model = make(kGpt2);
  expect_error(ErrorKind::kUsage, "several matrices in it, which are not all fitted", [&] {
    (void)decoded(model, {.blocks = "Q8_0", .rules = {{"blk.1.attn_k.weight", "keep"}}});
  });
  EXPECT_FALSE(std::filesystem::exists(path("out")));
  // Types may differ where numbers are decoded.
  (void)decoded(model, {.blocks = "Q8_0", .rules = {{"blk.1.attn_k.weight", "Q4_0"}}});
  EXPECT_TRUE(std::filesystem::exists(path("out")));
}

}  // namespace
}  // namespace halftone::lm
