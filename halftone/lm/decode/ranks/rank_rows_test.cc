// SPDX-License-Identifier: Apache-2.0
// Ranks have the bits of one process, however they divide a model. Here they are threads.
#include "halftone/lm/decode/ranks/rank_rows.h"

#include <gmock/gmock.h>

#include <functional>
#include <thread>
#include <utility>

#include "halftone/ir/testing.h"
#include "halftone/lm/decode/decoder.h"
#include "halftone/lm/model/build.h"
#include "halftone/lm/model/testing.h"
#include "halftone/spmd/agreement.h"
#include "halftone/spmd/testing.h"

namespace halftone::lm {
namespace {

using ir::test::expect_error;

constexpr std::size_t kRankContext = 16;

/// Logits of two sequences that share runs, of a copy and behind what is truncated.
std::vector<float> logits_of(Decoder& model) {
  std::vector<float> all;
  const auto keep = [&](const std::vector<float>& logits) {
    all.insert(all.end(), logits.begin(), logits.end());
  };
  std::vector<TokenId> tokens;
  for (TokenId i = 0; i < 13; ++i) tokens.push_back(i * 7 % 11);
  keep(model.append(1, tokens, true));
  const std::vector<SequencePart> parts = {{1, std::span(tokens).first(1)},
                                           {0, std::span(tokens).first(4), WantedLogits::kAll}};
  keep(model.append_each(parts));
  if (model.copy_front(1, 2, model.length(1))) keep(model.append(2, std::vector<TokenId>{5}, true));
  model.truncate(0, 2);
  keep(model.append(0, std::vector<TokenId>{3, 9}, true));
  return all;
}

DecoderGraphs graphs_of(const Description& d, ir::CacheNumbers cache,
                        std::size_t context = kRankContext) {
  return build_decoder(d, small_weights(d), {3, context, cache});
}

/// Of a copy of a long front, of its end, and of both behind what was written over.
std::vector<float> logits_of_fronts(Decoder& model) {
  std::vector<TokenId> tokens;
  for (TokenId i = 0; i < 3000; ++i) tokens.push_back(i * i % 11);
  model.append(0, tokens, false);
  EXPECT_TRUE(model.copy_front(0, 1, 2990));
  model.truncate(0, 2000);
  std::vector<float> all = model.append(0, std::vector<TokenId>(980, 3), false);
  for (const std::size_t sequence : {1U, 0U}) {
    const std::vector<float> more = model.append(sequence, std::vector<TokenId>{1, 2}, true);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

using MakeGraphs = std::function<DecoderGraphs()>;

/// What a function of the decoder on the first of some ranks gives.
std::vector<float> logits_on_ranks(std::size_t ranks, const MakeGraphs& make,
                                   std::vector<float> (*logits_of_decoder)(Decoder&)) {
  const auto body = [&](const std::shared_ptr<spmd::Transport>& transport) {
    auto model = open_on_ranks(transport, make, {.threads = 1, .min_rows = 1, .execution = {}});
    std::vector<float> logits;
    if (transport->rank() != 0) {
      model->rows->follow();
      return logits;
    }
    Decoder decoder(std::move(model->graphs), {.rows = 8}, std::move(model->rows));
    return logits_of_decoder(decoder);
  };
  return spmd::LocalRanks(ranks).run(body)[0];
}

void expect_same(const Description& d, ir::CacheNumbers cache = ir::CacheNumbers::kFloat32) {
  Decoder alone(graphs_of(d, cache), {.rows = 8});
  const std::vector<float> want = logits_of(alone);
  ASSERT_TRUE(std::ranges::all_of(want, [](float logit) { return std::isfinite(logit); }));
  for (const std::size_t ranks : {1U, 2U, 3U, 7U}) {
    EXPECT_EQ(logits_on_ranks(
                  ranks, [&] { return graphs_of(d, cache); }, logits_of),
              want)
        << d.architecture << " " << ranks;
  }
}

TEST(RankRows, HaveTheBitsOfOneProcess) {
  for (const char* architecture :
       {"llama", "qwen3", "gemma2", "gemma3", "phi3", "gpt2", "bitnet", "olmo2"}) {
    expect_same(small_description(architecture));
  }
}

TEST(RankRows, RunAnotherModelBesideTheirs) {
  const Description d = small_description("llama");
  const Description other = small_description("qwen3");
  const auto graphs = [](const Description& each) {
    return graphs_of(each, ir::CacheNumbers::kFloat32);
  };
  Decoder alone(graphs(d), {.rows = 8});
  Decoder other_alone(graphs(other), {.rows = 8});
  const std::vector<float> want = logits_of(alone);
  const std::vector<float> want_other = logits_of(other_alone);
  for (const std::size_t ranks : {1U, 3U}) {
    const auto body = [&](const std::shared_ptr<spmd::Transport>& transport) {
      auto model = open_on_ranks(transport, [&] { return graphs(d); },
                                 {.threads = 1, .min_rows = 1, .execution = {}});
      bool fails = transport->rank() != 0 || ranks == 1;
      model->rows->set_companion([&, fails]() mutable {
        if (std::exchange(fails, false)) fail(ErrorKind::kMemory, "full");
        return graphs(other);
      });
      if (transport->rank() != 0) {
        model->rows->follow();
        return 0;
      }
      RankRows* const rows = model->rows.get();
      Decoder decoder(std::move(model->graphs), {.rows = 8}, std::move(model->rows));
      expect_error(ErrorKind::kMemory, "full", [&] { (void)rows->open_companion(); });
      RankModel companion = rows->open_companion();
      Decoder beside(std::move(companion.graphs), {.rows = 8}, std::move(companion.rows));
      std::thread thread([&] { EXPECT_EQ(logits_of(beside), want_other); });
      EXPECT_EQ(logits_of(decoder), want);
      thread.join();
      return 0;
    };
    spmd::LocalRanks(ranks).run(body);
  }
}

TEST(RankRows, DivideExperts) {
  for (const char* architecture : {"qwen3moe", "qwen2moe"}) {
    expect_same(small_description(architecture, {.experts = 4}));
  }
}

TEST(RankRows, ShareKeysOfOtherBlocks) {
  expect_same(per_block_description());
  expect_same(stream_description());
}

TEST(RankRows, KeepRoundedKeysAndValues) {
  for (const auto cache : ir::kCacheNumbers) {
    expect_same(small_description("llama"), cache);
    expect_same(small_description("llama", {.heads = 6, .kv_heads = 1}), cache);
  }
}

TEST(RankRows, WriteOverFrontsThatSequencesShare) {
  for (const auto cache : {ir::CacheNumbers::kFloat32, ir::CacheNumbers::kInt4}) {
    const auto make = [&] { return graphs_of(small_description("llama"), cache, 8192); };
    Decoder alone(make(), {});
    const std::vector<float> want = logits_of_fronts(alone);
#ifdef __linux__
    EXPECT_GT(alone.shared_bytes(), 0U);
#endif
    EXPECT_EQ(logits_on_ranks(2, make, logits_of_fronts), want);
  }
}

/// Attention, its output, gate and up, down.
TEST(RankStages, ExchangeFourTimesForABlock) {
  for (const char* architecture : {"llama", "qwen3", "gemma2", "phi3"}) {
    const Description d = small_description(architecture, {.width = 64, .inner = 128});
    const DecoderGraphs graphs = graphs_of(d, ir::CacheNumbers::kFloat16);
    std::size_t exchanges = 0;
    for (const auto& stage : exchanges_of(graphs.body, {.ranks = 2, .min_rows = 1})) {
      if (!stage.empty()) ++exchanges;
    }
    EXPECT_EQ(exchanges, 4 * d.blocks) << architecture;
  }
}

/// Of two ranks each has half of what one has.
TEST(RankRows, DivideTheMemoryOfKeysAndValues) {
  const Description d = small_description("llama");
  Decoder alone(graphs_of(d, ir::CacheNumbers::kFloat16), {});
  const auto bytes = spmd::LocalRanks(2).run([&](const auto& transport) {
    return RankRows(graphs_of(d, ir::CacheNumbers::kFloat16), transport, {}).state_bytes();
  });
  EXPECT_EQ(bytes[0] + bytes[1], alone.state_bytes());
  EXPECT_EQ(bytes[0], bytes[1]);
}

TEST(RankRows, AllFailIfOneCannotOpenTheModel) {
  spmd::LocalRanks(3).run([&](const std::shared_ptr<spmd::Transport>& transport) {
    expect_error(ErrorKind::kIo, "rank 1: model.gguf: no such file", [&] {
      open_on_ranks(transport,
                    [&] {
                      if (transport->rank() == 1) fail(ErrorKind::kIo, "model.gguf: no such file");
                      return graphs_of(small_description("llama"), ir::CacheNumbers::kFloat16);
                    },
                    {});
    });
    return 0;
  });
}

/// Says that a rank does something else than open a model.
void leave(spmd::Transport& transport) {
  namespace internal = spmd::internal;
  const std::string program = "the end of the program: expected a prompt";
  const auto headers = internal::all_headers(transport, {internal::hash(program), 0, 0});
  EXPECT_TRUE(internal::difference(transport, headers, program));
}

TEST(RankRows, NoticeARankThatLeaves) {
  for (const std::size_t leaving : {0U, 1U}) {
    spmd::LocalRanks(2).run([&](const std::shared_ptr<spmd::Transport>& transport) {
      const auto open = [&] {
        return open_on_ranks(
            transport,
            [] { return graphs_of(small_description("llama"), ir::CacheNumbers::kFloat16); }, {});
      };
      if (transport->rank() == leaving) {
        leave(*transport);
      } else if (leaving == 0) {
        EXPECT_FALSE(open());
      } else {
        expect_error(ErrorKind::kDevice,
                     "rank 0 in a language model, rank 1 in the end of the program: expected a "
                     "prompt",
                     open);
      }
      return 0;
    });
  }
}

TEST(RankRows, EndAllIfOneFailsInARun) {
  spmd::LocalRanks(2).run([&](const std::shared_ptr<spmd::Transport>& transport) {
    auto model = open_on_ranks(
        transport,
        [&] { return graphs_of(small_description("llama"), ir::CacheNumbers::kFloat16); }, {});
    if (transport->rank() != 0) {
      expect_error(ErrorKind::kDevice, "rank 0 has failed", [&] { model->rows->follow(); });
      return 0;
    }
    const std::vector<DecoderRow> rows(1);
    model->rows->run_body(rows);
    transport->end_all_ranks("rank 0 has failed");
    expect_error(ErrorKind::kDevice, "rank 0 has failed", [&] { model->rows->run_body(rows); });
    return 0;
  });
}

/// Three heads of keys with two of queries each, on five ranks.
TEST(Division, SharesHeadsOfKeysAmongMoreRanks) {
  const HeadRanges found = ranges_of_heads({.heads = 6, .kv_heads = 3}, 5);
  EXPECT_EQ(found.kv_heads, (std::vector<Range>{{0, 1}, {0, 1}, {1, 1}, {1, 1}, {2, 1}}));
  EXPECT_EQ(found.heads, (std::vector<Range>{{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 2}}));
}

TEST(Division, DividesRowsByWholeStrips) {
  EXPECT_EQ(ranges_of_rows(576, 2), (std::vector<Range>{{0, 256}, {256, 320}}));
  EXPECT_EQ(ranges_of_rows(10, 3), (std::vector<Range>{{0, 3}, {3, 3}, {6, 4}}));
}

TEST(Division, TakesPartsOfBlocks) {
  const auto& q8 = *formats::gguf_type("Q8_0");
  std::vector<std::byte> bytes(2 * 4 * q8.block_bytes + 64);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i / 34);
  const auto whole = std::make_shared<const ir::Constant>(ir::BlockTensor{
      {2, 4, 32}, numerics::without_owner(q8), own_bytes(bytes).part(0, bytes.size() - 64)});
  const ir::Constant part = part_of(whole, {1, {{0, 1}, {1, 3}}}, 1);
  const auto& blocks = std::get<ir::BlockTensor>(part);
  EXPECT_EQ(blocks.shape, (ir::Shape{2, 3, 32}));
  std::vector<int> rows;
  for (std::size_t i = 0; i < 6; ++i) {
    rows.push_back(static_cast<int>(blocks.bytes.bytes[i * q8.block_bytes]));
  }
  EXPECT_THAT(rows, testing::ElementsAre(1, 2, 3, 5, 6, 7));
}

}  // namespace
}  // namespace halftone::lm
