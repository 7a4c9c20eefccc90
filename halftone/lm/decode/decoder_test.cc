// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/decode/decoder.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <set>

#include "halftone/ir/evaluate_graph.h"
#include "halftone/ir/test_data.h"
#include "halftone/ir/testing.h"
#include "halftone/lm/model/build.h"
#include "halftone/lm/model/testing.h"

namespace halftone::lm {
namespace {

using ir::kBatch;
using ir::ValueId;
using ir::test::expect_error;

constexpr ir::Dim kSequences = 4;
constexpr ir::Dim kContext = 64;
constexpr ir::Dim kWidth = 16;
constexpr ir::Dim kTokens = 30;

/// Two blocks of attention with a residual, random, and two of some experts if there are any, or
/// one of each recurrence.
class Builder {
 public:
  explicit Builder(ir::Dim experts = 0, bool is_recurrent = false)
      : experts_(experts), is_recurrent_(is_recurrent) {}

  DecoderGraphs graphs() {
    DecoderGraphs result{body(), {}};
    const ValueId x = result.head.add_input("rows", ir::test::float_type({kBatch, kWidth}));
    result.head.add_output(result.head.add_node(
        "head", ir::FullyConnected{}, {x, weight(result.head, "head/w", {kTokens, kWidth})}));
    return result;
  }

 private:
  ValueId weight(ir::Graph& graph, const std::string& name, const ir::Shape& shape) {
    return graph.add_constant(name, ir::test::uniform_tensor(shape, random_, -0.5, 0.5));
  }

  ir::Graph body() {
    ir::Graph graph;
    const auto places = ir::dense_type(ir::ElementType::kInt32, {kBatch});
    const ValueId ids = graph.add_input("ids", places);
    slots_ = graph.add_input("slots", places);
    positions_ = graph.add_input("positions", places);
    ValueId x =
        graph.add_node("embedding", ir::Gather{}, {weight(graph, "table", {kTokens, kWidth}), ids});
    std::vector<ir::State> states;
    for (const char* name : {"first", "second"}) x = block(graph, name, x, states);
    if (is_recurrent_) x = recurrences(graph, x);
    states.insert(states.end(), recurrent_states_.begin(), recurrent_states_.end());
    graph.add_output(x);
    for (const ir::State& state : states) graph.tie(state.before, state.after);
    return graph;
  }

  ValueId block(ir::Graph& graph, const std::string& name, ValueId x,
                std::vector<ir::State>& states) {
    const auto product = [&](const std::string& what) {
      return graph.add_node(name + what, ir::FullyConnected{},
                            {x, weight(graph, name + what + "/w", {kWidth, kWidth})});
    };
    const auto keep = [&](const std::string& what, ValueId rows) {
      const ValueId before = graph.add_input(name + what + "/state",
                                             ir::test::float_type({kSequences, kContext, kWidth}));
      const ValueId after = graph.add_node(name + what + "/append", ir::AppendRows{},
                                           {before, rows, slots_, positions_});
      states.push_back({before, after});
      return after;
    };
    const ValueId q = product("/q");
    const ValueId keys = keep("/k", product("/k"));
    const ValueId values = keep("/v", product("/v"));
    const ValueId y = graph.add_node(name + "/attention", ir::Attention{4, 4, 0.5F},
                                     {q, keys, values, slots_, positions_});
    const ValueId sum = graph.add_node(name + "/sum", ir::test::kAdd, {x, y});
    return experts_ == 0 ? sum : add_experts(graph, name, sum);
  }

  ValueId add_experts(ir::Graph& graph, const std::string& name, ValueId x) {
    const ValueId scores =
        graph.add_node(name + "/router", ir::FullyConnected{},
                       {x, weight(graph, name + "/router/w", {experts_, kWidth})});
    const ValueId chosen = graph.add_node(name + "/chosen", ir::TopK{.axis = 1, .k = 2}, {scores});
    const ValueId y =
        graph.add_node(name + "/experts", ir::ExpertProduct{},
                       {x, weight(graph, name + "/experts/w", {experts_, kWidth, kWidth}), chosen});
    const ValueId sum = graph.add_node(
        name + "/experts/sum",
        ir::Reduce{.kind = ir::ReduceKind::kSum, .axes = {1}, .keep_dims = false}, {y});
    return graph.add_node(name + "/all", ir::test::kAdd, {x, sum});
  }

