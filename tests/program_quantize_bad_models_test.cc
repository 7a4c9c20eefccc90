// SPDX-License-Identifier: Apache-2.0
// What `quantize` says of language models, texts and files that are broken or do not fit.
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "halftone/base/file.h"
#include "halftone/lm/model/testing.h"
#include "tests/program.h"

namespace halftone {
namespace {

using lm::NamedTensor;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

/// A GGUF file of two blocks with random weights, whose tokens are bytes.
class ProgramQuantizeBadModels : public Program {
 protected:
  using Change = std::function<void(std::vector<float>&)>;

  void SetUp() override {
    Program::SetUp();
    std::string text;
    for (int i = 0; text.size() < 4000; ++i) {
      text += "The number " + std::to_string(i * i) + " is a square. ";
    }
    write_file(path("fit.txt"), text);
  }
  /// @param changes  of the elements of tensors by name
  void write_model(const std::map<std::string, Change>& changes = {},
                   const std::string& coded = "") const {
    const lm::SmallSizes sizes{.width = 64,
                               .inner = 256,
                               .heads = 2,
                               .kv_heads = 1,
                               .head_width = 32,
                               .vocabulary = kTokens};
    const lm::Description d = lm::small_description("llama", sizes);
    lm::GgufModel model("llama");
    set_keys(d, model);
    for (NamedTensor tensor : lm::small_tensors(d)) {
      for (float& value : tensor.values) value /= 4;
      if (tensor.name.find("norm") != std::string::npos) {
        std::ranges::fill(tensor.values, 1.0F);
      }
      const auto change = changes.find(tensor.name);
      if (change != changes.end()) change->second(tensor.values);
      if (tensor.name == "blk.1.ffn_down.weight" && !coded.empty()) {
        model.zeros(tensor.name, tensor.shape, type_named(coded));
      } else {
        model.tensor(tensor);
      }
    }
    write_file(path("model.gguf"), model.bytes());
  }
  [[nodiscard]] std::string command(const std::string& output, const std::string& options,
                                    const std::string& text = "fit.txt") const {
    return "quantize " + path("model.gguf") + " -o " + path(output) + " --text " + path(text) +
           " --sample-tokens 32 --samples 12 --held-out 4 " + options;
  }
  void expect_refused(const std::string& options, int code, const std::string& message,
                      const std::string& text = "fit.txt") const {
    expect_failure(command("x.safetensors", options, text), code, message);
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr("x.safetensors")));
    }
  }
  [[nodiscard]] json quantized(const std::string& options, const std::string& output) const {
    const Outcome outcome = run(command(output, options + " --json"));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.code == 0 ? json::parse(outcome.out) : json();
  }
  static json layer(const json& report, const std::string& name) {
    for (const json& each : report["layers"]) {
      if (each["name"] == name) return each;
    }
    ADD_FAILURE() << name;
    return {};
  }

 private:
  static constexpr std::size_t kTokens = 257;

  static const formats::GgufType& type_named(const std::string& name) {
    for (const formats::GgufType& type : formats::gguf_types()) {
      if (type.name == name) return type;
    }
    fail(ErrorKind::kInternal, name);
  }
  static void set_keys(const lm::Description& d, lm::GgufModel& model) {
    const auto whole = [&](const char* key, std::size_t value) {
      model.whole(key, static_cast<std::uint32_t>(value));
    };
    whole("block_count", d.blocks);
    whole("context_length", 64);
    whole("embedding_length", d.width);
    whole("feed_forward_length", d.inner);
    whole("attention.head_count", d.heads);
    whole("attention.head_count_kv", d.kv_heads);
    whole("attention.key_length", d.head_width);
    whole("attention.value_length", d.value_width);
    whole("rope.dimension_count", d.rotary_dims);
    model.number("attention.layer_norm_rms_epsilon", 1e-5F);
    std::vector<std::string> texts;
    std::vector<std::int32_t> kinds(kTokens, 6);  // bytes
    for (int byte = 0; byte < 256; ++byte) {
      const char* digits = "0123456789ABCDEF";
      texts.push_back(std::string("<0x") + digits[byte / 16] + digits[byte % 16] + ">");
    }
    texts.emplace_back("<unk>");
    kinds.back() = 2;
    model.other("tokenizer.ggml.model", std::string("llama"))
        .other("tokenizer.ggml.tokens", texts)
        .other("tokenizer.ggml.scores", std::vector<float>(kTokens))
        .other("tokenizer.ggml.token_type", kinds)
        .other("tokenizer.ggml.unknown_token_id", std::uint32_t{256});
  }
};

