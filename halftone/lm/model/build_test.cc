// SPDX-License-Identifier: Apache-2.0
// tests/language_models_test.py compares the logits of every architecture; here are the graphs.
#include "halftone/lm/model/build.h"

#include <cmath>

#include "halftone/base/testing.h"
#include "halftone/ir/evaluate_graph.h"
#include "halftone/ir/verify.h"
#include "halftone/lm/model/architectures.h"
#include "halftone/lm/model/testing.h"

namespace halftone::lm {
namespace {

ir::Tensor integers(const std::vector<std::int32_t>& values, ir::Shape shape) {
  return ir::Tensor::from<std::int32_t>(std::move(shape), values);
}

/// Hidden rows of whole samples.
std::vector<float> hidden_of_samples(const Description& d, const std::vector<std::int32_t>& ids) {
  const DecoderGraphs graphs = build_samples(d, small_weights(d), ids.size());
  std::vector<ir::Tensor> inputs;
  inputs.push_back(integers(ids, {1, static_cast<ir::Dim>(ids.size())}));
  const auto rows = ir::evaluate_graph(graphs.body, inputs)[0].clone();
  const auto values = rows.as<float>();
  return {values.begin(), values.end()};
}

/// Hidden rows of the last token, which reads what the states keep of the others. Both sequences
/// of the states get tokens; the second is asked.
std::vector<float> hidden_of_rows(const Description& d, const std::vector<std::int32_t>& ids) {
  const DecoderGraphs graphs = build_decoder(d, small_weights(d), {.sequences = 2, .context = 8});
  std::vector<ir::Tensor> states;
  for (const ir::State& state : graphs.body.states()) {
    states.emplace_back(ir::ElementType::kFloat32, graphs.body.value(state.before).type.shape);
  }
  std::vector<float> last;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::vector<ir::Tensor> inputs;
    inputs.push_back(integers({3, ids[i]}, {2}));
    inputs.push_back(integers({0, 1}, {2}));
    inputs.push_back(integers(std::vector<std::int32_t>(2, static_cast<std::int32_t>(i)), {2}));
    std::move(states.begin(), states.end(), std::back_inserter(inputs));
    auto outputs = ir::evaluate_graph(graphs.body, inputs);
    states.assign(std::make_move_iterator(outputs.begin() + 1),
                  std::make_move_iterator(outputs.end()));
    const auto rows = std::as_const(outputs[0]).as<float>();
    last.assign(rows.begin() + static_cast<std::ptrdiff_t>(d.width), rows.end());
  }
  return last;
}

std::vector<ir::Tensor> evaluate(const ir::Graph& graph, ir::Tensor input) {
  std::vector<ir::Tensor> inputs;
  inputs.push_back(std::move(input));
  return ir::evaluate_graph(graph, inputs);
}

TEST(Build, PartsOfSamplesFollowEachOther) {
  const std::vector<std::int32_t> ids = {1, 5, 9, 2, 7, 0};
  for (const char* name : {"llama", "gemma2", "gpt2", "qwen2moe", "gemma3n"}) {
    Description d = small_description(name);
    if (std::string_view(name) == "gemma3n") d = stream_description();
    if (std::string_view(name) == "qwen2moe") {
      d.experts = 4;
      d.active_experts = 2;
    }
    const Weights weights = small_weights(d);
    ir::Tensor rows =
        evaluate(build_sample_embedding(d, weights, ids.size()), integers(ids, {1, 6}))[0].clone();
    for (std::size_t block = 0; block < d.blocks; ++block) {
      const SamplePart part = build_sample_block(d, weights, ids.size(), block);
      rows = evaluate(part.graph, std::move(rows))[0].clone();
    }
    EXPECT_THAT(std::as_const(rows).as<float>(),
                testing::ElementsAreArray(hidden_of_samples(d, ids)))
        << name;
    const ir::Graph whole = build_samples(d, weights, ids.size()).head;
    EXPECT_THAT(
        evaluate(build_sample_logits(d, weights, ids.size()).graph, rows.clone())[0].as<float>(),
        testing::ElementsAreArray(evaluate(whole, rows.clone())[0].as<float>()))
        << name;
  }
}

std::vector<std::string> roles_of(const ProductInput& input) {
  std::vector<std::string> roles;
  for (const WeightId& id : input.matrices) roles.emplace_back(to_string(id));
  return roles;
}

TEST(Build, PartsOfSamplesGiveTheInputsOfMatrices) {
  const Description d = small_description("llama");
  const Weights weights = small_weights(d);
  const SamplePart part = build_sample_block(d, weights, 5, 1);
  ASSERT_EQ(part.inputs.size(), 4U);
  EXPECT_THAT(roles_of(part.inputs[0]),
              testing::ElementsAre("attention query of block 1", "attention key of block 1",
                                   "attention value of block 1"));
  EXPECT_THAT(roles_of(part.inputs[2]), testing::SizeIs(2));
  const auto shape = [&](std::size_t i) {
    return part.graph.value(part.graph.outputs()[part.inputs[i].output]).type.shape;
  };
  EXPECT_EQ(shape(0), (ir::Shape{ir::kBatch, 5, 8}));
  EXPECT_EQ(shape(3), (ir::Shape{ir::kBatch, 5, 12}));
  // The function of the gate comes after its product.
  const SamplePart logits = build_sample_logits(d, weights, 5);
  const auto extent = [](const SamplePart& of, std::size_t input, std::size_t matrix) {
    return of.graph.value(of.inputs[input].products[matrix]).type.shape.back();
  };
  EXPECT_EQ(extent(part, 0, 0), 16);
  EXPECT_EQ(extent(part, 0, 2), 8);
  EXPECT_EQ(extent(part, 3, 0), 8);
  EXPECT_EQ(part.graph.value(part.inputs[2].products[0]).name, "blk.1/gate/sums");
  EXPECT_EQ(extent(logits, 0, 0), 11);
  EXPECT_EQ(logits.graph.outputs()[0], logits.inputs[0].products[0]);
  const SamplePart head = build_sample_head(d, weights, 5);
  EXPECT_THAT(head.inputs[0].products, testing::ElementsAre(ir::kAbsent));
  ASSERT_EQ(head.inputs.size(), 1U);
  EXPECT_THAT(roles_of(head.inputs[0]), testing::ElementsAre("head"));
  EXPECT_EQ(head.graph.outputs().size(), 1U);
}

TEST(Build, GraphsAreThoseOfADecoder) {
  const Description d = small_description("llama");
  const Weights weights = small_weights(d);
  const DecoderGraphs graphs = build_decoder(d, weights, {.sequences = 3, .context = 5});
  ir::verify(graphs.body);
  ir::verify(graphs.head);
  EXPECT_EQ(graphs.body.value(graphs.body.inputs()[0]).name, "ids");
  EXPECT_EQ(graphs.body.value(graphs.body.inputs()[1]).name, "slots");
  EXPECT_EQ(graphs.body.value(graphs.body.inputs()[2]).name, "positions");
  EXPECT_EQ(graphs.body.value(graphs.body.outputs()[0]).type.shape, (ir::Shape{ir::kBatch, 8}));
  ASSERT_EQ(graphs.body.states().size(), 4U);
  EXPECT_EQ(graphs.body.value(graphs.body.states()[0].before).name, "blk.0/keys");
  EXPECT_EQ(graphs.body.value(graphs.body.states()[0].before).type.shape, (ir::Shape{3, 5, 8}));
  EXPECT_EQ(graphs.head.value(graphs.head.outputs()[0]).type.shape, (ir::Shape{ir::kBatch, 11}));
}

/// The constant with this name; null if there is none.
std::shared_ptr<const ir::Constant> constant(const ir::Graph& graph, const std::string& name) {
  for (std::uint32_t i = 0; i < graph.num_values(); ++i) {
    const ir::Value& value = graph.value(ir::ValueId{i});
    if (value.name == name) return value.constant;
  }
  return nullptr;
}

TEST(Build, GraphsShareATiedTable) {
  Description d = small_description("llama");
  const DecoderGraphs tied = build_decoder(d, small_weights(d));
  ASSERT_NE(constant(tied.body, "token_embd.weight"), nullptr);
  EXPECT_EQ(constant(tied.body, "token_embd.weight"), constant(tied.head, "token_embd.weight"));
  d.ties_embeddings = false;
  const DecoderGraphs own = build_decoder(d, small_weights(d));
  EXPECT_EQ(constant(own.head, "token_embd.weight"), nullptr);
  EXPECT_NE(constant(own.head, "output.weight"), nullptr);
}

TEST(Build, OffsetsCountForGainsOfNormsOnly) {
  Description d = small_description("gemma");
  const DecoderGraphs plain = build_decoder(d, small_weights(d));
  d.norm_offset = 1;
  const DecoderGraphs shifted = build_decoder(d, small_weights(d));
  const auto first = [](const DecoderGraphs& graphs, const std::string& name) {
    return std::get<ir::Tensor>(*constant(graphs.body, name)).as<float>()[1];
  };
  EXPECT_EQ(first(shifted, "blk.1.attn_norm.weight"), first(plain, "blk.1.attn_norm.weight") + 1);
  EXPECT_EQ(first(shifted, "blk.1.attn_q.weight"), first(plain, "blk.1.attn_q.weight"));
}

/// Sums of both forms have the same terms: of order 1, in float32, over at most 16 elements and
/// some thirty operators. 2^-23 * 16 * 30 is 6e-5.
TEST(Build, StatesGiveWhatWholeSamplesGive) {
  const std::vector<std::int32_t> ids = {1, 5, 9, 2, 7, 0};
  for (const char* name :
       {"llama", "qwen2", "qwen3", "gemma2", "gemma3", "gpt2", "bitnet", "gemma3n"}) {
    Description d = small_description(name);
    if (std::string_view(name) == "gemma3n") d = stream_description();
    d.window = 3;
    complete(d, architecture_of_gguf(name));
    const std::vector<float> all = hidden_of_samples(d, ids);
    const std::vector<float> last = hidden_of_rows(d, ids);
    ASSERT_EQ(all.size(), ids.size() * d.width);
    for (std::size_t i = 0; i < d.width; ++i) {
      const float expected = all[(ids.size() - 1) * d.width + i];
      EXPECT_NEAR(last[i], expected, 6e-5 * std::max(1.0F, std::abs(expected))) << name;
    }
  }
}

TEST(Build, SamplesDoNotSeeEachOther) {
  const Description d = small_description("gemma3");
  const DecoderGraphs graphs = build_samples(d, small_weights(d), 3);
  ir::verify(graphs.body);
  ir::verify(graphs.head);
  std::vector<ir::Tensor> inputs;
  inputs.push_back(integers({4, 0, 9, 1, 2, 3}, {2, 3}));
  const auto outputs = ir::evaluate_graph(graphs.body, inputs);
  const auto both = outputs[0].as<float>();
  const std::vector<float> first = hidden_of_samples(d, {4, 0, 9});
  const std::vector<float> second = hidden_of_samples(d, {1, 2, 3});
  EXPECT_TRUE(std::ranges::equal(both.first(first.size()), first));
  EXPECT_TRUE(std::ranges::equal(both.last(second.size()), second));
}

/// One expert, whose share is 1, is a network without a choice.
TEST(Build, OneExpertIsANetworkWithoutAChoice) {
  Description d = small_description("llama");
  d.blocks = 1;
  const std::vector<float> one = hidden_of_samples(d, {1, 2, 3});
  d.experts = d.active_experts = 1;
  d.renormalizes = true;
  const std::vector<float> chosen = hidden_of_samples(d, {1, 2, 3});
  ASSERT_EQ(one.size(), chosen.size());
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_FLOAT_EQ(one[i], chosen[i]);
}

TEST(Build, SoftmaxMayFollowTheChoice) {
  Description d = small_description("llama");
  d.experts = 4;
  d.active_experts = 2;
  d.renormalizes = true;
  const std::vector<float> before = hidden_of_samples(d, {1, 2, 3});
  d.renormalizes = false;
  d.softmax_after_choice = true;
  const std::vector<float> after = hidden_of_samples(d, {1, 2, 3});
  // p_i / (p_1 + p_2) over all is the softmax over both.
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_NEAR(after[i], before[i], 6e-5 * std::max(1.0F, std::abs(before[i])));
  }
}

TEST(Build, RejectsWhatDoesNotFit) {
  const Description d = small_description("gpt2");
  const Weights weights = small_weights(d);
  expect_error(ErrorKind::kUsage, "context: expected 1 to 16 tokens, found 17",
               [&] { build_decoder(d, weights, {.context = 17}); });
  expect_error(ErrorKind::kUsage, "context: expected 1 to 16 tokens, found 0",
               [&] { build_samples(d, weights, 0); });
  expect_error(ErrorKind::kUsage, "sequences: expected 1 or more, found 0",
               [&] { build_decoder(d, weights, {.sequences = 0}); });
}

}  // namespace
}  // namespace halftone::lm
