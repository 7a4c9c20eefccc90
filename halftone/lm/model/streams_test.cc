// SPDX-License-Identifier: Apache-2.0
// Gemma 3n: streams, matrices past attention and sparse gates. tests/language_models_test.py
// compares its logits with those of transformers. Keys and numbers are those of published models.
#include <gmock/gmock.h>

#include <cmath>

#include "halftone/base/testing.h"
#include "halftone/ir/evaluate_graph.h"
#include "halftone/lm/model/build.h"
#include "halftone/lm/model/description_json.h"
#include "halftone/lm/model/gguf_keys.h"
#include "halftone/lm/model/hf_config.h"
#include "halftone/lm/model/new_gguf.h"
#include "halftone/lm/model/testing.h"

namespace halftone::lm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kE2b = R"({"architectures": ["Gemma3nForConditionalGeneration"],
  "audio_config": {"hidden_size": 1536}, "model_type": "gemma3n", "text_config": {
  "activation_sparsity_pattern": [0.95, 0.95, 0.95, 0.95, 0.95, 0.95, 0.95, 0.95, 0.95, 0.95,
  0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
  0.0], "altup_active_idx": 0, "altup_coef_clip": 120.0, "altup_correct_scale": true,
  "altup_num_inputs": 4, "final_logit_softcapping": 30.0, "head_dim": 256, "hidden_size": 2048,
  "hidden_size_per_layer_input": 256, "intermediate_size": [8192, 8192, 8192, 8192, 8192, 8192,
  8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192,
  8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192], "laurel_rank": 64,
  "max_position_embeddings": 32768, "model_type": "gemma3n_text", "num_attention_heads": 8,
  "num_hidden_layers": 30, "num_key_value_heads": 2, "num_kv_shared_layers": 10,
  "query_pre_attn_scalar": 256, "rms_norm_eps": 1e-06, "rope_local_base_freq": 10000.0,
  "rope_scaling": null, "rope_theta": 1000000.0, "sliding_window": 512, "vocab_size": 262400,
  "vocab_size_per_layer_input": 262144}, "vision_config": {"hidden_size": 2048}})";

/// The text with a part replaced, which must be there.
std::string e2b_with(const std::string& part, const std::string& other) {
  std::string text(kE2b);
  const auto at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.replace(at, part.size(), other);
}

TEST(Streams, OfPublishedFolders) {
  const Description d = describe_config(kE2b, "config.json");
  EXPECT_EQ(d.architecture, "gemma3n");
  EXPECT_EQ(d.streams, 4U);
  EXPECT_TRUE(d.scales_first_stream);
  EXPECT_EQ(d.bypass_rank, 64U);
  EXPECT_EQ(d.inner, 8192U);
  EXPECT_THAT(d.inners, testing::IsEmpty());
  EXPECT_EQ(d.block_input_rows, 262144U);
  EXPECT_EQ(d.sharing_blocks, 10U);
  EXPECT_EQ(d.key_block(20), 18U);
  EXPECT_EQ(d.key_block(24), 19U);
  EXPECT_TRUE(d.is_windowed(3) && !d.is_windowed(4));
  EXPECT_EQ(d.score_scale, 1);
  EXPECT_EQ(d.norm_offset, 0);
  EXPECT_EQ(d.rotary.base, 1e6);
  EXPECT_EQ(d.window_rotary.base, 1e4);
  ASSERT_EQ(d.gate_cutoffs.size(), 30U);
  EXPECT_NEAR(d.gate_cutoffs[9], 1.6448536269514722, 1e-6);  // of float32(0.95)
  EXPECT_FALSE(d.has_cutoff(10));
  EXPECT_EQ(shape_of(d, {.role = WeightRole::kBlockInputTable}),
            (std::vector<std::size_t>{262144, 30 * 256}));
  EXPECT_EQ(description_from_json(description_to_json(d)), d);
}

TEST(Streams, HaveTheDefaultsOfTransformers) {
  const Description d = describe_config(R"({"model_type": "gemma3n_text"})", "c");
  EXPECT_EQ(d.blocks, 35U);
  EXPECT_EQ(d.inner, 16384U);
  EXPECT_EQ(d.sharing_blocks, 15U);
  EXPECT_TRUE(d.has_cutoff(9) && !d.has_cutoff(10));
  const Description few = describe_config(R"({"model_type": "gemma3n_text", "num_hidden_layers": 10,
                          "num_kv_shared_layers": 0})",
                                          "c");
  EXPECT_THAT(few.gate_cutoffs, testing::IsEmpty());
}

