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
  /// @param from  --text FILE, or the text of the fixture
  std::string command(const std::string& output, const std::string& options,
                      const std::string& from = "") {
    return "quantize " + model_ + " --tokenizer " + tokenizer_ + " -o " + path(output) + " " +
           (from.empty() ? "--text " + path("fit.txt") : from) +
           " --sample-tokens 128 --samples 24 --held-out 8 " + options;
  }
  Outcome quantize(const std::string& output, const std::string& options,
                   const std::string& from = "") {
    return run(command(output, options, from));
  }
  json quantized(const std::string& output, const std::string& options,
                 const std::string& from = "") {
    const Outcome outcome = quantize(output, options + " --json", from);
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
  /// Kills the program once it has written a state for the n-th time, from 0, or lets it end.
  void run_until_kept_then_kill(const std::string& arguments, const std::string& state, int n) {
    const std::string program =
        std::string("exec '") + HALFTONE_PROGRAM + "' " + arguments + " > /dev/null 2>&1";
    const auto version = [&] {
      std::error_code absent;
      return std::filesystem::last_write_time(state, absent);
    };
    const pid_t child = ::fork();
    if (child == 0) {
      ::execl("/bin/sh", "sh", "-c", program.c_str(), nullptr);
      ::_exit(127);
    }
    auto last = version();
    int status = 0;
    for (int changes = 0; changes <= n && ::waitpid(child, &status, WNOHANG) == 0;) {
      if (version() != last) {
        last = version();
        ++changes;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
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

TEST_F(ProgramQuantizeLanguage, ContinuesAfterASignal) {
  for (const std::string& options : {"--type 2x6 --seed 3 " + kRows, std::string("--size 350kB")}) {
    const std::string state = " --state " + path("state");
    const std::string slow = options + state + " --candidates 64 --sweeps 100";
    (void)quantized("slow.safetensors", options + " --candidates 64 --sweeps 100");
    std::filesystem::remove(path("state"));
    for (int i = 0; i < 3; ++i) {  // each time somewhat further
      run_until_kept_then_kill(command("part.safetensors", slow + " --threads 1"), path("state"),
                               i);
    }
    // On a busy machine it may have come to its end.
    std::filesystem::remove(path("part.safetensors"));
    (void)quantized("part.safetensors", slow + " --threads 2");
    EXPECT_EQ(read_file(path("part.safetensors")), read_file(path("slow.safetensors")));
    std::filesystem::remove(path("part.safetensors"));
    // The state stays: the same command only writes the file again.
    (void)quantized("part.safetensors", slow);
    EXPECT_EQ(read_file(path("part.safetensors")), read_file(path("slow.safetensors")));
    std::filesystem::remove(path("part.safetensors"));
  }
}

TEST_F(ProgramQuantizeLanguage, RefusesTheStateOfAnotherJob) {
  const std::string state = " --state " + path("state");
  (void)quantized("a.safetensors", "--type 2x6 " + kRows + state);
  const auto refused = [&](const std::string& options, const std::string& part) {
    expect_refused(options + state, 3, "has the state of another job: expected " + part);
  };
  refused("--type 2x7 " + kRows, "types '2x7, tables , *ffn_down*=keep', found '2x6, ");
  refused("--size 350kB", "types 'for 350000 bytes, 8 samples'");
  refused("--type 2x6 --seed 1 " + kRows, "seed '1', found '0'");
  refused("--type 2x6 --damping 0.1 " + kRows, "fit 'damping 0.1");
  refused("--type 2x6 --no-rotation " + kRows, "rotation 'no', found 'yes'");
  write_file(path("fit.txt"), text_of(path("fit.txt")) + "The end.");
  refused("--type 2x6 " + kRows, "text '60008 bytes ");
  write_file(path("state"), std::string_view("something else"));
  expect_refused("--type 2x6 " + kRows + state, 3, path("state"));
}

TEST_F(ProgramQuantizeLanguage, FitsToSamplesThatTheModelWrites) {
  (void)quantized("float.safetensors", "--type keep --table-type Q8_0 --no-rotation");
  const std::string synthetic = "--calibrate synthetic";
  const json report = quantized("small.safetensors", "--type 2x8 --threads 1 " + kRows, synthetic);
  EXPECT_EQ(report["fit_tokens"], 24 * 128);
  EXPECT_EQ(report["held_out_tokens"], 8 * 128);
  // What a model writes by its own probabilities is as probable as it says.
  EXPECT_LT(report["fit_loss"].get<double>(), 2.5);
  EXPECT_EQ(report["warnings"], json::array());
  EXPECT_LT(divergence("small.safetensors"), 0.1);
  (void)quantized("same.safetensors",
                  "--type 2x8 --threads 2 --state " + path("state") + " " + kRows, synthetic);
  EXPECT_EQ(read_file(path("same.safetensors")), read_file(path("small.safetensors")));
  (void)quantized("other.safetensors", "--type 2x8 --seed 1 " + kRows, synthetic);
  EXPECT_NE(read_file(path("other.safetensors")), read_file(path("small.safetensors")));
  (void)quantized("sized.safetensors", "--size 350kB", synthetic);
  const Outcome both = quantize("x.safetensors", "--type 2x8 " + synthetic);
  EXPECT_EQ(both.code, 2);
  const Outcome neither = run("quantize " + model_ + " -o " + path("x.safetensors"));
  EXPECT_EQ(neither.code, 2);
  EXPECT_THAT(neither.err, HasSubstr("--text or --calibrate synthetic"));
  const Outcome type = run("quantize " + model_ + " --type 2x8 -o " + path("x.safetensors"));
  EXPECT_EQ(type.code, 2);
  EXPECT_THAT(
      type.err,
      HasSubstr("--data, or for a language model --text or --calibrate synthetic is required"));
}

TEST_F(ProgramQuantizeLanguage, WarnsOfTextsThatDoNotFit) {
  std::string noise;
  std::uint32_t next = 1;
  while (noise.size() < 20000) {
    next = next * 1664525U + 1013904223U;
    noise += static_cast<char>('!' + (next >> 24U) % 90);
  }
  write_file(path("noise.txt"), noise);
  const auto warnings = [&](const std::string& options) {
    const Outcome outcome = quantize("x.safetensors", "--type 2x8 --json " + kRows + options);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const json report = json::parse(outcome.out);
    EXPECT_GT(report["fit_loss"].get<double>(), 1);
    EXPECT_GT(report["held_out_loss"].get<double>(), 1);
    for (const json& warning : report["warnings"]) {
      EXPECT_THAT(outcome.err, HasSubstr("warning: " + warning.get<std::string>()));
    }
    return report["warnings"].dump();
  };
  const std::string found = warnings("--text " + path("noise.txt"));
  EXPECT_THAT(found, HasSubstr("noise.txt: the model does not know such a text: its loss is "));
  EXPECT_THAT(found, HasSubstr("noise.txt: is unlike the other texts: the model's loss is "));
  EXPECT_THAT(found, testing::Not(HasSubstr("fit.txt: the model does not")));
}

TEST_F(ProgramQuantizeLanguage, RefusesWhatCannotBe) {
  expect_refused("", 2, "expected either types, a size, bits per weight or a loss, found none");
  expect_refused("--type 2x6 --size 1MB", 2, "found several of them");
  expect_refused("--type 2x6", 2, "ffn_down.weight: 2x6 has blocks of 64 weights, rows have 172");
  expect_refused("--type Q9", 2, "expected one of ");
  expect_refused("--size 10kB", 4,
                 "types: budget bytes=10000 cannot be met with these choices: the least is ");
  expect_refused("--bits-per-weight 1", 4, "bits per weight: budget bytes=");
  expect_refused("--type 2x6 --tensor '*nothing*=2x6' " + kRows, 2, "matches no matrix");
  expect_refused("--type 2x6 --tensor nothing " + kRows, 2, "expected PATTERN=TYPE");
  const Outcome gguf = quantize("x.gguf", "--type Q4_0");
  EXPECT_EQ(gguf.code, 2);
  EXPECT_THAT(gguf.err,
              HasSubstr("expected NAME.safetensors, since the model is neither a GGUF file"));
  write_file(path("fit.txt"), std::string_view("Once upon a time"));
  expect_refused("--type 2x6 " + kRows, 2, "give a longer text");
  const Outcome neither = run("quantize " + model_ + " -o " + path("x.safetensors"));
  EXPECT_EQ(neither.code, 2);
}

}  // namespace
}  // namespace halftone
