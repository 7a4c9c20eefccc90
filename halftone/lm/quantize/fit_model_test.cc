// SPDX-License-Identifier: Apache-2.0
// Fits small models, writes them and reads them back.
#include "halftone/lm/quantize/fit_model.h"

#include <cmath>

#include "halftone/base/file.h"
#include "halftone/base/parallel.h"
#include "halftone/base/testing.h"
#include "halftone/lm/quantize/testing.h"
#include "halftone/lm/quantize/write_model.h"

namespace halftone::lm {
namespace {

class FitModel : public WithFolder {
 protected:
  /// Fits a model by a recipe, and opens what is written.
  ModelParts fitted(const Description& d, const TypeRecipe& recipe, bool is_own,
                    FittedForm form = FittedForm::kCodes) {
    RandomWeights weights;
    write_file(path("model.gguf"), tiny_file(d, weights).bytes());
    return fitted_file(recipe, is_own, form);
  }
  ModelParts fitted_file(const TypeRecipe& recipe, bool is_own,
                         FittedForm form = FittedForm::kCodes) {
    const ModelParts model = open_model(path("model.gguf"));
    float_logits_ = logits_of(model);
    const Folding folding(model, {.rotates = is_own, .seed = 3});
    const TypeChoice choice = choose_types(model, recipe, form == FittedForm::kDecoded);
    const FittedMatrices matrices = fit_model(model, folding, choice, some_samples(), {});
    errors_.clear();
    expected_.clear();
    for (const WeightId& id : needed_weights(folding.description())) {
      const auto found = matrices.find({id.role, id.block, id.part, 0});
      if (found == matrices.end()) {
        expected_[id] = folding.weight(id);
        continue;
      }
      errors_.push_back(found->second.error);
      const std::vector<float> all = decode(found->second);
      const std::size_t size = folding_size(folding.description(), id);
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(id.expert * size);
      expected_[id].assign(first, first + static_cast<std::ptrdiff_t>(size));
    }
    if (is_own) {
      write_own_model(path("out.safetensors"), folding, matrices, {}, form);
      return open_model(path("out.safetensors"));
    }
    write_gguf_model(path("out.gguf"), formats::GgufFile::open(path("model.gguf")), folding,
                     matrices, form);
    return open_model(path("out.gguf"));
  }

  static std::size_t folding_size(const Description& d, const WeightId& id) {
    std::size_t size = 1;
    for (const std::size_t extent : shape_of(d, id)) size *= extent;
    return size;
  }
  /// Whether the file has the weights that were fitted, and they are like those before.
  void expect_weights(const ModelParts& model) {
    for (const auto& [id, values] : expected_) {
      EXPECT_EQ(model.weights.at(id).decode(), values) << to_string(id);
    }
    EXPECT_LT(relative_distance(logits_of(model), float_logits_), kRoughError);
  }

  /// Inputs of products are rounded to 8 bits, and this model of random weights amplifies errors
  /// from block to block: a bound that other weights or a wrong order of rows exceed.
  static constexpr double kRoughError = 0.5;

