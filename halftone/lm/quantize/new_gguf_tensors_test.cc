// SPDX-License-Identifier: Apache-2.0
// GGUF files of models that come from folders of Hugging Face.
#include "halftone/lm/quantize/new_gguf_tensors.h"

#include <nlohmann/json.hpp>

#include "halftone/lm/model/folder_testing.h"
#include "halftone/lm/quantize/tensor_parts.h"
#include "halftone/lm/quantize/testing.h"
#include "halftone/lm/quantize/write_model.h"

namespace halftone::lm {
namespace {

using nlohmann::json;

/// kLlama as another architecture.
json like_llama(const std::string& model_type, const json& more = json::object()) {
  json config = kLlama;
  config["model_type"] = model_type;
  config.update(more);
  return config;
}

/// Gemma 3n with three blocks, of which the last reads keys of the first.
json streams_config() {
  return like_llama("gemma3n_text",
                    {{"architectures", {"Gemma3nForCausalLM"}},
                     {"num_hidden_layers", 3},
                     {"head_dim", 32},
                     {"hidden_activation", "gelu_pytorch_tanh"},
                     {"intermediate_size", {128, 64, 128}},
                     {"layer_types", {"sliding_attention", "full_attention", "sliding_attention"}},
                     {"sliding_window", 3},
                     {"num_kv_shared_layers", 1},
                     {"laurel_rank", 32},
                     {"hidden_size_per_layer_input", 32},
                     {"vocab_size_per_layer_input", 40},
                     {"activation_sparsity_pattern", {0.6, 0.0, 0.3}}});
}

std::vector<json> all_configs() {
  const json gemma = {{"head_dim", 32},
                      {"sliding_window", 3},
                      {"query_pre_attn_scalar", 32},
                      {"hidden_activation", "gelu_pytorch_tanh"}};
  json gemma2 = like_llama("gemma2", gemma);
  gemma2["attn_logit_softcapping"] = 5.0;
  gemma2["final_logit_softcapping"] = 3.0;
  json experts = like_llama("qwen2_moe", {{"num_experts", 3},
                                          {"num_experts_per_tok", 2},
                                          {"moe_intermediate_size", 96},
                                          {"shared_expert_intermediate_size", 160}});
  return {kLlama,
          kGpt2,
          kMixtral,
          like_llama("qwen2"),
          like_llama("qwen3", {{"tie_word_embeddings", false}}),
          like_llama("phi3", {{"sliding_window", 3}}),
          like_llama("gemma", {{"head_dim", 32}, {"hidden_act", "gelu"}}),
          gemma2,
          like_llama("gemma3_text", gemma),
          streams_config(),
          experts};
}

class NewGgufTensors : public WithModelFolder {
 protected:
  static constexpr std::size_t kTokens = 8;

