// SPDX-License-Identifier: Apache-2.0
// Quantized language models that are tuned, as users do it.
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "halftone/base/file.h"
#include "tests/program.h"

namespace halftone {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// On the model stories260K of llama2.c, in two bits.
class ProgramDistillLanguage : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
#ifndef HALFTONE_TRAINS
    GTEST_SKIP() << "built without libtorch";
#endif
    const char* set = std::getenv("HALFTONE_DATA");
    const std::filesystem::path data =
        set != nullptr ? set : std::string(HALFTONE_SOURCE_DIR) + "/../shared/data";
    teacher_ = (data / "models" / "stories260K.bin").string();
    const std::string tokenizer = (data / "models" / "tok512.bin").string();
    const std::filesystem::path stories = data / "text" / "tinystories_train_head_197k.txt";
    if (!std::filesystem::exists(teacher_) || !std::filesystem::exists(stories)) {
      GTEST_SKIP() << "no " << teacher_ << " or " << stories << "; set HALFTONE_DATA";
    }
    const std::vector<std::byte> bytes = read_file(stories);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    write_file(path("fit.txt"), text.substr(0, 60000));
    write_file(path("eval.txt"), text.substr(100000, 4000));
    std::string numbers;
    for (int i = 0; i < 900; ++i) numbers += std::to_string(i * i) + " is a number.\n";
    write_file(path("second.txt"), std::string_view(numbers));
    // Rows of 172 weights end inside the blocks of every type.
    quantize(teacher_ + " --tokenizer " + tokenizer, "student.safetensors",
             "--type 4x8 --tensor '*ffn_down*=keep'");
    quantize(teacher_ + " --tokenizer " + tokenizer, "float.safetensors",
             "--type keep --table-type Q8_0 --no-rotation");
  }
  void quantize(const std::string& model, const std::string& output, const std::string& options) {
    const Outcome outcome = run("quantize " + model + " -o " + path(output) + " --text " +
                                path("fit.txt") + " --sample-tokens 128 --samples 8 " + options);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  [[nodiscard]] std::string command(const std::string& output, const std::string& options) const {
    return "distill --teacher " + teacher_ + " --student " + path("student.safetensors") + " -o " +
           path(output) + " --text " + path("fit.txt") + " --sample-tokens 128 " + options;
  }
  [[nodiscard]] Outcome distill(const std::string& output, const std::string& options) const {
    return run(command(output, options));
  }
  [[nodiscard]] json distilled(const std::string& output, const std::string& options) const {
    const Outcome outcome = distill(output, options + " --json");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return json::parse(outcome.out);
  }
  /// The divergence from the float model.
  [[nodiscard]] double divergence(const std::string& name) const {
    const Outcome outcome =
        run("eval " + path(name) + " --text " + path("eval.txt") + " --context 128 --reference " +
            path("float.safetensors") + " --json");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return json::parse(outcome.out)["reference"]["kl_divergence"]["value"].get<double>();
  }
  void expect_refused(const std::string& options, int code, const std::string& message) const {
    const Outcome outcome = distill("x.safetensors", options);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(message));
    EXPECT_FALSE(std::filesystem::exists(path("x.safetensors")));
  }

  std::string teacher_;
};

