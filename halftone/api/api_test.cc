// SPDX-License-Identifier: Apache-2.0
// The functions of this module on the bundled network and on small graphs.
#include <fstream>

#include "halftone/api/checked_save.h"
#include "halftone/api/data_source.h"
#include "halftone/api/evaluate.h"
#include "halftone/api/inspection.h"
#include "halftone/api/machine.h"
#include "halftone/api/measure.h"
#include "halftone/api/network.h"
#include "halftone/api/number_systems.h"
#include "halftone/api/quantize.h"
#include "halftone/api/recipe.h"
#include "halftone/api/run.h"
#include "halftone/api/tensor_files.h"
#include "halftone/base/file.h"
#include "halftone/base/testing.h"
#include "halftone/formats/model.h"
#include "halftone/ir/test_data.h"
#include "halftone/ir/testing.h"

namespace halftone {
namespace {

const std::string kFolder = std::string(HALFTONE_SOURCE_DIR) + "/examples/mnist";
const std::string kFile = kFolder + "/mnist_mlp_700.onnx";

class Api : public WithFolder {
 protected:
  [[nodiscard]] static compress::Recipe two_bits() {
    return load_recipe({}, {{.weight_bits = 2, .activation_bits = 2}});
  }
  [[nodiscard]] static DataSource samples(const std::string& split, std::size_t limit) {
    return {{kFolder}, {.split = split, .limit = limit}};
  }
};

std::vector<ir::Tensor> pixels(ir::Dim count) {
  Random random(3);
  return ir::test::list(ir::test::random_tensor({count, 784}, random));
}

/// The hint of an error of a kind that `action` must throw.
template <typename Action>
Hint hint_of(ErrorKind kind, const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(to_string(error.kind()), to_string(kind)) << error.what();
    return error.hint();
  }
  ADD_FAILURE() << "no error";
  return Hint::kNone;
}

TEST_F(Api, RunsANetworkOnceOrOften) {
  const Network network = load(kFile);
  EXPECT_EQ(network.name, kFile);
  const std::vector<ir::Tensor> outputs = run(network, pixels(3));
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_EQ(outputs[0].shape(), (ir::Shape{3, 10}));
  runtime::Session session = make_session(network, 3);
  for (int time = 0; time < 2; ++time) {
    EXPECT_TRUE(ir::test::same_bytes(session.run(pixels(3)), outputs));
  }
}

TEST_F(Api, RefusesAnotherNumberOfInputs) {
  EXPECT_EQ(hint_of(ErrorKind::kUsage, [] { run(load(kFile), {}); }), Hint::kInputs);
  expect_error(ErrorKind::kUsage, kFile + ": expected 1 inputs, found 2", [&] {
    run_files({kFile, {path("a.npy"), path("b.npy")}, path("out")});
  });
  expect_error(ErrorKind::kShape, "network: ", [] {
    run(load(kFile).graph, ir::test::list(ir::Tensor(ir::ElementType::kFloat32, {1, 783})));
  });
}

TEST_F(Api, RunsOnFiles) {
  const std::vector<ir::Tensor> inputs = pixels(2);
  write_tensor(path("x.npy"), inputs[0]);
  const std::vector<OutputFile> files = run_files({kFile, {path("x.npy")}, path("new/folder")});
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0].file, path("new/folder/out0.npy"));
  EXPECT_EQ(files[0].type, ir::dense_type(ir::ElementType::kFloat32, {2, 10}));
  EXPECT_TRUE(
      ir::test::same_bytes(ir::test::list(read_tensor(files[0].file, ir::ElementType::kFloat32)),
                           run(load(kFile), inputs)));
  expect_error(ErrorKind::kIo, "x.npy: cannot create", [&] {
    run_files({kFile, {path("x.npy")}, path("x.npy")});
  });
}

