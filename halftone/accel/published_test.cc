// SPDX-License-Identifier: Apache-2.0
// The descriptions of graphics cards beside speeds that projects publish of their software.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "halftone/accel/language.h"
#include "halftone/base/oracle_testing.h"

namespace halftone::accel {
namespace {

LanguageWorkload model_named(const std::string& name) {
  LanguageWorkload model;
  model.name = name;
  model.vocabulary = name == "llama3-8b" ? 128256 : 32000;
  const bool is_large = name == "llama2-70b";
  model.layers = is_large ? 80 : 32;
  model.width = is_large ? 8192 : 4096;
  model.heads = is_large ? 64 : 32;
  model.kv_heads = name == "llama2-7b" ? 32 : 8;
  model.head_width = 128;
  model.inner = is_large ? 28672 : name == "llama2-7b" ? 11008 : 14336;
  return model;
}

/// The value that a row publishes, estimated.
double estimated(const oracle::Row& row) {
  const auto whole = [&](const char* key) {
    return static_cast<std::size_t>(oracle::number(row, key));
  };
  const auto format = [](double bits) { return Number{static_cast<int>(bits), bits >= 16}; };
  LanguageSettings settings;
  settings.weights = format(oracle::number(row, "weight_bits"));
  settings.activations = settings.cache = format(oracle::number(row, "activation_bits"));
  if (!row.at("group").empty()) settings.group = whole("group");
  settings.batch = whole("batch");
  const Accelerator chip = load_accelerator(row.at("accelerator"));
  const LanguageWorkload model = model_named(row.at("model"));
  const EstimateSettings options{Method::kTiles, {whole("devices"), SplitKind::kTensor}};
  const auto seconds = [&](std::size_t tokens, std::size_t context) {
    return estimate(language_workload(model, settings, tokens, context), chip, options).seconds;
  };
  const auto batch = static_cast<double>(settings.batch);
  if (row.at("metric") == "tokens_per_second") return batch / seconds(1, whole("context"));
  const std::size_t prompt = whole("prompt");
  if (row.at("metric") == "prompt_seconds") return seconds(prompt, prompt);
  // A static batch: the prompt, then one token after the other.
  const auto tokens = static_cast<double>(whole("context"));
  const double step = seconds(1, prompt + whole("context") / 2);
  return batch * tokens / (seconds(prompt, prompt) + tokens * step);
}

std::string comparison_of(const std::vector<double>& errors) {
  double sum = 0;
  for (const double each : errors) sum += each;
  char text[96];
  std::snprintf(text, sizeof text,
                "mean error %.0f %%, at most %.0f %%, over %zu published speeds of "
                "language models",
                100 * sum / static_cast<double>(errors.size()),
                100 * *std::ranges::max_element(errors), errors.size());
  return text;
}

TEST(PublishedSpeeds, AreEstimatedWithinAQuarter) {
  const std::vector<oracle::Row> rows = oracle::oracle_rows("llm_published.csv");
  if (rows.empty()) GTEST_SKIP() << "no oracles; set HALFTONE_DATA";
  ASSERT_EQ(rows.size(), 18U);
  std::map<std::string, std::vector<double>> errors;
  for (const oracle::Row& row : rows) {
    const double error = estimated(row) / oracle::number(row, "value") - 1;
    EXPECT_LE(std::abs(error), 0.25) << row.at("model") << " on " << row.at("accelerator") << ", "
                                     << row.at("metric") << ": " << error;
    errors[row.at("accelerator")].push_back(std::abs(error));
  }
  // What every estimate says of it.
  for (const auto& [name, list] : errors) {
    EXPECT_EQ(load_accelerator(name).comparison, comparison_of(list)) << name;
  }
}

TEST(PublishedSpeeds, GrowWithFewerBitsBecauseTheMemoryIsTheBound) {
  const LanguageWorkload model = model_named("llama2-7b");
  for (const char* name : {"a100", "h100", "h200", "a100-eager"}) {
    double before = 0;
    for (const int bits : {16, 8, 4, 3, 2, 1}) {
      LanguageSettings settings;
      settings.weights = {bits, bits >= 16};
      const Estimate token =
          estimate(language_workload(model, settings, 1, 100), load_accelerator(name));
      EXPECT_GT(1 / token.seconds, before) << name << ", " << bits << " bits";
      before = 1 / token.seconds;
      for (const OperationEstimate& each : token.operations) {
        EXPECT_NE(each.bound, "compute") << name << ", " << bits << " bits: " << each.name;
      }
    }
  }
}

/// Watts of a chip that computes one product.
double watts(const char* name, std::size_t rows) {
  const Number half{16, true};
  Product product{1, rows, 8192, 8192, half, half, 16};
  return estimate(workload_of(product), load_accelerator(name)).watts();
}

TEST(PublishedPowers, AreReachedWithinAQuarter) {
  // Data sheets: 400 W and 700 W, which long products of matrices take.
  EXPECT_NEAR(watts("a100", 8192) / 400, 1, 0.25);
  EXPECT_NEAR(watts("h100", 8192) / 700, 1, 0.25);
  // Products with one row wait for the memory and take about 60 % of it: Patel et al.,
  // Characterizing power management opportunities for LLMs in the cloud, ASPLOS 2024.
  EXPECT_NEAR(watts("a100", 1) / 240, 1, 0.25);
  EXPECT_NEAR(watts("h100", 1) / 420, 1, 0.25);
}

}  // namespace
}  // namespace halftone::accel
