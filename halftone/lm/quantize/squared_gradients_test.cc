// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/squared_gradients.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "halftone/base/parallel.h"
#include "halftone/base/random.h"
#include "halftone/base/testing.h"
#include "halftone/ir/evaluate_graph.h"
#include "halftone/lm/model/build.h"
#include "halftone/lm/model/testing.h"

namespace halftone::lm {
namespace {

using Sample = std::vector<std::int32_t>;

/// A small model whose tensors may change.
struct ChangingModel {
  Description d;
  std::vector<NamedTensor> tensors;

  explicit ChangingModel(Description description, double size = 0.5)
      : d(std::move(description)), tensors(small_tensors(d)) {
    Random random(4);
    for (NamedTensor& tensor : tensors) {
      // Gains and biases stay near 1 and 0.
      const bool is_vector = tensor.shape.size() == 1;
      const bool is_bias = tensor.name.ends_with(".bias");
      const double mean = is_vector && !is_bias ? 1 : 0;
      for (float& value : tensor.values) {
        value = static_cast<float>(mean + (is_vector ? 0.2 : size) * random.normal());
      }
    }
  }
  [[nodiscard]] Weights weights() const { return weights_of(d, tensors); }
  NamedTensor& tensor(const WeightId& id) { return named(places_of(d, Naming::kGguf, id)[0].name); }
  NamedTensor& named(const std::string& name) {
    return *std::ranges::find(tensors, name, &NamedTensor::name);
  }
};

ChangingModel small_model(const std::string& architecture, double size = 0.5,
                          std::size_t vocabulary = 11) {
  Description d = architecture == "gemma4"    ? per_block_description()
                  : architecture == "gemma3n" ? stream_description()
                                              : small_description(architecture);
  if (d.block_input_width != 0) d.block_input_width = 12;  // more than tokens of a sample
  d.ties_embeddings = false;
  if (d.window != 0) d.window = 3;
  d.vocabulary = vocabulary;
  complete(d, architecture_of_gguf(architecture));
  return ChangingModel(d, size);
}

ir::Tensor ids_of(const std::vector<Sample>& samples) {
  std::vector<std::int32_t> ids;
  for (const Sample& sample : samples) ids.insert(ids.end(), sample.begin(), sample.end());
  return ir::Tensor::from<std::int32_t>(
      {static_cast<ir::Dim>(samples.size()), static_cast<ir::Dim>(samples[0].size())}, ids);
}

std::vector<ir::Tensor> evaluate(const ir::Graph& graph, ir::Tensor input) {
  std::vector<ir::Tensor> inputs;
  inputs.push_back(std::move(input));
  return ir::evaluate_graph(graph, inputs);
}

/// The rows that each matrix of a block reads: [rows, inputs].
std::map<WeightId, std::vector<float>> inputs_of_block(const ChangingModel& model,
                                                       const std::vector<Sample>& samples,
                                                       std::size_t block) {
  const Weights weights = model.weights();
  const std::size_t tokens = samples[0].size();
  ir::Tensor rows =
      std::move(evaluate(build_sample_embedding(model.d, weights, tokens), ids_of(samples))[0]);
  for (std::size_t b = 0;; ++b) {
    const SamplePart part = build_sample_block(model.d, weights, tokens, b);
    std::vector<ir::Tensor> outputs = evaluate(part.graph, std::move(rows));
    if (b < block) {
      rows = std::move(outputs[0]);
      continue;
    }
    std::map<WeightId, std::vector<float>> result;
    for (const ProductInput& input : part.inputs) {
      const auto values = std::as_const(outputs[input.output]).as<float>();
      for (const WeightId& id : input.matrices) result[id].assign(values.begin(), values.end());
    }
    return result;
  }
}

/// log p of all tokens after each row of samples, [rows, vocabulary].
std::vector<double> log_likelihoods(const ChangingModel& model,
                                    const std::vector<Sample>& samples) {
  const DecoderGraphs graphs = build_samples(model.d, model.weights(), samples[0].size());
  ir::Tensor rows = std::move(evaluate(graphs.body, ids_of(samples))[0]);
  const ir::Tensor logits = std::move(evaluate(graphs.head, std::move(rows))[0]);
  std::vector<double> result(logits.as<float>().begin(), logits.as<float>().end());
  for (std::size_t first = 0; first < result.size(); first += model.d.vocabulary) {
    const auto row = std::span(result).subspan(first, model.d.vocabulary);
    double sum = 0;
    for (const double logit : row) sum += std::exp(logit);
    for (double& logit : row) logit -= std::log(sum);
  }
  return result;
}

SquaredGradients measured(const ChangingModel& model, const std::vector<Sample>& samples,
                          std::uint64_t seed = 1) {
  return measure_squared_gradients(model.d, model.weights(), samples, {.seed = seed});
}

/// A slope and a bound of its error.
struct Slope {
  double value;
  double error;
};

/// The slope of log p of the sampled tokens along a direction. The tokens stay, because their draws
/// do. Central differences are off by a third of what twice the step changes; likelihoods of each
/// token are sums and functions of float32, off by about 30 operators times 2^-24 times 8.
template <typename Move>
Slope slope_along(ChangingModel& model, const Sample& sample, const Move& move) {
  constexpr double kStep = 0x1p-6;
  const auto difference = [&](double step) {
    move(step);
    const double above = measured(model, {sample}).loss;
    move(-2 * step);
    const double below = measured(model, {sample}).loss;
    move(step);
    return -static_cast<double>(sample.size()) * (above - below) / (2 * step);
  };
  const double value = difference(kStep);
  const double rounding = static_cast<double>(sample.size()) * 30 * 8 * 0x1p-24 / kStep;
  return {value, std::abs(difference(2 * kStep) - value) + rounding};
}

/// Compares the mean of squared slopes over the tokens of a sample.
/// @param move  (token, step): moves the output of this token
template <typename Move>
void expect_squares(ChangingModel& model, const Sample& sample, double found, const Move& move) {
  double sum = 0;
  double error = 0;
  for (std::size_t t = 0; t < sample.size(); ++t) {
    const Slope slope = slope_along(model, sample, [&](double step) { move(t, step); });
    sum += slope.value * slope.value;
    error += slope.error * (2 * std::abs(slope.value) + slope.error);
  }
  const auto count = static_cast<double>(sample.size());
  EXPECT_NEAR(found, sum / count, error / count);
}

/// Tokens differ, so that a row of the table moves the first rows of one token.
TEST(SquaredGradients, OfAnEmbeddingIsTheSquaredSlope) {
  const Sample sample = {1, 5, 9, 2};
  for (const char* name :
       {"llama", "gemma2", "gemma3", "gemma3n", "gemma4", "qwen3", "gpt2", "bitnet"}) {
    SCOPED_TRACE(name);
    ChangingModel model = small_model(name);
    const SquaredGradients result = measured(model, {sample});
    ASSERT_EQ(result.embedding.size(), model.d.width);
    NamedTensor& table = model.tensor({.role = WeightRole::kTokenEmbedding});
    for (std::size_t c = 0; c < model.d.width; c += 3) {
      expect_squares(model, sample, result.embedding[c], [&](std::size_t t, double step) {
        const auto row = static_cast<std::size_t>(sample[t]);
        table.values[row * model.d.width + c] += static_cast<float>(step);
      });
    }
  }
}

TEST(SquaredGradients, OfInputsOfBlocksIsTheSquaredSlope) {
  const Sample sample = {1, 5, 9, 2};
  for (const char* name : {"gemma3n", "gemma4"}) {
    SCOPED_TRACE(name);
    ChangingModel model = small_model(name);
    const SquaredGradients result = measured(model, {sample});
    const std::size_t width = model.d.blocks * model.d.block_input_width;
    ASSERT_EQ(result.block_inputs.size(), width);
    NamedTensor& table = model.tensor({.role = WeightRole::kBlockInputTable});
    for (std::size_t c = 0; c < width; c += 7) {
      expect_squares(model, sample, result.block_inputs[c], [&](std::size_t t, double step) {
        table.values[static_cast<std::size_t>(sample[t]) * width + c] += static_cast<float>(step);
      });
    }
  }
  EXPECT_TRUE(measured(small_model("llama"), {sample}).block_inputs.empty());
}

/// Rows d_t with d_t x_u = [t = u] for the given rows x_u: (X X')^-1 X, by elimination.
std::vector<std::vector<double>> dual_rows(std::span<const float> x, std::size_t rows) {
  const std::size_t n = x.size() / rows;
  std::vector<std::vector<double>> system(rows, std::vector<double>(rows + n));
  for (std::size_t t = 0; t < rows; ++t) {
    for (std::size_t u = 0; u < rows; ++u) {
      for (std::size_t i = 0; i < n; ++i) {
        system[t][u] += double{x[t * n + i]} * double{x[u * n + i]};
      }
    }
    std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(t * n), n,
                system[t].begin() + static_cast<std::ptrdiff_t>(rows));
  }
  // The matrix is positive definite, so that no pivots are needed.
  for (std::size_t t = 0; t < rows; ++t) {
    const double pivot = system[t][t];
    for (double& value : system[t]) value /= pivot;
    for (std::size_t u = 0; u < rows; ++u) {
      const double factor = u == t ? 0 : system[u][t];
      for (std::size_t i = 0; i < rows + n; ++i) system[u][i] -= factor * system[t][i];
    }
  }
  for (auto& row : system) row.erase(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(rows));
  return system;
}

/// A change of a row of a matrix that moves its output for one token alone.
TEST(SquaredGradients, OfMatricesIsTheSquaredSlope) {
  const Sample sample = {3, 7, 1};
  for (const char* name : {"llama", "gemma2", "gemma4", "gemma3n", "qwen3", "gpt2"}) {
    ChangingModel model = small_model(name);
    const SquaredGradients result = measured(model, {sample});
    for (std::size_t block = 0; block < model.d.blocks; ++block) {
      for (const auto& [id, rows] : inputs_of_block(model, {sample}, block)) {
        // One reads two kinds of rows, the others are in one tensor.
        if (id.role == WeightRole::kStreamRouter || id.role == WeightRole::kStreamEnd) continue;
        SCOPED_TRACE(std::string(name) + ", " + to_string(id));
        const auto directions = dual_rows(rows, sample.size());
        NamedTensor& matrix = model.tensor(id);
        const std::size_t inputs = matrix.shape.back();
        ASSERT_EQ(result.outputs.at(id).size(), matrix.shape[0]);
        for (const std::size_t o : {std::size_t{1}, matrix.shape[0] - 1}) {
          expect_squares(model, sample, result.outputs.at(id)[o], [&](std::size_t t, double step) {
            for (std::size_t i = 0; i < inputs; ++i) {
              matrix.values[o * inputs + i] += static_cast<float>(step * directions[t][i]);
            }
          });
        }
      }
    }
  }
}

/// y is drawn by inversion, and the gradient of log p_y at the logits is [o = y] - p_o. The sample
/// is longer than the rows of one product.
TEST(SquaredGradients, OfTheHeadFollowsFromTheDraws) {
  const ChangingModel model = small_model("llama");
  Sample sample(131);
  for (std::size_t t = 0; t < sample.size(); ++t) sample[t] = static_cast<std::int32_t>(t * t % 11);
  const std::vector<double> log_p = log_likelihoods(model, {sample});
  Random random(7);
  std::vector<double> expected(11, 0);
  double loss = 0;
  for (std::size_t t = 0; t < sample.size(); ++t) {
    const double draw = random.uniform();
    std::size_t y = 0;
    double sum = std::exp(log_p[t * 11]);
    while (sum <= draw) sum += std::exp(log_p[t * 11 + ++y]);
    loss -= log_p[t * 11 + y];
    for (std::size_t o = 0; o < 11; ++o) {
      const double g = (o == y ? 1 : 0) - std::exp(log_p[t * 11 + o]);
      expected[o] += g * g / 131;
    }
  }
  const SquaredGradients result = measured(model, {sample}, 7);
  EXPECT_EQ(result.tokens, 131U);
  // Both run the network in float32, with other orders of sums: 30 operators, 8 terms.
  EXPECT_NEAR(result.loss, loss / 131, 30 * 8 * 0x1p-24);
  const std::vector<double>& found = result.outputs.at({.role = WeightRole::kHead});
  EXPECT_THAT(found, testing::Pointwise(testing::DoubleNear(2 * 30 * 8 * 0x1p-24), expected));
}

/// Two equal experts whose shares are 1/2 each: both get half of the gradient.
TEST(SquaredGradients, OfExpertsIsTheMeanOfTheirRows) {
  Description d = small_description("llama");
  d.blocks = 1;
  ChangingModel one(d);
  d.experts = 3;
  d.active_experts = 2;
  d.renormalizes = true;
  ChangingModel several(d);
  for (NamedTensor& tensor : several.tensors) {
    const std::size_t at = tensor.name.find("_exps");
    if (tensor.name.find("gate_inp") != std::string::npos) {
      std::ranges::fill(tensor.values, 0.0F);
      continue;
    }
    const std::string name =
        at == std::string::npos ? tensor.name : std::string(tensor.name).erase(at, 5);
    const std::vector<float>& from = one.named(name).values;
    for (std::size_t i = 0; i < tensor.values.size(); ++i) tensor.values[i] = from[i % from.size()];
  }
  const std::vector<Sample> samples = {{1, 2, 3}, {8, 4, 0}};
  const SquaredGradients expected = measured(one, samples);
  const SquaredGradients found = measured(several, samples);
  EXPECT_NEAR(found.loss, expected.loss, 30 * 8 * 0x1p-24);
  const std::pair<WeightRole, WeightRole> roles[] = {{WeightRole::kExpertGate, WeightRole::kGate},
                                                     {WeightRole::kExpertUp, WeightRole::kUp},
                                                     {WeightRole::kExpertDown, WeightRole::kDown}};
  for (const auto& [expert, dense] : roles) {
    const std::vector<double>& s = expected.outputs.at({.role = dense});
    const std::vector<double>& each = found.outputs.at({.role = expert});
    ASSERT_EQ(each.size(), s.size());
    for (std::size_t o = 0; o < s.size(); ++o) {
      EXPECT_NEAR(each[o], s[o] / 4, 2 * 30 * 8 * 0x1p-24 * (1 + s[o])) << to_string(expert);
    }
  }
  // No share changes the sum of equal outputs, up to the rounding of these.
  for (const double s : found.outputs.at({.role = WeightRole::kRouter})) {
    EXPECT_NEAR(s, 0, std::pow(30 * 8 * 0x1p-24, 2));
  }
}

/// Samples of random tokens.
std::vector<Sample> random_samples(std::size_t count, std::size_t tokens, std::uint64_t seed) {
  Random random(seed);
  std::vector<Sample> samples(count, Sample(tokens));
  for (Sample& sample : samples) {
    for (std::int32_t& id : sample) id = static_cast<std::int32_t>(random.below(61));
  }
  return samples;
}

/// 1/2 sum_o s_o E[(e_o x)^2].
double predicted_divergence(std::span<const double> s, std::span<const float> errors,
                            std::span<const float> x) {
  const std::size_t n = errors.size() / s.size();
  const std::size_t rows = x.size() / n;
  double sum = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t o = 0; o < s.size(); ++o) {
      double error = 0;
      for (std::size_t i = 0; i < n; ++i)
        error += double{errors[o * n + i]} * double{x[row * n + i]};
      sum += s[o] * error * error;
    }
  }
  return sum / 2 / static_cast<double>(rows);
}