  static ValueId constant_of(ir::Graph& graph, const std::string& name, float value) {
    return graph.add_constant(name, ir::Tensor::from<float>({}, {&value, 1}));
  }

  /// A recurrence with a residual.
  template <typename Op>
  ValueId recurrence(ir::Graph& graph, ValueId x, Op op, const ir::Shape& state,
                     std::vector<ValueId> inputs) {
    const std::string name(Op::kName);
    inputs.insert(inputs.begin(), {graph.add_input(name + "/state", ir::test::float_type(state)),
                                   slots_, positions_});
    op.form = ir::RecurrenceForm::kRows;
    const ValueId y = graph.add_node(name, op, inputs);
    op.form = ir::RecurrenceForm::kState;
    recurrent_states_.push_back({inputs[0], graph.add_node(name + "/kept", op, inputs)});
    return graph.add_node(name + "/sum", ir::test::kAdd, {x, y});
  }

  ValueId recurrences(ir::Graph& graph, ValueId x) {
    const auto product = [&](const std::string& name, ir::Dim width) {
      return graph.add_node(name, ir::FullyConnected{},
                            {x, weight(graph, name + "/w", {width, kWidth})});
    };
    const auto constant = [&](const std::string& name, const ir::Shape& shape) {
      return weight(graph, name, shape);
    };
    x = recurrence(graph, x, ir::ShortConvolution{}, {kSequences, 3, kWidth},
                   {product("convolved", kWidth), constant("taps", {4, kWidth})});
    const ValueId steps = graph.add_node("steps", ir::Unary{{ir::ActivationKind::kSigmoid}},
                                         {product("raw_steps", 4)});
    const ValueId a = graph.add_node("a", ir::Binary{ir::BinaryKind::kSub, {}},
                                     {constant("raw_a", {4}), constant_of(graph, "one", 1)});
    x = recurrence(graph, x, ir::SelectiveScan{2}, {kSequences, 3, kWidth},
                   {product("scanned", kWidth), steps, a, product("b", 6), product("c", 6),
                    constant("d", {4})});
    // Decays below one, so that states stay bounded.
    const ValueId open =
        graph.add_node("beta", ir::Unary{{ir::ActivationKind::kSigmoid}}, {product("raw_beta", 4)});
    const ValueId decay = graph.add_node("decay", ir::Binary{ir::BinaryKind::kSub, {}},
                                         {open, constant_of(graph, "two", 2)});
    const ValueId k =
        graph.add_node("k", ir::Unary{{ir::ActivationKind::kTanh}}, {product("raw_k", 6)});
    return recurrence(graph, x, ir::GatedDelta{2}, {kSequences, 4, 3, kWidth / 4},
                      {product("q", 6), k, product("v", kWidth), decay, open});
  }

