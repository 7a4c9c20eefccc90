// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/language.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/accel/testing.h"
#include "halftone/base/testing.h"

namespace halftone::accel {
namespace {

using halftone::expect_error;

constexpr std::string_view kLlama = R"({"model_type": "llama", "hidden_size": 2048,
  "num_hidden_layers": 22, "num_attention_heads": 32, "num_key_value_heads": 4,
  "intermediate_size": 5632, "vocab_size": 32000, "tie_word_embeddings": false})";
constexpr std::string_view kMixtral = R"({"model_type": "mixtral", "hidden_size": 4096,
  "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
  "intermediate_size": 14336, "vocab_size": 32000, "num_local_experts": 8,
  "num_experts_per_tok": 2})";
constexpr std::string_view kGpt2 = R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12,
  "n_head": 12, "vocab_size": 50257})";

double sum_of(const Workload& workload, TensorRole role, const std::string& name) {
  double sum = 0;
  for (const Operation& each : workload.operations) {
    if (each.name.find(name) == std::string::npos) continue;
    for (const Transfer& transfer : each.reads) {
      if (transfer.role == role) sum += transfer.bytes;
    }
  }
  return sum;
}

TEST(LanguageWorkload, CountsParametersAsPublished) {
  // TinyLlama 1.1B has 1,100,048,384 with 45 norms of 2,048.
  EXPECT_EQ(parse_language_model(kLlama, "c").parameters(), 1100048384.0 - 45 * 2048);
  // Mixtral 8x7B has 46,702,792,704 with 65 norms; 12.9e9 are active.
  const LanguageWorkload mixtral = parse_language_model(kMixtral, "c");
  EXPECT_EQ(mixtral.parameters(), 46702792704.0 - 65 * 4096);
  EXPECT_NEAR(mixtral.active_parameters(), 12.8e9, 0.1e9);
  // GPT-2 has 124,439,808 with positions, norms and biases; matrices and the table alone:
  EXPECT_EQ(parse_language_model(kGpt2, "c").parameters(),
            12.0 * (4 * 768 * 768 + 8 * 768 * 768) + 50257.0 * 768);
}

TEST(LanguageWorkload, ReadsThePartOfATextDecoder) {
  const std::string nested = "{\"text_config\": " + std::string(kLlama) + "}";
  EXPECT_EQ(parse_language_model(nested, "c").layers, 22U);
}

TEST(LanguageWorkload, NamesWhatIsWrongWithAFile) {
  expect_error(ErrorKind::kFormat, "c: is no JSON object", [] { parse_language_model("[1", "c"); });
  expect_error(ErrorKind::kFormat, "c: needs 'model_type'",
               [] { parse_language_model("{}", "c"); });
  expect_error(ErrorKind::kFormat, "c: needs 'num_hidden_layers'", [] {
    parse_language_model(R"({"model_type": "llama", "num_hidden_layers": null})", "c");
  });
  const auto with = [](const std::string& key, const std::string& value) {
    std::string text(kMixtral);
    const auto at = text.find(":", text.find(key)) + 2;
    return text.replace(at, text.find_first_of(",}", at) - at, value);
  };
  expect_error(ErrorKind::kFormat, "c: 'hidden_size': expected a whole number from 0 to 2^32",
               [&] { parse_language_model(with("hidden_size", "-1"), "c"); });
  expect_error(ErrorKind::kFormat, "c: 'vocab_size' is 0",
               [&] { parse_language_model(with("vocab_size", "0"), "c"); });
  expect_error(ErrorKind::kFormat, "num_key_value_heads 7 does not divide 32 heads",
               [&] { parse_language_model(with("num_key_value_heads", "7"), "c"); });
  expect_error(ErrorKind::kFormat, "expected 1 to 8 experts per token, found 9",
               [&] { parse_language_model(with("num_experts_per_tok", "9"), "c"); });
  expect_error(ErrorKind::kFormat, "'tie_word_embeddings': expected a boolean", [&] {
    std::string text(kLlama);
    parse_language_model(text.replace(text.find("false"), 5, "3"), "c");
  });
}

TEST(LanguageWorkload, RefusesArchitecturesThatItDoesNotKnow) {
  const auto refused = [](const std::string& keys, const std::string& message) {
    expect_error(ErrorKind::kUnsupported, message, [&] {
      parse_language_model("{" + keys + R"("hidden_size": 7168, "num_hidden_layers": 61,
        "num_attention_heads": 128, "num_key_value_heads": 128, "intermediate_size": 18432,
        "vocab_size": 129280})",
                           "c");
    });
  };
  // With these keys alone it would be dense, of 38.6e9 parameters; it has 671e9.
  refused(R"("model_type": "deepseek_v3", "n_routed_experts": 256, )",
          "architecture 'deepseek2': latent attention, recurrences, and blocks");
  refused(R"("model_type": "jamba", )", "architecture 'jamba'");
  refused(R"("model_type": "llama", "architectures": ["JambaForCausalLM"], )",
          "'JambaForCausalLM' is not the network of model_type 'llama'");
  refused(R"("model_type": "qwen2", "architectures": ["Qwen2MoeForCausalLM"], )",
          "'Qwen2MoeForCausalLM' is not the network of model_type 'qwen2'");
  refused(R"("model_type": "qwen2_moe", "num_experts": 4, "num_experts_per_tok": 2,
             "mlp_only_layers": [0], )",
          "'mlp_only_layers'");
}

