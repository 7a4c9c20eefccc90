// SPDX-License-Identifier: Apache-2.0
// The C++ API: samples, and what works on them.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "halftone/cpp/testing.h"

namespace {

using namespace halftone;  // NOLINT(google-build-using-namespace): as a program would
using outside::expect_error;
using outside::kFolder;
using outside::kModel;
using testing::HasSubstr;

Recipe two_bits() {
  Recipe recipe;
  recipe.defaults.weight_bits = recipe.defaults.activation_bits = 2;
  return recipe;
}

/// The same for the small layer alone, whose fit takes a hundredth of the time.
Recipe two_bits_at_the_end() {
  Recipe recipe = two_bits();
  recipe.layers = {{"dense1", {.skip = true}}};
  return recipe;
}

/// Samples 0 to `count` - 1 of a rule, as floats.
void make_pixels(std::size_t first, std::size_t count, float* values) {
  for (std::size_t i = 0; i < count * 784; ++i) {
    const std::size_t at = first * 784 + i;
    values[i] = static_cast<float>((at * at + 31 * at) % 1009) / 1009;
  }
}

Data samples_of_a_function(std::size_t count) {
  SampleFunction function;
  function.shape = {784};
  function.read = [](std::size_t first, std::size_t n, void* elements) {
    make_pixels(first, n, static_cast<float*>(elements));
  };
  return Data::from(count, {function});
}

Data samples_in_memory(std::size_t count) {
  Tensor pixels(Type::kFloat32, {count, 784});
  make_pixels(0, count, pixels.values<float>().data());
  return Data::from({pixels});
}

TEST(Samples, ComeFromFiles) {
  const Data train = Data::open(kFolder, {.limit = 20});
  EXPECT_EQ(train.size(), 20U);
  EXPECT_TRUE(train.has_labels());
  EXPECT_EQ(Data::open(std::vector{kFolder}, {.split = "test"}).size(), 10000U);
  expect_error(ErrorKind::kIo, "nowhere", [] { (void)Data::open("nowhere.npy"); });
}

TEST(Samples, GiveTheSameNetworkFromMemoryAndFunctions) {
  const Model model = load(kModel);
  const auto file = [&](const Data& samples, int threads) {
    QuantizeOptions options;
    options.resources.threads = threads;
    return quantize(model, samples, two_bits_at_the_end(), options).model.to_bytes("circle");
  };
  const std::vector<std::byte> expected = file(samples_in_memory(70), 1);
  EXPECT_EQ(file(samples_of_a_function(70), 3), expected);
  EXPECT_NE(file(samples_of_a_function(60), 1), expected);
}

TEST(Samples, AreJoined) {
  const Data joined = Data::joined({samples_in_memory(5), samples_of_a_function(3)}, 7);
  EXPECT_EQ(joined.size(), 7U);
  EXPECT_FALSE(joined.has_labels());
  expect_error(ErrorKind::kUsage, "functions in at most one", [] {
    (void)Data::joined({samples_of_a_function(3), samples_of_a_function(3)});
  });
  expect_error(ErrorKind::kUsage, "expected samples, found none", [] { (void)Data::joined({}); });
}

TEST(Samples, ArePixelsWhereTheyAreBytes) {
  SampleFunction function;
  function.input = "pixels";
  function.shape = {28, 28, 1};
  function.type = Type::kUint8;
  function.read = [](std::size_t first, std::size_t n, void* elements) {
    auto* pixels = static_cast<std::uint8_t*>(elements);
    for (std::size_t i = 0; i < n * 784; ++i) {
      pixels[i] = static_cast<std::uint8_t>((first * 784 + i) * 7 % 256);
    }
  };
  Tensor bytes(Type::kUint8, {9, 28, 28, 1});
  function.read(0, 9, bytes.bytes().data());
  const Model model = load(kModel);
  EvaluateOptions options;
  options.reference = model;
  const Evaluation by_function = evaluate(model, Data::from(9, {function}), options);
  EXPECT_EQ(by_function.metric, "agreement");
  EXPECT_EQ(by_function.value, 1);
  EXPECT_EQ(by_function.samples, 9U);
  EXPECT_EQ(evaluate(model, Data::from({bytes}), options).value, 1);
}

TEST(Samples, AreRefusedWhereTheyDoNotFit) {
  const Model model = load(kModel);
  expect_error(ErrorKind::kFormat, "expected as many labels as samples (2), found 3", [] {
    (void)Data::from({Tensor(Type::kFloat32, {2, 784})}, {1, 2, 3});
  });
  expect_error(ErrorKind::kUnsupported, "bfloat16", [] {
    (void)Data::from({Tensor(Type::kBfloat16, {2, 784})});
  });
  expect_error(ErrorKind::kUsage, "expected a function, found an empty one",
               [] { (void)Data::from(3, {SampleFunction{}}); });
  expect_error(ErrorKind::kShape, "do not fit", [&] {
    (void)quantize(model, Data::from({Tensor(Type::kFloat32, {2, 783})}));
  });
  SampleFunction nothing;
  nothing.shape = {784};
  nothing.read = [](std::size_t, std::size_t n, void* elements) {
    std::fill_n(static_cast<float*>(elements), n * 784, std::nanf(""));
  };
  expect_error(ErrorKind::kFormat, "found NaN",
               [&] { (void)quantize(model, Data::from(10, {nothing})); });
}

TEST(Samples, LetTheExceptionsOfTheirFunctionPass) {
  SampleFunction breaks;
  breaks.shape = {784};
  breaks.read = [](std::size_t, std::size_t, void*) { throw std::out_of_range("my own"); };
  const Model model = load(kModel);
  for (const int threads : {1, 3}) {
    QuantizeOptions options;
    options.resources.threads = threads;
    const Data samples = Data::from(200, {breaks});
    EXPECT_THROW((void)quantize(model, samples, {}, options), std::out_of_range);
    EXPECT_THROW((void)quantize(model, samples, {}, options), std::out_of_range);
  }
}

TEST(Quantize, SaysWhatBecameOfTheLayers) {
  const Model model = load(kModel);
  const Data samples = Data::open(kFolder, {.limit = 100});
  double last = 0;
  QuantizeOptions options;
  options.progress = [&](double fraction, std::string_view activity) {
    EXPECT_GE(fraction, last);
    EXPECT_FALSE(activity.empty());
    last = fraction;
    return true;
  };
  const QuantizeResult result = quantize(model, samples, two_bits_at_the_end(), options);
  EXPECT_GT(last, 0);
  ASSERT_EQ(result.layers.size(), 2U);
  EXPECT_EQ(result.layers[0].weight_bits, 32);
  EXPECT_EQ(result.layers[1].weight_bits, 2);
  EXPECT_GT(result.layers[1].float_bytes, 10 * result.layers[1].encoded_bytes);
  EXPECT_GT(result.layers[1].sqnr_db, 0);
  EXPECT_GT(result.seconds, 0);
  EXPECT_EQ(result.equalized_pairs, 0U);
  EXPECT_TRUE(result.skipped_blocks.empty());
  EXPECT_EQ(result.model.layers()[1].weight_bits, 2);

  EvaluateOptions how;
  how.reference = model;
  how.batch = 50;
  const Evaluation found = evaluate(result.model, samples, how);
  EXPECT_EQ(found.metric, "accuracy");
  EXPECT_GT(found.value, 0.9);
  ASSERT_TRUE(found.reference.has_value());
  EXPECT_GT(found.reference->agreement, 0.9);
  EXPECT_TRUE(found.reference->value.has_value());
  EXPECT_GT(found.reference->divergence.value_or(0), 0);
}

TEST(Quantize, FitsVectorsOfWeights) {
  const Data samples = Data::open(kFolder, {.limit = 100});
  Recipe recipe;
  recipe.defaults.weight_scheme = "2x6";
  recipe.defaults.activation_bits = 8;
  const Model model = quantize(load(kModel), samples, recipe).model;
  // 3.125 bits of each weight, and scales and biases.
  EXPECT_LT(model.to_bytes("circle").size(), 784U * 700 * 13 / 32 + 20000);
  EXPECT_GT(evaluate(model, samples, {}).value, 0.9);
  recipe.defaults.weight_bits = 3;
  expect_error(ErrorKind::kUsage, "weight bits: expected none beside the scheme 2x6",
               [&] { (void)quantize(load(kModel), samples, recipe); });
}

TEST(Quantize, MakesNetworksOfIntegers) {
  const Data samples = Data::open(kFolder, {.limit = 60});
  QuantizeOptions options;
  options.integers_for = "tflite";
  Recipe recipe;
  recipe.layers = {{"dense1", {.skip = true}}};
  const Model model = quantize(load(kModel), samples, recipe, options).model;
  EXPECT_FALSE(model.to_bytes("tflite").empty());
  options.integers_for = "png";
  expect_error(ErrorKind::kUsage, "png",
               [&] { (void)quantize(load(kModel), samples, {}, options); });
}

TEST(Quantize, EndsWhereTheCallerWantsTo) {
  const Model model = load(kModel);
  const Data samples = Data::open(kFolder, {.limit = 100});
  QuantizeOptions options;
  options.progress = [](double, std::string_view) { return false; };
  expect_error(ErrorKind::kInterrupted, "interrupted: the progress function ended the work",
               [&] { (void)quantize(model, samples, two_bits(), options); });
  options.progress = [](double, std::string_view) -> bool { throw std::logic_error("mine"); };
  EXPECT_THROW((void)quantize(model, samples, two_bits(), options), std::logic_error);
  EvaluateOptions how;
  how.batch = 1;
  how.progress = [](double, std::string_view) { return false; };
  expect_error(ErrorKind::kInterrupted, "interrupted",
               [&] { (void)evaluate(model, samples, how); });
}

TEST(Quantize, PassesErrorsOfItsOwnKindFromTheCaller) {
  QuantizeOptions options;
  options.progress = [](double, std::string_view) -> bool {
    throw Error(ErrorKind::kIo, "the disk of the caller is full");
  };
  expect_error(ErrorKind::kIo, "the disk of the caller is full", [&] {
    (void)quantize(load(kModel), Data::open(kFolder, {.limit = 10}), two_bits(), options);
  });
}

TEST(Quantize, ChecksTheRecipe) {
  Recipe recipe;
  recipe.defaults.weight_scheme = "nonsense";
  const Data samples = Data::open(kFolder, {.limit = 10});
  expect_error(ErrorKind::kUsage, "nonsense",
               [&] { (void)quantize(load(kModel), samples, recipe); });
  recipe = {};
  recipe.layers = {{"no_such_layer", {.skip = true}}};
  expect_error(ErrorKind::kUsage, "no_such_layer",
               [&] { (void)quantize(load(kModel), samples, recipe); });
}

}  // namespace
