// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "halftone/base/half.h"
#include "halftone/base/parallel.h"
#include "halftone/runtime/linear/expert_pairs.h"
#include "halftone/runtime/testing.h"

namespace halftone::runtime {
namespace {

using ir::test::expect_error;
using ir::test::float_type;

/// A float16 for each group, then for each group with offsets another, then a byte for each code.
template <int kBits, std::size_t kGroup, bool kOffsets>
void unpack_plain(const numerics::BlockEncoding& /*encoding*/, const std::byte* bytes,
                  const numerics::CodeBlock& block) {
  constexpr std::size_t kBlock = std::max<std::size_t>(kGroup, 32);
  const auto half = [&](std::size_t i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, bytes + 2 * i, 2);
    return float_from_half(bits);
  };
  constexpr std::size_t kGroups = kBlock / kGroup;
  for (std::size_t g = 0; g < kGroups; ++g) {
    block.scales[g] = half(g);
    if (kOffsets) block.offsets[g] = half(kGroups + g);
  }
  const std::byte* codes = bytes + 2 * (kOffsets ? 2 : 1) * kGroups;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const int code = std::to_integer<int>(codes[i]) % (1 << kBits);
    block.codes[i] =
        static_cast<std::int8_t>(kBits == 1 ? 2 * code - 1 : code - (1 << (kBits - 1)));
  }
}

template <int kBits, std::size_t kGroup, bool kOffsets>
const numerics::BlockEncoding& plain_blocks() {
  constexpr std::size_t kBlock = std::max<std::size_t>(kGroup, 32);
  static const numerics::BlockEncoding encoding{
      {.levels = {kBits, kBits == 1 ? -1 : -(1 << (kBits - 1))},
       .group = kGroup,
       .has_offsets = kOffsets},
      "plain",
      kBlock,
      kBlock + 2 * (kOffsets ? 2 : 1) * (kBlock / kGroup),
      unpack_plain<kBits, kGroup, kOffsets>};
  return encoding;
}

/// As many random bytes as a tensor has, whose float16 are of magnitude 2^-7 to 2^-3.
ir::BlockTensor random_blocks(const ir::Shape& shape, const numerics::BlockEncoding& encoding,
                              Random& random) {
  std::vector<std::byte> bytes(encoding.bytes_of(shape.element_count()));
  const std::size_t halves = encoding.block_bytes - encoding.block;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto any = static_cast<unsigned>(random.uniform() * 256);
    const std::size_t at = i % encoding.block_bytes;
    const bool is_exponent = at < halves && at % 2 == 1;
    bytes[i] = static_cast<std::byte>(is_exponent ? (any & 0x8FU) | 0x20U : any);
  }
  return {shape, numerics::without_owner(encoding), own_bytes(std::move(bytes))};
}

/// What a test multiplies: `experts` matrices [outputs, inputs], `k` of them for each row.
struct Mixture {
  ir::Dim experts = 5;
  ir::Dim outputs = 130;
  ir::Dim inputs = 256;
  ir::Dim k = 2;
  const numerics::BlockEncoding* blocks = nullptr;  ///< null: float32
  bool has_own_rows = false;
  ir::ElementType index = ir::ElementType::kInt64;
};

class Experts {
 public:
  explicit Experts(const Mixture& mixture) : mixture_(mixture) {
    const ir::Shape shape{mixture.experts, mixture.outputs, mixture.inputs};
    Random random(3);
    if (mixture.blocks != nullptr) {
      weights_ = std::make_shared<ir::Constant>(random_blocks(shape, *mixture.blocks, random));
    } else {
      weights_ = std::make_shared<ir::Constant>(testing::random_tensor(shape, random));
    }
  }