TEST_F(Api, ConvertsAndInspects) {
  const Inspection written = convert({kFile, path("m.tflite")});
  EXPECT_EQ(written.format, "tflite");
  EXPECT_EQ(written.file_bytes, std::filesystem::file_size(path("m.tflite")));
  EXPECT_EQ(written.layers.size(), 2U);
  EXPECT_TRUE(
      ir::test::same_bytes(run(load(path("m.tflite")), pixels(2)), run(load(kFile), pixels(2))));
  EXPECT_EQ(inspect_file(path("m.tflite")).parameters, written.parameters);
  EXPECT_EQ(inspect_file(kFile, {.simplified = true}).operators.at("FullyConnected"), 2U);
  expect_error(ErrorKind::kUnsupported, "expected a name that ends in", [&] {
    convert({path("none.onnx"), path("m.zip")});
  });
}

TEST_F(Api, QuantizesTheSameInMemoryAndFromFileToFile) {
  const Network network = load(kFile);
  const compress::QuantizedGraph result =
      quantize(network, samples("train", 200).open(), two_bits());
  save(result.graph, path("memory.circle"));
  const QuantizeReport report =
      quantize_file({kFile, path("file.circle"), samples("train", 200), two_bits(), {}});
  EXPECT_EQ(read_file(path("memory.circle")), read_file(path("file.circle")));
  EXPECT_EQ(report.input_bytes, std::filesystem::file_size(kFile));
  EXPECT_EQ(report.output_bytes, std::filesystem::file_size(path("file.circle")));
  EXPECT_GT(report.seconds, 0);
  ASSERT_EQ(report.layers.size(), 2U);
  EXPECT_EQ(report.layers[0].weight_bits, 2);

  const data::Dataset test = samples("test", 300).open();
  const compress::Evaluation memory = evaluate(result.graph, test, &network);
  const compress::Evaluation file = evaluate(load(path("file.circle")), test, &network);
  EXPECT_EQ(memory.value, file.value);
  EXPECT_EQ(memory.reference->agreement, file.reference->agreement);
  EXPECT_GT(memory.reference->agreement, 0.85);
}

TEST_F(Api, DoesNotWriteOverTheNetworkThatItReads) {
  std::filesystem::copy_file(kFile, path("m.onnx"));
  std::filesystem::create_symlink(path("m.onnx"), path("link.onnx"));
  const std::vector<std::byte> before = read_file(path("m.onnx"));
  for (const std::string& output : {path("m.onnx"), path("link.onnx"), path("./m.onnx")}) {
    const std::string message =
        output + ": is the file to read (model) and the file to write (output)";
    expect_error(ErrorKind::kUsage, message, [&] { convert({path("m.onnx"), output}); });
    expect_error(ErrorKind::kUsage, message, [&] {
      quantize_file({path("m.onnx"), output, samples("train", 200), two_bits(), {}});
    });
  }
  EXPECT_EQ(read_file(path("m.onnx")), before);
}

TEST_F(Api, LeavesWhatWasThereIfAFileComputesOtherwise) {
  const data::Dataset data = samples("train", 200).open();
  const Network network = load(kFile);
  const ir::Graph fitted = quantize(network, data, two_bits()).graph;
  EXPECT_GT(save_checked(fitted, path("m.circle"), {}, data), 0U);
  const std::vector<std::byte> before = read_file(path("m.circle"));
  ir::Graph other = fitted;
  const ir::ValueId y = other.outputs()[0];
  other.set_outputs({other.add_node("other", ir::Unary{{ir::ActivationKind::kNeg, 0, 0}}, {y})});
  EXPECT_NO_THROW(check_same_outputs(fitted, fitted, data));
  expect_error(ErrorKind::kUnsupported,
               "does not read back: expected the outputs of the network on its samples, found "
               "others, by 200 % for most samples",
               [&] { check_same_outputs(other, fitted, data); });
  expect_error(ErrorKind::kUnsupported, path("m.circle") + ": computes otherwise", [&] {
    formats::save_model(network.graph, path("m.circle"), {}, [](const ir::Graph&) {
      fail(ErrorKind::kUnsupported, "computes otherwise");
    });
  });
  EXPECT_EQ(read_file(path("m.circle")), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path("")), {}), 1);
}

TEST_F(Api, ChecksTheOutputBeforeItReadsTheData) {
  expect_error(ErrorKind::kUnsupported, "expected a name that ends in", [&] {
    quantize_file({kFile, path("q.zip"), {{path("none")}}, {}, {}});
  });
}

