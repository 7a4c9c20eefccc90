// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/weights.h"

#include "halftone/base/file.h"
#include "halftone/base/testing.h"
#include "halftone/lm/model/gguf_keys.h"
#include "halftone/lm/model/open_model.h"
#include "halftone/lm/model/testing.h"

namespace halftone::lm {
namespace {

using formats::SafetensorsFile;
using testing::ElementsAre;

/// One block of small extents; only what a test needs is set.
Description one_block() {
  Description d;
  d.architecture = "llama";
  d.blocks = 1;
  d.width = 2;
  d.vocabulary = 3;
  d.context = 4;
  d.heads = 2;
  d.kv_heads = d.head_width = d.value_width = 1;
  d.inner = 3;
  d.ties_embeddings = true;
  return d;
}

/// Tensors by the names of llama's GGUF files, except those named.
std::vector<NamedTensor> tensors_without(const std::vector<std::string>& names) {
  std::vector<NamedTensor> all = {
      counting("token_embd.weight", {3, 2}),         counting("output_norm.weight", {2}),
      counting("blk.0.attn_norm.weight", {2}),       counting("blk.0.attn_q.weight", {2, 2}, 10),
      counting("blk.0.attn_k.weight", {1, 2}, 20),   counting("blk.0.attn_v.weight", {1, 2}, 30),
      counting("blk.0.attn_output.weight", {2, 2}),  counting("blk.0.ffn_norm.weight", {2}),
      counting("blk.0.ffn_gate.weight", {3, 2}, 40), counting("blk.0.ffn_up.weight", {3, 2}, 50),
      counting("blk.0.ffn_down.weight", {2, 3}, 60)};
  std::erase_if(all, [&](const NamedTensor& tensor) {
    return std::ranges::find(names, tensor.name) != names.end();
  });
  return all;
}

formats::GgufFile gguf_of(const std::vector<NamedTensor>& tensors) {
  GgufModel model("llama");
  for (const NamedTensor& tensor : tensors) model.tensor(tensor);
  return model.file();
}

SafetensorsFile safetensors_of(const std::vector<NamedTensor>& tensors) {
  return SafetensorsFile::parse(own_bytes(safetensors_bytes(tensors)));
}

TEST(Weights, AreViewsOfTheFile) {
  const auto file = gguf_of(tensors_without({}));
  const Weights weights(one_block(), file);
  const Weight& up = weights.at({.role = WeightRole::kUp});
  EXPECT_EQ(up.name, "blk.0.ffn_up.weight");
  EXPECT_THAT(up.shape, ElementsAre(3, 2));
  EXPECT_EQ(std::get<numerics::SharedBlockEncoding>(up.type)->name, "F32");
  EXPECT_EQ(up.bytes.bytes.data(), file.tensor("blk.0.ffn_up.weight")->bytes.bytes.data());
  EXPECT_THAT(up.decode(), ElementsAre(50, 51, 52, 53, 54, 55));
  std::vector<float> rows(4);
  up.decode(1, rows);
  EXPECT_THAT(rows, ElementsAre(52, 53, 54, 55));
  EXPECT_EQ(&weights.at({.role = WeightRole::kHead}),
            &weights.at({.role = WeightRole::kTokenEmbedding}));
  EXPECT_EQ(weights.at({.role = WeightRole::kFinalNorm}).outputs(), 1U);
  EXPECT_EQ(weights.at({.role = WeightRole::kFinalNorm}).inputs(), 2U);
  EXPECT_THAT(weights.unused(), testing::IsEmpty());
}

TEST(Weights, ListUnusedTensors) {
  auto tensors = tensors_without({});
  tensors.push_back(counting("rope_freqs.weight", {1}));
  tensors.push_back(counting("vision.blk.0.other", {3}));
  tensors.push_back(counting("blk.0.attn_rot_embd.weight", {1}));
  const Weights weights(one_block(), gguf_of(tensors));
  EXPECT_THAT(weights.unused(), ElementsAre("vision.blk.0.other", "blk.0.attn_rot_embd.weight"));
}

TEST(Weights, RefuseBlocksWithMoreThanIsRead) {
  auto tensors = tensors_without({});
  tensors.push_back(counting("blk.0.attn_sinks.weight", {2}));
  expect_error(ErrorKind::kUnsupported,
               "tensor 'blk.0.attn_sinks.weight': the blocks of llama that are described here do "
               "not read it",
               [&] { Weights(one_block(), gguf_of(tensors)); });
}

TEST(Weights, RefuseBlocksThatTheKeysLeaveOut) {
  auto tensors = tensors_without({});
  tensors.push_back(counting("blk.1.ffn_up.weight", {3, 2}));
  expect_error(ErrorKind::kUnsupported,
               "tensor 'blk.1.ffn_up.weight': is of block 1, but 'block_count' says 1 blocks",
               [&] { Weights(one_block(), gguf_of(tensors)); });
}

TEST(Weights, SplitFusedTensors) {
  auto tensors =
      tensors_without({"blk.0.attn_q.weight", "blk.0.attn_k.weight", "blk.0.attn_v.weight",
                       "blk.0.ffn_gate.weight", "blk.0.ffn_up.weight"});
  tensors.push_back(counting("blk.0.attn_qkv.weight", {4, 2}));
  tensors.push_back(counting("blk.0.attn_qkv.bias", {4}));
  tensors.push_back(counting("blk.0.ffn_up.weight", {6, 2}));
  Description d = one_block();
  d.has_qkv_bias = true;
  const Weights weights(d, gguf_of(tensors));
  EXPECT_THAT(weights.at({.role = WeightRole::kQuery}).decode(), ElementsAre(0, 1, 2, 3));
  const Weight& value = weights.at({.role = WeightRole::kValue});
  EXPECT_EQ(value.name, "blk.0.attn_qkv.weight[3:4]");
  EXPECT_THAT(value.decode(), ElementsAre(6, 7));
  EXPECT_THAT(weights.at({.role = WeightRole::kKey, .part = Part::kBias}).decode(), ElementsAre(2));
  EXPECT_THAT(weights.at({.role = WeightRole::kGate}).decode(), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(weights.at({.role = WeightRole::kUp}).decode(), ElementsAre(6, 7, 8, 9, 10, 11));
}

/// Tensors of Hugging Face's gpt2 with one block.
std::vector<NamedTensor> gpt2_tensors(const std::string& prefix) {
  std::vector<NamedTensor> tensors = {counting("wte.weight", {3, 2}),
                                      counting("wpe.weight", {4, 2}),
                                      counting("ln_f.weight", {2}),
                                      counting("ln_f.bias", {2}),
                                      counting("h.0.ln_1.weight", {2}),
                                      counting("h.0.ln_1.bias", {2}),
                                      counting("h.0.ln_2.weight", {2}),
                                      counting("h.0.ln_2.bias", {2}),
                                      counting("h.0.attn.c_attn.weight", {2, 4}),
                                      counting("h.0.attn.c_attn.bias", {4}),
                                      counting("h.0.attn.c_proj.weight", {2, 2}),
                                      counting("h.0.attn.c_proj.bias", {2}),
                                      counting("h.0.mlp.c_fc.weight", {2, 3}),
                                      counting("h.0.mlp.c_fc.bias", {3}),
                                      counting("h.0.mlp.c_proj.weight", {3, 2}),
                                      counting("h.0.mlp.c_proj.bias", {2})};
  for (NamedTensor& tensor : tensors) tensor.name = prefix + tensor.name;
  return tensors;
}

TEST(Weights, TransposeMatricesOfGpt2) {
  Description d = one_block();
  d.architecture = "gpt2";
  d.norm = Norm::kLayer;
  d.positions = Positions::kLearned;
  d.has_qkv_bias = d.has_output_bias = d.has_ffn_bias = true;
  d.is_gated = false;
  for (const std::string prefix : {"", "transformer."}) {
    const Weights weights(d, safetensors_of(gpt2_tensors(prefix)));
    EXPECT_EQ(weights.at({.role = WeightRole::kKey}).name, prefix + "h.0.attn.c_attn.weight[2:3]");
    // [2, 4]: 0 1 2 3, 4 5 6 7.
    EXPECT_THAT(weights.at({.role = WeightRole::kQuery}).decode(), ElementsAre(0, 4, 1, 5));
    EXPECT_THAT(weights.at({.role = WeightRole::kValue}).decode(), ElementsAre(3, 7));
    EXPECT_THAT(weights.at({.role = WeightRole::kUp}).decode(), ElementsAre(0, 3, 1, 4, 2, 5));
    std::vector<float> row(2);
    weights.at({.role = WeightRole::kUp}).decode(2, row);
    EXPECT_THAT(row, ElementsAre(2, 5));
    EXPECT_THAT(weights.at({.role = WeightRole::kValue, .part = Part::kBias}).decode(),
                ElementsAre(3));
    EXPECT_THAT(weights.unused(), testing::IsEmpty());
  }
}

TEST(Weights, ExpertsAreMatrices) {
  Description d = one_block();
  d.experts = d.active_experts = 2;
  d.shared_inner = 1;
  d.has_shared_gate = true;
  auto tensors =
      tensors_without({"blk.0.ffn_gate.weight", "blk.0.ffn_up.weight", "blk.0.ffn_down.weight"});
  tensors.push_back(counting("blk.0.ffn_gate_inp.weight", {2, 2}));
  tensors.push_back(counting("blk.0.ffn_gate_exps.weight", {2, 3, 2}));
  tensors.push_back(counting("blk.0.ffn_up_exps.weight", {2, 3, 2}, 20));
  for (const char* name : {"blk.0.ffn_down.0.weight", "blk.0.ffn_down.1.weight"}) {
    tensors.push_back(counting(name, {2, 3}, 40));
  }
  tensors.push_back(counting("blk.0.ffn_gate_shexp.weight", {1, 2}));
  tensors.push_back(counting("blk.0.ffn_up_shexp.weight", {1, 2}));
  tensors.push_back(counting("blk.0.ffn_down_shexp.weight", {2, 1}));
  tensors.push_back(counting("blk.0.ffn_gate_inp_shexp.weight", {2}));
  const Weights weights(d, gguf_of(tensors));
  const Weight& up = weights.at({.role = WeightRole::kExpertUp, .expert = 1});
  EXPECT_EQ(up.name, "blk.0.ffn_up_exps.weight[1]");
  EXPECT_THAT(up.decode(), ElementsAre(26, 27, 28, 29, 30, 31));
  EXPECT_EQ(weights.at({.role = WeightRole::kExpertDown, .expert = 1}).name,
            "blk.0.ffn_down.1.weight");
  EXPECT_THAT(weights.at({.role = WeightRole::kSharedRouter}).shape, ElementsAre(1, 2));
  EXPECT_THAT(weights.unused(), testing::IsEmpty());
}

/// Two experts of three tensors: gate in one, up in two, one of which has a factor, down in two.
TEST(Weights, ExpertsOfABlockAreOneTensor) {
  Description d = one_block();
  d.experts = d.active_experts = 2;
  auto tensors =
      tensors_without({"blk.0.ffn_gate.weight", "blk.0.ffn_up.weight", "blk.0.ffn_down.weight"});
  tensors.push_back(counting("blk.0.ffn_gate_inp.weight", {2, 2}));
  tensors.push_back(counting("blk.0.ffn_gate_exps.weight", {2, 3, 2}));
  for (const char* name : {"blk.0.ffn_up.0.weight", "blk.0.ffn_up.1.weight"}) {
    tensors.push_back(counting(name, {3, 2}, 20));
  }
  tensors.push_back({"blk.0.ffn_up.1.scale", {1}, {0.5F}});
  for (const char* name : {"blk.0.ffn_down.0.weight", "blk.0.ffn_down.1.weight"}) {
    tensors.push_back(counting(name, {2, 3}, 40));
  }
  const Weights weights(d, gguf_of(tensors));
  const auto bytes_of = [&](WeightRole role) { return weights.at({.role = role}).bytes.bytes; };

  const Weight gates = weights.experts(WeightRole::kExpertGate, 0);
  EXPECT_EQ(gates.name, "blk.0.ffn_gate_exps.weight[*]");
  EXPECT_THAT(gates.shape, ElementsAre(2, 3, 2));
  EXPECT_THAT(gates.decode(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  EXPECT_EQ(gates.bytes.bytes.data(), bytes_of(WeightRole::kExpertGate).data()) << "a view";
  EXPECT_EQ(ir::type_of(gates.stored().value()),
            ir::dense_type(ir::ElementType::kFloat32, {2, 3, 2}));

  const Weight downs = weights.experts(WeightRole::kExpertDown, 0);
  EXPECT_EQ(downs.name, "blk.0.ffn_down.*.weight");
  EXPECT_THAT(downs.decode(), ElementsAre(40, 41, 42, 43, 44, 45, 40, 41, 42, 43, 44, 45));

  const Weight ups = weights.experts(WeightRole::kExpertUp, 0);
  EXPECT_THAT(ups.decode(), ElementsAre(20, 21, 22, 23, 24, 25, 10, 10.5F, 11, 11.5F, 12, 12.5F));
}

/// As newer versions of transformers hold them: gate and up of an expert follow each other.
TEST(Weights, ExpertsOfOneTensorAreParts) {
  Description d = one_block();
  d.experts = d.active_experts = 2;
  std::vector<NamedTensor> tensors = {counting("embed_tokens.weight", {3, 2}),
                                      counting("norm.weight", {2}),
                                      counting("layers.0.input_layernorm.weight", {2}),
                                      counting("layers.0.self_attn.q_proj.weight", {2, 2}),
                                      counting("layers.0.self_attn.k_proj.weight", {1, 2}),
                                      counting("layers.0.self_attn.v_proj.weight", {1, 2}),
                                      counting("layers.0.self_attn.o_proj.weight", {2, 2}),
                                      counting("layers.0.post_attention_layernorm.weight", {2}),
                                      counting("layers.0.mlp.gate.weight", {2, 2}),
                                      counting("layers.0.mlp.experts.gate_up_proj", {2, 6, 2}),
                                      counting("layers.0.mlp.experts.down_proj", {2, 2, 3})};
  for (NamedTensor& tensor : tensors) tensor.name = "language_model.model." + tensor.name;
  const Weights weights(d, safetensors_of(tensors));
  const Weight& up = weights.at({.role = WeightRole::kExpertUp, .expert = 1});
  EXPECT_EQ(up.name, "language_model.model.layers.0.mlp.experts.gate_up_proj[1][3:6]");
  EXPECT_THAT(up.decode(), ElementsAre(18, 19, 20, 21, 22, 23));
  EXPECT_THAT(weights.at({.role = WeightRole::kExpertGate, .expert = 1}).decode(),
              ElementsAre(12, 13, 14, 15, 16, 17));
  EXPECT_THAT(weights.at({.role = WeightRole::kExpertDown, .expert = 1}).decode(),
              ElementsAre(6, 7, 8, 9, 10, 11));
  const Weight ups = weights.experts(WeightRole::kExpertUp, 0);
  EXPECT_EQ(ups.name, "language_model.model.layers.0.mlp.experts.gate_up_proj[*][3:6]");
  EXPECT_THAT(ups.decode(), ElementsAre(6, 7, 8, 9, 10, 11, 18, 19, 20, 21, 22, 23));
  EXPECT_THAT(weights.unused(), testing::IsEmpty());
}

/// A block of gpt-oss but for its experts, of 32 inputs.
std::vector<NamedTensor> clamped_tensors() {
  std::vector<NamedTensor> tensors = {counting("embed_tokens.weight", {3, 32}),
                                      counting("norm.weight", {32}),
                                      counting("layers.0.input_layernorm.weight", {32}),
                                      counting("layers.0.self_attn.q_proj.weight", {2, 32}),
                                      counting("layers.0.self_attn.k_proj.weight", {1, 32}),
                                      counting("layers.0.self_attn.v_proj.weight", {1, 32}),
                                      counting("layers.0.self_attn.o_proj.weight", {32, 2}),
                                      counting("layers.0.self_attn.sinks", {2}, 8),
                                      counting("layers.0.post_attention_layernorm.weight", {32}),
                                      counting("layers.0.mlp.router.weight", {2, 32}),
                                      counting("layers.0.mlp.router.bias", {2}),
                                      counting("layers.0.mlp.experts.gate_up_proj_bias", {2, 64}),
                                      counting("layers.0.mlp.experts.down_proj_bias", {2, 32})};
  for (NamedTensor& tensor : tensors) tensor.name = "model." + tensor.name;
  return tensors;
}

Description clamped_block() {
  Description d = one_block();
  d.architecture = "gpt-oss";
  d.width = d.inner = 32;
  d.experts = d.active_experts = 2;
  d.has_sinks = d.has_expert_bias = true;
  return d;
}

/// Gates and ups by turns, as columns.
TEST(Weights, ExpertsMayTakeTurns) {
  auto tensors = clamped_tensors();
  tensors.push_back(counting("model.layers.0.mlp.experts.gate_up_proj", {2, 32, 64}));
  tensors.push_back(counting("model.layers.0.mlp.experts.down_proj", {2, 32, 32}));
  const Weights weights(clamped_block(), safetensors_of(tensors));
  const Weight& up = weights.at({.role = WeightRole::kExpertUp, .expert = 1});
  EXPECT_EQ(up.name, "model.layers.0.mlp.experts.gate_up_proj[1][1::2]");
  std::vector<float> row(32);
  up.decode(3, row);
  for (std::size_t i = 0; i < row.size(); ++i) {
    EXPECT_EQ(row[i], static_cast<float>(32 * 64 + i * 64 + 7));
  }
  weights.at({.role = WeightRole::kExpertDown, .expert = 1}).decode(2, row);
  EXPECT_EQ(row[5], 32 * 32 + 5 * 32 + 2);
  const auto bias = weights.at({WeightRole::kExpertUp, 0, Part::kBias, 1}).decode();
  EXPECT_EQ(bias[2], 64 + 5);
  EXPECT_EQ(weights.experts(WeightRole::kExpertGate, 0, Part::kBias).decode()[32 + 2], 64 + 4);
  EXPECT_THAT(weights.at({.role = WeightRole::kSinks}).decode(), ElementsAre(8, 9));
  EXPECT_THAT(weights.unused(), testing::IsEmpty());
}

/// One block per row: byte j has elements 2 j and 2 j + 1, levels 0, 0.5, 1, 1.5, 2, 3, 4, 6.
TEST(Weights, BlocksAndScalesAreMxfp4) {
  std::vector<formats::NewSafetensorsTensor> written;
  const auto tensors = clamped_tensors();
  for (const NamedTensor& tensor : tensors) {
    written.push_back(
        {tensor.name, formats::SafetensorsType::kF32, tensor.shape, source_of(tensor)});
  }
  const auto bytes = [&](const std::string& name, const std::vector<std::size_t>& shape,
                         const std::vector<std::byte>& values) {
    written.push_back({"model.layers.0.mlp.experts." + name, formats::SafetensorsType::kU8, shape,
                       halftone::source_of(own_bytes(values))});
  };
  std::vector<std::byte> blocks(std::size_t{2} * 64 * 16, std::byte{0x21});
  std::vector<std::byte> scales(std::size_t{2} * 64, std::byte{127});
  blocks[(64 + 7) * 16 + 2] = std::byte{0xF5};  // expert 1, up 3, elements 4 and 5
  scales[64 + 7] = std::byte{128};
  bytes("gate_up_proj_blocks", {2, 64, 1, 16}, blocks);
  bytes("gate_up_proj_scales", {2, 64, 1}, scales);
  bytes("down_proj_blocks", {2, 32, 1, 16}, {blocks.begin(), blocks.begin() + 1024});
  bytes("down_proj_scales", {2, 32, 1}, {scales.begin(), scales.begin() + 64});
  const auto file = SafetensorsFile::parse(own_bytes(
      collect([&](const ByteSink& sink) { formats::write_safetensors(sink, {}, written); })));
  const Weights weights(clamped_block(), file);
  std::vector<float> row(32);
  const Weight& up = weights.at({.role = WeightRole::kExpertUp, .expert = 1});
  up.decode(3, row);
  EXPECT_THAT(std::vector(row.begin(), row.begin() + 8), ElementsAre(1, 2, 1, 2, 6, -12, 1, 2));
  const Weight ups = weights.experts(WeightRole::kExpertUp, 0);
  ups.decode(32 + 3, row);
  EXPECT_EQ(row[5], -12);
  const auto stored = ups.stored();
  ASSERT_TRUE(stored.has_value());
  EXPECT_EQ(std::get<ir::BlockTensor>(*stored).encoding->name, "MXFP4");
  EXPECT_EQ(up.packed().bytes.size(), 32U * 17);
  EXPECT_THAT(weights.unused(), testing::IsEmpty());
}

TEST(Weights, FactorsBesideTensorsCount) {
  auto tensors = tensors_without({});
  tensors.push_back({"blk.0.ffn_up.scale", {1}, {0.5F}});
  const Weights weights(one_block(), gguf_of(tensors));
  EXPECT_EQ(weights.at({.role = WeightRole::kUp}).factor, 0.5F);
  EXPECT_THAT(weights.at({.role = WeightRole::kUp}).decode(),
              ElementsAre(25, 25.5, 26, 26.5, 27, 27.5));
  EXPECT_THAT(weights.unused(), testing::IsEmpty());
}

TEST(Weights, NameWhatIsMissingOrOfAnotherShape) {
  expect_error(ErrorKind::kFormat,
               "tensor 'blk.0.attn_k.weight': attention key of block 0: is missing; "
               "tensor 'blk.0.ffn_down.weight': feed-forward down of block 0: is missing",
               [] {
                 Weights(
                     one_block(),
                     gguf_of(tensors_without({"blk.0.attn_k.weight", "blk.0.ffn_down.weight"})));
               });
  expect_error(ErrorKind::kFormat, "; and 7 more", [] { Weights(one_block(), gguf_of({})); });
  Description d = one_block();
  d.inner = 4;
  expect_error(ErrorKind::kFormat,
               "tensor 'blk.0.ffn_gate.weight': expected shape [4, 2], found [3, 2]",
               [&] { Weights(d, gguf_of(tensors_without({}))); });
  d = one_block();
  d.ties_embeddings = false;
  expect_error(ErrorKind::kFormat, "tensor 'lm_head.weight': head: is missing", [&] {
    Weights(d, safetensors_of({counting("model.embed_tokens.weight", {3, 2})}));
  });
  const Weights weights(one_block(), gguf_of(tensors_without({})));
  expect_error(ErrorKind::kInternal, "router of block 0: is not needed",
               [&] { static_cast<void>(weights.at({.role = WeightRole::kRouter})); });
  std::vector<float> values(4);
  expect_error(ErrorKind::kShape, "has 3 rows of 2, asked for 4 elements from row 2",
               [&] { weights.at({.role = WeightRole::kUp}).decode(2, values); });
}

TEST(Weights, NameTypesThatNothingDecodes) {
  Description d = one_block();
  d.inner = 256;
  GgufModel model("llama");
  for (const NamedTensor& tensor :
       tensors_without({"blk.0.ffn_gate.weight", "blk.0.ffn_up.weight", "blk.0.ffn_down.weight"})) {
    model.tensor(tensor);
  }
  model.tensor(counting("blk.0.ffn_gate.weight", {256, 2}))
      .tensor(counting("blk.0.ffn_up.weight", {256, 2}));
  model.zeros("blk.0.ffn_down.weight", {2, 256}, *formats::gguf_type("I16"));
  expect_error(ErrorKind::kUnsupported,
               "tensor 'blk.0.ffn_down.weight': expected a type that Halftone decodes, found I16",
               [&] { Weights(d, model.file()); });
}

class OpenModel : public WithFolder {};

TEST_F(OpenModel, ReadsAFolderOfHuggingFace) {
  const std::string config = R"({"model_type": "gpt2", "n_layer": 1, "n_embd": 2, "n_head": 2,
    "vocab_size": 3, "n_positions": 4, "n_inner": 3, "layer_norm_epsilon": 1e-5})";
  write_file(path("config.json"), std::as_bytes(std::span(config)));
  expect_error(ErrorKind::kIo, "model.safetensors", [&] { open_model(folder_); });
  // Two heads of keys and values here: three matrices of two outputs.
  auto tensors = gpt2_tensors("");
  for (NamedTensor& tensor : tensors) {
    if (tensor.name == "h.0.attn.c_attn.weight") tensor = counting(tensor.name, {2, 6});
    if (tensor.name == "h.0.attn.c_attn.bias") tensor = counting(tensor.name, {6});
  }
  write_file(path("model.safetensors"), safetensors_bytes(tensors));
  const ModelParts model = open_model(folder_);
  EXPECT_EQ(model.description.architecture, "gpt2");
  EXPECT_THAT(model.weights.at({.role = WeightRole::kKey}).decode(), ElementsAre(2, 8, 3, 9));
  write_file(path("model.safetensors"), safetensors_bytes(gpt2_tensors("")));
  expect_error(ErrorKind::kFormat, folder_.string() + ": tensor 'h.0.attn.c_attn.weight': expected",
               [&] { open_model(folder_); });
}

TEST_F(OpenModel, ReadsACheckpointOfLlama2c) {
  formats::GgufBytes bytes;
  for (const std::int32_t number : {2, 3, 1, 1, 1, 3, 4}) bytes.number(number);
  const std::size_t floats = 6 + 2 * 2 + 4 * 4 + 3 * 6 + 2 + 8;
  for (std::size_t i = 0; i < floats; ++i) bytes.number(static_cast<float>(i));
  write_file(path("tiny.bin"), bytes.bytes());
  const ModelParts model = open_model(path("tiny.bin"));
  EXPECT_THAT(model.weights.at({.role = WeightRole::kValue}).decode(), ElementsAre(16, 17, 18, 19));
  write_file(path("tiny.bin"), std::vector<std::byte>(3));
  expect_error(ErrorKind::kFormat, path("tiny.bin") + ": llama2.c checkpoint",
               [&] { open_model(path("tiny.bin")); });
}

TEST_F(OpenModel, ReadsAGgufFile) {
  const std::vector<std::byte> bytes = {std::byte{'G'}, std::byte{'G'}, std::byte{'U'},
                                        std::byte{'F'}};
  write_file(path("bad.bin"), bytes);
  expect_error(ErrorKind::kFormat, path("bad.bin"), [&] { open_model(path("bad.bin")); });
  expect_error(ErrorKind::kIo, "absent", [&] { open_model(path("absent")); });
}

}  // namespace
}  // namespace halftone::lm
