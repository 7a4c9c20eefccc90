// SPDX-License-Identifier: Apache-2.0
// The C++ API: tensors, models, runs, recipes, number systems.
#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include "halftone/base/onnx_bytes_testing.h"
#include "halftone/base/running_sum_testing.h"
#include "halftone/cpp/testing.h"

namespace {

using namespace halftone;  // NOLINT(google-build-using-namespace): as a program would
using outside::expect_error;
using outside::kModel;
using testing::ElementsAre;
using testing::HasSubstr;

class CppModels : public outside::WithFolder {};
class CppRecipes : public outside::WithFolder {};

/// Pixels of `count` pictures, all different.
Tensor pictures(std::size_t count) {
  Tensor pixels(Type::kFloat32, {count, 784});
  const auto values = pixels.values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i * 37) % 256) / 256;
  }
  return pixels;
}

TEST(Tensors, HoldValuesOfTheirType) {
  const Tensor none;
  EXPECT_EQ(none.size(), 0U);
  EXPECT_THAT(none.shape(), ElementsAre(0U));
  const Tensor zeros(Type::kInt16, {2, 3});
  EXPECT_THAT(zeros.values<std::int16_t>(), testing::Each(0));
  EXPECT_EQ(zeros.bytes().size(), 12U);
  Tensor numbers(Extents{2, 2}, std::vector<float>{1, 2, 3, 4});
  EXPECT_EQ(numbers.type(), Type::kFloat32);
  numbers.values<float>()[3] = 5;
  EXPECT_THAT(std::as_const(numbers).values<float>(), ElementsAre(1, 2, 3, 5));
  EXPECT_EQ(Tensor(Type::kFloat16, {4}).values<std::uint16_t>().size(), 4U);
  EXPECT_EQ(Tensor(Type::kBool, {4}).values<std::uint8_t>().size(), 4U);
  EXPECT_EQ(Tensor(Type::kInt64, {}).size(), 1U);
  EXPECT_EQ(to_string(Type::kBfloat16), "bfloat16");
  EXPECT_EQ(size_bytes(Type::kFloat64), 8U);
}

TEST(Tensors, RefuseOtherTypesAndCounts) {
  expect_error(ErrorKind::kUsage, "tensor: expected values of float32, asked for int8",
               [] { (void)Tensor(Type::kFloat32, {1}).values<std::int8_t>(); });
  expect_error(ErrorKind::kShape, "tensor: expected 4 values, found 3", [] {
    Tensor(Extents{2, 2}, std::vector<double>{1, 2, 3});
  });
  expect_error(ErrorKind::kShape, "2^40 bytes", [] {
    Tensor(Type::kFloat32, {std::size_t{1} << 39, 2});
  });
}

TEST(Models, SayWhatIsInThem) {
  const Model model = load(kModel);
  EXPECT_EQ(model.name(), kModel);
  ASSERT_EQ(model.inputs().size(), 1U);
  const Port input = model.inputs().front();
  EXPECT_EQ(input.name, "pixels");
  EXPECT_EQ(input.type, Type::kFloat32);
  EXPECT_THAT(input.extents, ElementsAre(kOpen, 784));
  EXPECT_THAT(model.outputs().front().extents, ElementsAre(kOpen, 10));
  const std::vector<Layer> layers = model.layers();
  ASSERT_EQ(layers.size(), 2U);
  EXPECT_EQ(layers[0].weight_bits, 32);
  EXPECT_EQ(layers[0].weight_bytes, 700U * 784 * 4);
  EXPECT_EQ(model.num_parameters(), 700U * 784 + 700 + 10 * 700 + 10);
  EXPECT_THAT(model.text(), HasSubstr("784"));
  EXPECT_EQ(version(), HALFTONE_VERSION);
}

