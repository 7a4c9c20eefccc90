// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/runtime/linear/linear.h"

namespace halftone::runtime {
namespace {

using ::testing::ElementsAre;

TEST(LinearCost, GrowsWithEveryExtent) {
  for (const Product product :
       {Product::kBits, Product::kPlanes, Product::kNibbles, Product::kBytes, Product::kFloat}) {
    const LayerExtent layer{2, 100, 50, 2, 3, 0};
    const auto cost = [product](const LayerExtent& extent) {
      return cost_us(product, extent, Core::kAvx2);
    };
    const double us = cost(layer);
    EXPECT_GT(us, 0);
    EXPECT_DOUBLE_EQ(cost({2, 200, 50, 2, 3, 0}), 2 * us);
    EXPECT_DOUBLE_EQ(cost({2, 100, 150, 2, 3, 0}), 3 * us);
    EXPECT_GT(cost({3, 100, 50, 2, 3, 0}), us);
    EXPECT_LT(cost({3, 100, 50, 2, 3, 0}), 1.51 * us);
    EXPECT_EQ(cost({0, 0, 0, 2, 3, 0}), 0);
  }
}

TEST(LinearCost, ChosenLowBitProductsBeatFloat) {
  for (int bits = 1; bits <= 8; ++bits) {
    for (const std::size_t rows : {1U, 2U, 8U, 32U, 256U}) {
      const LayerExtent layer{rows, 784, 700, 0, bits, 0};
      EXPECT_LT(cost_us(cheapest_levels(layer, Core::kAvx2), layer, Core::kAvx2),
                cost_us(Product::kFloat, layer, Core::kAvx2))
          << rows << " rows, " << bits << " bits";
    }
  }
}

TEST(LinearCost, ChoosesAsMeasured) {
  const auto cheapest = [](std::size_t rows, int bits) {
    return cheapest_levels({rows, 4096, 4096, 0, bits, 0}, Core::kAvx2);
  };
  EXPECT_EQ(cheapest(1, 1), Product::kPlanes);
  EXPECT_EQ(cheapest(1, 2), Product::kPlanes);
  EXPECT_EQ(cheapest(1, 3), Product::kNibbles);
  EXPECT_EQ(cheapest(1, 4), Product::kNibbles);
  EXPECT_EQ(cheapest(1, 5), Product::kPlanes);
  EXPECT_EQ(cheapest(1, 8), Product::kBytes);
  EXPECT_EQ(cheapest(256, 2), Product::kPlanes);
  EXPECT_EQ(cheapest(256, 3), Product::kBytes);
  EXPECT_EQ(cheapest(256, 4), Product::kBytes);
  EXPECT_EQ(cheapest_levels({1, 4096, 4096, 0, 3, 128}, Core::kAvx2), Product::kPlanes);
  EXPECT_EQ(cheapest_levels({1, 4096, 4096, 0, 4, 128}, Core::kAvx2), Product::kPlanes);
  EXPECT_EQ(cheapest_levels({1, 4096, 4096, 0, 4, 1024}, Core::kAvx2), Product::kNibbles);
}

TEST(LinearCost, ChoosesLayoutsForAProcessor) {
  const auto cheapest = [](std::size_t rows, int bits) {
    return cheapest_levels({rows, 4096, 4096, 0, bits, 0}, Core::kAvx512);
  };
  EXPECT_EQ(cheapest(1, 3), Product::kNibbles);
  EXPECT_EQ(cheapest(1, 4), Product::kNibbles);
  EXPECT_EQ(cheapest(32, 3), Product::kBytes);
  EXPECT_EQ(cheapest_levels({1, 4096, 4096, 0, 3, 0}, Core::kAvx2), Product::kNibbles);

  // A product of 8 bits costs two planes and more on every processor with VNNI.
  for (const Core core : {Core::kAvx512, Core::kAvx512Amd}) {
    EXPECT_EQ(cheapest_levels({1, 4096, 4096, 0, 2, 0}, core), Product::kPlanes);
    EXPECT_EQ(cheapest_levels({256, 4096, 4096, 0, 2, 0}, core), Product::kBytes);
  }
  EXPECT_EQ(cheapest_levels({256, 4096, 4096, 0, 1, 0}, Core::kAvx512Amd), Product::kPlanes);
  EXPECT_EQ(cheapest_levels({1, 4096, 4096, 0, 4, 128}, Core::kAvx512Amd), Product::kNibbles);

  EXPECT_THAT(level_products({1, 1024, 8, 0, 4, 0}),
              ElementsAre(Product::kPlanes, Product::kNibbles, Product::kBytes));
  EXPECT_THAT(level_products({1, 1024, 8, 0, 6, 0}),
              ElementsAre(Product::kPlanes, Product::kBytes));
  EXPECT_THAT(level_products({1, 1024, 8, 0, 7, 0}), ElementsAre(Product::kBytes));
}

TEST(Product, HasTheNameThatFindsIt) {
  for (const Product product :
       {Product::kBits, Product::kPlanes, Product::kNibbles, Product::kBytes, Product::kFloat}) {
    EXPECT_EQ(product_named(to_string(product)), product);
  }
  EXPECT_EQ(to_string(Product::kNibbles), "nibbles");
  EXPECT_EQ(product_named("crumbs"), std::nullopt);
}

TEST(LinearCost, WakesThreadsForEnoughWorkOnly) {
  EXPECT_EQ(worthwhile_threads(10, 8), 1U);
  EXPECT_EQ(worthwhile_threads(100, 8), 8U);
}

}  // namespace
}  // namespace halftone::runtime