/// The mean of KL(p || q) per token.
double divergence(std::span<const double> log_p, std::span<const double> log_q, std::size_t rows) {
  double sum = 0;
  for (std::size_t i = 0; i < log_p.size(); ++i) sum += std::exp(log_p[i]) * (log_p[i] - log_q[i]);
  return sum / static_cast<double>(rows);
}

/// Predicted over measured divergence for random errors of a matrix, [rows, inputs] of which are x.
double divergence_ratio(ChangingModel& model, const std::vector<Sample>& samples,
                        const WeightId& id, std::span<const double> s, std::span<const float> x) {
  const std::vector<double> log_p = log_likelihoods(model, samples);
  std::vector<float>& values = model.tensor(id).values;
  const std::vector<float> middle = values;
  double expected = 0;
  double found = 0;
  Random random(5);
  for (int round = 0; round < 4; ++round) {
    std::vector<float> errors(middle.size());
    for (std::size_t i = 0; i < errors.size(); ++i) {
      errors[i] = static_cast<float>(0.01 * random.normal());
      values[i] = middle[i] + errors[i];
    }
    found += divergence(log_p, log_likelihoods(model, samples), samples.size() * samples[0].size());
    expected += predicted_divergence(s, errors, x);
  }
  values = middle;
  return expected / found;
}

