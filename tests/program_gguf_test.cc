// SPDX-License-Identifier: Apache-2.0
// Files of language models, as users inspect them.
#include <nlohmann/json.hpp>

#include "halftone/base/file.h"
#include "halftone/data/npy.h"
#include "halftone/formats/gguf/testing.h"
#include "halftone/lm/model/testing.h"
#include "tests/program.h"

namespace halftone {
namespace {

using testing::HasSubstr;

class ProgramGguf : public Program {
 protected:
  /// Writes a file with a tensor of float32 [2, 3] and a block of Q8_0.
  [[nodiscard]] std::string write_gguf() const {
    formats::GgufKeys keys;
    keys.set("general.architecture", "llama").set("general.name", "Tiny");
    keys.set("llama.block_count", std::uint32_t{1});
    ByteWriter block;
    block.little_endian<std::uint16_t>(0x3800);  // 0.5 as binary16
    for (int i = 0; i < 32; ++i) block.little_endian(static_cast<std::int8_t>(i));
    const formats::NewGgufTensor tensors[] = {
        {"output_norm.weight", {2, 3}, formats::gguf_type(0), source_of(lm::counting("", {6}))},
        {"token_embd.weight", {32}, formats::gguf_type(8), source_of(own_bytes(block.bytes()))}};
    formats::write_gguf(path("m.gguf"), keys, tensors);
    return path("m.gguf");
  }
};

TEST_F(ProgramGguf, InspectsKeysAndTensors) {
  const std::string file = write_gguf();
  const Outcome text = run("inspect " + file);
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("llama: Tiny"));
  EXPECT_THAT(text.out, HasSubstr("38 weights, 12.211 bits each with scales"));  // 8 * 58 / 38
  const auto facts = nlohmann::json::parse(run("inspect " + file + " --json").out);
  EXPECT_EQ(facts["format"], "gguf");
  EXPECT_EQ(facts["parameters"], 38);
  EXPECT_EQ(facts["keys"]["llama.block_count"], "1");
  EXPECT_EQ(facts["types"][0]["type"], "Q8_0");
  EXPECT_EQ(facts["tensors"][0]["shape"], nlohmann::json::array({2, 3}));
}

/// A llama of one block, without its tensors.
lm::GgufModel one_block() {
  lm::GgufModel model("llama");
  model.whole("block_count", 1).whole("context_length", 16).whole("embedding_length", 8);
  model.whole("feed_forward_length", 12).whole("attention.head_count", 2).whole("vocab_size", 5);
  model.number("attention.layer_norm_rms_epsilon", 1e-5F);
  return model;
}

TEST_F(ProgramGguf, SaysWhatALanguageModelIsMadeOf) {
  lm::GgufModel model = one_block();
  for (const char* name : {"token_embd", "output"}) {
    model.tensor(lm::counting(std::string(name) + ".weight", {5, 8}));
  }
  for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_output"}) {
    model.tensor(lm::counting("blk.0." + std::string(name) + ".weight", {8, 8}));
  }
  model.tensor(lm::counting("blk.0.ffn_gate.weight", {12, 8}));
  model.tensor(lm::counting("blk.0.ffn_up.weight", {12, 8}));
  model.tensor(lm::counting("blk.0.ffn_down.weight", {8, 12}));
  for (const char* name : {"blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"}) {
    model.tensor(lm::counting(std::string(name) + ".weight", {8}));
  }
  model.tensor(lm::counting("vision.weight", {4}));
  write_file(path("m.gguf"), model.bytes());
  const Outcome text = run("inspect " + path("m.gguf"));
  EXPECT_THAT(text.out, HasSubstr("1 blocks of width 8, 2 heads, feed-forward width 12\n"));
  EXPECT_THAT(text.out, HasSubstr("a cache of float16 takes 32 B per token"));
  EXPECT_THAT(text.out, HasSubstr("\nnot read: vision.weight\n"));
  const auto facts = nlohmann::json::parse(run("inspect " + path("m.gguf") + " --json").out);
  EXPECT_EQ(facts["model"]["vocabulary"], 5);
  EXPECT_EQ(facts["why_not_run"], "");
  EXPECT_EQ(facts["unread_tensors"], nlohmann::json::array({"vision.weight"}));
}