TEST(Streams, MayHaveBlocksOfSeveralWidths) {
  const Description d = describe_config(e2b_with("[8192, 8192", "[4096, 8192"), "c");
  EXPECT_EQ(d.inners.size(), 30U);
  EXPECT_EQ(shape_of(d, {.role = WeightRole::kDown, .block = 0}),
            (std::vector<std::size_t>{2048, 4096}));
  EXPECT_EQ(shape_of(d, {.role = WeightRole::kUp, .block = 29}),
            (std::vector<std::size_t>{8192, 2048}));
}

TEST(Streams, OfConfigsAreRefusedByName) {
  const auto refuse = [](const std::string& part, const std::string& other,
                         const std::string& message, ErrorKind kind) {
    expect_error(kind, "c: " + message, [&] { describe_config(e2b_with(part, other), "c"); });
  };
  refuse(R"("altup_active_idx": 0)", R"("altup_active_idx": 1)", "'altup_active_idx': blocks that",
         ErrorKind::kUnsupported);
  refuse(R"("altup_num_inputs": 4)", R"("altup_num_inputs": 1)",
         "'altup_num_inputs': expected 2 or more", ErrorKind::kFormat);
  refuse("[0.95, 0.95", "[0.95", "'activation_sparsity_pattern': expected one entry for each of 30",
         ErrorKind::kFormat);
  refuse("[0.95, 0.95", "[1.0, 0.95", "'activation_sparsity_pattern': expected shares below 1",
         ErrorKind::kFormat);
  refuse("[8192, 8192", "[8192.5, 8192", "'intermediate_size': expected whole numbers",
         ErrorKind::kFormat);
  refuse(R"("laurel_rank": 64)", R"("laurel_rank": 0)", "'laurel_rank': expected a number above 0",
         ErrorKind::kFormat);
  refuse(R"("vocab_size_per_layer_input": 262144)", R"("vocab_size_per_layer_input": 262401)",
         "'vocab_size_per_layer_input': expected 262400", ErrorKind::kUnsupported);
  expect_error(ErrorKind::kUnsupported, "c: 'laurel_rank': transformers does not read it",
               [] { describe_config(R"({"model_type": "llama", "laurel_rank": 64})", "c"); });
}

/// The keys that files have of llama.cpp's converter, but for those of streams.
GgufModel e2b_file() {
  GgufModel file("gemma3n");
  file.whole("block_count", 30).whole("context_length", 32768).whole("embedding_length", 2048);
  file.whole("attention.head_count", 8).whole("attention.head_count_kv", 2);
  file.whole("attention.key_length", 256).whole("attention.value_length", 256);
  file.whole("attention.sliding_window", 512).whole("vocab_size", 262400);
  file.number("attention.layer_norm_rms_epsilon", 1e-6F).number("rope.freq_base", 1e6F);
  file.tensor({"blk.0.laurel_l.weight", {64, 1}, std::vector<float>(64)});
  return file.set("feed_forward_length", std::vector<std::uint32_t>(30, 8192));
}

TEST(Streams, OfGgufFiles) {
  std::vector<float> cutoffs(30, -INFINITY);
  cutoffs[3] = 1.5F;
  const Description d = describe_gguf(e2b_file()
                                          .whole("altup.num_inputs", 3)
                                          .whole("embedding_length_per_layer_input", 128)
                                          .whole("attention.shared_kv_layers", 5)
                                          .set("activation_sparsity_scale", cutoffs)
                                          .file());
  EXPECT_EQ(d.streams, 3U);
  EXPECT_EQ(d.block_input_width, 128U);
  EXPECT_EQ(d.sharing_blocks, 5U);
  EXPECT_EQ(d.bypass_rank, 64U);
  EXPECT_EQ(d.gate_cutoffs.at(3), 1.5);
  EXPECT_FALSE(d.has_cutoff(2));
  EXPECT_TRUE(d.is_windowed(3) && !d.is_windowed(4));
}