/// The prediction leaves out what tokens and outputs have in common, and that gradients depend on
/// inputs. Here rows of the embedding are large beside what blocks add, so norms, which tie
/// gradients to inputs, differ little; and tokens are random. What keys of neighbours have in
/// common is a third of theirs, the rest is below a quarter, with both signs.
TEST(SquaredGradients, PredictsTheDivergenceOfSmallErrors) {
  ChangingModel model = small_model("llama", 0.25, 61);
  for (float& x : model.tensor({.role = WeightRole::kTokenEmbedding}).values) x *= 12;
  const std::vector<Sample> samples = random_samples(250, 8, 3);
  const SquaredGradients gradients = measured(model, samples);
  double sum = 0;
  for (std::size_t block = 0; block < model.d.blocks; ++block) {
    for (const auto& [id, x] : inputs_of_block(model, samples, block)) {
      const double ratio = divergence_ratio(model, samples, id, gradients.outputs.at(id), x);
      EXPECT_NEAR(ratio, 1, 1.0 / 3) << to_string(id);
      sum += ratio;
    }
  }
  EXPECT_NEAR(sum / 14, 1, 0.1);
}

TEST(SquaredGradients, HasTheSameBitsForAnyNumberOfThreads) {
  const ChangingModel model = small_model("gemma2", 0.5, 61);
  const std::vector<Sample> samples = random_samples(5, 6, 8);
  const auto run = [&](int threads) {
    const ThreadLimit limit(threads);
    return measured(model, samples);
  };
  const SquaredGradients one = run(1);
  const SquaredGradients three = run(3);
  EXPECT_EQ(one.outputs, three.outputs);
  EXPECT_EQ(one.embedding, three.embedding);
  EXPECT_EQ(one.loss, three.loss);
  EXPECT_NE(one.loss, measured(model, samples, 2).loss);
}