TEST_F(CppModels, AreTheSameFromFilesAndFromMemory) {
  const Model model = simplified(load(kModel));
  const std::string file_name = path("a.circle");
  model.save(file_name);
  const std::vector<std::byte> file = model.to_bytes("circle");
  EXPECT_EQ(std::filesystem::file_size(file_name), file.size());
  const Model again = load(file, "a network");
  EXPECT_EQ(again.name(), "a network");
  EXPECT_EQ(again.to_bytes("circle"), file);
  EXPECT_EQ(simplified(again, true).num_parameters(), model.num_parameters());
  expect_error(ErrorKind::kUsage, "format", [&] { (void)model.to_bytes("png"); });
  expect_error(ErrorKind::kFormat, "nonsense", [] {
    load(std::as_bytes(std::span("not a network at all, but long enough")), "nonsense");
  });
  expect_error(ErrorKind::kIo, "missing.onnx", [] { load("missing.onnx"); });
}

TEST(Models, TakeShapesAndValuesForInputs) {
  LoadOptions options;
  options.shapes["pixels"] = {5, 784};
  EXPECT_THAT(load(kModel, options).inputs().front().extents, ElementsAre(5, 784));
  options.shapes["pixels"] = {-7, 784};
  expect_error(ErrorKind::kUsage, "shape of input 'pixels'", [&] { load(kModel, options); });
  options.shapes.clear();
  options.values["pixels"] = pictures(1);
  EXPECT_TRUE(load(kModel, options).inputs().empty());
  options.values["pixel"] = pictures(1);
  expect_error(ErrorKind::kUsage, "pixel", [&] { load(kModel, options); });
}

TEST(Models, EndLoopsAtTheGivenNumberOfIterations) {
  LoadOptions options;
  options.max_iterations = 6;
  const std::string file = halftone::test::endless_loop_file();
  const Model model = load(std::as_bytes(std::span(file)), "endless", options);
  const Tensor x(Extents{1}, std::vector<float>{1});
  expect_error(ErrorKind::kUnsupported, "did not end within 6 iterations",
               [&] { (void)run(model, std::span(&x, 1)); });
}

TEST(Sessions, GiveTheSameAsARun) {
  const Model model = load(kModel);
  const Tensor three = pictures(3);
  const std::vector<Tensor> once = run(model, std::span(&three, 1));
  ASSERT_EQ(once.size(), 1U);
  EXPECT_THAT(once[0].shape(), ElementsAre(3U, 10U));
  PlanOptions options;
  options.batch = 3;
  const Plan plan(model, options);
  EXPECT_THAT(plan.inputs().front().extents, ElementsAre(3, 784));
  EXPECT_THAT(plan.outputs().front().extents, ElementsAre(3, 10));
  ASSERT_FALSE(plan.steps().empty());
  EXPECT_FALSE(plan.steps().front().kernel.empty());
  Session session(plan);
  EXPECT_EQ(session.run(three), once);
  Session moved = std::move(session);
  session = std::move(moved);
  std::vector<float> scores(30);
  const std::span<const std::byte> in = three.bytes();
  const std::span<std::byte> out = std::as_writable_bytes(std::span(scores));
  session.run(std::span(&in, 1), std::span(&out, 1));
  EXPECT_TRUE(std::ranges::equal(scores, once[0].values<float>()));
}

TEST(Sessions, TakeOtherSizesThanThoseBefore) {
  const Model model = load(kModel);
  const Tensor three = pictures(3);
  const std::vector<Tensor> expected = run(model, std::span(&three, 1));
  Session session(model);
  (void)session.run(pictures(1));
  EXPECT_EQ(session.run(three), expected);
  const Extents one = {1, 784};
  session.resize(std::span(&one, 1));
  const Extents shape = {3, 784};
  session.resize(std::span(&shape, 1));
  std::vector<float> scores(30);
  const std::span<const std::byte> in = three.bytes();
  const std::span<std::byte> out = std::as_writable_bytes(std::span(scores));
  session.run(std::span(&in, 1), std::span(&out, 1));
  EXPECT_TRUE(std::ranges::equal(scores, expected[0].values<float>()));
  const Extents wrong = {3, 783};
  expect_error(ErrorKind::kShape, "783", [&] { session.resize(std::span(&wrong, 1)); });
}