  [[nodiscard]] ir::Graph graph() const {
    ir::Graph graph;
    const auto x = graph.add_input("x", float_type(rows_shape(ir::kBatch)));
    const auto w = graph.add_constant("w", weights_);
    const auto chosen =
        graph.add_input("chosen", ir::dense_type(mixture_.index, {ir::kBatch, mixture_.k}));
    graph.add_output(graph.add_node("experts", ir::ExpertProduct{kActivation}, {x, w, chosen}));
    return graph;
  }
  /// The layer that one expert is.
  [[nodiscard]] ir::Graph graph_of(std::size_t expert) const {
    ir::Graph graph;
    const auto x = graph.add_input("x", float_type({ir::kBatch, mixture_.inputs}));
    const auto w = graph.add_constant("w", matrix_of(expert));
    graph.add_output(graph.add_node("expert", ir::FullyConnected{kActivation}, {x, w}));
    return graph;
  }
  [[nodiscard]] ir::Shape rows_shape(ir::Dim rows) const {
    if (mixture_.has_own_rows) return {rows, mixture_.k, mixture_.inputs};
    return {rows, mixture_.inputs};
  }
  [[nodiscard]] std::vector<ir::Tensor> inputs(const std::vector<std::int64_t>& chosen) const {
    Random random(8);
    const ir::Dim rows = static_cast<ir::Dim>(chosen.size()) / mixture_.k;
    return ir::test::list(
        testing::random_tensor(rows_shape(rows), random),
        ir::Tensor::from<std::int64_t>({rows, mixture_.k}, chosen).cast(mixture_.index));
  }

 private:
  static constexpr ir::Activation kActivation{ir::ActivationKind::kSilu};

  [[nodiscard]] ir::Constant matrix_of(std::size_t expert) const {
    const ir::Shape shape{mixture_.outputs, mixture_.inputs};
    if (const auto* blocks = std::get_if<ir::BlockTensor>(weights_.get())) {
      const std::size_t bytes = blocks->row_bytes();
      return ir::BlockTensor{shape, blocks->encoding, blocks->bytes.part(expert * bytes, bytes)};
    }
    const std::size_t size = shape.element_count();
    const auto all = std::get<ir::Tensor>(*weights_).as<float>();
    return ir::Tensor::from<float>(shape, all.subspan(expert * size, size));
  }

  Mixture mixture_;
  std::shared_ptr<const ir::Constant> weights_;
};

ExecutionOptions in_fixed_order() { return {.float_order = FloatOrder::kFixed}; }

/// Experts for pairs, of which some choose the same, all within the first.
std::vector<std::int64_t> some_choices(std::size_t pairs, std::size_t experts) {
  Random random(5);
  std::vector<std::int64_t> chosen(pairs);
  for (std::int64_t& each : chosen) {
    each = static_cast<std::int64_t>(random.uniform() * static_cast<double>(experts));
  }
  return chosen;
}

std::vector<ir::Tensor> run_graph(const ir::Graph& graph, const std::vector<ir::Tensor>& inputs,
                                  int threads = 1) {
  const auto batch = static_cast<std::size_t>(inputs[0].shape()[0]);
  return Session(make_plan(graph, {batch, threads, in_fixed_order()})).run(inputs);
}

/// Expects of each pair what the layer of its expert computes for its row alone, bit for bit.
void expect_products_of_layers(const Mixture& mixture, const std::vector<std::int64_t>& chosen,
                               const std::string& kernel) {
  const Experts experts(mixture);
  const auto inputs = experts.inputs(chosen);
  const auto rows = static_cast<std::size_t>(inputs[0].shape()[0]);
  const auto plan = make_plan(experts.graph(), {rows, 1, in_fixed_order()});
  EXPECT_EQ(testing::kernel_of(*plan), kernel);
  Session session(plan);
  const auto found = session.run(inputs);
  testing::expect_same_on_callers_memory(session, inputs, found);
  const auto n = static_cast<std::size_t>(mixture.inputs);
  const auto o = static_cast<std::size_t>(mixture.outputs);
  const std::size_t share = mixture.has_own_rows ? 1 : static_cast<std::size_t>(mixture.k);
  for (std::size_t pair = 0; pair < chosen.size(); ++pair) {
    const auto row = inputs[0].as<float>().subspan(pair / share * n, n);
    const auto expected =
        run_graph(experts.graph_of(static_cast<std::size_t>(chosen[pair])),
                  ir::test::list(ir::Tensor::from<float>({1, mixture.inputs}, row)));
    EXPECT_TRUE(
        std::ranges::equal(found[0].as<float>().subspan(pair * o, o), expected[0].as<float>()))
        << "pair " << pair;
  }
}

const std::vector<const numerics::BlockEncoding*>& block_formats() {
  static const std::vector<const numerics::BlockEncoding*> all = {
      &plain_blocks<1, 128, false>(), &plain_blocks<2, 64, false>(), &plain_blocks<3, 16, false>(),
      &plain_blocks<4, 32, false>(),  &plain_blocks<4, 32, true>(),  &plain_blocks<5, 32, true>(),
      &plain_blocks<6, 16, false>(),  &plain_blocks<8, 32, false>()};
  return all;
}