TEST(SquaredGradients, CoversAllMatricesAndReports) {
  const ChangingModel model = small_model("llama");
  std::vector<double> fractions;
  std::vector<std::string> activities;
  SquaredGradientOptions options;
  options.progress = [&](double fraction, std::string_view activity) {
    fractions.push_back(fraction);
    activities.emplace_back(activity);
  };
  const SquaredGradients result =
      measure_squared_gradients(model.d, model.weights(), std::vector<Sample>{{1, 2}}, options);
  EXPECT_EQ(result.outputs.size(), 2 * 7 + 1U);
  EXPECT_TRUE(std::ranges::is_sorted(fractions));
  EXPECT_EQ(fractions.front(), 0);
  EXPECT_EQ(fractions.back(), 1);
  EXPECT_THAT(activities, testing::ElementsAre("block 0", "block 1", "head", "block 1", "block 0",
                                               "sensitivities"));
}

TEST(SquaredGradients, RejectsWhatHasNoLikelihood) {
  ChangingModel model = small_model("llama");
  expect_error(ErrorKind::kUsage, "expected samples of tokens, found none",
               [&] { measured(model, {}); });
  expect_error(ErrorKind::kUsage, "expected samples of tokens, found none",
               [&] { measured(model, {{}}); });
  expect_error(ErrorKind::kUsage, "expected samples of 2 tokens, found one of 1", [&] {
    measured(model, {{1, 2}, {3}});
  });
  expect_error(ErrorKind::kShape, "11", [&] { measured(model, {{1, 11}}); });
  model.tensor({.role = WeightRole::kHead}).values[8] = kInfinity;
  expect_error(ErrorKind::kFormat, "logit of token 1: expected a finite number", [&] {
    measured(model, {{1, 2}});
  });
}

}  // namespace
}  // namespace halftone::lm
