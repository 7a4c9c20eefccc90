// SPDX-License-Identifier: Apache-2.0
// Language models in few bits, as users make them.
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "halftone/base/file.h"
#include "tests/program.h"

namespace halftone {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// On the model stories260K of llama2.c, whose rows have 64 or 172 weights.
class ProgramQuantizeLanguage : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    const char* set = std::getenv("HALFTONE_DATA");
    const std::filesystem::path data =
        set != nullptr ? set : std::string(HALFTONE_SOURCE_DIR) + "/../shared/data";
    model_ = (data / "models" / "stories260K.bin").string();
    tokenizer_ = (data / "models" / "tok512.bin").string();
    const std::filesystem::path stories = data / "text" / "tinystories_train_head_197k.txt";
    if (!std::filesystem::exists(model_) || !std::filesystem::exists(stories)) {
      GTEST_SKIP() << "no " << model_ << " or " << stories << "; set HALFTONE_DATA";
    }
    const std::vector<std::byte> bytes = read_file(stories);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    write_file(path("fit.txt"), text.substr(0, 60000));
    write_file(path("eval.txt"), text.substr(100000, 4000));
  }
  Outcome quantize(const std::string& output, const std::string& options) {
    return run("quantize " + model_ + " --tokenizer " + tokenizer_ + " -o " + path(output) +
               " --text " + path("fit.txt") + " --sample-tokens 128 --samples 24 --held-out 8 " +
               options);
  }
  json quantized(const std::string& output, const std::string& options) {
    const Outcome outcome = quantize(output, options + " --json");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return json::parse(outcome.out);
  }
  /// The divergence from the float model.
  double divergence(const std::string& name) {
    const Outcome outcome =
        run("eval " + path(name) + " --text " + path("eval.txt") + " --context 128 --reference " +
            path("float.safetensors") + " --json");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return json::parse(outcome.out)["reference"]["kl_divergence"]["value"].get<double>();
  }
  void expect_refused(const std::string& options, int code, const std::string& message) {
    const Outcome outcome = quantize("x.safetensors", options);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(message));
    EXPECT_FALSE(std::filesystem::exists(path("x.safetensors")));
  }

  std::string model_;
  std::string tokenizer_;
};

/// Rows of 172 weights end inside the blocks of every type.
const std::string kRows = "--tensor '*ffn_down*=keep' ";

TEST_F(ProgramQuantizeLanguage, WritesItsOwnFile) {
  // A matrix has to be fitted; of 8 bits it is the reference.
  (void)quantized("float.safetensors", "--type keep --table-type Q8_0 --no-rotation");
  const json report = quantized("small.safetensors", "--type 2x8 " + kRows);
  // With the table, and the matrix between the last norm and the head.
  EXPECT_EQ(report["layers"].size(), 5 * 6 + 2U);
  EXPECT_EQ(report["layers"][0]["activation_bits"], 8);
  EXPECT_GT(report["layers"][0]["sqnr_db"].get<double>(), 10);
  EXPECT_EQ(report["predicted_loss"], nullptr);
  EXPECT_EQ(report["fit_tokens"], 24 * 128);
  EXPECT_EQ(report["output_bytes"], std::filesystem::file_size(path("small.safetensors")));
  const double four = divergence("small.safetensors");
  EXPECT_LT(four, 0.1);
  const json inspection = json::parse(run("inspect --json " + path("small.safetensors")).out);
  EXPECT_EQ(inspection["model"]["width"], 64);
  EXPECT_EQ(inspection["parameters"],
            260032 + 64 * 64);  // of the file, and the matrix before the head
  EXPECT_EQ(run("inspect " + path("small.safetensors") + " --tensor blk.0.attn_q.weight -o " +
                path("q.npy"))
                .code,
            0);
  EXPECT_EQ(std::filesystem::file_size(path("q.npy")), 128 + 64 * 64 * sizeof(float));
  (void)quantized("tiny.safetensors", "--type 4x8 " + kRows);
  EXPECT_GT(divergence("tiny.safetensors"), four);
  const Outcome story = run("generate " + path("small.safetensors") + " -p 'Once upon' -n 8 -q");
  EXPECT_EQ(story.code, 0) << story.err;
  EXPECT_THAT(story.out, HasSubstr(" a"));
}

TEST_F(ProgramQuantizeLanguage, ChoosesTypesForASize) {
  (void)quantized("float.safetensors", "--type keep --table-type Q8_0 --no-rotation");
  const json report =
      quantized("sized.safetensors", "--size 350kB --write-recipe " + path("types.toml"));
  EXPECT_LE(report["output_bytes"].get<std::size_t>(), 350000U);
  EXPECT_GT(report["predicted_loss"].get<double>(), 0);
  const double loss = divergence("sized.safetensors");
  EXPECT_LT(loss, 4 * report["predicted_loss"].get<double>() + 0.1);
  // The recipe gives the same file.
  (void)quantized("again.safetensors", "--recipe " + path("types.toml"));
  EXPECT_EQ(read_file(path("again.safetensors")), read_file(path("sized.safetensors")));
  const json more = quantized("more.safetensors", "--bits-per-weight 4.5");
  EXPECT_LE(more["weight_bits"].get<double>(), 4.5);
}

TEST_F(ProgramQuantizeLanguage, HasTheSameBytesForAllThreadsAndTargets) {
  const std::string types = "--type 2x6 --seed 3 " + kRows;
  (void)quantized("a.safetensors", types + "--threads 1 --simd AVX2");
  (void)quantized("b.safetensors", types + "--threads 2");
  EXPECT_EQ(read_file(path("a.safetensors")), read_file(path("b.safetensors")));
}

TEST_F(ProgramQuantizeLanguage, RefusesWhatCannotBe) {
  expect_refused("", 2, "expected either types, a size or bits per weight, found none");
  expect_refused("--type 2x6 --size 1MB", 2, "found several of them");
  expect_refused("--type 2x6", 2, "ffn_down.weight: 2x6 has blocks of 64 weights, rows have 172");
  expect_refused("--type Q9", 2, "expected one of ");
  expect_refused("--size 10kB", 2, "are needed beside the matrices");
  expect_refused("--bits-per-weight 1", 2, "the smallest types take");
  expect_refused("--type 2x6 --tensor '*nothing*=2x6' " + kRows, 2, "matches no matrix");
  expect_refused("--type 2x6 --tensor nothing " + kRows, 2, "expected PATTERN=TYPE");
  const Outcome gguf = quantize("x.gguf", "--type Q4_0");
  EXPECT_EQ(gguf.code, 2);
  EXPECT_THAT(gguf.err, HasSubstr("expected NAME.safetensors, since the model is no GGUF file"));
  write_file(path("fit.txt"), std::string_view("Once upon a time"));
  expect_refused("--type 2x6 " + kRows, 2, "give a longer text");
  const Outcome neither = run("quantize " + model_ + " -o " + path("x.safetensors"));
  EXPECT_EQ(neither.code, 2);
}

}  // namespace
}  // namespace halftone