TEST_F(ProgramDistillLanguage, MakesAModelBetter) {
  const Outcome outcome =
      distill("tuned.safetensors", "--steps 30 --second-text " + path("second.txt") + " --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("step 0 of 30: held-out divergence "));
  EXPECT_THAT(outcome.err, HasSubstr("step 30 of 30: held-out divergence "));
  const json report = json::parse(outcome.out);
  const auto before = report["held_out"]["kl_divergence_before"].get<double>();
  const auto after = report["held_out"]["kl_divergence"].get<double>();
  EXPECT_LT(after, before);
  EXPECT_EQ(report["held_out"]["tokens"], 8 * 128);
  EXPECT_GT(report["second_text"]["kl_divergence"].get<double>(), 0);
  EXPECT_EQ(report["steps"].size(), 30U);
  EXPECT_EQ(report["evaluations"][0]["kl_divergence"], before);
  // The table has four bits.
  EXPECT_EQ(report["bases"], json({"2x8", "4x8"}));
  EXPECT_EQ(report["gains"], (2 * 5 + 1) * 64);
  EXPECT_EQ(std::filesystem::file_size(path("tuned.safetensors")), report["output_bytes"]);
  EXPECT_LT(divergence("tuned.safetensors"), divergence("student.safetensors"));
  const Outcome story = run("generate " + path("tuned.safetensors") + " -p 'Once upon' -n 8 -q");
  EXPECT_EQ(story.code, 0) << story.err;
}

TEST_F(ProgramDistillLanguage, HasTheSameBytesForAllThreadsAndGoesOn) {
  const std::string steps = "--steps 6 --seed 3 --held-out 2 ";
  (void)distilled("a.safetensors", steps + "--threads 1");
  (void)distilled("b.safetensors", steps + "--threads 2");
  EXPECT_EQ(read_file(path("a.safetensors")), read_file(path("b.safetensors")));
  const std::string kept = steps + "--state " + path("run.state");
  (void)distilled("c.safetensors", kept + " --minutes 0.000001");
  EXPECT_NE(read_file(path("a.safetensors")), read_file(path("c.safetensors")));
  (void)distilled("c.safetensors", kept);
  EXPECT_EQ(read_file(path("a.safetensors")), read_file(path("c.safetensors")));
  expect_refused("--steps 7 --seed 3 --held-out 2 --state " + path("run.state"), 2,
                 "belongs to another run: steps was 6, is 7");
}

TEST_F(ProgramDistillLanguage, EndsInAnOrderlyWayWhenInterrupted) {
  const std::string kept = "--steps 100000 --held-out 1 --quiet --state " + path("run.state");
  const Outcome stopped = run_until_kept(command("x.safetensors", kept), path("run.state"), SIGINT);
  EXPECT_EQ(stopped.code, 130) << stopped.err;
  EXPECT_EQ(stopped.err, "halftone: interrupted; saved in " + path("run.state") +
                             ", the same command goes on\n");
  EXPECT_FALSE(std::filesystem::exists(path("x.safetensors")));
}

TEST_F(ProgramDistillLanguage, RefusesWhatCannotBe) {
  expect_refused("--epochs 3", 2, "--epochs: not for language models");
  expect_refused("--teacher " + teacher_, 2, "expected one language model, found 2");
  expect_refused("--steps 0", 2, "--steps");
  expect_refused("--text " + path("nothing.txt"), 3, "nothing.txt");
  write_file(path("short.txt"), std::string_view("Once upon a time"));
  expect_refused("--text " + path("short.txt"), 2, "give a longer text");
  expect_refused("--second-text " + path("short.txt"), 2, "short.txt: calibration text");
  const auto refused = [&](const std::string& line, int code, const std::string& message) {
    const Outcome outcome = run(line);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(message));
  };
  const std::string text = " --text " + path("fit.txt");
  const std::string student = " --student " + path("student.safetensors");
  const std::string output = " -o " + path("x.safetensors");
  refused("distill --teacher " + teacher_ + output + text, 2, "--student is required");
  refused("distill --teacher " + teacher_ + student + output, 2, "--data is required");
  refused("distill --teacher " + teacher_ + " --student " + teacher_ + output + text, 2,
          "expected a student that `quantize --text` wrote");
  write_file(path("other.safetensors"), std::string_view("nothing"));
  refused(
      "distill --teacher " + teacher_ + " --student " + path("other.safetensors") + output + text,
      3, "other.safetensors");
  refused("distill --teacher " + teacher_ + student + text + " -o " + path("student.safetensors"),
          2, "is the file to read (--student)");
  refused("distill --teacher " + teacher_ + student + text + " -o " + path("x.gguf"), 2,
          "expected NAME.safetensors, as the student");
  refused("distill --teacher " + teacher_ + student + text + " -o " + path("nowhere/x.safetensors"),
          3, "x.safetensors: cannot write");
  EXPECT_FALSE(std::filesystem::exists(path("x.safetensors")));
}

}  // namespace
}  // namespace halftone
