// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/quantize_state.h"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "halftone/base/file.h"
#include "halftone/base/state/testing.h"
#include "halftone/base/testing.h"
#include "halftone/lm/quantize/testing.h"

namespace halftone::lm {
namespace {

const JobIdentity kJob = {{"model", "123 bytes"}, {"seed", "0"}};
constexpr WeightId kSecondUp{.role = WeightRole::kUp, .block = 1};

class QuantizeStates : public WithFolder {
 protected:
  static ModelParts model() {
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
  [[nodiscard]] QuantizeState read(const std::string& name = "state") const {
    return QuantizeStateFile(path(name), kJob).read();
  }
  /// Appends to what the file has.
  void save(const QuantizeState& state, const std::string& name = "state") const {
    QuantizeStateFile file(path(name), kJob);
    static_cast<void>(file.read());
    file.save(state);
  }
};

TEST_F(QuantizeStates, AreReadAsTheyWereWritten) {
  EXPECT_TRUE(read().fitted.empty());  // there is none
  QuantizeState state;
  state.written = {{1, 2, 3}, {4, 5, 6}};
  state.gradients =
      SquaredGradients{{{kSecondUp, {0.1, 1e-30, 3}}}, {0.5, 1.0 / 3}, 77, 1.25, {0.25, 9}};
  state.costs[kSecondUp] = {{&weight_type("2x6"), 1.0 / 3, 99}, {&weight_type("Q4_0"), 1e-9, 7}};
  const ModelParts small = model();
  const Folding folding(small, {.rotates = true, .seed = 1});
  state.fitted =
      fit_model(small, folding, choose_types(small, {.type = "4x8", .table_type = "Q8_0"}),
                some_samples(), {});
  state.fitted.begin()->second.error = std::numeric_limits<double>::infinity();
  state.losses = {1.0 / 7, 2};
  save(state);
  const QuantizeState found = read();
  EXPECT_EQ(found.written, state.written);
  EXPECT_EQ(found.losses, state.losses);
  EXPECT_EQ(found.gradients->outputs, state.gradients->outputs);
  EXPECT_EQ(found.gradients->embedding, state.gradients->embedding);
  EXPECT_EQ(found.gradients->block_inputs, state.gradients->block_inputs);
  EXPECT_EQ(found.gradients->tokens, 77U);
  EXPECT_EQ(found.gradients->loss, 1.25);
  ASSERT_EQ(found.costs.at(kSecondUp).size(), 2U);
  EXPECT_EQ(found.costs.at(kSecondUp)[0].type, &weight_type("2x6"));
  EXPECT_EQ(found.costs.at(kSecondUp)[0].loss, 1.0 / 3);
  EXPECT_EQ(found.costs.at(kSecondUp)[1].bytes, 7U);
  ASSERT_EQ(found.fitted.size(), state.fitted.size());
  for (const auto& [id, matrix] : state.fitted) {
    EXPECT_EQ(decode(found.fitted.at(id)), decode(matrix)) << to_string(id);
    EXPECT_EQ(found.fitted.at(id).error, matrix.error);
  }
}

TEST_F(QuantizeStates, LetAFitContinue) {
  const ModelParts small = model();
  const Folding folding(small, {.rotates = true, .seed = 1});
  const TypeChoice choice = choose_types(small, {.type = "4x8", .table_type = "Q8_0"});
  ModelFitOptions options;
  std::vector<double> losses;
  options.on_losses = [&](std::vector<double> all) { losses = std::move(all); };
  const FittedMatrices whole = fit_model(small, folding, choice, some_samples(), options);
  EXPECT_EQ(losses.size(), 12U);
  // Stops after the first block, and then again at once: a known block is not fitted again.
  options.on_block = [&](const FittedMatrices& fitted) {
    QuantizeState state;
    state.fitted = fitted;
    save(state);
    fail(ErrorKind::kInterrupted, "stopped");
  };
  for (const std::size_t blocks : {std::size_t{1}, std::size_t{2}}) {
    options.known = read().fitted;
    expect_error(ErrorKind::kInterrupted, "stopped",
                 [&] { (void)fit_model(small, folding, choice, some_samples(), options); });
    EXPECT_EQ(read().fitted.size(), 7 * blocks);
  }
  options.known = read().fitted;
  options.threads = 2;
  std::vector<double> first_losses = std::move(losses);
  EXPECT_EQ(bytes_of(fit_model(small, folding, choice, some_samples(), options)), bytes_of(whole));
  EXPECT_EQ(losses, first_losses);
}

TEST_F(QuantizeStates, NoticeEveryFlippedBit) {
  const std::vector<std::byte> codes(weight_type("Q8_0").size_bytes(1, 32), std::byte{7});
  QuantizeState state;
  state.written = {{1, 2}};
  state.gradients = SquaredGradients{{{kSecondUp, {0.1}}}, {0.5}, 77, 1.25};
  state.costs[kSecondUp] = {{&weight_type("Q4_0"), 1e-9, 7}};
  state.fitted[kSecondUp] = {.type = &weight_type("Q8_0"),
                             .rows = 1,
                             .cols = 32,
                             .encoded = {encoding_of(weight_type("Q8_0"), 1), own_bytes(codes)},
                             .error = 0.25};
  state.losses = {1.5};
  save(state);
  expect_flips_are_noticed(path("state"), [&] {
    std::filesystem::remove(path("copy"));
    save(read(), "copy");
    const std::vector<std::byte> bytes = read_file(path("copy"));
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  });
}

TEST_F(QuantizeStates, AreAppendedTo) {
  const ModelParts small = model();
  const Folding folding(small, {.rotates = true, .seed = 1});
  const TypeChoice choice = choose_types(small, {.type = "4x8", .table_type = "Q8_0"});
  ModelFitOptions options;
  QuantizeStateFile file(path("state"), kJob);
  std::vector<std::byte> before;
  std::size_t least = 0;  // bytes of codes
  options.on_block = [&](const FittedMatrices& fitted) {
    file.save({.fitted = fitted});
    const std::vector<std::byte> now = read_file(path("state"));
    ASSERT_TRUE(std::equal(before.begin(), before.end(), now.begin()));
    const std::size_t codes = bytes_of(fitted).size();
    EXPECT_LT(now.size() - before.size(), codes - least + 2000);
    before = now;
    least = codes;
  };
  const FittedMatrices whole = fit_model(small, folding, choice, some_samples(), options);
  file.save({.fitted = whole, .losses = {1}});
  const auto size = std::filesystem::file_size(path("state"));
  file.save({.fitted = whole, .losses = {1}});
  EXPECT_EQ(std::filesystem::file_size(path("state")), size) << "nothing is new";
  EXPECT_EQ(bytes_of(read().fitted), bytes_of(whole));
  EXPECT_TRUE(read().fitted.begin()->second.encoded.bytes.is_file);
}

TEST_F(QuantizeStates, ComeRecordByRecord) {
  QuantizeStateFile file(path("state"), kJob);
  QuantizeState state;
  state.written = {{1, 2}};
  file.save(state);
  state.written.push_back({3, 4});
  state.costs[kSecondUp] = {{&weight_type("Q4_0"), 1e-9, 7}};
  file.save(state);
  state.gradients = SquaredGradients{{{kSecondUp, {0.1}}}, {0.5}, 77, 1.25};
  state.costs[{.role = WeightRole::kDown}] = {{&weight_type("2x6"), 1, 8}};
  file.save(state);
  const QuantizeState found = read();
  EXPECT_EQ(found.written, state.written);
  EXPECT_EQ(found.costs.size(), 2U);
  EXPECT_EQ(found.gradients->embedding, state.gradients->embedding);
}

TEST_F(QuantizeStates, OfOtherJobsAreRefused) {
  save({.losses = {1}});
  expect_error(ErrorKind::kFormat,
               "state: has the state of another job: expected seed '1', found '0'", [&] {
                 QuantizeStateFile(path("state"), {kJob[0], {"seed", "1"}});
               });
  expect_error(ErrorKind::kFormat, "expected text 'a', found ''", [&] {
    QuantizeStateFile(path("state"), {kJob[0], {"text", "a"}});
  });
}

TEST_F(QuantizeStates, AreNotOtherFiles) {
  using Json = StateLog::Json;
  const std::vector<std::byte> one(1);
  const std::vector<std::span<const std::byte>> pieces = {one};
  const auto expect_refused = [&](const std::string& name, const Json& value) {
    std::filesystem::remove(path("state"));
    StateLog({path("state")}, {"the state", "a state of a quantization"}, kJob, true)
        .append(name, value, pieces);
    expect_error(ErrorKind::kFormat, "state: expected a state of a quantization, found something",
                 [&] { (void)read(); });
  };
  const Json matrix = {{"id", {"attention query", 0}},
                       {"type", "2x8"},
                       {"rows", 1},
                       {"cols", 64},
                       {"factor", 1},
                       {"error", 0},
                       {"bytes", 1}};
  expect_refused("colours", 1);
  expect_refused("written", {{"a"}});
  expect_refused("costs", {{{"id", {"no role", 0}}, {"types", Json::array()}}});
  expect_refused("fitted", {matrix});  // another number of bytes than the type has
  Json long_matrix = matrix;
  long_matrix["bytes"] = 100;
  expect_refused("fitted", {long_matrix});  // more than the record has
  expect_refused("sensitivities", {{"tokens", 1},
                                   {"loss", 1},
                                   {"outputs", Json::array()},
                                   {"embedding", std::size_t{1} << 61U},
                                   {"block_inputs", 0}});
  write_file(path("state"), std::string_view("text"));
  expect_error(ErrorKind::kFormat, path("state"), [&] { (void)read(); });
}

}  // namespace
}  // namespace halftone::lm