TEST_F(ProgramGguf, EstimatesALanguageModelByTheTypesOfItsTensors) {
  lm::GgufModel model("llama");
  model.whole("block_count", 1).whole("context_length", 16).whole("embedding_length", 32);
  model.whole("feed_forward_length", 64).whole("attention.head_count", 2).whole("vocab_size", 96);
  model.number("attention.layer_norm_rms_epsilon", 1e-5F);
  const formats::GgufType& q8 = *formats::gguf_type("Q8_0");
  const formats::GgufType& q4 = *formats::gguf_type("Q4_0");
  const formats::GgufType& half = *formats::gguf_type("F16");
  model.zeros("token_embd.weight", {96, 32}, q8).zeros("output.weight", {96, 32}, half);
  for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_output"}) {
    model.zeros("blk.0." + std::string(name) + ".weight", {32, 32}, q4);
  }
  model.zeros("blk.0.ffn_gate.weight", {64, 32}, q4).zeros("blk.0.ffn_up.weight", {64, 32}, q8);
  model.zeros("blk.0.ffn_down.weight", {32, 64}, q8);
  for (const char* name : {"blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"}) {
    model.tensor(lm::counting(std::string(name) + ".weight", {32}));
  }
  write_file(path("m.gguf"), model.bytes());
  const std::string command = "estimate " + path("m.gguf") + " --accelerator h100";
  const auto found = nlohmann::json::parse(run(command + " --json").out);
  const auto weights = [&](const std::string& name) {
    for (const auto& layer : found["token"]["layers"]) {
      if (layer["name"] == name) return layer["matrix"]["weights"].get<std::string>();
    }
    return std::string();
  };
  EXPECT_EQ(weights("block 0 qkv"), "int4");
  EXPECT_EQ(weights("block 0 feed-forward up"), "int8");  // the wider one of both matrices
  EXPECT_EQ(weights("head"), "float16");
  // Blocks of 32: 18 bytes of Q4_0, 34 of Q8_0; 64 of F16.
  const double bytes = 96 * (34 + 64) + 4 * 32 * 18 + 64 * (18 + 34) + 32 * 2 * 34;
  EXPECT_EQ(found["token"]["memory_bytes"]["weights"], bytes);
  EXPECT_EQ(found["parameters"], 2 * 96 * 32 + 4 * 32 * 32 + 3 * 32 * 64);
  EXPECT_EQ(run("estimate --llm " + path("m.gguf") + " --accelerator h100").out, run(command).out);
  EXPECT_THAT(run(command).out, HasSubstr("weights 8.41 bits in the file"));
  const Outcome refused = run(command + " --weight-bits 4");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--weight-bits does nothing with a language model in a file"));
}

TEST_F(ProgramGguf, SaysWhyALanguageModelIsNotRun) {
  write_file(path("m.gguf"), one_block().bytes());
  const auto facts = nlohmann::json::parse(run("inspect " + path("m.gguf") + " --json").out);
  EXPECT_EQ(facts["model"]["blocks"], 1);
  EXPECT_THAT(std::string(facts["why_not_run"]), HasSubstr("token_embd.weight"));
}

TEST_F(ProgramGguf, DecodesATensor) {
  const std::string file = write_gguf();
  const Outcome done =
      run("inspect " + file + " --tensor token_embd.weight -o " + path("t.npy") + " --json");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(nlohmann::json::parse(done.out)["type"], "Q8_0");
  const std::vector<float> values = data::read_npy(path("t.npy")).floats();
  ASSERT_EQ(values.size(), 32U);
  EXPECT_EQ(values[31], 15.5F);
}

TEST_F(ProgramGguf, RefusesWhatDoesNotFit) {
  const std::string file = write_gguf();
  const auto expect = [&](int code, const std::string& message, const std::string& arguments) {
    const Outcome outcome = run("inspect " + arguments);
    EXPECT_EQ(outcome.code, code) << arguments;
    EXPECT_THAT(outcome.err, HasSubstr(message));
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  };
  expect(2, "expected a tensor of the file, found 'x'", file + " --tensor x -o " + path("t.npy"));
  expect(2, "holds tensors without a graph", file + " --work");
  expect(2, "expected a GGUF or safetensors file for --tensor",
         kModel + " --tensor x -o " + path("t.npy"));
  expect(3, "halftone: none.gguf: cannot open", "none.gguf");
  std::filesystem::resize_file(file, 250);
  expect(3, "is the file whole?", file);
}

TEST_F(ProgramGguf, InspectsSafetensorsToo) {
  ByteWriter numbers;
  for (const int bits : {0x3F80, 0xC000}) {  // 1, -2
    numbers.little_endian(static_cast<std::uint16_t>(bits));
  }
  const formats::NewSafetensorsTensor tensor = {
      "w", formats::SafetensorsType::kBF16, {2}, source_of(own_bytes(numbers.bytes()))};
  formats::write_safetensors(path("m.safetensors"), {}, {&tensor, 1});
  const auto facts = nlohmann::json::parse(run("inspect " + path("m.safetensors") + " --json").out);
  EXPECT_EQ(facts["format"], "safetensors");
  EXPECT_EQ(facts["bits_per_weight"], 16);
  EXPECT_EQ(run("inspect " + path("m.safetensors") + " --tensor w -o " + path("w.npy")).code, 0);
  EXPECT_THAT(data::read_npy(path("w.npy")).floats(), testing::ElementsAre(1, -2));
}

}  // namespace
}  // namespace halftone