const std::string kQuery = "blk.1.attn_q.weight";

TEST_F(ProgramQuantizeBadModels, FitsZerosExactly) {
  write_model({{kQuery, [](auto& values) { std::ranges::fill(values, 0.0F); }},
               {"blk.0.ffn_norm.weight", [](auto& values) { values[5] = 0; }}});
  const json own = quantized("--type 2x8 --seed 1", "own.safetensors");
  EXPECT_EQ(layer(own, kQuery)["relative_error"], 0);
  EXPECT_EQ(layer(own, kQuery)["sqnr_db"], nullptr);
  // Nothing reads the fifth channel.
  EXPECT_GT(layer(own, "blk.0.ffn_up.weight")["sqnr_db"], 10);
  const json gguf = quantized("--type Q4_0", "out.gguf");
  EXPECT_EQ(layer(gguf, kQuery)["relative_error"], 0);
  const json k_type =
      quantized("--tensor 'blk.0.ffn_down.weight=Q3_K' --tensor 'blk.1.attn_q*=Q2_0'", "k.gguf");
  EXPECT_EQ(layer(k_type, kQuery)["relative_error"], 0);
  const Outcome decoded = run("inspect " + path("own.safetensors") + " --tensor " + kQuery +
                              " -o " + path("zeros.npy"));
  EXPECT_EQ(decoded.code, 0) << decoded.err;
  const Outcome text = run("generate " + path("own.safetensors") + " -p The -n 4");
  EXPECT_EQ(text.code, 0) << text.err;
}

TEST_F(ProgramQuantizeBadModels, NamesWeightsThatAreNoNumbers) {
  const std::map<std::string, std::string> places = {{kQuery, "row 2, column 12"},
                                                     {"token_embd.weight", "row 2, column 12"},
                                                     {"blk.0.ffn_norm.weight", "column 40"}};
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity(), 1e30F}) {
    for (const auto& [name, place] : places) {
      const std::size_t at = name.find("norm") == std::string::npos ? 2 * 64 + 12 : 40;
      write_model({{name, [&](auto& values) { values[at] = bad; }}});
      const std::string message = place + ": expected a number of magnitude up to 1e15, found ";
      for (const char* options : {"--type 2x8", "--size 150kB"}) {
        expect_refused(options, 3, "tensor '" + name + "': ");
        expect_refused(options, 3, message);
      }
    }
  }
}

TEST_F(ProgramQuantizeBadModels, FitsOutliers) {
  write_model({{kQuery, [](auto& values) { values[140] = 1e4F; }}});
  const json report = quantized("--type 2x8", "own.safetensors");
  EXPECT_GT(layer(report, kQuery)["sqnr_db"], 10);
  // Squares of what it gives exceed float32.
  write_model({{"blk.0.ffn_down.weight", [](auto& values) { values[140] = 1e15F; }},
               {"blk.1.attn_norm.weight", [](auto& values) { std::ranges::fill(values, 1e15F); }},
               {"blk.1.attn_v.weight", [](auto& values) { std::ranges::fill(values, 1e12F); }}});
  expect_refused("--type 2x8", 3, "inputs of attention output of block 1: second moment");
}

TEST_F(ProgramQuantizeBadModels, RefusesTypesThatDoNotFit) {
  write_model({}, "I16");
  expect_refused("--type 2x8", 4, "I16");
  write_model();
  const Outcome outcome = run(command("out.gguf", "--type Q3_K"));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("Q3_K has blocks of 256 weights, rows have 64; "));
  EXPECT_THAT(outcome.err, HasSubstr("Q4_0"));
  EXPECT_FALSE(std::filesystem::exists(path("out.gguf")));
  expect_refused("--type IQ2_S", 2, "type of weights 'IQ2_S': expected one of ");
  expect_refused("--size 40kB", 4, "budget bytes=40000 cannot be met with these choices: ");
  expect_refused("--bits-per-weight 2", 4, "bits per weight: budget bytes=");
}

