// SPDX-License-Identifier: Apache-2.0
// GGUF files of quantized language models that are tuned, as users do it.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "halftone/base/file.h"
#include "halftone/formats/gguf/block_layout.h"
#include "halftone/formats/gguf/gguf_file.h"
#include "halftone/lm/model/testing.h"
#include "tests/program.h"
#include "tests/tiny_gguf_model.h"

namespace halftone {
namespace {

using formats::GgufFile;
using formats::GgufTensor;
using nlohmann::json;
using testing::HasSubstr;

/// On a GGUF file of two blocks of random weights, whose rows hold all types.
class ProgramDistillGguf : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
#ifndef HALFTONE_TRAINS
    GTEST_SKIP() << "built without libtorch";
#endif
    std::string text;
    for (int i = 0; text.size() < 3000; ++i) {
      text += "The number " + std::to_string(i * i) + " is a square. ";
    }
    write_file(path("fit.txt"), text);
    write_teacher();
  }
  /// @param experts  of each block; 0: none
  void write_teacher(std::size_t experts = 0) const {
    const lm::Description d = lm::small_description("llama", {.width = 256,
                                                              .inner = 256,
                                                              .heads = 4,
                                                              .kv_heads = 2,
                                                              .head_width = 64,
                                                              .vocabulary = 257,
                                                              .experts = experts});
    std::vector<formats::NewGgufTensor> tensors;
    Random random(1);
    for (lm::NamedTensor& tensor : lm::small_tensors(d)) {
      const bool is_gain = tensor.shape.size() == 1;
      for (float& value : tensor.values) {
        value = is_gain ? 1 : static_cast<float>(random.uniform() - 0.5) * 0.2F;
      }
      tensors.push_back({tensor.name, tensor.shape, formats::gguf_type(0), lm::source_of(tensor)});
    }
    formats::write_gguf(path("model.gguf"), tiny_llama_keys(d), tensors);
  }
  void quantize(const std::string& output, const std::string& options) const {
    const Outcome outcome =
        run("quantize " + path("model.gguf") + " -o " + path(output) + " --text " +
            path("fit.txt") + " --sample-tokens 32 --samples 8 --held-out 0 " + options);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  [[nodiscard]] Outcome distill(const std::string& student, const std::string& output,
                                const std::string& options) const {
    return run("distill --teacher " + path("model.gguf") + " --student " + path(student) + " -o " +
               path(output) + " --text " + path("fit.txt") +
               " --sample-tokens 32 --held-out 4 --batch 2 " + options);
  }
  [[nodiscard]] json distilled(const std::string& student, const std::string& output,
                               const std::string& options) const {
    const Outcome outcome = distill(student, output, options + " --json");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.code == 0 ? json::parse(outcome.out) : json();
  }
};

/// Every type that `quantize` writes, in one file.
const std::string kMixture =
    "--type Q2_K --table-type Q8_0 --tensor 'blk.0.attn_q*=Q4_0' --tensor 'blk.0.attn_k*=Q4_1' "
    "--tensor 'blk.0.attn_v*=Q5_0' --tensor 'blk.0.attn_output*=Q5_1' "
    "--tensor 'blk.0.ffn_gate*=Q3_K' --tensor 'blk.0.ffn_up*=Q4_K' "
    "--tensor 'blk.1.attn_q*=Q5_K' --tensor 'blk.1.attn_k*=Q6_K' --tensor 'blk.1.attn_v*=IQ4_NL' "
    "--tensor 'blk.1.attn_output*=TQ2_0' --tensor 'blk.1.ffn_gate*=Q1_0' "
    "--tensor 'blk.1.ffn_up*=Q2_0' --tensor 'blk.1.ffn_down*=keep' ";

/// Bytes of a tensor that differ, outside the float16 numbers of its blocks.
std::size_t changed_codes(const GgufTensor& before, const GgufTensor& after) {
  const std::span<const std::size_t> halves = formats::halves_of(*before.type);
  std::size_t count = 0;
  for (std::size_t i = 0; i < before.bytes.bytes.size(); ++i) {
    if (before.bytes.bytes[i] == after.bytes.bytes[i]) continue;
    const std::size_t at = i % before.type->block_bytes;
    if (std::ranges::none_of(halves, [&](std::size_t h) { return at == h || at == h + 1; })) {
      ++count;
    }
  }
  return count;
}

TEST_F(ProgramDistillGguf, MakesAMixtureOfTypesBetter) {
  quantize("student.gguf", kMixture);
  const json report = distilled("student.gguf", "tuned.gguf", "--steps 80");
  EXPECT_LT(report["held_out"]["kl_divergence"].get<double>(),
            0.95 * report["held_out"]["kl_divergence_before"].get<double>());
  EXPECT_EQ(report["bases"], json::array());
  EXPECT_EQ(report["gains"], (2 * 2 + 1) * 256);
  EXPECT_EQ(report["output_bytes"], report["input_bytes"]);
  // Only factors and gains are others.
  const GgufFile before = GgufFile::open(path("student.gguf"));
  const GgufFile after = GgufFile::open(path("tuned.gguf"));
  ASSERT_EQ(after.tensors().size(), before.tensors().size());
  EXPECT_EQ(after.file_bytes(), before.file_bytes());
  std::set<std::string_view> types;
  std::size_t num_factors = 0;
  for (std::size_t i = 0; i < before.tensors().size(); ++i) {
    const GgufTensor& old = before.tensors()[i];
    const GgufTensor& tuned = after.tensors()[i];
    EXPECT_EQ(tuned.name, old.name);
    EXPECT_EQ(tuned.shape, old.shape);
    EXPECT_EQ(tuned.type, old.type);
    types.insert(old.type->name);
    const bool is_same = std::ranges::equal(tuned.bytes.bytes, old.bytes.bytes);
    EXPECT_EQ(is_same, old.name == "blk.1.ffn_down.weight") << old.name;
    if (old.shape.size() == 1) continue;
    EXPECT_EQ(changed_codes(old, tuned), 0U) << old.name;
    num_factors += formats::halves_of(*old.type).size() * old.num_elements() / old.type->block;
  }
  EXPECT_EQ(types.size(), 15U);  // 14 types and float32
  EXPECT_EQ(report["scales"], num_factors);
  const auto head = [](const GgufFile& file) {  // keys, as the file stores them
    std::vector<std::byte> bytes;
    for (const formats::GgufStoredKey& key : file.stored_keys()) {
      bytes.insert(bytes.end(), key.value.begin(), key.value.end());
    }
    return bytes;
  };
  EXPECT_EQ(head(after), head(before));
  // The file has the numbers of the last state: their divergence is the same, bit for bit.
  const json again = distilled("tuned.gguf", "again.gguf", "--steps 1");
  EXPECT_EQ(again["held_out"]["kl_divergence_before"], report["held_out"]["kl_divergence"]);
  EXPECT_EQ(run("generate " + path("tuned.gguf") + " -p 'The number' -n 4 -q").code, 0);
}

TEST_F(ProgramDistillGguf, TunesExperts) {
  write_teacher(4);
  quantize("student.gguf", "--type Q3_K --table-type keep");
  const json report = distilled("student.gguf", "tuned.gguf", "--steps 6");
  EXPECT_LT(report["held_out"]["kl_divergence"].get<double>(),
            report["held_out"]["kl_divergence_before"].get<double>());
  const GgufFile before = GgufFile::open(path("student.gguf"));
  const GgufFile after = GgufFile::open(path("tuned.gguf"));
  const GgufTensor* const old = before.tensor("blk.1.ffn_down_exps.weight");
  const GgufTensor* const tuned = after.tensor("blk.1.ffn_down_exps.weight");
  ASSERT_NE(old, nullptr);
  ASSERT_NE(tuned, nullptr);
  EXPECT_EQ(changed_codes(*old, *tuned), 0U);
  EXPECT_FALSE(std::ranges::equal(old->bytes.bytes, tuned->bytes.bytes));
  const json again = distilled("tuned.gguf", "again.gguf", "--steps 1");
  EXPECT_EQ(again["held_out"]["kl_divergence_before"], report["held_out"]["kl_divergence"]);
}

TEST_F(ProgramDistillGguf, HasTheSameBytesForAllThreadsAndGoesOn) {
  quantize("student.gguf", "--type Q4_1 --table-type keep");
  (void)distilled("student.gguf", "a.gguf", "--steps 5 --threads 1");
  (void)distilled("student.gguf", "b.gguf", "--steps 5 --threads 2");
  EXPECT_EQ(read_file(path("a.gguf")), read_file(path("b.gguf")));
  const std::string kept = "--steps 5 --state " + path("run.state");
  // No step: the student's own bytes.
  (void)distilled("student.gguf", "c.gguf", kept + " --minutes 0.000001");
  EXPECT_EQ(read_file(path("c.gguf")), read_file(path("student.gguf")));
  (void)distilled("student.gguf", "c.gguf", kept);
  EXPECT_EQ(read_file(path("a.gguf")), read_file(path("c.gguf")));
}

TEST_F(ProgramDistillGguf, RefusesWhatHasNothingToTune) {
  const auto expect = [&](const std::string& student, const std::string& output, int code,
                          const std::string& message) {
    const Outcome outcome = distill(student, output, "--steps 1");
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(message));
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1);
    EXPECT_FALSE(std::filesystem::exists(path(output)));
  };
  expect("model.gguf", "x.gguf", 4, "no matrix has scales that can be tuned");
  expect("model.gguf", "x.safetensors", 2, "expected NAME.gguf, as the student");
  write_file(path("broken.gguf"), std::string_view("GGUF"));
  expect("broken.gguf", "x.gguf", 3, "broken.gguf");
}

}  // namespace
}  // namespace halftone
