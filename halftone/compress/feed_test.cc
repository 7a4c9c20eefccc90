// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/feed.h"

#include "halftone/base/testing.h"
#include "halftone/compress/testing.h"
#include "halftone/data/npy.h"

namespace halftone::compress {
namespace {

using testing::ElementsAre;

class FeedTest : public WithFolder {
 protected:
  /// Two samples of one number.
  [[nodiscard]] std::string write(const std::string& name, float first) const {
    const float values[] = {first, first + 1};
    data::write_npy(path(name), data::make_npy(std::span<const float>(values), {2, 1}));
    return path(name);
  }
  static ir::Graph with_inputs(const std::vector<std::string>& names) {
    ir::Graph graph;
    for (const std::string& name : names) {
      const ir::ValueId input =
          graph.add_input(name, ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 1}));
      graph.add_output(graph.add_node("of " + name, ir::Unary{}, {input}));
    }
    return graph;
  }
};

TEST_F(FeedTest, PairsInputsByNameOrElseInOrder) {
  const std::string a = write("a.npy", 1);
  const std::string b = write("b.npy", 5);
  const std::vector<std::string> named{"a=" + a, "b=" + b};
  const std::vector<std::string> plain{a, b};
  const ir::Graph graph = with_inputs({"b", "a"});
  EXPECT_THAT(paired_inputs(data::open_dataset(named), graph), ElementsAre(1, 0));
  EXPECT_THAT(paired_inputs(data::open_dataset(plain), graph), ElementsAre(0, 1));
  const data::Dataset data = data::open_dataset(named);
  std::vector<float> sample(1);
  make_feed(data, graph).fill(1, 1, 0, sample);
  EXPECT_THAT(sample, ElementsAre(6));
}

TEST_F(FeedTest, ScalesPixelsUnlessTheInputIsOfIntegers) {
  const std::uint8_t pixels[] = {255, 51};
  data::write_npy(path("p.npy"), data::make_npy(std::span<const std::uint8_t>(pixels), {2, 1}));
  const data::Dataset data = data::open_dataset(path("p.npy"));
  const auto fed = [&](ir::ElementType element) {
    ir::Graph graph;
    graph.add_output(graph.add_input("x", ir::dense_type(element, {ir::kBatch, 1})));
    std::vector<float> samples(2);
    make_feed(data, graph).fill(0, 2, 0, samples);
    return samples;
  };
  EXPECT_THAT(fed(ir::ElementType::kFloat32), ElementsAre(1, 51 / 255.0F));
  EXPECT_THAT(fed(ir::ElementType::kUint8), ElementsAre(255, 51));
  EXPECT_THAT(fed(ir::ElementType::kInt32), ElementsAre(255, 51));
}

TEST_F(FeedTest, IgnoresNamedInputsThatTheNetworkLacks) {
  const std::vector<std::string> named{"a=" + write("a.npy", 1), "b=" + write("b.npy", 5)};
  EXPECT_THAT(paired_inputs(data::open_dataset(named), with_inputs({"b"})), ElementsAre(1));
}

TEST_F(FeedTest, ASingleInputNeedsNoName) {
  const data::Dataset data = data::open_dataset("a=" + write("a.npy", 1));
  EXPECT_THAT(paired_inputs(data, with_inputs({"other"})), ElementsAre(0));
}

TEST_F(FeedTest, InputsThatNothingReadsMayBeMissing) {
  const std::vector<std::string> named{"a=" + write("a.npy", 1), "b=" + write("b.npy", 5)};
  ir::Graph graph = with_inputs({"a"});
  graph.add_input("unused", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 1}));
  EXPECT_THAT(paired_inputs(data::open_dataset(named), graph),
              ElementsAre(std::optional<std::size_t>(0), std::nullopt));
}

TEST_F(FeedTest, RejectsMissingInputs) {
  const std::vector<std::string> named{"a=" + write("a.npy", 1), "b=" + write("b.npy", 5)};
  const data::Dataset data = data::open_dataset(named);
  expect_error(ErrorKind::kShape, "expected samples of the network inputs 'a', 'c', found 'a', 'b'",
               [&] {
                 paired_inputs(data, with_inputs({"a", "c"}));
               });
  expect_error(ErrorKind::kShape, "expected samples of 2 inputs, like the network, found 1", [&] {
    paired_inputs(data::open_dataset(path("a.npy")), with_inputs({"a", "c"}));
  });
}

}  // namespace
}  // namespace halftone::compress
