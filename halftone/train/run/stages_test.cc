// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/run/stages.h"

#include "halftone/base/testing.h"
#include "halftone/compress/quantize.h"
#include "halftone/compress/testing.h"
#include "halftone/train/testing.h"

namespace halftone::train {
namespace {

using testing::ElementsAre;

TEST(Stages, AreReadFromTexts) {
  EXPECT_THAT(parse_stages({"4:5", "3:1"}), ElementsAre(Stage{4, 5}, Stage{3, 1}));
  EXPECT_TRUE(parse_stages({}).empty());
  for (const char* text : {"", "4", "4:", ":3", "9:1", "0:1", "4:0", "4:1:2", "four:1", "4:-1"}) {
    expect_error(ErrorKind::kUsage, "stage: expected BITS:EPOCHS", [&] { parse_stages({text}); });
  }
  expect_error(ErrorKind::kUsage, "expected fewer bits than the 3 of the stage before, found '3:2'",
               [] {
                 parse_stages({"3:1", "3:2"});
               });
}

TEST(Stages, RaiseBitsThatAreFewer) {
  compress::Recipe recipe;
  recipe.defaults.weight_bits = 1;
  recipe.overrides.resize(2);
  recipe.overrides[0].settings.weight_bits = 8;
  recipe.overrides[1].settings.weight_bits = 2;
  recipe.overrides[1].settings.activation_bits = 0;
  const compress::Recipe raised = with_bits_of({4, 1}, recipe);
  EXPECT_EQ(raised.defaults.weight_bits, 4);
  EXPECT_EQ(raised.defaults.activation_bits, 4);
  EXPECT_EQ(raised.overrides[0].settings.weight_bits, 8);
  EXPECT_FALSE(raised.overrides[0].settings.activation_bits);
  EXPECT_EQ(raised.overrides[1].settings.weight_bits, 4);
  EXPECT_EQ(raised.overrides[1].settings.activation_bits, 0);
}

/// A run in 3 bits and then in one, with checkpoints.
class StagedRun : public WithFolder {
 protected:
  void SetUp() override {
    WithFolder::SetUp();
    options_ = test::few_epochs();
    options_.epochs = 2;
    recipe_.defaults.weight_bits = 1;
    recipe_.defaults.activation_bits = 2;
  }

  TrainedGraph run(const LearnOptions& options) {
    return train_in_stages(teacher_, {{{3, 2}}, recipe_, make_}, {{teacher_}, data_}, {}, options);
  }

  const ir::Graph teacher_ = compress::perceptron(10, 20, 4, 1);
  const data::Dataset data_ = compress::random_dataset(256, 10, 2);
  const MakeStudent make_ = [&](const ir::Graph& network, const compress::Recipe& recipe) {
    return compress::quantize(network, data_, recipe, {}).graph;
  };
  compress::Recipe recipe_;
  LearnOptions options_;
};

TEST_F(StagedRun, GoesFromMoreBitsToFewer) {
  std::vector<std::size_t> recorded;
  options_.record = [&](const auto& epochs) { recorded.push_back(epochs.size()); };
  const TrainedGraph staged = run(options_);
  EXPECT_EQ(staged.epochs.size(), 4U);
  EXPECT_EQ(recorded.back(), 4U);
  // Three bits are closer to the teacher than one bit.
  EXPECT_LT(staged.epochs[1].loss, staged.epochs[2].loss);
  // The second stage starts from the weights that the first one has learned.
  const TrainedGraph alone =
      train_in_stages(teacher_, {{}, recipe_, make_}, {{teacher_}, data_}, {}, options_);
  EXPECT_EQ(alone.epochs.size(), 2U);
  EXPECT_NE(alone.epochs[0].loss, staged.epochs[2].loss);
}

TEST_F(StagedRun, GoesOnFromTheStageItWasStoppedIn) {
  const ir::Graph whole = run(options_).graph;
  for (const int stop : {3, 13}) {
    options_.checkpoint.path = path(std::to_string(stop));
    options_.checkpoint.resume = false;
    int asked = 0;
    options_.stop_requested = [&] { return ++asked > stop; };
    EXPECT_TRUE(run(options_).interrupted);
    options_.stop_requested = nullptr;
    options_.checkpoint.resume = true;
    const TrainedGraph rest = run(options_);
    EXPECT_FALSE(rest.interrupted);
    test::expect_same(rest.graph, whole);
  }
}

}  // namespace
}  // namespace halftone::train