/// What llama.cpp computes of files without these keys.
TEST(Streams, OfGgufFilesHaveTheDefaultsOfLlamaCpp) {
  const Description d = describe_gguf(e2b_file().file());
  EXPECT_EQ(d.streams, 4U);
  EXPECT_EQ(d.block_input_width, 256U);
  EXPECT_EQ(d.sharing_blocks, 10U);
  EXPECT_TRUE(d.has_cutoff(9) && !d.has_cutoff(10));
}

TEST(Streams, OfGgufFilesAreRefusedByName) {
  expect_error(ErrorKind::kUnsupported, "key 'gemma3n.altup.active_idx': blocks that",
               [] { describe_gguf(e2b_file().whole("altup.active_idx", 1).file()); });
  expect_error(ErrorKind::kFormat, "key 'gemma3n.altup.num_inputs': expected 2 or more",
               [] { describe_gguf(e2b_file().whole("altup.num_inputs", 1).file()); });
  expect_error(
      ErrorKind::kFormat,
      "key 'gemma3n.activation_sparsity_scale': expected one number for each of 30 blocks,"
      " found 2",
      [] {
        describe_gguf(
            e2b_file().set("activation_sparsity_scale", std::vector<float>{1.5F, 1.5F}).file());
      });
  expect_error(ErrorKind::kFormat, "tensor 'blk.0.laurel_l.weight': is missing", [] {
    GgufModel file("gemma3n");
    file.whole("block_count", 1).whole("context_length", 9).whole("embedding_length", 8);
    file.whole("attention.head_count", 1).number("attention.layer_norm_rms_epsilon", 1e-6F);
    describe_gguf(file.whole("feed_forward_length", 8).file());
  });
}

TEST(Streams, ThatDoNotFitAreRefused) {
  const auto expect = [](const std::string& message, const auto& change) {
    Description d = stream_description();
    change(d);
    expect_error(ErrorKind::kFormat, "gemma3n: " + message, [&] { check(d); });
  };
  expect("streams: expected 1 to 64, found 65", [](Description& d) { d.streams = 65; });
  expect("streams: expected blocks with a network behind attention",
         [](Description& d) { d.is_parallel = true; });
  expect("feed-forward widths: expected one entry for each of 4 blocks, found 1",
         [](Description& d) { d.inners = {9}; });
  expect("feed-forward widths: expected no others", [](Description& d) { d.sharing_inner = 9; });
  expect("cutoffs of gates: expected one entry for each of 4 blocks, found 1",
         [](Description& d) { d.gate_cutoffs = {1}; });
  expect("cutoff of gates: expected a number above",
         [](Description& d) { d.gate_cutoffs[2] = NAN; });
  expect("cutoffs of gates: expected networks with a gate",
         [](Description& d) { d.is_gated = false; });
  expect("rows of the embedding of blocks: expected 1 to 11, found 12",
         [](Description& d) { d.block_input_rows = 12; });
}

TEST(Streams, AreSaidByNewGgufFiles) {
  Description d = stream_description();
  d.block_input_rows = 7;
  d.scales_first_stream = false;
  std::vector<formats::NewGgufTensor> tensors = new_gguf_unread(d);
  ASSERT_EQ(tensors.size(), 6U);
  EXPECT_EQ(tensors[0].name, "blk.2.attn_k.weight");
  EXPECT_EQ(tensors[5].name, "blk.3.attn_k_norm.weight");
  for (const NewGgufPlace& place : new_gguf_places(d)) {
    if (place.name == "altup_proj.weight") {
      EXPECT_THAT(place.shape, ElementsAre(2, 8, 8));
    } else if (place.name == "per_layer_token_embd.weight") {
      EXPECT_THAT(place.shape, ElementsAre(11, 12));
    }
    tensors.push_back({place.name, place.shape, &formats::gguf_float32(),
                       source_of(counting(place.name, place.shape))});
  }
  const formats::GgufFile file = formats::gguf_of(new_gguf_keys(d, "tiny"), tensors);
  const Description read = describe_gguf(file);
  EXPECT_EQ(read, described_by_gguf(d));
  EXPECT_EQ(read.block_input_rows, 0U);
  EXPECT_TRUE(read.scales_first_stream);
  EXPECT_TRUE(Weights(read, file).unused().empty());
  EXPECT_THAT(new_gguf_rows(d, {.role = WeightRole::kBlockInputTable}),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 0, 0, 0, 0));
}

