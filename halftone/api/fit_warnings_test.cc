// SPDX-License-Identifier: Apache-2.0
// The lines that say which layers cost most promise what keeping these layers in float32 brings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "halftone/api/evaluate.h"
#include "halftone/api/quantize.h"
#include "halftone/base/testing.h"
#include "halftone/compress/testing.h"
#include "halftone/ir/testing.h"

namespace halftone {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr ir::Dim kWidth = 24;
/// Of a number with one digit behind the point; the rest is that of float64.
constexpr double kRounding = 0.05 + 1e-9;

/// A layer for each number, without anything between them. The larger its number, the more the
/// values that it reads differ in size, so that one scale for all of them is bad.
Network uneven_layers(const std::vector<double>& spreads) {
  Random random(5);
  ir::Graph graph;
  ir::ValueId value =
      graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, kWidth}));
  std::vector<float> sizes(kWidth, 1);
  for (std::size_t layer = 0; layer < spreads.size(); ++layer) {
    ir::Tensor weights = compress::random_tensor({kWidth, kWidth}, random, 0.2F);
    const std::vector<float> inputs = sizes;
    const double spread = layer + 1 < spreads.size() ? spreads[layer + 1] : 0;
    for (float& size : sizes) size = static_cast<float>(std::exp(spread * random.normal()));
    const std::span<float> w = weights.as<float>();
    // Every input matters alike.
    for (std::size_t i = 0; i < w.size(); ++i) w[i] *= sizes[i / kWidth] / inputs[i % kWidth];
    value = compress::add_layer(graph, "dense" + std::to_string(layer), value, std::move(weights),
                                random);
  }
  graph.add_output(value);
  return {std::move(graph), "network"};
}

data::Dataset samples(std::size_t count) { return compress::random_dataset(count, kWidth, 7); }

/// A network, and how it is fitted.
struct Case {
  Network network;
  data::Dataset data;
  compress::Recipe recipe;

  /// The first output's ratio to its error on the samples that lines are measured on.
  [[nodiscard]] double output_db(const compress::Recipe& other) const {
    const compress::QuantizedGraph result = quantize(network, data, other);
    return evaluate(result.graph, data.first(64), &network).reference->sqnr_db;
  }
  [[nodiscard]] std::string line() const {
    const compress::QuantizedGraph result = quantize(network, data, recipe);
    return result.warnings.empty() ? "" : result.warnings[0];
  }
  /// Does what the end of a line advises.
  [[nodiscard]] double followed_db(const std::string& line) const {
    compress::Recipe followed = recipe;
    const std::regex name("name = \"([^\"]+)\", skip = true");
    for (std::sregex_iterator match(line.begin(), line.end(), name), end; match != end; ++match) {
      compress::LayerOverride layer;
      layer.pattern = (*match)[1];
      layer.settings.skip = true;
      followed.overrides.push_back(layer);
    }
    EXPECT_FALSE(followed.overrides.empty()) << line;
    return output_db(followed);
  }
};

/// The numbers in front of "dB" in a line.
std::vector<double> decibels(const std::string& line) {
  const std::regex form("(-?[0-9.]+)(?: dB| if| with its)");
  std::vector<double> found;
  for (std::sregex_iterator match(line.begin(), line.end(), form), end; match != end; ++match) {
    found.push_back(std::stod((*match)[1]));
  }
  return found;
}

// Numbers in lines are rounded to 0.1. Layers behind a float one are fitted anew, for it: most of
// the promise, which keeps their codes, is kept.
TEST(FitWarnings, ALayerThatCostsMuch) {
  const Case uneven{uneven_layers({0, 2, 2, 2}), samples(256), compress::recipe_of(8, 3)};
  const std::string line = uneven.line();
  EXPECT_THAT(line, StartsWith("layer 'dense2' costs "));
  EXPECT_THAT(line, HasSubstr(" if it stays float ([[layer]] name = \"dense2\", skip = true in"));
  const std::vector<double> db = decibels(line);
  ASSERT_EQ(db.size(), 3U) << line;
  EXPECT_NEAR(db[0], db[2] - db[1], 3 * kRounding);
  EXPECT_NEAR(uneven.output_db(uneven.recipe), db[1], kRounding);
  EXPECT_GT(uneven.followed_db(line), db[1] + 0.5 * db[0]);
}

// Layers behind the bad one make up for its errors, so that it seems to cost nothing.
TEST(FitWarnings, ALayerBehindWhichOthersWereFitted) {
  const Case uneven{uneven_layers({0, 2, 0, 0}), samples(256), compress::recipe_of(8, 6)};
  const std::string line = uneven.line();
  EXPECT_THAT(line, StartsWith("layer 'dense1' costs "));
  EXPECT_THAT(line, HasSubstr(" dB with codes in all layers before it, and "));
  const std::vector<double> db = decibels(line);
  ASSERT_EQ(db.size(), 3U) << line;
  EXPECT_NEAR(db[0], db[1] - db[2], 3 * kRounding);
  EXPECT_GT(uneven.followed_db(line), 20);
}

TEST(FitWarnings, LayersThatCostMuchTogether) {
  const Case even{uneven_layers({0, 0, 0, 0}), samples(256), compress::recipe_of(8, 5)};
  const std::string line = even.line();
  EXPECT_THAT(line, StartsWith("layers 'dense"));
  EXPECT_THAT(line, HasSubstr(" together cost "));
  const std::vector<double> db = decibels(line);
  ASSERT_EQ(db.size(), 3U) << line;
  EXPECT_GT(even.followed_db(line), db[2] - 1);
}

TEST(FitWarnings, NothingOfANetworkThatIsGood) {
  const Case good{uneven_layers({0, 0}), samples(256), compress::recipe_of(8, 8)};
  EXPECT_THAT(good.line(), Not(HasSubstr("cost")));
}

}  // namespace
}  // namespace halftone