  ir::Dim experts_;
  bool is_recurrent_;
  std::vector<ir::State> recurrent_states_;
  Random random_{7};
  ValueId slots_ = ir::kAbsent;
  ValueId positions_ = ir::kAbsent;
};

Decoder decoder(std::size_t rows = 8, int threads = 1, ir::Dim experts = 0) {
  return Decoder(Builder(experts).graphs(), {.threads = threads, .rows = rows});
}

Decoder recurrent_decoder(std::size_t rows = 8, int threads = 1) {
  return Decoder(Builder(0, true).graphs(), {.threads = threads, .rows = rows});
}

std::vector<TokenId> some_tokens(std::size_t count, int seed = 1) {
  std::vector<TokenId> tokens;
  for (std::size_t i = 0; i < count; ++i) {
    tokens.push_back((static_cast<TokenId>(i) * 7 + seed) % kTokens);
  }
  return tokens;
}

struct SequenceToken {
  std::size_t sequence;
  TokenId token;
};

/// Appends one token to each of some sequences.
std::vector<float> append_one_each(Decoder& model, const std::vector<SequenceToken>& tokens) {
  std::vector<SequencePart> parts;
  for (const SequenceToken& each : tokens) parts.push_back({each.sequence, {&each.token, 1}});
  return model.append_each(parts);
}

TEST(Decoder, GivesTheLogitsOfTheGraphs) {
  const DecoderGraphs graphs = Builder().graphs();
  const std::vector<TokenId> tokens = some_tokens(5);
  std::vector<ir::Tensor> inputs = ir::test::list(
      ir::Tensor::from<TokenId>({5}, tokens), ir::test::tensor<std::int32_t>({5}, {0, 0, 0, 0, 0}),
      ir::test::tensor<std::int32_t>({5}, {0, 1, 2, 3, 4}));
  for (std::size_t i = 0; i < graphs.body.states().size(); ++i) {
    inputs.emplace_back(ir::ElementType::kFloat32, ir::Shape{kSequences, kContext, kWidth});
  }
  std::vector<ir::Tensor> hidden = ir::evaluate_graph(graphs.body, inputs);
  const ir::Tensor expected =
      ir::evaluate_graph(graphs.head, ir::test::list(std::move(hidden[0])))[0].clone();
  const std::vector<float> found = decoder().append(0, tokens, true);
  ASSERT_EQ(found.size(), expected.size());
  // Sums of up to 16 terms of order 1 in two blocks and a head, each rounded.
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected.as<float>()[i], 200 * 0x1p-24) << i;
  }
}

TEST(Decoder, DoesNotDependOnHowAPromptIsDivided) {
  const std::vector<TokenId> tokens = some_tokens(29);
  for (const ir::Dim experts : {0, 5}) {
    Decoder whole = decoder(8, 1, experts);
    const std::vector<float> all = whole.append(0, tokens, true);
    EXPECT_EQ(whole.length(0), 29U);
    for (const std::size_t step : {1U, 3U, 28U}) {
      Decoder parts = decoder(16, 2, experts);
      std::vector<float> found;
      for (std::size_t i = 0; i < tokens.size(); i += step) {
        const auto part = std::span(tokens).subspan(i, std::min(step, tokens.size() - i));
        const std::vector<float> logits = parts.append(0, part, true);
        found.insert(found.end(), logits.begin(), logits.end());
      }
      EXPECT_EQ(found, all) << step;
    }
    const std::vector<float> last = decoder(8, 1, experts).append(0, tokens, false);
    EXPECT_TRUE(std::ranges::equal(last, std::span(all).last(kTokens)));
  }
}

/// Up to 16 experts differ by the biases of their scores, in two blocks.
TEST(Decoder, ReadsTheExpertsOfATokenAlone) {
  const std::size_t bytes = decoder(8, 1, 2).bytes_per_token(3);
  EXPECT_EQ(decoder(8, 1, 16).bytes_per_token(3), bytes + 2 * 14 * sizeof(float));
  const std::size_t matrix = kWidth * kWidth * sizeof(float);
  EXPECT_GE(bytes, decoder().bytes_per_token(3) + 2 * 2 * matrix);
}

TEST(Decoder, KeepsSequencesApart) {
  std::vector<std::vector<float>> alone;
  for (int s = 0; s < 3; ++s) {
    Decoder one = decoder();
    one.append(0, some_tokens(4 + static_cast<std::size_t>(s), s), false);
    alone.push_back(one.append(0, std::vector<TokenId>{TokenId{s}}, false));
  }
  Decoder all = decoder();
  for (std::size_t s = 0; s < 3; ++s) all.append(s, some_tokens(4 + s, static_cast<int>(s)), false);
  const std::vector<float> found = append_one_each(all, {{2, 2}, {0, 0}, {1, 1}});
  const auto row = [&](std::size_t i) {
    return std::vector<float>(found.begin() + static_cast<std::ptrdiff_t>(i * kTokens),
                              found.begin() + static_cast<std::ptrdiff_t>((i + 1) * kTokens));
  };
  EXPECT_EQ(row(0), alone[2]);
  EXPECT_EQ(row(1), alone[0]);
  EXPECT_EQ(row(2), alone[1]);
}