/// One grammar of recipes and options serves all networks.
TEST_F(ProgramQuantizeBadModels, TakesRecipesOfOtherNetworks) {
  write_model();
  write_file(path("r.toml"),
             "[default]\nscheme = \"int\"\nweight_bits = 4\n[ends]\nweight_bits = 8\n"
             "[[layer]]\nname = \"*attn_q*\"\nskip = true\n"
             "[[layer]]\nname = \"blk.1.ffn_down.weight\"\nweight_scheme = \"nvfp4\"\n");
  const json by_recipe = quantized("--recipe " + path("r.toml"), "recipe.safetensors");
  EXPECT_EQ(layer(by_recipe, "blk.0.ffn_down.weight")["type"], "int4");
  EXPECT_EQ(layer(by_recipe, "blk.1.ffn_down.weight")["type"], "nvfp4");
  EXPECT_EQ(layer(by_recipe, "token_embd.weight")["type"], "int8");
  const json by_options = quantized(
      "--weight-scheme int --weight-bits 4 --ends 8 "
      "--tensor '*attn_q*=keep' --tensor 'blk.1.ffn_down*=nvfp4'",
      "options.safetensors");
  EXPECT_EQ(read_file(path("recipe.safetensors")), read_file(path("options.safetensors")));
  EXPECT_EQ(layer(quantized("--scheme nf4", "nf4.safetensors"), kQuery)["type"], "nf4");
}

TEST_F(ProgramQuantizeBadModels, NamesOptionsOfOtherNetworks) {
  write_model();
  for (const auto& [options, message] :
       {std::pair{"--activation-bits 8", "activation bits: is of other networks"},
        {"--calibrator kl", "calibrator: is of other networks"},
        {"--weight-bits 4", "expected a number system beside them"},
        {"--type 4x8 --weight-bits 4", "has no effect with a type"},
        {"--type Q4_0 --ends 8", "found the type Q4_0"},
        {"--type 2x8 --full-integer", "--full-integer: only of networks that are no language"},
        {"--type 2x8 --memory 1GB", "--memory: only of networks that are no language models"}}) {
    expect_refused(options, 2, message);
  }
}

TEST_F(ProgramQuantizeBadModels, RefusesTextsThatAreNone) {
  write_model();
  for (const auto& [text, message] :
       {std::pair{"", "expected 64 tokens or more, found 0"},
        {"Too short.", "expected 64 tokens or more, found "},
        {"Not UTF-8: \xFF\xFE", "text: expected UTF-8, found byte 0xff at offset 11"}}) {
    write_file(path("other.txt"), std::string_view(text));
    expect_refused("--type 2x8", std::string(text).size() > 10 ? 3 : 2, message, "other.txt");
    expect_refused("--type 2x8", std::string(text).size() > 10 ? 3 : 2, "other.txt", "other.txt");
  }
  expect_refused("--type 2x8", 3, "no.txt: cannot open", "no.txt");
}

TEST_F(ProgramQuantizeBadModels, WarnsOfTextsThatAreTooShort) {
  write_model();
  write_file(path("fit.txt"), std::string_view("Five samples of thirty-two tokens are few for so "
                                               "wide a matrix. Here is some more of the text."));
  const Outcome outcome = run(command("own.safetensors", "--type 2x8"));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("warning: 96 tokens to fit are fewer than the 256 inputs of "
                                     "blk.0.ffn_down.weight"));
}

TEST_F(ProgramQuantizeBadModels, WritesAllOrNothing) {
  write_model();
  expect_failure(command("none/x.safetensors", "--type 2x8"), 3, "cannot write");
  expect_failure(command("x.safetensors", "--type 2x8 --state " + path("none/state")), 3,
                 "none/state: cannot write");
  expect_failure(command("model.gguf", "--type Q4_0"), 2, "is the file to read ");
  expect_failure(command("x.safetensors", "--type 2x8 --state " + path("./x.safetensors")), 2,
                 "x.safetensors: is the file to write (");
  expect_failure(command("x.safetensors", "--type 2x8 --state " + path("model.gguf")), 2,
                 "is the file to read ");
  std::filesystem::create_directory(path("folder.safetensors"));
  expect_failure(command("folder.safetensors", "--type 2x8"), 3, "not a regular file");
  // A limit on the file size simulates a full disk.
  const Outcome full =
      run(command("x.safetensors", "--type 2x8"), "bash -c 'ulimit -f 16; exec \"$@\"' bash");
  EXPECT_EQ(full.code, 3);
  EXPECT_THAT(full.err, HasSubstr("x.safetensors: cannot write"));
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr("x.safetensors")));
  }
}

}  // namespace
}  // namespace halftone