  std::vector<float> float_logits_;
  std::vector<double> errors_;
  std::map<WeightId, std::vector<float>> expected_;
};

TEST_F(FitModel, WritesGguf) {
  for (const char* name : {"llama", "qwen2", "gemma2", "gpt2", "phi3"}) {
    const ModelParts model = fitted(small_description(name, kFitSizes), {.type = "Q8_0"}, false);
    expect_weights(model);
    const Weight& down = model.weights.at({.role = WeightRole::kDown});
    EXPECT_EQ(std::get<numerics::SharedBlockEncoding>(down.type)->name, "Q8_0") << name;
  }
}

TEST_F(FitModel, WritesItsOwnFile) {
  for (const char* name : {"llama", "qwen3", "gemma2", "gpt2"}) {
    expect_weights(
        fitted(small_description(name, kFitSizes), {.type = "2x10", .table_type = "Q8_0"}, true));
  }
  SmallSizes sizes = kFitSizes;
  sizes.ties_embeddings = false;
  expect_weights(fitted(small_description("llama", sizes), {.type = "2x10"}, true));
}

/// Rows are fitted on their own, so that pieces make no difference.
TEST_F(FitModel, FitsTheTableOfBlockInputsInPieces) {
  Description d = stream_description(kFitSizes);
  d.block_input_width = 16;
  RandomWeights weights;
  const ModelParts model = tiny_model(d, weights);
  const Folding folding(model, {});
  const TypeRecipe recipe{.type = "keep", .table_type = "Q4_0"};
  const auto fitted_in = [&](std::size_t piece) {
    ModelFitOptions options;
    options.piece = piece;
    return fit_model(model, folding, choose_types(model, recipe), some_samples(), options);
  };
  const WeightId table{.role = WeightRole::kBlockInputTable};
  const FittedMatrices whole = fitted_in(kTablePiece);
  const FittedMatrices pieces = fitted_in(64 * 7);
  ASSERT_EQ(whole.size(), 2U);
  const FittedMatrix& matrix = whole.at(table);
  EXPECT_EQ(matrix.rows, 40U);
  EXPECT_EQ(matrix.cols, 64U);
  EXPECT_EQ(decode(pieces.at(table)), decode(matrix));
  EXPECT_DOUBLE_EQ(pieces.at(table).error, matrix.error);
  const double distance = relative_distance(decode(matrix), model.weights.at(table).decode());
  EXPECT_NEAR(std::sqrt(matrix.error), distance, 1e-6);
  EXPECT_LT(distance, 0.12);  // sixteen steps for numbers of each sign
}

TEST_F(FitModel, FitsExperts) {
  SmallSizes sizes = kFitSizes;
  sizes.experts = 4;
  const Description d = small_description("qwen3moe", sizes);
  expect_weights(fitted(d, {.type = "Q8_0"}, false));
  expect_weights(fitted(d, {.type = "2x10", .table_type = "Q8_0"}, true));
}

TEST_F(FitModel, MoreBitsLeaveLess) {
  const auto mean_error = [&](const char* type) {
    (void)fitted(small_description("llama", kFitSizes), {.type = type, .table_type = "keep"}, true);
    double sum = 0;
    for (const double error : errors_) sum += error;
    return sum / static_cast<double>(errors_.size());
  };
  const double two = mean_error("4x8");
  const double three = mean_error("2x6");
  const double five = mean_error("2x10");
  EXPECT_LT(three, two / 2);
  EXPECT_LT(five, three / 2);
}

TEST_F(FitModel, WritesDecodedWeights) {
  const Description d = small_description("llama", kFitSizes);
  const ModelParts codes = fitted(d, {.type = "Q4_0"}, false);
  const std::vector<float> expected = codes.weights.at({.role = WeightRole::kUp}).decode();
  const ModelParts decoded = fitted(d, {.type = "Q4_0"}, false, FittedForm::kDecoded);
  EXPECT_EQ(decoded.weights.at({.role = WeightRole::kUp}).decode(), expected);
  // Blocks of 256 weights that rows of 64 do not fill.
  const ModelParts partial = fitted(d, {.type = "Q3_K"}, false, FittedForm::kDecoded);
  EXPECT_EQ(partial.weights.at({.role = WeightRole::kUp}).decode(),
            expected_.at({.role = WeightRole::kUp}));
}

TEST_F(FitModel, HasTheSameBytesForAllThreads) {
  const Description d = small_description("llama", kFitSizes);
  (void)fitted(d, {.type = "4x8"}, true);
  const std::vector<std::byte> several = read_file(path("out.safetensors"));
  const ThreadLimit limit(1);
  (void)fitted(d, {.type = "4x8"}, true);
  EXPECT_EQ(read_file(path("out.safetensors")), several);
}

TEST_F(FitModel, RefusesWhatAFileDoesNotHold) {
  const Description d = small_description("llama", kFitSizes);
  expect_error(ErrorKind::kUsage, "GGUF has no type 2x6",
               [&] { (void)fitted(d, {.type = "2x6", .table_type = "keep"}, false); });
  EXPECT_FALSE(std::filesystem::exists(path("out.gguf")));
}

/// A file that keeps queries, keys and values of a block in one tensor.
GgufModel fused_file(const Description& d) {
  GgufModel file = tiny_keys(d);
  RandomWeights weights;
  std::vector<float> fused;
  for (const WeightId& id : needed_weights(d)) {
    const auto shape = shape_of(d, id);
    const std::size_t size = shape[0] * (shape.size() > 1 ? shape[1] : 1);
    const std::vector<float> values = weights(id, size);
    const bool is_part = id.role == WeightRole::kQuery || id.role == WeightRole::kKey ||
                         id.role == WeightRole::kValue;
    if (!is_part) {
      file.tensor({places_of(d, Naming::kGguf, id)[0].name, shape, values});
      continue;
    }
    fused.insert(fused.end(), values.begin(), values.end());
    if (id.role != WeightRole::kValue) continue;
    file.tensor({"blk." + std::to_string(id.block) + ".attn_qkv.weight",
                 {fused.size() / d.width, d.width},
                 fused});
    fused.clear();
  }
  return file;
}

TEST_F(FitModel, KeepsMatricesTogetherThatShareATensor) {
  const Description d = small_description("llama", kFitSizes);
  const GgufModel file = fused_file(d);
  const ModelParts model{d, Weights(d, file.file())};
  const Folding folding(model, {});
  const auto write = [&](const TypeRecipe& recipe) {
    const FittedMatrices matrices =
        fit_model(model, folding, choose_types(model, recipe), some_samples(), {});
    write_gguf_model(path("out.gguf"), file.file(), folding, matrices, FittedForm::kCodes);
  };
  write({.type = "Q8_0"});
  const auto out = formats::GgufFile::open(path("out.gguf"));
  EXPECT_EQ(out.tensor("blk.1.attn_qkv.weight")->type->name, "Q8_0");
  const Weights weights(d, out);
  for (const WeightRole role : {WeightRole::kQuery, WeightRole::kKey, WeightRole::kValue}) {
    const WeightId id{.role = role, .block = 1};
    EXPECT_LT(relative_distance(weights.at(id).decode(), model.weights.at(id).decode()), 0.01);
  }
  expect_error(ErrorKind::kUsage, "several matrices in it, which have the types Q8_0 and Q4_0",
               [&] {
                 write({.type = "Q8_0", .rules = {{"blk.1.attn_k.weight", "Q4_0"}}});
               });
  expect_error(ErrorKind::kUsage, "several matrices in it, which are not all fitted", [&] {
    write({.type = "Q8_0", .rules = {{"blk.1.attn_k.weight", "keep"}}});
  });
}

}  // namespace
}  // namespace halftone::lm