/// Parts of prompts and single tokens in one run, for any number of rows that share one.
TEST(Decoder, MixesPartsOfPromptsWithSingleTokens) {
  const std::vector<TokenId> tokens = some_tokens(29);
  Decoder alone = decoder(32);
  const std::vector<float> first = alone.append(0, tokens, true);
  const std::vector<float> second = alone.append(1, some_tokens(29, 5), true);
  const std::vector<TokenId> others = some_tokens(29, 5);
  for (std::size_t count = 1; count <= 20; ++count) {
    Decoder model = decoder(32, 2);
    model.append(0, std::span(tokens).first(4), false);
    const std::vector<SequencePart> parts = {
        {0, std::span(tokens).subspan(4, 1)},
        {2, std::span(tokens).first(count), WantedLogits::kNone},
        {1, std::span(others).first(count), WantedLogits::kAll}};
    const std::vector<float> found = model.append_each(parts);
    ASSERT_EQ(found.size(), (1 + count) * kTokens);
    EXPECT_TRUE(std::ranges::equal(std::span(found).first(kTokens),
                                   std::span(first).subspan(4 * kTokens, kTokens)));
    EXPECT_TRUE(std::ranges::equal(std::span(found).subspan(kTokens),
                                   std::span(second).first(count * kTokens)))
        << count;
    EXPECT_TRUE(std::ranges::equal(model.append(2, std::span(tokens).subspan(count), true),
                                   std::span(first).subspan(count * kTokens)))
        << count;
  }
}

/// However a prompt is divided, on any threads, behind tokens that were truncated, in company.
TEST(Decoder, HasTheSameBitsWithEveryCache) {
  const Description d = small_description("llama");
  const Weights weights = small_weights(d);
  std::vector<TokenId> tokens;
  for (TokenId i = 0; i < 37; ++i) tokens.push_back(i * 7 % 11);
  std::vector<std::vector<float>> found;
  for (const auto numbers : ir::kCacheNumbers) {
    Decoder whole(build_decoder(d, weights, {1, 40, numbers}), {});
    const std::vector<float> all = whole.append(0, tokens, true);
    const std::size_t width = whole.vocabulary();
    for (const std::size_t step : {1U, 5U, 16U}) {
      Decoder parts(build_decoder(d, weights, {2, 40, numbers}), {.threads = 2, .rows = 8});
      parts.append(0, std::span(tokens).subspan(9), false);
      parts.truncate(0, 0);
      for (std::size_t i = 0; i < tokens.size(); i += step) {
        const auto part = std::span(tokens).subspan(i, std::min(step, tokens.size() - i));
        const std::vector<TokenId> other{2};
        const std::vector<SequencePart> both = {{1, other, WantedLogits::kNone},
                                                {0, part, WantedLogits::kAll}};
        EXPECT_TRUE(std::ranges::equal(parts.append_each(both),
                                       std::span(all).subspan(i * width, part.size() * width)))
            << to_string(numbers) << ", " << step << " at a time";
      }
    }
    found.push_back(all);
  }
  EXPECT_EQ(std::set(found.begin(), found.end()).size(), found.size());
}

TEST(Decoder, CopiesTheFrontOfASequence) {
  for (const auto numbers : ir::kCacheNumbers) {
    const Description d = small_description("llama");
    const Weights weights = small_weights(d);
    Decoder model(build_decoder(d, weights, {3, 40, numbers}), {});
    std::vector<TokenId> tokens;
    for (TokenId i = 0; i < 37; ++i) tokens.push_back(i * 7 % 11);
    const std::vector<float> all = model.append(2, tokens, true);
    for (const std::size_t length : {1U, 16U, 21U, 36U}) {
      model.truncate(0, 0);
      model.append(0, std::vector<TokenId>{3, 1, 4}, false);
      EXPECT_TRUE(model.copy_front(2, 0, length));
      EXPECT_EQ(model.length(0), length);
      EXPECT_TRUE(std::ranges::equal(model.append(0, std::span(tokens).subspan(length), true),
                                     std::span(all).subspan(length * model.vocabulary())))
          << length;
    }
    expect_error(ErrorKind::kUsage, "length: expected at most the 37 tokens",
                 [&] { model.copy_front(2, 0, 38); });
  }
}

#ifdef __linux__
std::size_t num_open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

