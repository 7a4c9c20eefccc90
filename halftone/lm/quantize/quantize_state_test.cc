// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/quantize_state.h"

#include <limits>

#include "halftone/base/file.h"
#include "halftone/base/state/testing.h"
#include "halftone/base/testing.h"
#include "halftone/formats/safetensors/safetensors_writer.h"
#include "halftone/lm/quantize/testing.h"

namespace halftone::lm {
namespace {

const JobIdentity kJob = {{"model", "123 bytes"}, {"seed", "0"}};
constexpr WeightId kUpId{.role = WeightRole::kUp, .block = 1};

class QuantizeStates : public WithFolder {
 protected:
  static Model model() {
    RandomWeights weights;
    return tiny_model(small_description("llama", kFitSizes), weights);
  }
  static std::vector<std::byte> bytes_of(const FittedMatrices& fitted) {
    std::vector<std::byte> all;
    for (const auto& [id, matrix] : fitted) {
      const std::span<const std::byte> bytes = matrix.encoded.bytes.bytes;
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    return all;
  }
};

TEST_F(QuantizeStates, AreReadAsTheyWereWritten) {
  EXPECT_TRUE(read_quantize_state(path("state"), kJob).fitted.empty());  // there is none
  QuantizeState state;
  state.written = {{1, 2, 3}, {4, 5, 6}};
  state.sensitivities =
      Sensitivities{{{kUpId, {0.1, 1e-30, 3}}}, {0.5, 1.0 / 3}, 77, 1.25, {0.25, 9}};
  state.costs[kUpId] = {{&weight_type("2x6"), 1.0 / 3, 99}, {&weight_type("Q4_0"), 1e-9, 7}};
  const Model small = model();
  const Folding folding(small, {.rotates = true, .seed = 1});
  state.fitted = fit_model(small, folding, choose_types(small, {.blocks = "4x8", .tables = "Q8_0"}),
                           some_samples(), {});
  state.fitted.begin()->second.error = std::numeric_limits<double>::infinity();
  state.losses = {1.0 / 7, 2};
  write_quantize_state(path("state"), kJob, state);
  const QuantizeState found = read_quantize_state(path("state"), kJob);
  EXPECT_EQ(found.written, state.written);
  EXPECT_EQ(found.losses, state.losses);
  EXPECT_EQ(found.sensitivities->outputs, state.sensitivities->outputs);
  EXPECT_EQ(found.sensitivities->embedding, state.sensitivities->embedding);
  EXPECT_EQ(found.sensitivities->block_inputs, state.sensitivities->block_inputs);
  EXPECT_EQ(found.sensitivities->tokens, 77U);
  EXPECT_EQ(found.sensitivities->loss, 1.25);
  ASSERT_EQ(found.costs.at(kUpId).size(), 2U);
  EXPECT_EQ(found.costs.at(kUpId)[0].type, &weight_type("2x6"));
  EXPECT_EQ(found.costs.at(kUpId)[0].loss, 1.0 / 3);
  EXPECT_EQ(found.costs.at(kUpId)[1].bytes, 7U);
  ASSERT_EQ(found.fitted.size(), state.fitted.size());
  for (const auto& [id, matrix] : state.fitted) {
    EXPECT_EQ(decode(found.fitted.at(id)), decode(matrix)) << to_string(id);
    EXPECT_EQ(found.fitted.at(id).error, matrix.error);
  }
}

TEST_F(QuantizeStates, LetAFitContinue) {
  const Model small = model();
  const Folding folding(small, {.rotates = true, .seed = 1});
  const TypeChoice choice = choose_types(small, {.blocks = "4x8", .tables = "Q8_0"});
  ModelFitOptions options;
  std::vector<double> losses;
  options.on_losses = [&](std::vector<double> all) { losses = std::move(all); };
  const FittedMatrices whole = fit_model(small, folding, choice, some_samples(), options);
  EXPECT_EQ(losses.size(), 12U);
  // Stops after the first block, and then again at once: a known block is not fitted again.
  options.on_block = [&](const FittedMatrices& fitted) {
    QuantizeState state;
    state.fitted = fitted;
    write_quantize_state(path("state"), kJob, state);
    fail(ErrorKind::kInterrupted, "stopped");
  };
  for (const std::size_t blocks : {std::size_t{1}, std::size_t{2}}) {
    options.known = read_quantize_state(path("state"), kJob).fitted;
    expect_error(ErrorKind::kInterrupted, "stopped",
                 [&] { (void)fit_model(small, folding, choice, some_samples(), options); });
    EXPECT_EQ(read_quantize_state(path("state"), kJob).fitted.size(), 7 * blocks);
  }
  options.known = read_quantize_state(path("state"), kJob).fitted;
  options.threads = 2;
  std::vector<double> first_losses = std::move(losses);
  EXPECT_EQ(bytes_of(fit_model(small, folding, choice, some_samples(), options)), bytes_of(whole));
  EXPECT_EQ(losses, first_losses);
}

TEST_F(QuantizeStates, NoticeEveryFlippedBit) {
  const std::vector<std::byte> codes(weight_type("Q8_0").size_bytes(1, 32), std::byte{7});
  QuantizeState state;
  state.written = {{1, 2}};
  state.sensitivities = Sensitivities{{{kUpId, {0.1}}}, {0.5}, 77, 1.25};
  state.costs[kUpId] = {{&weight_type("Q4_0"), 1e-9, 7}};
  state.fitted[kUpId] = {.type = &weight_type("Q8_0"),
                         .rows = 1,
                         .cols = 32,
                         .encoded = {encoding_of(weight_type("Q8_0"), 1), own_bytes(codes)},
                         .error = 0.25};
  state.losses = {1.5};
  write_quantize_state(path("state"), kJob, state);
  expect_flips_are_noticed(path("state"), [&] {
    write_quantize_state(path("copy"), kJob, read_quantize_state(path("state"), kJob));
    const std::vector<std::byte> bytes = read_file(path("copy"));
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  });
}

TEST_F(QuantizeStates, OfOtherJobsAreRefused) {
  write_quantize_state(path("state"), kJob, {});
  expect_error(ErrorKind::kFormat,
               "state: has the state of another job: expected seed '1', found '0'", [&] {
                 (void)read_quantize_state(path("state"), {kJob[0], {"seed", "1"}});
               });
  expect_error(ErrorKind::kFormat, "expected text 'a', found ''", [&] {
    (void)read_quantize_state(path("state"), {kJob[0], {"text", "a"}});
  });
}

TEST_F(QuantizeStates, AreNotOtherFiles) {
  const auto expect_refused = [&](const formats::SafetensorsMetadata& metadata) {
    formats::write_safetensors(path("state"), metadata, {});
    expect_error(ErrorKind::kFormat, "expected a state of a quantization",
                 [&] { (void)read_quantize_state(path("state"), {}); });
  };
  expect_refused({});
  const std::string key = "halftone.quantize_state";
  expect_refused({{key, "no JSON"}});
  expect_refused({{key, R"({"job": {}})"}});
  const std::string front =
      R"({"job": {}, "written": [], "sensitivities": null, "costs": [], "losses": [], "fitted": )";
  expect_refused({{key, front + R"([{"id": ["no role", 0]}]})"}});
  expect_refused(
      {{key, front + R"([{"id": ["attention query", 0], "type": "2x8", "rows": 1, "cols": 64,)" +
                 R"("factor": 1, "error": 0}]})"}});  // without the tensor
  const std::vector<std::byte> nothing;
  formats::write_safetensors(
      path("state"),
      {{key, front + R"([{"id": ["attention query", 0], "type": "2x8", "rows": 1, "cols": 64,)" +
                 R"("factor": 1, "error": 0}]})"}},
      std::vector<formats::NewSafetensorsTensor>{{"codes.attention query.0",
                                                  formats::SafetensorsType::kU8,
                                                  {0},
                                                  source_of(own_bytes(nothing))}});
  expect_error(ErrorKind::kFormat, "expected a state of a quantization",
               [&] { (void)read_quantize_state(path("state"), {}); });
  write_file(path("state"), std::string_view("text"));
  expect_error(ErrorKind::kFormat, path("state"),
               [&] { (void)read_quantize_state(path("state"), {}); });
}

}  // namespace
}  // namespace halftone::lm