TEST(Sessions, GiveTheSameOnADevice) {
  const Model model = load(kModel);
  const Tensor three = pictures(3);
  PlanOptions options;
  options.execution.fixed_order = true;
  const std::vector<Tensor> processor = run(model, std::span(&three, 1), options);
  for (const Device& device : devices()) {
    if (!device.problem.empty()) continue;
    options.execution.device = device.id;
    EXPECT_EQ(run(model, std::span(&three, 1), options), processor) << device.id;
  }
  options.execution.device = "opencl:99";
  expect_error(ErrorKind::kDevice, "opencl", [&] { (void)Plan(model, options); });
}

TEST(Sessions, KeepStatesUntilTheyAreReset) {
  const std::string bytes = halftone::RunningSumModel::bytes();
  const Plan plan(load(std::as_bytes(std::span(bytes))));
  Session session(plan);
  const std::vector<float> values{1, 10};
  const Tensor x({1, 2}, values);
  EXPECT_THAT(session.run(x)[0].values<float>(), ElementsAre(1, 10));
  EXPECT_THAT(session.run(x)[0].values<float>(), ElementsAre(2, 20));
  session.reset();
  EXPECT_THAT(session.run(x)[0].values<float>(), ElementsAre(1, 10));
}

TEST(Sessions, KeepTheBatchOfTheNetwork) {
  LoadOptions shapes;
  shapes.shapes["pixels"] = {4, 784};
  const Model four = load(kModel, shapes);
  EXPECT_THAT(Plan(four).inputs().front().extents, ElementsAre(4, 784));
  const Tensor images = pictures(4);
  const std::vector<Tensor> scores = Session(four).run(images);
  EXPECT_THAT(scores.front().shape(), ElementsAre(4U, 10U));
  EXPECT_EQ(run(four, std::span(&images, 1)), scores);
  expect_error(ErrorKind::kUsage, "expected 4, which the network is fixed to, found 3",
               [&] { Plan(four, {.batch = 3}); });
  const Tensor three = pictures(3);
  expect_error(ErrorKind::kShape, "pixels", [&] { (void)run(four, std::span(&three, 1)); });
}

TEST(Sessions, RunOnManyThreads) {
  const Model model = load(kModel);
  const Plan plan(model);
  const Tensor picture = pictures(1);
  const std::vector<Tensor> expected = Session(plan).run(picture);
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      Session session(plan);
      for (int run = 0; run < 5; ++run) right += session.run(picture) == expected ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 20);
}

TEST(Sessions, RefuseWhatDoesNotFit) {
  const Model model = load(kModel);
  Session session(model);
  expect_error(ErrorKind::kShape, "input 'pixels': expected [1, 784], found [1, 783]", [&] {
    (void)session.run(Tensor(Type::kFloat32, {1, 783}));
  });
  expect_error(ErrorKind::kShape, "found int8[1, 784]", [&] {
    (void)session.run(Tensor(Type::kInt8, {1, 784}));
  });
  expect_error(ErrorKind::kShape, "expected 1 inputs, found 0",
               [&] { (void)session.run(std::span<const Tensor>()); });
  std::vector<float> memory(784);
  const std::span<const std::byte> in = std::as_bytes(std::span(memory));
  const std::span<std::byte> out = std::as_writable_bytes(std::span(memory)).first(40);
  expect_error(ErrorKind::kUsage, "overlap",
               [&] { session.run(std::span(&in, 1), std::span(&out, 1)); });
  PlanOptions options;
  options.resources.threads = -1;
  expect_error(ErrorKind::kUsage, "threads: expected 0 to 1024, found -1",
               [&] { Plan(model, options); });
  options.resources = {.threads = 1, .simd = "MMX"};
  expect_error(ErrorKind::kUsage, "MMX", [&] { Plan(model, options); });
  options.resources = {.threads = 1, .memory_bytes = 1000};
  expect_error(ErrorKind::kMemory, "memory", [&] { Plan(model, options); });
}

