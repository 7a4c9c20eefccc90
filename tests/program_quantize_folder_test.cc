// SPDX-License-Identifier: Apache-2.0
// Folders of Hugging Face become GGUF files, as users make them.
#include <nlohmann/json.hpp>
#include <string>

#include "halftone/base/file.h"
#include "halftone/formats/gguf/gguf_file.h"
#include "halftone/lm/model/folder_testing.h"
#include "tests/program.h"

namespace halftone {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// A llama of two blocks, whose tokens are letters.
class ProgramQuantizeFolder : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    lm::write_model_folder(path("tiny"), lm::kLlama);
    write_tokenizer("gpt-2");
    write_file(path("tiny/tokenizer_config.json"),
               std::string_view(R"({"eos_token": "<|end|>", "chat_template": "{{ messages }}"})"));
    std::string text;
    for (int i = 0; text.size() < 4000; ++i) {
      for (int n = i * i; n != 0; n /= 7) text += static_cast<char>('a' + n % 26);
      text += ' ';
    }
    write_file(path("fit.txt"), text);
  }
  /// @param rule  "gpt-2", or another that GGUF has no name for
  void write_tokenizer(const std::string& rule) const {
    json root = json::parse(R"({"added_tokens": [{"id": 27, "content": "<|end|>",
        "special": true}], "model": {"type": "BPE", "merges": ["a b"], "vocab": {}}})");
    root["pre_tokenizer"] = {{"type", "ByteLevel"}, {"add_prefix_space", rule != "gpt-2"}};
    json& vocabulary = root["model"]["vocab"];
    for (int i = 0; i < 26; ++i) vocabulary[std::string(1, static_cast<char>('a' + i))] = i;
    vocabulary["\u0120"] = 26;
    vocabulary["ab"] = 28;
    write_file(path("tiny/tokenizer.json"), root.dump());
  }
  [[nodiscard]] std::string command(const std::string& output, const std::string& options) const {
    return "quantize " + path("tiny") + " -o " + path(output) + " --text " + path("fit.txt") +
           " --sample-tokens 16 --samples 12 --held-out 4 " + options;
  }
  json quantized(const std::string& output, const std::string& options) const {
    const Outcome outcome = run(command(output, options + " --json"));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return json::parse(outcome.out);
  }
  double perplexity(const std::string& model) const {
    const Outcome outcome = run("eval " + path(model) + " --text " + path("fit.txt") +
                                " --context 16 --windows 4 --cache float32 --quiet --json");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return json::parse(outcome.out)["value"].get<double>();
  }
  /// Rows in another order change sums of float32 of order 10 by some units in the last place.
  void expect_same_predictions(const std::string& a, const std::string& b) const {
    EXPECT_NEAR(perplexity(a) / perplexity(b), 1, 1e-5);
  }
  void expect_refused(const std::string& options, int code, const std::string& message) const {
    const Outcome outcome = run(command("x.gguf", options));
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(message));
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(path("x.gguf")));
  }
};

TEST_F(ProgramQuantizeFolder, WritesAGgufFile) {
  const json report = quantized("small.gguf", "--type Q4_0 --table-type keep");
  EXPECT_EQ(report["output_bytes"], std::filesystem::file_size(path("small.gguf")));
  EXPECT_EQ(report["layers"].size(), 14U);
  const auto file = formats::GgufFile::open(path("small.gguf"));
  EXPECT_EQ(file.text("general.name"), "tiny");
  EXPECT_EQ(file.text("tokenizer.ggml.pre"), "gpt-2");
  EXPECT_EQ(file.text("tokenizer.chat_template"), "{{ messages }}");
  EXPECT_EQ(file.integer("tokenizer.ggml.eos_token_id"), 27);
  EXPECT_EQ(file.tensor("token_embd.weight")->type->name, "F32");
  EXPECT_EQ(file.tensor("blk.1.ffn_up.weight")->type->name, "Q4_0");
  EXPECT_EQ(run("generate " + path("small.gguf") + " -p 'ab c' -n 4 -q").code, 0);
  // The same codes as in Halftone's own file.
  (void)quantized("small.safetensors", "--type Q4_0 --table-type keep --no-rotation");
  expect_same_predictions("small.gguf", "small.safetensors");
}

TEST_F(ProgramQuantizeFolder, WritesDecodedWeights) {
  (void)quantized("decoded.gguf", "--type 2x8 --decoded");
  (void)quantized("decoded.safetensors", "--type 2x8 --decoded");
  expect_same_predictions("decoded.gguf", "decoded.safetensors");
  EXPECT_EQ(formats::GgufFile::open(path("decoded.gguf")).tensor("blk.0.attn_q.weight")->type->name,
            "F32");
}

TEST_F(ProgramQuantizeFolder, ChoosesTypesForASize) {
  const json report = quantized("sized.gguf", "--size 70kB --write-recipe " + path("types.toml"));
  EXPECT_LE(report["output_bytes"].get<std::size_t>(), 70000U);
  EXPECT_GE(report["output_bytes"].get<std::size_t>(), 50000U);
  // The recipe gives the same file, and so does a job that continues.
  for (int time = 0; time < 2; ++time) {
    (void)quantized("again.gguf", "--recipe " + path("types.toml") + " --state " + path("state"));
    EXPECT_EQ(read_file(path("again.gguf")), read_file(path("sized.gguf")));
  }
  EXPECT_TRUE(std::filesystem::exists(path("state")));
}

TEST_F(ProgramQuantizeFolder, RefusesWhatGgufCannotSay) {
  expect_refused("--type 2x6", 2, "matrices in blocks: GGUF has no type 2x6");
  write_tokenizer("another");
  expect_refused("--type Q4_0", 4, "convert the folder with llama.cpp's convert_hf_to_gguf.py");
  write_tokenizer("gpt-2");
  json config = lm::kLlama;
  config["hidden_act"] = "gelu";
  lm::write_model_folder(path("tiny"), config);
  expect_refused("--type Q4_0", 4, "function is \"gelu\", they mean \"silu\"");
  expect_refused("--type Q4_0 --size 10kB", 2, "found several of them");
  std::filesystem::remove_all(path("tiny"));
  expect_refused("--type Q4_0", 3, "tiny: cannot open: No such file or directory");
}

}  // namespace
}  // namespace halftone