TEST(LanguageWorkload, TiesTheTableWhereTheArchitectureDoes) {
  // Gemma 2 2B: 2,614,341,888 parameters, of which 4 x 26 + 1 norms of 2,304.
  const LanguageWorkload gemma = parse_language_model(R"({"architectures": ["Gemma2ForCausalLM"],
    "model_type": "gemma2", "hidden_size": 2304, "num_hidden_layers": 26, "num_attention_heads": 8,
    "num_key_value_heads": 4, "head_dim": 256, "intermediate_size": 9216, "vocab_size": 256000,
    "sliding_window": 4096})",
                                                      "c");
  EXPECT_EQ(gemma.parameters(), 2614341888.0 - 105 * 2304);
  // Every other block has the window.
  const auto keys = [&](std::size_t operation) {
    return language_workload(gemma, {}, 1, 8192).operations[operation].product.cols;
  };
  const auto list = language_workload(gemma, {}, 1, 8192).operations;
  std::vector<std::size_t> seen;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].op == "Attention") seen.push_back(keys(i));
  }
  ASSERT_EQ(seen.size(), 26U);
  EXPECT_EQ(seen[0], 2 * 4096U);
  EXPECT_EQ(seen[1], 2 * 8192U);
}

TEST(LanguageWorkload, ReadsEveryWeightOnceForATokenOfADenseModel) {
  const LanguageWorkload model = parse_language_model(kLlama, "c");
  LanguageSettings settings;
  settings.weights = {4, false};
  settings.group = 32;
  const Workload token = language_workload(model, settings, 1, 100);
  const double table = 32000.0 * 2048;
  EXPECT_DOUBLE_EQ(token.weight_bytes(), (model.parameters() - table) * 4.5 / 8);
  EXPECT_DOUBLE_EQ(token.stored_weight_bytes, model.parameters() * 4.5 / 8);
  EXPECT_DOUBLE_EQ(token.products(), model.active_parameters() + 22.0 * 4 * 8 * 64 * 2 * 100);
}

TEST(LanguageWorkload, ReadsTheCacheOfAllSequences) {
  const LanguageWorkload model = parse_language_model(kLlama, "c");
  LanguageSettings settings;
  settings.batch = 3;
  settings.cache = {8, false};
  const Workload token = language_workload(model, settings, 1, 100);
  const double bytes = 3 * 22 * 2 * 100.0 * 4 * 64;
  EXPECT_DOUBLE_EQ(token.state_bytes, bytes);
  EXPECT_DOUBLE_EQ(sum_of(token, TensorRole::kStates, "attention"), bytes);
}

TEST(LanguageWorkload, SeesHalfOfThePromptOnAverage) {
  const LanguageWorkload model = parse_language_model(kLlama, "c");
  const Workload prompt = language_workload(model, {}, 101, 101);
  for (const Operation& each : prompt.operations) {
    if (each.op != "Attention") continue;
    EXPECT_EQ(each.product.cols, 2 * 51U);
  }
}

TEST(LanguageWorkload, ReadsTheExpertsThatTokensChoose) {
  const LanguageWorkload model = parse_language_model(kMixtral, "c");
  const auto experts = [&](std::size_t batch) {
    LanguageSettings settings;
    settings.batch = batch;
    for (const Operation& each : language_workload(model, settings, 1, 10).operations) {
      if (each.name == "block 0 experts up") return each.product;
    }
    return Product{};
  };
  EXPECT_EQ(experts(1).count, 2U);
  EXPECT_EQ(experts(1).rows, 1U);
  // 8 (1 - 0.75^4) = 5.47 experts for four tokens.
  EXPECT_EQ(experts(4).count, 6U);
  EXPECT_EQ(experts(64).count, 8U);
  EXPECT_EQ(experts(64).rows, 16U);
}

TEST(LanguageEstimate, IsBoundByTheMemoryForOneSequence) {
  const LanguageWorkload model = parse_language_model(kLlama, "c");
  const Accelerator chip = load_accelerator("h100");
  const LanguageEstimate found = estimate_language(model, {}, chip);
  const double weights = 2 * (model.parameters() - 32000.0 * 2048);
  EXPECT_GT(found.token.seconds, weights / chip.memories[0].bytes_per_second);
  EXPECT_EQ(found.devices_needed, 1U);
  ASSERT_EQ(found.batches.size(), 11U);
  // More sequences share what is read.
  EXPECT_GT(found.batches.back().tokens_per_s(), 20 * found.batches.front().tokens_per_s());
  EXPECT_GT(512 / found.prompt.seconds, 10 / found.token.seconds);
}

TEST(LanguageEstimate, SaysHowManyChipsAreNeeded) {
  const LanguageWorkload model = parse_language_model(kMixtral, "c");
  const Accelerator chip = load_accelerator("h100");
  expect_error(ErrorKind::kUnsupported, "needs 93.", [&] { estimate_language(model, {}, chip); });
  EstimateSettings options;
  options.split = {2, SplitKind::kTensor};
  const LanguageEstimate found = estimate_language(model, {}, chip, options);
  EXPECT_EQ(found.devices_needed, 2U);
  for (const Operation& each : language_workload(model, {}, 1, 10).operations) {
    EXPECT_EQ(each.in_shares, each.op == "Rotary" || each.op == "Silu") << each.name;
  }
  EXPECT_GT(found.token.operations[5].link_s, 0) << found.token.operations[5].name;
}

}  // namespace
}  // namespace halftone::accel
