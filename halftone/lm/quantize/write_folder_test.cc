// SPDX-License-Identifier: Apache-2.0
// Folders of Hugging Face with decoded weights.
#include <nlohmann/json.hpp>

#include "halftone/base/file.h"
#include "halftone/lm/model/folder_testing.h"
#include "halftone/lm/quantize/testing.h"
#include "halftone/lm/quantize/write_model.h"

namespace halftone::lm {
namespace {

using nlohmann::json;

class WriteFolder : public WithModelFolder {
 protected:
  /// Fits a model, writes the folder and opens it.
  ModelParts decoded(const ModelParts& model, const TypeRecipe& recipe) {
    const Folding folding(model, {.rotates = true, .seed = 3});
    Samples samples{8, {}, {}};
    for (TokenId i = 0; i < 8; ++i) {
      samples.fit.push_back({1, i, 7, static_cast<TokenId>(2 * i), 11, 30, 5, 2});
    }
    const TypeChoice choice = choose_types(model, recipe, true);
    const FittedMatrices fitted = fit_model(model, folding, choice, samples, {});
    std::filesystem::remove_all(path("out"));
    write_folder_model(path("out"), path("model"), folding, fitted, FittedForm::kDecoded);
    write_own_model(path("decoded.safetensors"), folding, fitted, {}, FittedForm::kDecoded);
    return open_model(path("out"));
  }
};

TEST_F(WriteFolder, KeepsTheBasisAndTheOrderOfTheModel) {
  for (const json& config : {kLlama, kGpt2, kMixtral, kGptOss}) {
    const ModelParts model = make(config);
    const ModelParts out = decoded(model, {.type = "Q8_0"});
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
    const ModelParts own = open_model(path("decoded.safetensors"));
    EXPECT_EQ(logits_of(own), logits_of(out));
  }
}

/// Experts of gpt-oss as its folders have them, all zeros.
TEST_F(WriteFolder, RefusesBlocksOfMxfp4) {
  (void)make(kGptOss);
  const std::filesystem::path file = std::filesystem::path(path("model")) / "model.safetensors";
  const auto old = formats::SafetensorsFile::open(file);
  std::vector<formats::NewSafetensorsTensor> tensors;
  const auto add = [&](const std::string& name, const std::vector<std::size_t>& shape) {
    std::size_t size = 1;
    for (const std::size_t extent : shape) size *= extent;
    tensors.push_back({name, formats::SafetensorsType::kU8, shape,
                       source_of(own_bytes(std::vector<std::byte>(size)))});
  };
  for (const formats::SafetensorsTensor& tensor : old.tensors()) {
    if (!tensor.name.ends_with("experts.gate_up_proj")) {
      tensors.push_back({tensor.name, tensor.type, tensor.shape, source_of(tensor.bytes)});
      continue;
    }
    add(tensor.name + "_blocks", {3, 128, 2, 16});
    add(tensor.name + "_scales", {3, 128, 2});
  }
  write_file(file,
             collect([&](const ByteSink& sink) { formats::write_safetensors(sink, {}, tensors); }));
  const ModelParts model = open_model(path("model"));
  const char* message = "layers.0.mlp.experts.gate_up_proj_blocks': expected plain numbers";
  expect_error(ErrorKind::kUnsupported, message,
               [&] { check_folder_types(model, choose_types(model, {.type = "Q8_0"}, true)); });
  // Those of the attention may change.
  check_folder_types(model, choose_types(model,
                                         {.type = "Q8_0",
                                          .rules = {{"blk.*.ffn_gate_exps.weight", "keep"},
                                                    {"blk.*.ffn_up_exps.weight", "keep"}}},
                                         true));
}

TEST_F(WriteFolder, CopiesOtherFiles) {
  const ModelParts model = make(kLlama);
  write_file(path("model/old.bin"), std::string_view("weights"));
  (void)decoded(model, {.type = "Q8_0"});
  const std::filesystem::path out = path("out");
  EXPECT_EQ(read_file(out / "tokenizer.json"),
            read_file(std::filesystem::path(path("model")) / "tokenizer.json"));
  EXPECT_FALSE(std::filesystem::exists(out / "old.bin"));
  const auto bytes = read_file(out / "config.json");
  const json config =
      nlohmann::json::parse(reinterpret_cast<const char*>(bytes.data()),
                            reinterpret_cast<const char*>(bytes.data()) + bytes.size());
  EXPECT_EQ(config["torch_dtype"], "float32");
  EXPECT_EQ(config["hidden_size"], 64);
}

TEST_F(WriteFolder, LeavesNothingWithoutAllMatricesOfATensor) {
  const ModelParts model = make(kGpt2);
  expect_error(ErrorKind::kUsage, "several matrices in it, which are not all fitted", [&] {
    (void)decoded(model, {.type = "Q8_0", .rules = {{"blk.1.attn_k.weight", "keep"}}});
  });
  EXPECT_FALSE(std::filesystem::exists(path("out")));
  // Types may differ where numbers are decoded.
  (void)decoded(model, {.type = "Q8_0", .rules = {{"blk.1.attn_k.weight", "Q4_0"}}});
  EXPECT_TRUE(std::filesystem::exists(path("out")));
}

}  // namespace
}  // namespace halftone::lm