TEST_F(Api, EvaluatesWithTheNamesOfTheNetworks) {
  write_tensor(path("x.npy"), pixels(4)[0]);
  const data::Dataset unlabelled = DataSource{{path("x.npy")}}.open();
  EXPECT_EQ(hint_of(ErrorKind::kUsage, [&] { evaluate(load(kFile), unlabelled); }),
            Hint::kReference);
  const Network network = load(kFile);
  EXPECT_EQ(evaluate(network, unlabelled, &network).value, 1);
}

// As a program does that is asked to stop; the other devices are at work then.
TEST_F(Api, StopsAnEvaluationWhoseProgressThrows) {
  const Network network = load(kFile);
  const data::Dataset data = samples("test", 2000).open();
  for (int calls = 0; calls < 12; ++calls) {
    compress::EvaluateSettings options;
    options.progress = [left = calls](double /*done*/, std::string_view /*what*/) mutable {
      if (left-- == 0) fail(ErrorKind::kInterrupted, "stopped");
    };
    expect_error(ErrorKind::kInterrupted, "stopped",
                 [&] { evaluate(network, data, nullptr, options); });
  }
  EXPECT_GT(evaluate(network, data).value, 0.95);
}

TEST_F(Api, MeasuresALatency) {
  TimingSettings options;
  options.batch = 3;
  options.min_seconds = 0.001;
  const MeasuredPlan found = measure(load(kFile), options);
  EXPECT_EQ(found.profile.batch, 3U);
  EXPECT_EQ(found.profile.devices, 1U);
  EXPECT_GT(found.profile.median_us, 0);
  EXPECT_EQ(found.plan->steps().size(), found.profile.step_median_us.size());
  ir::Graph fixed;
  const auto x = fixed.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {2, 4}));
  fixed.add_output(fixed.add_node("t", ir::Unary{{ir::ActivationKind::kTanh, 0, 0}}, {x}));
  expect_error(ErrorKind::kUsage,
               "small: batch: expected 2, which the network is fixed to, found 3", [&] {
                 measure({fixed, "small"}, options);
               });
  EXPECT_EQ(hint_of(ErrorKind::kUsage, [&] { measure(fixed, options); }), Hint::kBatch);
}

TEST_F(Api, ReplacesDefaultsOfARecipeFile) {
  std::ofstream(path("r.toml")) << "[default]\nweight_bits = 4\nscheme = \"affine\"\n";
  const compress::Recipe recipe = load_recipe(path("r.toml"), {{.weight_bits = 1}});
  EXPECT_EQ(recipe.defaults.weight_bits, 1);
  EXPECT_EQ(recipe.defaults.weight_system->name, "affine");
  EXPECT_EQ(recipe.defaults.activation_bits, std::nullopt);
  EXPECT_EQ(load_recipe(path("r.toml")).defaults.weight_bits, 4);
  expect_error(ErrorKind::kIo, "none.toml", [&] { load_recipe(path("none.toml")); });
}

TEST_F(Api, TakesRecipesAsTextAndSettingsByName) {
  v0::LayerSettings names;
  names.weight_bits = 2;
  names.activation_bits = 6;
  names.weight_scheme = "affine";
  names.arithmetic = "float";
  names.calibrator = "mse";
  const compress::Recipe recipe = recipe_from("[default]\nactivation_bits = 4\n", "mine", {names});
  EXPECT_EQ(recipe.defaults.weight_bits, 2);
  EXPECT_EQ(recipe.defaults.activation_bits, 6);
  EXPECT_EQ(recipe.defaults.weight_system, &numerics::find_system("affine"));
  EXPECT_EQ(recipe.defaults.calibrator, compress::Calibrator::kMse);
  const auto defaults = [](const v0::LayerSettings& given) {
    return recipe_from("", "mine", {given}).defaults;
  };
  EXPECT_TRUE(defaults({.scheme = "float"}).skip.value_or(false));
  EXPECT_EQ(defaults({.activation_bits = 0}).activation_bits, 0);
  EXPECT_EQ(recipe_from("", "mine", {.ends = 8}).ends.weight_bits, 8);
  for (const int wrong : {-1, 17}) {
    expect_error(ErrorKind::kUsage,
                 "activation_bits: expected 1 to 16 or none, found " + std::to_string(wrong),
                 [&] { defaults({.activation_bits = wrong}); });
  }
  expect_error(ErrorKind::kUsage, "scheme of weights: has no effect with float32 weights",
               [&] { defaults({.weight_bits = 0, .weight_scheme = "int"}); });
  expect_error(ErrorKind::kUsage, "mine", [] { recipe_from("nonsense = 1", "mine"); });
}

