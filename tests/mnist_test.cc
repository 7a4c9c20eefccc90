// SPDX-License-Identifier: Apache-2.0
// End to end: the bundled network at 3, 2 and 1 bits has the accuracy and size that the project
// promises.
#include <gtest/gtest.h>

#include <filesystem>

#include "halftone/base/file.h"
#include "halftone/base/parallel.h"
#include "halftone/base/testing.h"
#include "halftone/compress/evaluate.h"
#include "halftone/compress/quantize.h"
#include "halftone/data/open_dataset.h"
#include "halftone/formats/model.h"
#include "halftone/passes/simplify.h"
#include "tests/example.h"

namespace halftone {
namespace {

ir::Graph float_network() {
  ir::Graph graph = formats::load_model(kExample + "/mnist_mlp_700.onnx");
  passes::simplify(graph);
  return graph;
}

data::Dataset digits(const std::string& split, std::optional<std::size_t> limit = {}) {
  return data::open_dataset(kExample, {.split = split, .limit = limit});
}

compress::Recipe recipe_of(int bits) {
  compress::Recipe recipe;
  recipe.defaults.weight_bits = bits;
  recipe.defaults.activation_bits = bits;
  return recipe;
}

TEST(FloatNetwork, HasThePublishedAccuracy) {
  const compress::Evaluation found = compress::evaluate(float_network(), digits("test"));
  EXPECT_EQ(found.samples, 10000u);
  EXPECT_NEAR(found.value, 0.9777, 1e-9);
}

struct Promise {
  int bits;
  double accuracy;
  double max_kib;
};

class Mnist : public WithFolder, public testing::WithParamInterface<Promise> {};

TEST_P(Mnist, KeepsItsPromise) {
  const Promise& promise = GetParam();
  const ir::Graph reference = float_network();
  const auto result = compress::quantize(reference, digits("train"), recipe_of(promise.bits));
  const std::string file = path("m.circle");
  formats::save_model(result.graph, file);
  EXPECT_LE(static_cast<double>(std::filesystem::file_size(file)), promise.max_kib * 1024);
  ir::Graph loaded = formats::load_model(file);
  passes::simplify(loaded);
  const auto found = compress::evaluate(loaded, digits("test"), &reference);
  EXPECT_GE(found.value, promise.accuracy);
  EXPECT_GE(found.reference->agreement, promise.accuracy - 0.005);
}

INSTANTIATE_TEST_SUITE_P(Bits, Mnist,
                         testing::Values(Promise{3, 0.976, 218.3}, Promise{2, 0.973, 147.2},
                                         Promise{1, 0.954, 76.2}),
                         [](const auto& test) { return std::to_string(test.param.bits); });

using MnistFile = WithFolder;

TEST_F(MnistFile, HasTheSameBytesForAnyNumberOfThreadsAndTwice) {
  const auto once = [&](int threads, const std::string& name) {
    set_num_threads(threads);
    const auto result = compress::quantize(float_network(), digits("train", 300), recipe_of(2));
    formats::save_model(result.graph, path(name));
    set_num_threads(0);
    return read_file(path(name));
  };
  const std::vector<std::byte> one = once(1, "one.circle");
  EXPECT_TRUE(once(2, "two.circle") == one);
  EXPECT_TRUE(once(1, "again.circle") == one);
}

}  // namespace
}  // namespace halftone
