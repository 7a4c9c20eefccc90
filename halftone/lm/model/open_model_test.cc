// SPDX-License-Identifier: Apache-2.0
// Folders of Hugging Face are read as the package transformers reads them.
#include "halftone/lm/model/open_model.h"

#include <filesystem>

#include "halftone/lm/model/folder_testing.h"

namespace halftone::lm {
namespace {

class ModelFolders : public WithModelFolder {
 protected:
  /// Says in config.json whether the embedding is the head.
  void say_tied(bool is_tied) const {
    nlohmann::json config = kLlama;
    config["tie_word_embeddings"] = is_tied;
    write_file(path("model/config.json"), config.dump());
  }
};

TEST_F(ModelFolders, TakesAHeadBesideATiedEmbedding) {
  nlohmann::json config = kLlama;
  EXPECT_TRUE(make(config).description.ties_embeddings);
  config["tie_word_embeddings"] = false;
  (void)make(config);
  say_tied(true);
  const ModelParts model = open_model(path("model"));
  EXPECT_FALSE(model.description.ties_embeddings);
  EXPECT_NE(model.weights.at({.role = WeightRole::kHead}).decode(),
            model.weights.at({.role = WeightRole::kTokenEmbedding}).decode());
}

TEST_F(ModelFolders, TakesOneFileWhateverAnIndexSays) {
  (void)make(kLlama);
  write_file(path("model/model.safetensors.index.json"),
             std::string_view(R"({"weight_map": {"model.norm.weight": "gone.safetensors"}})"));
  EXPECT_EQ(weights_file_of(path("model")), path("model/model.safetensors"));
  EXPECT_EQ(open_model(path("model")).description.blocks, 2U);
  std::filesystem::remove(path("model/model.safetensors"));
  expect_error(ErrorKind::kIo, "gone.safetensors", [&] { (void)open_model(path("model")); });
}

TEST_F(ModelFolders, SaysHowFilesOfPyTorchAreConverted) {
  (void)make(kLlama);
  std::filesystem::rename(path("model/model.safetensors"), path("model/pytorch_model.bin"));
  expect_error(ErrorKind::kUnsupported, "pytorch_model.bin: files of PyTorch are not read",
               [&] { (void)open_model(path("model")); });
}

TEST_F(ModelFolders, SaysThatAGgufFileIsNone) {
  write_file(path("m.gguf"), std::string_view("none"));
  expect_error(ErrorKind::kFormat, "m.gguf: expected a GGUF file",
               [&] { (void)open_model(path("m.gguf")); });
}

}  // namespace
}  // namespace halftone::lm