TEST(Decoder, HasOneFileForAllCachesThatSequencesShare) {
  const Description d = small_description("llama");
  const Weights weights = small_weights(d);
  const std::size_t before = num_open_files();
  const Decoder model(build_decoder(d, weights, {8, 2048, ir::CacheNumbers::kFloat16}), {});
  EXPECT_EQ(num_open_files(), before + 1);
}
#endif

TEST(Decoder, SharesFrontsUntilTheyAreWritten) {
  for (const auto numbers :
       {ir::CacheNumbers::kFloat32, ir::CacheNumbers::kFloat16, ir::CacheNumbers::kInt8}) {
    const Description d = small_description("llama");
    const Weights weights = small_weights(d);
    Decoder model(build_decoder(d, weights, {3, 2048, numbers}), {});
    constexpr std::size_t kFront = 1000;
    std::vector<TokenId> tokens;
    for (TokenId i = 0; i < 1100; ++i) tokens.push_back(i * i % 11);
    const std::vector<float> all = model.append(0, tokens, true);
    EXPECT_EQ(model.shared_bytes(), 0U);
    for (const std::size_t to : {1U, 2U}) EXPECT_TRUE(model.copy_front(0, to, kFront));
    const std::size_t shared = model.shared_bytes();
    const std::size_t front_bytes = model.state_bytes() / 3 / 2048 * kFront;
    EXPECT_LE(shared, 2 * front_bytes);
#ifdef __linux__
    EXPECT_GE(shared, front_bytes) << "whole pages of each head";
#endif
    // The sequence that they are from becomes another one.
    std::vector<TokenId> others(900, 3);
    others[5] = 4;
    model.truncate(0, 0);
    const std::vector<float> theirs = model.append(0, others, true);
    const auto rest = std::span(tokens).subspan(kFront);
    for (const std::size_t sequence : {1U, 2U}) {
      EXPECT_TRUE(std::ranges::equal(model.append(sequence, rest, true),
                                     std::span(all).subspan(kFront * model.vocabulary())));
    }
    model.truncate(2, 0);
    EXPECT_EQ(model.append(2, others, true), theirs);
    EXPECT_LT(model.shared_bytes(), shared);
  }
}

/// States of recurrences belong to all tokens.
TEST(RecurrentDecoder, CopiesWholeSequencesOnly) {
  const std::vector<TokenId> tokens = some_tokens(9);
  Decoder model = recurrent_decoder();
  const std::vector<float> all = model.append(0, tokens, true);
  EXPECT_FALSE(model.truncates_freely());
  EXPECT_FALSE(model.copy_front(0, 1, 5));
  EXPECT_EQ(model.length(1), 0U);
  model.append(2, std::span(tokens).first(5), false);
  EXPECT_TRUE(model.copy_front(2, 1, 5));
  EXPECT_TRUE(std::ranges::equal(model.append(1, std::span(tokens).subspan(5), true),
                                 std::span(all).subspan(5 * kTokens)));
}

TEST(Decoder, ForgetsWhatIsTruncated) {
  Decoder model = decoder();
  const std::vector<float> expected = model.append(1, some_tokens(6), false);
  model.append(1, some_tokens(5, 3), false);
  model.truncate(1, 5);
  const std::vector<TokenId> tokens = some_tokens(6);
  EXPECT_EQ(model.append(1, std::span(tokens).last(1), false), expected);
}

/// The logits of all tokens, read so many at a time.
std::vector<float> logits_by(std::size_t step, std::span<const TokenId> tokens, Decoder model) {
  std::vector<float> all;
  for (std::size_t i = 0; i < tokens.size(); i += step) {
    const auto part = tokens.subspan(i, std::min(step, tokens.size() - i));
    const std::vector<float> logits = model.append(0, part, true);
    all.insert(all.end(), logits.begin(), logits.end());
  }
  return all;
}

TEST(RecurrentDecoder, DoesNotDependOnHowAPromptIsDivided) {
  const std::vector<TokenId> tokens = some_tokens(29);
  const std::vector<float> all = recurrent_decoder().append(0, tokens, true);
  for (const std::size_t step : {1U, 3U, 28U}) {
    EXPECT_EQ(logits_by(step, tokens, recurrent_decoder(16, 2)), all) << step;
  }
}