  ModelParts written(const ModelParts& model, const FittedMatrices& fitted, FittedForm form,
                     bool rotates = false) {
    const Folding folding(model, {.rotates = rotates, .seed = 3});
    write_gguf_model(path("new.gguf"), new_gguf_keys(model.description, "new"), folding, fitted,
                     form);
    return open_model(path("new.gguf"));
  }
  static FittedMatrices fit(const ModelParts& model, const TypeRecipe& recipe, bool takes_any_rows,
                            bool rotates = false) {
    Samples samples{kTokens, {}, {}};
    for (TokenId i = 0; i < 8; ++i) {
      samples.fit.push_back({1, i, 7, static_cast<TokenId>(2 * i), 11, 30, 5, 2});
    }
    const Folding folding(model, {.rotates = rotates, .seed = 3});
    return fit_model(model, folding, choose_types(model, recipe, takes_any_rows), samples, {});
  }
  /// Rows in the order of the file.
  static std::vector<float> reordered(const ModelParts& model, const WeightId& id,
                                      const std::vector<float>& values) {
    const std::vector<std::size_t> rows = new_gguf_rows(model.description, id);
    if (rows.empty()) return values;
    const std::size_t cols = values.size() / rows.size();
    std::vector<float> result;
    for (const std::size_t row : rows) {
      const auto first = values.begin() + static_cast<std::ptrdiff_t>(row * cols);
      result.insert(result.end(), first, first + static_cast<std::ptrdiff_t>(cols));
    }
    return result;
  }
};

TEST_F(NewGgufTensors, AreTheModelOfTheFolder) {
  for (const json& config : all_configs()) {
    SCOPED_TRACE(config["model_type"]);
    const ModelParts model = make(config);
    const ModelParts out = written(model, {}, FittedForm::kCodes);
    EXPECT_EQ(out.description, described_by_gguf(model.description));
    const auto offset = static_cast<float>(model.description.norm_offset);
    for (const WeightId& id : needed_weights(model.description)) {
      std::vector<float> expected = model.weights.at(id).decode();
      if (is_norm(id.role)) {
        for (float& gain : expected) gain += offset;
      }
      EXPECT_EQ(out.weights.at(id).decode(), reordered(model, id, expected)) << to_string(id);
    }
    EXPECT_TRUE(out.weights.unused().empty());
    if (out.description.pairing == model.description.pairing) {
      EXPECT_EQ(logits_of(out), logits_of(model));
    } else {
      // Scores are sums of 32 products in another order: 16 half-units in the last place of the
      // terms, which a softmax, a norm and two blocks take up to logits: 1e-6 each.
      EXPECT_LT(relative_distance(logits_of(out), logits_of(model)), 4e-6);
    }
  }
}

/// GGUF files have a row of the table for each token, and always scale the first stream.
TEST_F(NewGgufTensors, HaveRowsAndScalesThatFoldersLeaveOut) {
  json config = streams_config();
  config["vocab_size_per_layer_input"] = 20;
  config["altup_correct_scale"] = false;
  const ModelParts model = make(config);
  const ModelParts out = written(model, {}, FittedForm::kCodes);
  EXPECT_EQ(out.description, described_by_gguf(model.description));
  const WeightId table{.role = WeightRole::kBlockInputTable};
  std::vector<float> rows = model.weights.at(table).decode();
  const std::size_t width = 3 * 32;
  ASSERT_EQ(rows.size(), 20 * width);
  const std::vector<float> first(rows.begin(), rows.begin() + width);
  for (std::size_t row = 20; row < 40; ++row) rows.insert(rows.end(), first.begin(), first.end());
  EXPECT_EQ(out.weights.at(table).decode(), rows);
  const WeightId scale{.role = WeightRole::kStreamScale, .block = 1};
  EXPECT_THAT(out.weights.at(scale).decode(), testing::Each(1.0F));
  EXPECT_EQ(logits_of(out), logits_of(model));
  const TypeRecipe recipe{.type = "keep", .table_type = "Q8_0"};
  const FittedMatrices fitted = fit(model, recipe, false);
  rows = decode(fitted.at(table));
  const std::vector<float> zero(rows.begin(), rows.begin() + width);
  for (std::size_t row = 20; row < 40; ++row) rows.insert(rows.end(), zero.begin(), zero.end());
  EXPECT_EQ(written(model, fitted, FittedForm::kCodes).weights.at(table).decode(), rows);
  std::size_t predicted = gguf_bytes_without(new_gguf_keys(model.description, "new"), model,
                                             choose_types(model, recipe, false));
  for (const auto& [id, matrix] : fitted) predicted += matrix.encoded.bytes.bytes.size();
  EXPECT_LE(std::filesystem::file_size(path("new.gguf")), predicted);
}

TEST_F(NewGgufTensors, HaveTheCodesOfFittedMatrices) {
  for (const json& config : all_configs()) {
    SCOPED_TRACE(config["model_type"]);
    const ModelParts model = make(config);
    const FittedMatrices fitted = fit(model, {.type = "Q4_0", .table_type = "Q8_0"}, false);
    const ModelParts out = written(model, fitted, FittedForm::kCodes);
    for (const auto& [id, matrix] : fitted) {
      const std::vector<float> all = decode(matrix);
      const std::size_t size = out.weights.at(id).num_elements();
      for (std::size_t e = 0; e * size < all.size(); ++e) {
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(e * size);
        const WeightId part{id.role, id.block, id.part, e};
        EXPECT_EQ(out.weights.at(part).decode(),
                  reordered(model, id, {first, first + static_cast<std::ptrdiff_t>(size)}))
            << to_string(part);
      }
    }
    const auto file = formats::GgufFile::open(path("new.gguf"));
    EXPECT_EQ(file.integer("general.file_type"), 2) << "mostly Q4_0";
    EXPECT_EQ(file.tensor("token_embd.weight")->type->name, "Q8_0");
  }
}

TEST_F(NewGgufTensors, AreDecodedInTheBasisOfTheModel) {
  for (const json& config : {kLlama, kMixtral, like_llama("phi3"), streams_config()}) {
    SCOPED_TRACE(config["model_type"]);
    const ModelParts model = make(config);
    const FittedMatrices fitted = fit(model, {.type = "2x6"}, true, true);
    const ModelParts out = written(model, fitted, FittedForm::kDecoded, true);
    const Folding folding(model, {.rotates = true, .seed = 3});
    write_own_model(path("own.safetensors"), folding, fitted, {}, FittedForm::kDecoded);
    const ModelParts own = open_model(path("own.safetensors"));
    for (const WeightId& id : needed_weights(model.description)) {
      EXPECT_EQ(out.weights.at(id).decode(), reordered(model, id, own.weights.at(id).decode()));
    }
    const auto gguf = formats::GgufFile::open(path("new.gguf"));
    const auto unread = new_gguf_unread(model.description);
    for (const auto& tensor : gguf.tensors()) {
      if (std::ranges::find(unread, tensor.name, &formats::NewGgufTensor::name) != unread.end())
        continue;
      EXPECT_EQ(tensor.type->name, "F32") << tensor.name;
    }
  }
}

TEST_F(NewGgufTensors, StayInTheTypeOfTheFolder) {
  const ModelParts model = make(kLlama);
  // The same numbers in 16 bits; gains are exact in them or not, both are written as float32.
  const auto file = formats::SafetensorsFile::open(path("model/model.safetensors"));
  std::vector<formats::NewSafetensorsTensor> halves;
  for (const formats::SafetensorsTensor& tensor : file.tensors()) {
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < tensor.num_elements(); ++i) {
      bytes.push_back(tensor.bytes.bytes[4 * i + 2]);  // the upper half of a float: bfloat16
      bytes.push_back(tensor.bytes.bytes[4 * i + 3]);
    }
    halves.push_back({tensor.name, formats::SafetensorsType::kBF16, tensor.shape,
                      source_of(own_bytes(std::move(bytes)))});
  }
  formats::write_safetensors(path("model/model.safetensors"), {}, halves);
  const ModelParts bfloat16 = open_model(path("model"));
  const ModelParts out = written(bfloat16, {}, FittedForm::kCodes);
  const auto gguf = formats::GgufFile::open(path("new.gguf"));
  for (const auto& tensor : gguf.tensors()) {
    EXPECT_EQ(tensor.type->name, tensor.shape.size() == 1 ? "F32" : "BF16") << tensor.name;
  }
  const WeightId query{.role = WeightRole::kQuery, .block = 1};
  EXPECT_EQ(out.weights.at(query).decode(),
            reordered(bfloat16, query, bfloat16.weights.at(query).decode()));
  EXPECT_EQ(formats::GgufFile::open(path("new.gguf")).integer("general.file_type"), 32);
}

TEST_F(NewGgufTensors, TakeAtMostThePredictedBytes) {
  for (const json& config : {kLlama, kGpt2, kMixtral, streams_config()}) {
    SCOPED_TRACE(config["model_type"]);
    const ModelParts model = make(config);
    const TypeRecipe recipe{.type = "Q4_0", .table_type = "keep"};
    const FittedMatrices fitted = fit(model, recipe, false);
    (void)written(model, fitted, FittedForm::kCodes);
    std::size_t predicted = gguf_bytes_without(new_gguf_keys(model.description, "new"), model,
                                               choose_types(model, recipe, false));
    for (const auto& [id, matrix] : fitted) predicted += matrix.encoded.bytes.bytes.size();
    const std::size_t bytes = std::filesystem::file_size(path("new.gguf"));
    EXPECT_LE(bytes, predicted);
    const std::size_t slack = 192 * (new_gguf_places(model.description).size() + 1);
    EXPECT_GE(bytes + slack, predicted);
  }
}

TEST_F(NewGgufTensors, NeedOneTypeForMatricesInOneTensor) {
  const ModelParts model = make(like_llama("phi3"));
  const auto choice_of = [&](const std::string& type) {
    return choose_types(model, {.type = "Q8_0", .rules = {{"blk.1.attn_k*", type}}}, false);
  };
  const auto expect = [&](const std::string& type, const std::string& message) {
    const TypeChoice choice = choice_of(type);
    std::map<WeightId, std::string> tensors;
    for (const WeightId& id : matrices_to_fit(model.description)) {
      tensors.emplace(id, new_gguf_place(model.description, id).name);
    }
    expect_error(ErrorKind::kUsage, message, [&] { check_tensor_types(choice, tensors, true); });
    if (type == "2x6") return;
    FittedMatrices fitted = fit(model, {.type = "Q8_0", .rules = {{"blk.1.attn_k*", type}}}, false);
    expect_error(ErrorKind::kUsage, message,
                 [&] { (void)written(model, fitted, FittedForm::kCodes); });
    EXPECT_FALSE(std::filesystem::exists(path("new.gguf")));
  };
  expect("Q4_0",
         "tensor 'blk.1.attn_qkv.weight': its file keeps several matrices in it, which have "
         "the types Q8_0 and Q4_0; give them one type");
  expect("keep", "which are not all fitted");
  expect("2x6", "GGUF has no type 2x6");
}

}  // namespace
}  // namespace halftone::lm