TEST(Measurements, CountRunsAndSteps) {
  MeasureOptions options;
  options.batch = 2;
  options.seconds = 0.01;
  options.resources.threads = 1;
  const Measurement found = measure(load(kModel), options);
  EXPECT_EQ(found.batch, 2U);
  EXPECT_GT(found.runs, 0U);
  EXPECT_LE(found.p10_us, found.median_us);
  EXPECT_LE(found.median_us, found.p99_us);
  EXPECT_EQ(found.steps.size(), found.step_us.size());
  EXPECT_FALSE(found.predicted_us.has_value());
  options.accelerator = "h100";
  const Measurement predicted = measure(load(kModel), options);
  EXPECT_EQ(predicted.predicted_step_us.size(), predicted.steps.size());
  // One launch of 5 us for each of the layers, at least.
  EXPECT_GT(predicted.predicted_us.value(), 10);
  options.accelerator = "no-chip";
  expect_error(ErrorKind::kUsage, "no-chip", [&] { (void)measure(load(kModel), options); });
  options.accelerator = {};
  options.seconds = -1;
  expect_error(ErrorKind::kUsage, "seconds", [&] { (void)measure(load(kModel), options); });
}

/// A recipe with every setting.
Recipe full_recipe() {
  Recipe recipe;
  LayerSettings& d = recipe.defaults;
  d.weight_bits = 3;
  d.activation_bits = 4;
  d.scheme = "basis";
  d.weight_scheme = "int";
  d.activation_scheme = "basis";
  d.weight_offset = false;
  d.activation_offset = true;
  d.granularity = "group";
  d.group_size = 32;
  d.activation_scales = "fitted";
  d.calibrator = "percentile";
  d.percentile = 99;
  d.skip = false;
  d.arithmetic = "auto";
  FitSettings& f = recipe.fit;
  f.basis_solver = "gradient";
  f.iterations = 7;
  f.learning_rate = 0.125;
  f.l2_penalty = 1;
  f.input_weighted = true;
  f.error_feedback = false;
  f.refine = true;
  f.refine_sweeps = 3;
  f.bias_correction = false;
  f.damping = 0.25;
  f.equalize = true;
  f.schedule = "layerwise";
  f.refit_activations = false;
  f.activation_samples = 4096;
  f.input_rows = 512;
  f.small_ratios = false;
  f.reconstruct_steps = 5;
  f.reconstruct_rounding = "adaptive";
  f.reconstruct_unit = "layer";
  f.reconstruct_batch = 8;
  f.reconstruct_samples = 16;
  f.drop = 0.5;
  f.weight_rate = 0.01;
  f.level_rate = 0.02;
  f.bias_rate = 0.03;
  f.rounding_penalty = 0.5;
  recipe.ends.weight_bits = 8;
  recipe.layers = {{"*\"quoted\"*", {.weight_bits = 8, .activation_bits = 0}},
                   {"last", {.skip = true}},
                   {"a", {.activation_scales = "group", .activation_group_size = 16}},
                   {"b", {.calibrator = "moving-average", .momentum = 0.5}}};
  return recipe;
}

TEST_F(CppRecipes, AreTextsOfToml) {
  const Recipe recipe = full_recipe();
  const std::string text = to_toml(recipe);
  EXPECT_THAT(text, HasSubstr("activation_bits = \"none\""));
  EXPECT_EQ(parse_recipe(text), recipe);
  const std::string file_name = path("recipe.toml");
  std::ofstream(file_name) << text;
  EXPECT_EQ(load_recipe(file_name), recipe);
  EXPECT_EQ(parse_recipe(to_toml({})), Recipe());
  expect_error(ErrorKind::kUsage, "mine: line 2",
               [] { parse_recipe("[default]\nbits = 3", "mine"); });
  expect_error(ErrorKind::kIo, "none.toml", [&] { load_recipe(path("none.toml")); });
}