TEST(StreamDecoder, DoesNotDependOnHowAPromptIsDivided) {
  const Description d = stream_description();
  const Weights weights = small_weights(d);
  const auto stream_decoder = [&](std::size_t rows, int threads) {
    return Decoder(build_decoder(d, weights, {.context = 16}), {.threads = threads, .rows = rows});
  };
  const std::vector<TokenId> tokens = {1, 5, 9, 2, 7, 0, 3, 3, 10, 4, 6, 8, 1};
  const std::vector<float> all = stream_decoder(8, 1).append(0, tokens, true);
  for (const std::size_t step : {1U, 3U, 12U}) {
    EXPECT_EQ(logits_by(step, tokens, stream_decoder(16, 2)), all) << step;
  }
}

TEST(RecurrentDecoder, KeepsSequencesApart) {
  const auto alone = [](int sequence) {
    Decoder one = recurrent_decoder();
    one.append(3, some_tokens(5, sequence), false);
    return one.append(3, std::vector<TokenId>{TokenId{sequence}}, false);
  };
  Decoder all = recurrent_decoder();
  for (const int s : {0, 1, 2}) {
    all.append(static_cast<std::size_t>(s), some_tokens(5, s), false);
  }
  const std::vector<float> found = append_one_each(all, {{2, 2}, {0, 0}, {1, 1}});
  std::vector<float> expected = alone(2);
  for (const int s : {0, 1}) {
    const std::vector<float> more = alone(s);
    expected.insert(expected.end(), more.begin(), more.end());
  }
  EXPECT_EQ(found, expected);
}

TEST(RecurrentDecoder, ForgetsWhatIsTruncated) {
  Decoder model = recurrent_decoder();
  const std::vector<TokenId> tokens = some_tokens(9);
  const std::vector<float> expected = model.append(1, tokens, false);
  for (const std::size_t kept : {8U, 3U, 0U}) {
    model.append(1, some_tokens(4, 3), false);
    model.truncate(1, kept);
    EXPECT_EQ(model.length(1), kept);
    EXPECT_EQ(model.append(1, std::span(tokens).subspan(kept), false), expected) << kept;
  }
  model.truncate(1, 8);
  EXPECT_EQ(append_one_each(model, {{1, tokens[8]}}), expected);
}

/// The states of recurrences are read whole, whatever the length.
TEST(RecurrentDecoder, ReadsStatesOfOneSizeForEachToken) {
  const Decoder plain = decoder();
  const Decoder model = recurrent_decoder();
  const auto growth = [](const Decoder& each) {
    return each.bytes_per_token(9) - each.bytes_per_token(8);
  };
  EXPECT_EQ(growth(model), growth(plain));
  const std::size_t states = (3 * kWidth + 3 * kWidth + 4 * 3 * kWidth / 4) * sizeof(float);
  EXPECT_GE(model.bytes_per_token(0), plain.bytes_per_token(0) + states);
  EXPECT_EQ(model.state_bytes(), plain.state_bytes() + kSequences * states);
}

TEST(Decoder, DescribesWhatIsWrong) {
  Decoder model = decoder();
  const auto append = [&](std::size_t sequence, std::vector<TokenId> tokens) {
    return [&model, sequence, tokens] { model.append(sequence, tokens, false); };
  };
  expect_error(ErrorKind::kUsage, "expected at least one token", append(0, {}));
  expect_error(ErrorKind::kUsage, "token: expected 0 to 29, found 30", append(0, {30}));
  expect_error(ErrorKind::kUsage, "sequence: expected 0 to 3, found 4", append(4, {0}));
  model.append(0, some_tokens(60), false);
  expect_error(ErrorKind::kUnsupported,
               "the context is full: it has room for 64 tokens, 60 are there and 5 follow",
               append(0, some_tokens(5)));
  EXPECT_EQ(model.length(0), 60U);
  EXPECT_NO_THROW(model.append(0, some_tokens(4), false));
  expect_error(ErrorKind::kUsage, "sequence 1 is named twice", [&] {
    append_one_each(model, {{1, 1}, {1, 2}});
  });
  expect_error(ErrorKind::kUsage, "length: expected at most the 0 tokens",
               [&] { model.truncate(2, 1); });
}

}  // namespace
}  // namespace halftone::lm