TEST(ExpertProduct, IsTheLayersOfTheChosenExpertsInGroups) {
  for (const numerics::BlockEncoding* blocks : block_formats()) {
    SCOPED_TRACE(std::to_string(blocks->group) + " of " + std::to_string(blocks->levels.bits));
    for (const std::size_t rows : {1U, 3U, 40U}) {
      expect_products_of_layers({.blocks = blocks}, some_choices(2 * rows, 4), "groups");
    }
    expect_products_of_layers({.blocks = blocks, .has_own_rows = true}, some_choices(14, 5),
                              "groups");
  }
}

TEST(ExpertProduct, IsTheLayersOfTheChosenExpertsInFloat32) {
  for (const ir::ElementType index : {ir::ElementType::kInt32, ir::ElementType::kInt64}) {
    for (const bool has_own_rows : {false, true}) {
      for (const std::size_t rows : {1U, 3U, 40U}) {
        expect_products_of_layers({.inputs = 37, .has_own_rows = has_own_rows, .index = index},
                                  some_choices(2 * rows, 4), "fixed_order_f32");
      }
    }
  }
}

TEST(ExpertProduct, TakesOneExpertAndAllAndTheSameForEveryRow) {
  for (const numerics::BlockEncoding* blocks : {block_formats()[3], block_formats()[0]}) {
    expect_products_of_layers({.k = 1, .blocks = blocks}, {4, 0, 4, 2}, "groups");
    expect_products_of_layers({.experts = 3, .k = 3, .blocks = blocks}, {2, 1, 0, 0, 1, 2},
                              "groups");
    expect_products_of_layers({.k = 1, .blocks = blocks}, std::vector<std::int64_t>(70, 3),
                              "groups");
    expect_products_of_layers({.experts = 1, .k = 2, .blocks = blocks}, {0, 0}, "groups");
  }
}

TEST(ExpertProduct, MatchesReference) {
  for (const bool int8 : {false, true}) {
    const Experts experts({.blocks = block_formats()[3]});
    const ir::Graph graph = experts.graph();
    const auto inputs = experts.inputs(some_choices(10, 5));
    const auto expected = testing::run_reference(graph, inputs);
    const auto plan = make_plan(graph, {.batch = 5, .execution = {.int8_activations = int8}});
    EXPECT_EQ(testing::kernel_of(*plan), int8 ? "groups" : "fixed_order_f32");
    // Sums of 256 products, of magnitudes up to 4 and about 100 in all. 8 bits round an input by up
    // to half a step of 4 / 127, evenly, and weights are up to 1: eight standard deviations.
    const float tolerance = int8 ? 8 * std::sqrt(256.0F / 12) * 4 / 127 : 256 * 100 * 0x1p-24F;
    testing::expect_near(Session(plan).run(inputs), expected, tolerance);
  }
}

TEST(ExpertProduct, HasTheSameBitsForThreadsAndParts) {
  set_num_threads(3);
  for (const numerics::BlockEncoding* blocks :
       {static_cast<const numerics::BlockEncoding*>(nullptr), block_formats()[3],
        block_formats()[0]}) {
    const Mixture mixture{.experts = 7, .outputs = 300, .inputs = 512, .k = 3, .blocks = blocks};
    const Experts experts(mixture);
    const auto chosen = some_choices(3 * 64, 6);
    const auto inputs = experts.inputs(chosen);
    const auto whole = run_graph(experts.graph(), inputs);
    for (const int threads : {2, 3}) {
      EXPECT_TRUE(testing::same_bytes(run_graph(experts.graph(), inputs, threads), whole))
          << threads;
    }
    std::vector<float> parts;
    for (ir::Dim first = 0, rows = 1; first < 64;
         first += rows, rows = std::min(2 * rows, 64 - first)) {
      const auto part = [&](const ir::Tensor& tensor, auto type) {
        using T = decltype(type);
        const ir::Dim width = tensor.shape()[1];
        return ir::Tensor::from<T>({rows, width},
                                   tensor.as<T>().subspan(static_cast<std::size_t>(first * width),
                                                          static_cast<std::size_t>(rows * width)));
      };
      const auto y =
          run_graph(experts.graph(),
                    ir::test::list(part(inputs[0], 0.0F), part(inputs[1], std::int64_t{})), 2);
      parts.insert(parts.end(), y[0].as<float>().begin(), y[0].as<float>().end());
    }
    EXPECT_TRUE(std::ranges::equal(parts, whole[0].as<float>()));
  }
  set_num_threads(0);
}