TEST_F(Api, GivesTheBytesOfItsFile) {
  const Network network = load(kFile);
  save(network, path("m.circle"));
  EXPECT_THAT(read_file(path("m.circle")),
              testing::ElementsAreArray(to_bytes(network, "circle").bytes));
  expect_error(ErrorKind::kUsage, "found 'zip'", [&] { to_bytes(network, "zip"); });
  EXPECT_NO_THROW(check_output(path("other.onnx"), network));
  expect_error(ErrorKind::kUsage, "is the file to read ", [&] { check_output(kFile, network); });
  expect_error(ErrorKind::kUnsupported, "expected a name that ends in",
               [&] { check_output(path("m.zip"), network); });
}

TEST_F(Api, FitsEncodesAndDecodesArrays) {
  const std::vector<float> values = {0, 1, 2, 3, -8, -4, 4, 8};
  const MatrixView<const float> matrix(values, 2, 4);
  const numerics::MatrixEncoding encoding = fit_encoding(matrix, {.bits = 2});
  const std::vector<std::uint16_t> codes = encode_array(matrix, encoding);
  // Four levels hold four values exactly; in a basis, if these are sums of two signs.
  EXPECT_EQ(decode_array({codes, 2, 4}, encoding)[2], 2);
  EXPECT_EQ(fit_encoding(matrix, {.granularity = "tensor"}).num_blocks(), 1U);
  const ArrayFormat groups{.system = "affine", .bits = 4, .granularity = "group", .group_size = 2};
  EXPECT_EQ(fit_encoding(matrix, groups).num_blocks(), 4U);
  EXPECT_EQ(fit_encoding(matrix, {.system = "affine4/2"}).num_blocks(), 4U);
}

TEST_F(Api, RefusesArraysAndFormatsThatAreNone) {
  const std::vector<float> values = {0, 1, kNan, 3};
  const MatrixView<const float> matrix(values, 2, 2);
  const auto fit = [&](const ArrayFormat& format) { fit_encoding(matrix, format); };
  expect_error(ErrorKind::kFormat, "expected finite numbers, found nan at index 2",
               [&] { fit({.bits = 2}); });
  expect_error(ErrorKind::kUsage, "nf4: expected 4 to 4 bits, found 3",
               [&] { fit({.system = "nf4", .bits = 3}); });
  expect_error(ErrorKind::kUsage, "expected tensor, channel or group, found 'row'",
               [&] { fit({.granularity = "row"}); });
  expect_error(ErrorKind::kUsage, "group size: expected 2, as affine4/2 says, found 4",
               [&] { fit({.system = "affine4/2", .group_size = 4}); });
  expect_error(ErrorKind::kUsage, "only granularity group has groups",
               [&] { fit({.granularity = "tensor", .group_size = 2}); });
  const std::vector<float> good = {0, 1, 2, 3};
  const numerics::MatrixEncoding encoding = fit_encoding({good, 2, 2}, {.bits = 2});
  const std::vector<std::uint16_t> codes = {0, 1, 4, 3};
  expect_error(ErrorKind::kUsage, "codes: expected numbers below 4, found 4", [&] {
    decode_array({codes, 2, 2}, encoding);
  });
}

TEST_F(Api, HasDevicesOfAMachine) {
  const Machine machine;
  EXPECT_EQ(machine.ranks(), nullptr) << "mpirun did not start it";
  EXPECT_TRUE(machine.is_first());
  EXPECT_EQ(machine.devices(3).size(), 3U);
  EXPECT_GE(machine.devices().size(), 1U);
}

}  // namespace
}  // namespace halftone