TEST(Streams, OfOtherSizesThanThePublishedAreWarnedOf) {
  EXPECT_EQ(new_gguf_warning(describe_config(kE2b, "c")), "");
  EXPECT_THAT(new_gguf_warning(
                  describe_config(e2b_with(R"("laurel_rank": 64)", R"("laurel_rank": 32)"), "c")),
              HasSubstr("it does not compute what this model does"));
  EXPECT_THAT(new_gguf_warning(stream_description()), HasSubstr("llama.cpp knows gemma3n with 4"));
}

std::vector<float> rows_of_samples(const Description& d, const Weights& weights) {
  const std::vector<std::int32_t> ids = {1, 5, 9, 2, 7, 0};
  std::vector<ir::Tensor> inputs;
  inputs.push_back(ir::Tensor::from<std::int32_t>({1, 6}, ids));
  const DecoderGraphs graphs = build_samples(d, weights, ids.size());
  const ir::Tensor rows = ir::evaluate_graph(graphs.body, inputs)[0].clone();
  return {rows.as<float>().begin(), rows.as<float>().end()};
}

/// Streams that all begin and end as the first, without coefficients and inputs of blocks, are all
/// what blocks of one stream give.
TEST(Streams, WithoutCoefficientsAreOne) {
  Description d = stream_description();
  d.block_input_width = 0;
  std::vector<NamedTensor> tensors = small_tensors(d);
  for (NamedTensor& tensor : tensors) {
    const bool is_matrix =
        tensor.name == "altup_proj.weight" || tensor.name == "altup_unembd_proj.weight";
    for (std::size_t i = 0; i < tensor.values.size() && is_matrix; ++i) {
      tensor.values[i] = i % 64 / 8 == i % 8 ? 3 : 0;  // any length
    }
    if (tensor.name.ends_with("_coef.weight")) std::ranges::fill(tensor.values, 0.0F);
  }
  const std::vector<float> several = rows_of_samples(d, weights_of(d, tensors));
  d.streams = 1;
  std::erase_if(tensors, [](const NamedTensor& t) { return t.name.find("altup") != t.name.npos; });
  const std::vector<float> one = rows_of_samples(d, weights_of(d, tensors));
  ASSERT_EQ(several.size(), one.size());
  // Each stream is a product, a ratio and sums of four blocks: some ten roundings each.
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_NEAR(several[i], one[i], 40 * 0x1p-23 * std::max(1.0F, std::abs(one[i]))) << i;
  }
}

/// Tokens 9 and 7 of the sample are behind the table.
TEST(Streams, TakeRowZeroForTokensBehindTheTable) {
  Description d = stream_description();
  const Weights all = small_weights(d);
  std::vector<NamedTensor> tensors = small_tensors(d);
  NamedTensor& table =
      *std::ranges::find(tensors, "per_layer_token_embd.weight", &NamedTensor::name);
  const std::size_t width = table.shape[1];
  for (const std::size_t row : {7U, 8U, 9U, 10U}) {
    std::copy_n(table.values.begin(), width,
                table.values.begin() + static_cast<std::ptrdiff_t>(row * width));
  }
  const std::vector<float> expected = rows_of_samples(d, weights_of(d, tensors));
  d.block_input_rows = 7;
  table.shape[0] = 7;
  table.values.resize(7 * width);
  EXPECT_EQ(rows_of_samples(d, weights_of(d, tensors)), expected);
  EXPECT_NE(rows_of_samples(stream_description(), all), expected);
}

TEST(Streams, CutoffsCloseGates) {
  Description d = stream_description();
  const std::vector<float> some = rows_of_samples(d, small_weights(d));
  d.gate_cutoffs.assign(4, Description::kNoCutoff);
  const std::vector<float> none = rows_of_samples(d, small_weights(d));
  d.gate_cutoffs.clear();
  EXPECT_EQ(rows_of_samples(d, small_weights(d)), none);
  EXPECT_NE(some, none);
  // Nothing is so far above a mean: all gates are closed.
  d.gate_cutoffs.assign(4, 1e6);
  std::vector<NamedTensor> tensors = small_tensors(d);
  const std::vector<float> closed = rows_of_samples(d, weights_of(d, tensors));
  for (NamedTensor& tensor : tensors) {
    if (tensor.name.ends_with("ffn_up.weight")) std::ranges::fill(tensor.values, 0.0F);
  }
  EXPECT_EQ(rows_of_samples(d, weights_of(d, tensors)), closed);
}

}  // namespace
}  // namespace halftone::lm
