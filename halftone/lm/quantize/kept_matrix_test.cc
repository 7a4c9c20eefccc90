// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/kept_matrix.h"

#include "halftone/base/paths.h"
#include "halftone/base/testing.h"
#include "halftone/lm/quantize/testing.h"
#include "halftone/lm/quantize/write_model.h"

namespace halftone::lm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr WeightId kTable{.role = WeightRole::kTokenEmbedding};
constexpr WeightId kUpMatrix{.role = WeightRole::kUp, .block = 1};

class KeptMatrix : public WithFolder {
 protected:
  /// A model of which all matrices have codes.
  ModelParts coded_model(const std::string& type) const {
    RandomWeights weights;
    const Description d = small_description("llama", kFitSizes);
    const GgufModel file = tiny_file(d, weights);
    const ModelParts model{d, Weights(d, file.file())};
    const Folding folding(model, {});
    const TypeChoice choice = choose_types(model, {.type = type, .table_type = type});
    write_gguf_model(path("codes.gguf"), file.file(), folding,
                     fit_model(model, folding, choice, some_samples(), {}), FittedForm::kCodes);
    return open_model(path("codes.gguf"));
  }
};

TEST_F(KeptMatrix, HasTheCodesOfTheFile) {
  const ModelParts model = coded_model("Q4_0");
  const Folding folding(model, {});
  for (const WeightId& id : {kTable, kUpMatrix}) {
    const auto kept = std::get<EncodedMatrix>(kept_matrix(folding, id));
    EXPECT_EQ(kept.encoding->name, "Q4_0");
    EXPECT_TRUE(std::ranges::equal(kept.bytes.bytes, model.weights.at(id).bytes.bytes));
    EXPECT_EQ(kept_bytes(folding, id), kept.bytes.bytes.size());
  }
  const WeightId norm{.role = WeightRole::kFinalNorm};
  EXPECT_EQ(std::get<std::vector<float>>(kept_matrix(folding, norm)), folding.weight(norm));
  EXPECT_EQ(kept_bytes(folding, norm), 64 * sizeof(float));
  EXPECT_THAT(kept_warnings(folding, {}), IsEmpty());
}

TEST_F(KeptMatrix, HasEightBitsIfItIsRotated) {
  const ModelParts model = coded_model("Q4_0");
  const Folding folding(model, {.rotates = true, .seed = 3});
  const auto kept = std::get<EncodedMatrix>(kept_matrix(folding, kTable));
  EXPECT_EQ(kept.encoding->name, "Q8_0");
  EXPECT_EQ(kept_bytes(folding, kTable), kept.bytes.bytes.size());
  std::vector<float> decoded(40 * 64);
  numerics::decode_blocks(*kept.encoding, kept.bytes.bytes, decoded);
  EXPECT_LT(relative_distance(decoded, folding.weight(kTable)), 0.01);
  EXPECT_THAT(kept_warnings(folding, {}),
              ElementsAre(HasSubstr("matrices, such as token_embd.weight, are kept, but rotated: "
                                    "written anew in Q8_0")));
  // A file of it, whose size is known before it is written. Inputs of products are rounded to 8
  // bits in another basis, and random weights amplify that.
  write_own_model(path("own.safetensors"), folding, {}, {}, FittedForm::kCodes);
  EXPECT_LT(relative_distance(logits_of(open_model(path("own.safetensors"))), logits_of(model)),
            0.5);
  EXPECT_LE(bytes_of_file(path("own.safetensors")), own_bytes_without(folding, {}, {}));
}

TEST_F(KeptMatrix, StaysFloat32) {
  RandomWeights weights;
  const ModelParts model = tiny_model(small_description("llama", kFitSizes), weights);
  const Folding folding(model, {.rotates = true, .seed = 3});
  EXPECT_EQ(std::get<std::vector<float>>(kept_matrix(folding, kUpMatrix)),
            folding.weight(kUpMatrix));
  EXPECT_EQ(kept_bytes(folding, kUpMatrix), 64 * 128 * sizeof(float));
  EXPECT_THAT(kept_warnings(folding, {}), IsEmpty());
}

}  // namespace
}  // namespace halftone::lm
