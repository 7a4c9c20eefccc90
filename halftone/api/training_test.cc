// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/training.h"

#include "halftone/api/inspection.h"
#include "halftone/api/recipe.h"
#include "halftone/base/file.h"
#include "halftone/base/testing.h"

namespace halftone {
namespace {

const std::string kFolder = std::string(HALFTONE_SOURCE_DIR) + "/examples/mnist";
const std::string kFile = kFolder + "/mnist_mlp_700.onnx";

class TrainingJobs : public WithFolder {
 protected:
  [[nodiscard]] TrainingJob training(const std::string& output) const {
    TrainingJob job;
    job.output = path(output);
    job.data = {{kFolder}, {.split = "train", .limit = 256}};
    job.options.batch = 64;
    return job;
  }
  [[nodiscard]] DistillJob distillation(const std::string& output) const {
    DistillJob job;
    job.teachers = {kFile};
    job.recipe = load_recipe({}, {{.weight_bits = 2, .activation_bits = 2}});
    job.training = training(output);
    return job;
  }
};

TEST_F(TrainingJobs, DistillToTheSameFileWithinAnyMemory) {
  DistillJob job = distillation("a.circle");
  int starts = 0;
  job.training.on_start = [&] { ++starts; };
  const TrainReport report = distill_files(job);
  EXPECT_EQ(starts, 1);
  EXPECT_EQ(report.epochs.size(), 1U);
  EXPECT_EQ(report.input_bytes, std::filesystem::file_size(kFile));
  EXPECT_EQ(report.output_bytes, std::filesystem::file_size(path("a.circle")));
  EXPECT_GT(report.seconds, 0);
  EXPECT_FALSE(report.interrupted);
  job.memory_bytes = 0;
  job.training.output = path("b.circle");
  EXPECT_EQ(distill_files(job).epochs.size(), 1U);
  EXPECT_EQ(read_file(path("a.circle")), read_file(path("b.circle")));
}

TEST_F(TrainingJobs, StoreTheArithmeticOfTheRecipe) {
  DistillJob job = distillation("a.onnx");
  job.recipe->defaults.arithmetic = ir::Arithmetic::kFloat;
  (void)distill_files(job);
  for (const LayerInfo& layer : inspect_file(path("a.onnx")).layers) {
    EXPECT_EQ(layer.arithmetic, ir::Arithmetic::kFloat) << layer.name;
  }
}

TEST_F(TrainingJobs, WriteNothingAfterAnInterruption) {
  TrainJob job{kFile, false, training("t.onnx")};
  job.training.options.stop_requested = [] { return true; };
  EXPECT_TRUE(train_file(job).interrupted);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(TrainingJobs, AreCheckedFirst) {
  DistillJob job = distillation("a.circle");
  job.teachers.clear();
  expect_error(ErrorKind::kUsage, "distillation: expected a teacher, found none",
               [&] { (void)distill_files(job); });
  job = distillation("a.circle");
  job.stages = train::parse_stages({"4:1"});
  job.recipe.reset();
  try {
    (void)distill_files(job);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("stages: expected settings of a recipe too"));
    EXPECT_EQ(error.hint(), Hint::kRecipe);
  }
}

}  // namespace
}  // namespace halftone