TEST(NumberSystems, AreListedAndHaveLevels) {
  const std::vector<NumberSystem> systems = number_systems();
  const auto e2m1 = std::ranges::find(systems, "e2m1", &NumberSystem::name);
  ASSERT_NE(e2m1, systems.end());
  EXPECT_EQ(e2m1->max_bits, 4);
  EXPECT_EQ(std::ranges::find(systems, "mxfp4", &NumberSystem::name)->scales, "e8m0");
  // The values of OCP's FP4, magnitudes 0, 0.5, 1, 1.5, 2, 3, 4, 6.
  std::vector<float> levels = levels_of("e2m1");
  ASSERT_EQ(levels.size(), 16U);
  EXPECT_EQ(*std::ranges::max_element(levels), 6);
  EXPECT_EQ(std::ranges::count(levels, 1.5F), 1);
  expect_error(ErrorKind::kUsage, "nonsense", [] { (void)levels_of("nonsense", 2); });
}

TEST(NumberSystems, EncodeArrays) {
  // Two levels a row: a basis of one bit represents them exactly.
  const Tensor values(Extents{2, 4}, std::vector<float>{1, 3, 3, 1, -5, 5, 5, 5});
  const Encoding encoding = fit(values, {.system = "basis", .bits = 1, .granularity = "channel"});
  EXPECT_EQ(encoding.bits(), 1);
  EXPECT_THAT(encoding.text(), HasSubstr("basis"));
  const Tensor codes = encoding.encode(values);
  EXPECT_EQ(codes.type(), Type::kUint16);
  const Tensor decoded = encoding.decode(codes);
  // c and a are rounded to float32, and so is their sum: half a unit of the last place each.
  const double tolerance = 3 * 5 * std::ldexp(1.0, -24);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(decoded.values<float>()[i], values.values<float>()[i], tolerance);
  }
  expect_error(ErrorKind::kShape, "expected an array of the shape", [&] {
    (void)encoding.encode(Tensor(Type::kFloat32, {4, 2}));
  });
  expect_error(ErrorKind::kUsage, "expected values of int8", [&] {
    (void)fit(Tensor(Type::kInt8, {2, 2}));
  });
}

TEST(Encodings, NeedNoFit) {
  const Tensor values({2, 2}, std::vector<float>{-9, 0, 0.6F, 200});
  const Encoding uniform = uniform_encoding({0.5F}, {10});
  EXPECT_THAT(uniform.encode(values).values<std::uint16_t>(), testing::ElementsAre(0, 10, 11, 255));
  EXPECT_EQ(uniform.levels().at(12), 1);
  EXPECT_EQ(uniform_encoding({0.5F, 2}, {0, 0}).num_blocks(), 2U);

  const Encoding fixed = fixed_point_encoding(-2, 4);
  EXPECT_THAT(fixed.decode(fixed.encode(values)).values<float>(),
              testing::ElementsAre(-2, 0, 0.5, 1.75));
  const Encoding floats = minifloat_encoding(4, 3);
  EXPECT_EQ(floats.levels().at(1), std::ldexp(1.0F, -9));  // the least subnormal, 2^(1 - 7 - 3)
  EXPECT_EQ(floats.levels().at(0x7e), 448);
  const Encoding rule = rule_encoding(values, {.system = "int_narrow8", .granularity = "tensor"});
  EXPECT_NEAR(rule.levels().at(255), 200, 200 * 0x1p-23);

  const auto expect = [](const std::string& text, const auto& body) {
    expect_error(ErrorKind::kUsage, text, body);
  };
  expect("zero points: expected one for each scale", [] { (void)uniform_encoding({1}, {}); });
  expect("zero point: expected 0 to 255, found 256", [] { (void)uniform_encoding({1}, {256}); });
  expect("bits: expected 1 to 16, found 17", [] { (void)fixed_point_encoding(0, 17); });
  expect("exponent: expected at least -126", [] { (void)fixed_point_encoding(-127, 8); });
  expect("scale: expected a number above 0", [] { (void)minifloat_encoding(8, 7, 2); });
  expect("minifloat: expected 2 to 8 bits", [] { (void)minifloat_encoding(4, 12); });
  expect("block: expected less than 1, found 1", [&] { (void)uniform.levels(1); });
  expect("basis", [&] { (void)rule_encoding(values); });
  expect_error(ErrorKind::kShape, "needs 2 scales, found 3", [&] {
    (void)uniform_encoding({1, 1, 1}, {0, 0, 0}).encode(values);
  });
}

}  // namespace