TEST(ExpertProduct, ReadsTheWeightsOfChosenExpertsAlone) {
  const Experts experts({.experts = 8, .blocks = block_formats()[3]});
  const auto one = make_plan(experts.graph(), {.batch = 1});
  EXPECT_EQ(one->weight_bytes_of_run() * 4, one->packed_weight_bytes());
  const auto many = make_plan(experts.graph(), {.batch = 5});
  EXPECT_EQ(many->weight_bytes_of_run(), many->packed_weight_bytes());
}

TEST(ExpertProduct, OfComputedWeightsOrNothingGoesToTheReference) {
  ir::Graph graph;
  const auto chosen = graph.add_constant("chosen", ir::test::tensor<std::int32_t>({2, 1}, {1, 0}));
  const auto x = graph.add_input("x", float_type({2, 6}));
  const auto w = graph.add_input("w", float_type({3, 4, 6}));
  graph.add_output(graph.add_node("experts", ir::ExpertProduct{}, {x, w, chosen}));
  EXPECT_EQ(testing::kernel_of(*testing::expect_reference_result(graph, {}, 1e-6F)), "reference");

  Random random(2);
  ir::Graph nothing;
  const auto rows = nothing.add_input("x", float_type({0, 32}));
  const auto none = nothing.add_input("chosen", ir::dense_type(ir::ElementType::kInt32, {0, 2}));
  const auto blocks =
      nothing.add_constant("w", random_blocks({2, 4, 32}, *block_formats()[3], random));
  nothing.add_output(nothing.add_node("experts", ir::ExpertProduct{}, {rows, blocks, none}));
  EXPECT_EQ(testing::kernel_of(*testing::expect_reference_result(nothing, {}, 0)), "reference");
}

TEST(ExpertProduct, RejectsExpertsThatDoNotExist) {
  const Experts experts({.blocks = block_formats()[3]});
  for (const std::int64_t expert : {5, -6}) {
    expect_error(ErrorKind::kShape,
                 "index " + std::to_string(expert) + " is out of range for an extent of 5", [&] {
                   run_graph(experts.graph(), experts.inputs({0, expert}));
                 });
  }
}

TEST(ExpertPairs, AreSortedByExpertAndKeepTheirOrder) {
  const std::vector<std::int32_t> chosen = {2, 0, 2, 3, -1, 0};
  std::vector<std::byte> memory(ExpertPairs::size_bytes(4, chosen.size()));
  const ExpertPairs pairs(memory.data(), 4, chosen.size());
  pairs.sort({reinterpret_cast<const std::byte*>(chosen.data()), false});
  std::vector<std::size_t> order;
  for (std::size_t place = 0; place < chosen.size(); ++place) {
    order.push_back(pairs.pair_at(place));
    EXPECT_EQ(pairs.place_of(pairs.pair_at(place)), place);
  }
  EXPECT_THAT(order, ::testing::ElementsAre(1, 5, 0, 2, 3, 4));
  EXPECT_EQ(pairs.places_of(1).begin, pairs.places_of(1).end);
  EXPECT_EQ(pairs.places_of(3).begin, 4U);
  EXPECT_EQ(pairs.places_of(3).end, 6U);
}

TEST(ExpertPairs, DivideEveryBlockOnce) {
  const std::vector<std::int32_t> chosen = {2, 0, 2, 2, 2, 2, 2, 2, 2, 2, 4};
  std::vector<std::byte> memory(ExpertPairs::size_bytes(6, chosen.size()));
  const ExpertPairs pairs(memory.data(), 6, chosen.size());
  pairs.sort({reinterpret_cast<const std::byte*>(chosen.data()), false});
  for (const std::size_t blocks : {1U, 3U, 20U}) {
    for (const std::size_t shares : {1U, 2U, 3U, 7U}) {
      std::vector<std::vector<int>> times(6, std::vector<int>(blocks));
      for (std::size_t share = 0; share < shares; ++share) {
        pairs.for_share(share, shares, blocks, [&](std::size_t e, kernels::BlockRange part) {
          for (std::size_t b = part.begin; b < part.end; ++b) ++times[e][b];
        });
      }
      for (std::size_t e = 0; e < 6; ++e) {
        const int expected = e == 0 || e == 2 || e == 4 ? 1 : 0;
        EXPECT_THAT(times[e], ::testing::Each(expected)) << blocks << " in " << shares;
      }
    }
  }
}

}  // namespace
}  // namespace halftone::runtime
