// SPDX-License-Identifier: Apache-2.0
// tests/lora_test.py compares merged models with the package peft.
#include "halftone/lm/quantize/merge.h"

#include "halftone/base/file.h"
#include "halftone/base/testing.h"
#include "halftone/lm/quantize/plain_types.h"
#include "tests/tiny_model_folder.h"

namespace halftone::lm {
namespace {

class Merging : public WithFolder {
 protected:
  FittedMatrices merged(const ModelParts& model) {
    const auto adapter = Adapter::open(write_tiny_adapter(path("adapter")), model.description);
    return merge(model, adapter, [&](const WeightId& id) { return model.weights.at(id).tensor; });
  }
};

TEST_F(Merging, AddsTheProductOfTheFactors) {
  const ModelParts model = open_model(write_tiny_folder(path("model")));
  const FittedMatrices matrices = merged(model);
  ASSERT_EQ(matrices.size(), 2U);
  const WeightId id{.role = WeightRole::kQuery};
  const std::vector<float> before = model.weights.at(id).decode();
  const std::vector<float> after = decode(matrices.at(id));
  // Factors have the numbers -4 to 4 over 8, one tensor after the other: [2, 8] and [8, 2].
  const auto number = [](std::size_t i) { return (static_cast<double>(i % 9) - 4) / 8; };
  for (std::size_t row = 0; row < 8; ++row) {
    for (std::size_t col = 0; col < 8; ++col) {
      double sum = before[row * 8 + col];
      for (std::size_t k = 0; k < 2; ++k) {
        sum += 4.0 / 2 * number(16 + row * 2 + k) * number(k * 8 + col);
      }
      EXPECT_EQ(after[row * 8 + col], static_cast<float>(sum)) << row << ' ' << col;
    }
  }
}

TEST_F(Merging, KeepsPlainTypesAndRoundsToTheNearest) {
  EXPECT_EQ(plain_type("Q4_0"), nullptr);
  const std::vector<float> values = {1 + 0x1p-11F, 1 + 0x3p-11F, -3, 1 + 0x1p-8F};
  const auto read = [&](const char* name) {
    const WeightType& type = *plain_type(name);
    std::vector<float> found(values.size());
    numerics::decode_blocks(*type.gguf, plain_bytes(values, type), found);
    return found;
  };
  EXPECT_EQ(read("F32"), values);
  EXPECT_EQ(read("F16"), (std::vector<float>{1, 1 + 0x1p-9F, -3, 1 + 0x1p-8F}));  // ties to even
  EXPECT_EQ(read("BF16"), (std::vector<float>{1, 1, -3, 1}));
}

TEST_F(Merging, RefusesAHeadThatIsTheTableOfTheEmbedding) {
  const std::string folder = write_tiny_folder(path("model"));
  ModelParts model = open_model(folder);
  model.description.ties_embeddings = true;
  TinyTensors factors;
  factors.add("base_model.model.lm_head.lora_A.weight", {2, 8});
  factors.add("base_model.model.lm_head.lora_B.weight", {16, 2});
  const std::string adapter = write_tiny_adapter(path("adapter"));
  factors.write(adapter + "/adapter_model.safetensors");
  expect_error(ErrorKind::kUnsupported, "the adapter changes the head", [&] {
    (void)merge(model, Adapter::open(adapter, model.description),
                [&](const WeightId& id) { return model.weights.at(id).tensor; });
  });
}

}  // namespace
}  // namespace halftone::lm
