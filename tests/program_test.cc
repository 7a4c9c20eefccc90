// SPDX-License-Identifier: Apache-2.0
// The program as a user or script runs it: results, exit codes, messages, no partial files.
#include "tests/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "halftone/data/npy.h"
#include "halftone/formats/model.h"

namespace halftone {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST_F(Program, LetsIdleThreadsSleepUnlessToldOtherwise) {
  const auto environment = [&](const std::string& set) {
    const std::string command =
        "env -u OMP_WAIT_POLICY -u GOMP_SPINCOUNT OMP_DISPLAY_ENV=VERBOSE " + set + " '" +
        HALFTONE_PROGRAM + "' --version 2> '" + path("stderr") + "' > /dev/null";
    EXPECT_EQ(std::system(command.c_str()), 0);
    return text_of(path("stderr"));
  };
  EXPECT_THAT(environment(""), HasSubstr("GOMP_SPINCOUNT = '3000'"));
  EXPECT_THAT(environment("GOMP_SPINCOUNT=7"), HasSubstr("GOMP_SPINCOUNT = '7'"));
  EXPECT_THAT(environment("OMP_WAIT_POLICY=active"), HasSubstr("OMP_WAIT_POLICY = 'ACTIVE'"));
}

TEST_F(Program, IsNamedHalftoneInListsOfProcesses) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::unsetenv("GOMP_SPINCOUNT");
    ::unsetenv("OMP_WAIT_POLICY");
    ::execl(HALFTONE_PROGRAM, HALFTONE_PROGRAM, "bench", kModel.c_str(), "--seconds", "600",
            nullptr);
    ::_exit(127);
  }
  const std::string process = "/proc/" + std::to_string(child);
  const auto has_started_again = [&] {
    return text_of(process + "/environ").find("GOMP_SPINCOUNT=3000") != std::string::npos;
  };
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!has_started_again() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (::waitpid(child, nullptr, WNOHANG) != 0) break;
  }
  EXPECT_TRUE(has_started_again());
  EXPECT_EQ(text_of(process + "/comm"), "halftone\n");
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_F(Program, EscapesAndCutsTextFromOutside) {
  expect_failure("inspect '" + path("caf\xE9\x1B[31m.onnx") + "'", 3, "caf\\xE9\\x1B[31m.onnx");
  std::ofstream(path("r.toml")) << "[fit]\n" << std::string(1 << 20, 'k') << " = 1\n";
  const std::string quantize =
      "quantize " + kModel + " -o " + path("q.circle") + " --data " + kExample;
  expect_failure(quantize + " --recipe " + path("r.toml"), 2, " bytes omitted) ... ");
  EXPECT_LT(run(quantize + " --recipe " + path("r.toml")).err.size(), 2100u);
}

TEST_F(Program, ConvertsWithOneLine) {
  const Outcome convert = run("convert " + kModel + " " + path("m.circle"));
  EXPECT_EQ(convert.code, 0) << convert.err;
  EXPECT_THAT(convert.out, testing::StartsWith("circle file, "));
  EXPECT_EQ(std::ranges::count(convert.out, '\n'), 1) << convert.out;
}

TEST_F(Program, PrintsNoTableWhenQuiet) {
  for (const std::string& arguments :
       {"convert " + kModel + " " + path("m.circle"),
        "quantize " + kModel + " -o " + path("q.circle") + " --data " + kExample + " --limit 64"}) {
    const Outcome quiet = run(arguments + " --quiet");
    EXPECT_EQ(quiet.code, 0) << quiet.err;
    EXPECT_EQ(quiet.out + quiet.err, "") << arguments;
    EXPECT_TRUE(json::accept(run(arguments + " --quiet --json").out)) << arguments;
  }
}

TEST_F(Program, DoesNotWriteOverItsInput) {
  std::filesystem::copy_file(kModel, path("m.onnx"));
  const std::string message = "m.onnx: is the file to read (";
  expect_failure("convert " + path("m.onnx") + " " + path("m.onnx"), 2, message);
  expect_failure("quantize " + path("m.onnx") + " -o " + path("m.onnx") + " --data " + kExample, 2,
                 message);
  EXPECT_TRUE(text_of(path("m.onnx")) == text_of(kModel));
}

TEST_F(Program, QuantizesEvaluatesInspectsAndMeasures) {
  const std::string file = path("m.circle");
  const Outcome quantize = run("quantize " + kModel + " -o " + file + " --data " + kExample +
                               " --limit 300 --weight-bits 2 --activation-bits 2 --json");
  ASSERT_EQ(quantize.code, 0) << quantize.err;
  const json report = json::parse(quantize.out);
  EXPECT_EQ(report["output_bytes"], std::filesystem::file_size(file));
  EXPECT_EQ(report["layers"].size(), 2u);
  EXPECT_EQ(report["layers"][0]["weight_bits"], 2);

  const Outcome eval = run("eval " + file + " --data " + kExample + " --limit 500 --reference " +
                           kModel + " --json");
  ASSERT_EQ(eval.code, 0) << eval.err;
  EXPECT_EQ(json::parse(eval.out)["samples"], 500);
  EXPECT_GT(json::parse(eval.out)["reference"]["agreement"], 0.85);

  const Outcome inspect = run("inspect " + file + " --json");
  ASSERT_EQ(inspect.code, 0) << inspect.err;
  EXPECT_EQ(json::parse(inspect.out)["format"], "circle");
  EXPECT_EQ(json::parse(inspect.out)["layers"][1]["activation_bits"], 2);

  const Outcome bench = run("bench " + file + " --threads 1 --seconds 0.01 --json");
  ASSERT_EQ(bench.code, 0) << bench.err;
  EXPECT_THAT(bench.out, HasSubstr("xnor_popcount"));
}

TEST_F(Program, QuantizesWeightsAloneAndRunsThemOnActivationsOf8BitsOrFloat) {
  const std::string file = quantize_weights(2);
  const auto agreement = [&](const std::string& options) {
    const Outcome eval = run("eval " + file + " --data " + kExample + " --limit 500 --reference " +
                             kModel + " --json" + options);
    EXPECT_EQ(eval.code, 0) << eval.err;
    return json::parse(eval.out)["reference"]["agreement"].get<double>();
  };
  const auto first_layer = [&](const char* key, const std::string& options) {
    const Outcome bench = run("bench " + file + " --seconds 0.001 --json" + options);
    EXPECT_EQ(bench.code, 0) << bench.err;
    return json::parse(bench.out)["layers"][0][key].get<std::string>();
  };
  const auto kernel = [&](const std::string& options) { return first_layer("kernel", options); };
  const double as_float = agreement(" --float-activations");
  EXPECT_GT(as_float, 0.95);
  EXPECT_NEAR(agreement(""), as_float, 0.005);
  EXPECT_EQ(kernel(""), "int8_levels");
  EXPECT_EQ(first_layer("variant", ""), "planes");
  EXPECT_EQ(first_layer("arithmetic", ""), "integers: 8-bit inputs, 8-bit levels of the weights");
  EXPECT_EQ(kernel(" --float-activations"), "fixed_order_f32");
  EXPECT_EQ(kernel(" --float-activations --float-order fixed"), "fixed_order_f32");
  EXPECT_EQ(agreement(" --float-activations --float-order fixed"), as_float);
  const Outcome unknown = run("bench " + file + " --float-order none");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, ::testing::HasSubstr("--float-order"));
}

TEST_F(Program, MeasuresKernelsOnceAndKeepsWhatItMeasured) {
  const std::string file = quantize_weights(3);
  const std::string tuned = " --tune --tuning-file " + path("cache/tuning.txt");
  const auto first_layer = [&] {
    const Outcome bench = run("bench " + file + " --threads 1 --seconds 0.001 --json" + tuned);
    EXPECT_EQ(bench.code, 0) << bench.err;
    return json::parse(bench.out)["layers"][0]["measured"];
  };
  const json measured = first_layer();
  EXPECT_GT(measured["us"], 0);
  EXPECT_EQ(measured["threads"], 1);
  EXPECT_NEAR(first_layer()["us"].get<double>(), measured["us"].get<double>(), 0.001);
  const auto accuracy = [&](const std::string& options) {
    const Outcome eval =
        run("eval " + file + " --data " + kExample + " --limit 200 --json" + options);
    EXPECT_EQ(eval.code, 0) << eval.err;
    return json::parse(eval.out)["value"];
  };
  EXPECT_EQ(accuracy(tuned), accuracy(""));
  expect_failure("bench " + file + " --tuning-file " + path("t.txt"), 2, "--tune");
  std::ofstream(path("bad.txt")) << "x";
  expect_failure("bench " + file + " --tune --tuning-file " + path("bad.txt"), 3, "line 1");
}

TEST_F(Program, ConvertsAndRunsToTheSameNumbers) {
  const std::vector<float> x(3 * 784, 0.25F);
  data::write_npy(path("x.npy"), data::make_npy(std::span<const float>(x), {3, 784}));
  ASSERT_EQ(run("convert " + kModel + " " + path("m.tflite")).code, 0);
  ASSERT_EQ(run("run " + kModel + " --input " + path("x.npy") + " -o " + path("a")).code, 0);
  ASSERT_EQ(run("run " + path("m.tflite") + " --input " + path("x.npy") + " -o " + path("b")).code,
            0);
  const data::NpyArray a = data::read_npy(path("a/out0.npy"));
  const data::NpyArray b = data::read_npy(path("b/out0.npy"));
  EXPECT_THAT(a.shape, testing::ElementsAre(3u, 10u));
  EXPECT_EQ(a.floats(), b.floats());
}

TEST_F(Program, GivesTheSameFileTwiceAndForAnyNumberOfThreads) {
  const auto quantize = [&](const std::string& name, const std::string& options) {
    EXPECT_EQ(run("quantize " + kModel + " -o " + path(name) + " --data " + kExample +
                  " --limit 100 --weight-bits 1 --activation-bits 2 " + options)
                  .code,
              0);
    return text_of(path(name));
  };
  const std::string one = quantize("one.circle", "--threads 1");
  EXPECT_TRUE(one == quantize("two.circle", "--threads 2"));
  EXPECT_TRUE(one == quantize("again.circle", "--threads 1"));
  for (const char* devices : {"1", "2", "5"}) {
    EXPECT_TRUE(one == quantize("devices.circle", std::string("--devices ") + devices)) << devices;
  }
}

TEST_F(Program, EvaluatesToTheSameFiguresOnAnyNumberOfDevices) {
  const auto evaluate = [&](const std::string& devices) {
    const Outcome outcome = run("eval " + kModel + " --reference " + kModel + " --data " +
                                kExample + " --limit 500 --batch 32 --json --devices " + devices);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  };
  const std::string one = evaluate("1");
  EXPECT_EQ(json::parse(one).at("samples"), 500);
  EXPECT_EQ(evaluate("2"), one);
  EXPECT_EQ(evaluate("16"), one);
  expect_failure("eval " + kModel + " --data " + kExample + " --devices 1025", 2, "--devices");
}

TEST_F(Program, MeasuresABatchThatDevicesShare) {
  const auto measure = [&](const std::string& options) {
    const Outcome outcome = run("bench " + kModel + " --seconds 0.001 --json " + options);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return json::parse(outcome.out);
  };
  const json three = measure("--batch 7 --devices 3");
  EXPECT_EQ(three.at("batch"), 7);
  EXPECT_EQ(three.at("devices"), 3);
  EXPECT_GT(three.at("latency_us").at("median"), 0);
  EXPECT_EQ(measure("--batch 2 --devices 3").at("devices"), 2);
  EXPECT_EQ(measure("--batch 2").at("devices"), 1);
}

#ifdef HALFTONE_MPIRUN
TEST_F(Program, GivesTheSameOnSeveralRanks) {
  const std::string options = kModel + " --data " + kExample + " --limit 200 --json";
  const Outcome alone = run("eval " + options);
  const Outcome ranks = run_ranks(3, "eval " + options);
  EXPECT_EQ(ranks.code, 0) << ranks.err;
  EXPECT_EQ(ranks.out, alone.out);
  const auto quantize = [&](const std::string& name) {
    return "quantize " + options + " --weight-bits 2 --activation-bits 2 -o " + path(name);
  };
  EXPECT_EQ(run(quantize("alone.circle")).code, 0);
  EXPECT_EQ(run_ranks(2, quantize("ranks.circle")).code, 0);
  EXPECT_TRUE(text_of(path("alone.circle")) == text_of(path("ranks.circle")));
  const Outcome bench = run_ranks(2, "bench " + kModel + " --batch 5 --seconds 0.001 --json");
  EXPECT_EQ(bench.code, 0) << bench.err;
  EXPECT_EQ(json::parse(bench.out).at("devices"), 2);
  EXPECT_EQ(json::parse(bench.out).at("batch"), 5);
}

TEST_F(Program, EndsOnAllRanksWhenOneIsKilled) {
  std::ofstream(path("long.toml")) << "[fit]\nreconstruct_steps = 1000000\n";
  // Rank 1 becomes the program and is killed in the middle of it.
  const std::string rank =
      "'if [ \"$OMPI_COMM_WORLD_RANK\" = 1 ]; then (sleep 1; kill -9 $$) & fi; "
      "exec \"$0\" \"$@\"'";
  const Outcome outcome =
      run_ranks(3,
                "quantize " + kModel + " --data " + kExample + " --limit 64 -o " +
                    path("q.circle") + " --recipe " + path("long.toml"),
                "sh -c " + rank);
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("signal 9"));
  EXPECT_EQ(outcome.out, "");
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    EXPECT_THAT(entry.path().filename().string(), testing::AnyOf("long.toml", "stdout", "stderr"));
  }
}

TEST_F(Program, TellsOnceOnSeveralRanksWhatIsWrongInTheMiddle) {
  std::vector<float> x(200 * 784, 0.5F);
  x[150 * 784 + 3] = std::numeric_limits<float>::quiet_NaN();
  data::write_npy(path("x.npy"), data::make_npy(std::span<const float>(x), {200, 784}));
  const Outcome outcome =
      run_ranks(2, "quantize " + kModel + " -o " + path("q.circle") + " --data " + path("x.npy"));
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("sample 150"));
  EXPECT_EQ(outcome.err.find("halftone: "), outcome.err.rfind("halftone: ")) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(path("q.circle")));
}

TEST_F(Program, FailsOnceOnSeveralRanks) {
  const Outcome outcome = run_ranks(2, "eval " + path("no.onnx") + " --data " + kExample);
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  const std::size_t first = outcome.err.find("halftone: ");
  ASSERT_NE(first, std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("halftone: ", first + 1), std::string::npos) << outcome.err;
}
#endif

/// x [batch, 3] -> FullyConnected [batch, 2]
ir::ValueId add_layer(ir::Graph& graph, ir::Dim batch) {
  const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {batch, 3}));
  const std::vector<float> weights = {1, 2, 3, 4, 5, 6};
  const auto w = graph.add_constant("w", ir::Tensor::from<float>({2, 3}, weights));
  return graph.add_node("layer", ir::FullyConnected{}, {x, w});
}

TEST_F(Program, ConvertsAGeluThatWasWrittenStepByStep) {
  ir::Graph graph;
  const ir::ValueId x = add_layer(graph, ir::kBatch);
  const auto with = [&](ir::BinaryKind kind, ir::ValueId value, float number) {
    const std::string name = "n" + std::to_string(graph.num_values());
    const auto c =
        graph.add_constant(name + ".c", ir::Tensor::from<float>({}, std::vector{number}));
    return graph.add_node(name, ir::Binary{kind, {}}, {value, c});
  };
  const auto scaled = with(ir::BinaryKind::kDiv, x, 1.41421356F);
  const auto erf = graph.add_node("erf", ir::Unary{{ir::ActivationKind::kErf}}, {scaled});
  const auto sum = with(ir::BinaryKind::kAdd, erf, 1);
  const auto product = graph.add_node("product", ir::Binary{ir::BinaryKind::kMul, {}}, {x, sum});
  graph.add_output(with(ir::BinaryKind::kMul, product, 0.5F));
  formats::save_model(graph, path("steps.onnx"));
  // TFLite has no Erf.
  const Outcome convert = run("convert " + path("steps.onnx") + " " + path("m.tflite"));
  ASSERT_EQ(convert.code, 0) << convert.err;
  const Outcome inspect = run("inspect " + path("m.tflite") + " --json");
  EXPECT_EQ(json::parse(inspect.out)["operators"], json({{"FullyConnected", 1}, {"Gelu", 1}}));
}

/// x -> layer -> product of its outputs, which has no gradient, joined with x: one block.
void save_block_without_gradient(const std::string& path) {
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 2}));
  const std::vector<float> weights = {1, 2, 3, 4};
  const auto w = graph.add_constant("w", ir::Tensor::from<float>({2, 2}, weights));
  const auto layer = graph.add_node("layer", ir::FullyConnected{}, {x, w});
  const ir::Reduce product{ir::ReduceKind::kProd, {1}, true};
  const auto joined = graph.add_node("product", product, {layer});
  graph.add_output(graph.add_node("sum", ir::Binary{}, {joined, x}));
  formats::save_model(graph, path);
}

TEST_F(Program, SaysWhichBlocksWereNotRefined) {
  save_block_without_gradient(path("product.onnx"));
  std::vector<float> samples(128);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i] = static_cast<float>(i * i % 17) - 8;
  }
  data::write_npy(path("x.npy"), data::make_npy(std::span<const float>(samples), {64, 2}));
  std::ofstream(path("r.toml")) << "[default]\nweight_bits = 2\nactivation_bits = 2\n"
                                   "[fit]\nreconstruct_steps = 5\n";
  const std::string quantize = "quantize " + path("product.onnx") + " -o " + path("few.onnx") +
                               " --data " + path("x.npy") + " --recipe " + path("r.toml");
  const Outcome text = run(quantize);
  ASSERT_EQ(text.code, 0) << text.err;
  const std::string reason = "node 'product' (Reduce) has no gradient";
  EXPECT_NE(text.out.find("not refined: the block of 'layer', since " + reason), std::string::npos)
      << text.out;
  const Outcome outcome = run(quantize + " --json --memory 1M");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["skipped_blocks"],
            json({{{"block", "layer"}, {"reason", reason}}}));
}

TEST_F(Program, MeasuresANetworkWithItsFixedBatch) {
  ir::Graph graph;
  graph.add_output(add_layer(graph, 4));
  formats::save_model(graph, path("four.onnx"));
  const std::string bench = "bench " + path("four.onnx") + " --seconds 0.001 --json";
  for (const std::string options : {"", " --batch 4"}) {
    const Outcome outcome = run(bench + options);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(json::parse(outcome.out)["batch"], 4);
  }
  expect_failure(bench + " --batch 8", 2,
                 "four.onnx: batch: expected 4, which the network is fixed to, found 8 (--batch)");
}

TEST_F(Program, RefusesABatchThatMemoryCannotHold) {
  ir::Graph graph;
  graph.add_output(add_layer(graph, ir::kBatch));
  formats::save_model(graph, path("any.onnx"));
  // 2^37 samples of three numbers and two.
  expect_failure("bench " + path("any.onnx") + " --batch 137438953472", 4,
                 "a session of batch 137438953472, its values: ");
}

TEST_F(Program, QuantizesToTheBytesOfTheExampleInCpp) {
  const std::string arguments = "'" + kModel + "' '" + kExample + "' '" + path("api.circle") + "'";
  const std::string command = std::string("'") + HALFTONE_API_EXAMPLE + "' " + arguments + " > '" +
                              path("said") + "' 2> /dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_THAT(text_of(path("said")), testing::HasSubstr("\naccuracy 0.9"));
  ASSERT_EQ(run("quantize " + kModel + " -o " + path("cli.circle") + " --data " + kExample +
                " --limit 300 --weight-bits 2 --activation-bits 2")
                .code,
            0);
  EXPECT_TRUE(text_of(path("api.circle")) == text_of(path("cli.circle")));
}

TEST_F(Program, HelpsWithAnExampleForEveryVerb) {
  EXPECT_EQ(run("--help").code, 0);
  EXPECT_EQ(run("--version").code, 0);
  for (const char* verb :
       {"inspect", "convert", "quantize", "distill", "train", "eval", "run", "bench"}) {
    const Outcome help = run(std::string(verb) + " --help");
    EXPECT_EQ(help.code, 0);
    EXPECT_THAT(help.out, HasSubstr(std::string("Example: halftone ") + verb));
  }
}

TEST_F(Program, SaysWhenStandardOutputTakesNothing) {
  for (const std::string arguments : {"--help", "inspect --help", "--version"}) {
    const std::string command = std::string("'") + HALFTONE_PROGRAM + "' " + arguments +
                                " > /dev/full 2> '" + path("err") + "'";
    EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 3) << arguments;
    EXPECT_EQ(text_of(path("err")), "halftone: cannot write the result to standard output\n");
  }
}

TEST_F(Program, AnswersWrongUseWithTwo) {
  expect_failure("", 2, "halftone: A subcommand is required; see halftone --help");
  expect_failure("frobnicate", 2, "halftone: unknown verb 'frobnicate'; see halftone --help");
  expect_failure("inspect", 2, "halftone: model is required; see halftone inspect --help");
  expect_failure("--completion fish", 2, "--completion: fish not in {bash,zsh}");
  expect_failure("--man-pages " + path("none"), 3, "none");
  expect_failure("inspect a.onnx --threads -1", 2, "--threads: Value -1 not in range 0 to 1024");
  const std::string quantize =
      "quantize " + kModel + " -o " + path("q.circle") + " --data " + kExample;
  expect_failure(quantize + " --weight-bits 0", 2, "--weight-bits: Value 0");
  expect_failure(quantize + " --weight-bits 9", 2,
                 "weight bits: number system 'basis': expected 1 to 8 bits, found 9");
  expect_failure(quantize + " --activation-bits 9", 2,
                 "activation bits: number system 'basis': expected 1 to 8 bits, found 9");
  expect_failure(quantize + " --scheme ints4", 2,
                 "number system 'ints4': expected one of learned: basis");
  expect_failure(quantize + " --limit 0", 2, "--limit: expected a whole number from 1 to");
  expect_failure(quantize + " --limit -5", 2, "found '-5'");
  expect_failure(quantize + " --seed -1", 2, "--seed: expected a whole number from 0 to");
  expect_failure(quantize + " --seed 18446744073709551616", 2, "found '18446744073709551616'");
  expect_failure("inspect " + kModel + " --simd MMX", 2, "MMX");
  std::ofstream(path("r.toml")) << "[[layer]]\nname = \"nothing\"\nskip = true\n";
  expect_failure(quantize + " --recipe " + path("r.toml"), 2, "matches no layer");
  EXPECT_FALSE(std::filesystem::exists(path("q.circle")));
}

TEST_F(Program, RefusesNumbersOutOfRangeAndThoseThatAreNotFinite) {
  const std::string eval = "eval " + kModel + " --data " + kExample;
  for (const std::string scale : {"nan", "inf", "-inf", "0", "-1", "1e999", "1x"}) {
    expect_failure(eval + " --scale " + scale, 2,
                   "--scale: expected a number above 0, found '" + scale + "'");
  }
  for (const std::string seconds : {"nan", "-1", "3601", "inf"}) {
    expect_failure("bench " + kModel + " --seconds " + seconds, 2,
                   "--seconds: expected a number from 0 to 3600, found '" + seconds + "'");
  }
  const std::string quantize =
      "quantize " + kModel + " -o " + path("q.circle") + " --data " + kExample + " --memory ";
  for (const std::string memory : {"-1", "nan", "1.5", "99999999999999999999", "''"}) {
    expect_failure(quantize + memory, 2, "--memory: expected a number of bytes, such as");
  }
  expect_failure(quantize + "1Q", 2, "--memory: ");
  expect_failure(quantize + "99999999999E", 2, "--memory: ");
  for (const std::string option : {"--batch", "--devices", "--limit", "--threads"}) {
    expect_failure(eval + " " + option + " nan", 2, option);
  }
}

TEST_F(Program, RefusesEmptyPaths) {
  const std::string complaint = ": expected a path, found an empty one; see halftone ";
  const std::string data = " --data " + kExample;
  expect_failure("inspect ''", 2, "model" + complaint);
  expect_failure("convert '' a.onnx", 2, "input" + complaint);
  expect_failure("convert " + kModel + " ''", 2, "output" + complaint);
  expect_failure("quantize " + kModel + " -o ''" + data, 2, "--output" + complaint);
  expect_failure("quantize " + kModel + " -o q.circle --recipe ''" + data, 2,
                 "--recipe" + complaint);
  expect_failure("eval " + kModel + " --data ''", 2, "--data" + complaint);
  expect_failure("eval " + kModel + " --reference ''" + data, 2, "--reference" + complaint);
  expect_failure("run " + kModel + " --input '' -o out", 2, "--input" + complaint);
  expect_failure("bench ''", 2, "model" + complaint);
}

TEST_F(Program, AnswersUnreadableAndMalformedFilesWithThree) {
  expect_failure("inspect " + path("none.onnx"), 3, "No such file");
  expect_failure("inspect '" + path("two\nlines.onnx") + "'", 3, "two lines.onnx: cannot open");
  std::ofstream(path("empty.onnx")).flush();
  expect_failure("inspect " + path("empty.onnx"), 3, path("empty.onnx"));
  std::ofstream(path("text.circle")) << "not a model at all, just some text in a file";
  expect_failure("inspect " + path("text.circle"), 3, path("text.circle"));
  const std::string whole = text_of(kModel);
  std::ofstream(path("cut.onnx")) << whole.substr(0, whole.size() / 2);
  expect_failure("eval " + path("cut.onnx") + " --data " + kExample, 3, path("cut.onnx"));
  expect_failure("eval " + kModel + " --data " + path("none"), 3, path("none"));
  std::ofstream(path("bad.npy")) << "\x93NUMPY";
  expect_failure("eval " + kModel + " --data " + path("bad.npy"), 3, path("bad.npy"));
}

TEST_F(Program, AnswersTheUnsupportedAndTheImpossibleWithFour) {
  expect_failure("inspect model.pt", 4, "found '.pt'");
  std::ofstream(path("data.txt")) << "words";
  expect_failure("eval " + kModel + " --data " + path("data.txt"), 4, "data.txt");
  const std::vector<float> x(4, 0);
  data::write_npy(path("x.npy"), data::make_npy(std::span<const float>(x), {2, 2}));
  expect_failure("run " + kModel + " --input " + path("x.npy") + " -o " + path("o"), 4,
                 kModel + ": input 'pixels'");
  data::write_npy(path("none.npy"), data::make_npy(std::span<const float>(), {0, 784}));
  expect_failure("run " + kModel + " --input " + path("none.npy") + " -o " + path("o"), 4,
                 path("none.npy") + ": expected at least one sample, found shape [0, 784]");
  EXPECT_FALSE(std::filesystem::exists(path("o")));
}

TEST_F(Program, RefusesNumbersThatAreNotFiniteInData) {
  std::vector<float> x(2 * 784, 0.5F);
  x[784 + 3] = std::numeric_limits<float>::quiet_NaN();
  data::write_npy(path("x.npy"), data::make_npy(std::span<const float>(x), {2, 784}));
  expect_failure("quantize " + kModel + " -o " + path("q.circle") + " --data " + path("x.npy"), 3,
                 "sample 1");
  EXPECT_FALSE(std::filesystem::exists(path("q.circle")));
}

TEST_F(Program, NamesTheOptionThatFollowsTheAdviceOfTheLibrary) {
  // 3e38 is finite, but the outputs of the layer are not, which another layer reads.
  ir::Graph graph;
  const auto hidden = add_layer(graph, ir::kBatch);
  const std::vector<float> weights = {1, 2};
  const auto w = graph.add_constant("w2", ir::Tensor::from<float>({1, 2}, weights));
  graph.add_output(graph.add_node("top", ir::FullyConnected{}, {hidden, w}));
  formats::save_model(graph, path("deep.onnx"));
  const std::vector<float> x(2 * 3, 3e38F);
  data::write_npy(path("x.npy"), data::make_npy(std::span<const float>(x), {2, 3}));
  const std::string unlabelled = " --data " + path("x.npy");
  expect_failure("quantize " + path("deep.onnx") + " -o " + path("q.circle") +
                     " --activation-bits none" + unlabelled,
                 3, "check the network and the scale of the pixels (--scale)");
  expect_failure("eval " + path("deep.onnx") + unlabelled, 2,
                 "has no labels; give a reference network to compare with (--reference)");
}

TEST_F(Program, RefusesToEncodeBlankData) {
  const std::vector<float> x(20 * 784, 0);
  data::write_npy(path("x.npy"), data::make_npy(std::span<const float>(x), {20, 784}));
  const std::string quantize =
      "quantize " + kModel + " -o " + path("q.circle") + " --data " + path("x.npy");
  expect_failure(quantize, 4,
                 "value 'pixels' cannot be encoded: it is 0 at all 15680 positions sampled from "
                 "the calibration data; use other data, or keep");
  EXPECT_FALSE(std::filesystem::exists(path("q.circle")));
  EXPECT_EQ(run(quantize + " --activation-bits none").code, 0);
}

TEST_F(Program, WritesAllOrNothing) {
  const std::string arguments =
      " --data " + kExample + " --limit 64 --weight-bits 1 --activation-bits 1";
  expect_failure("quantize " + kModel + " -o " + path("none/q.circle") + arguments, 3,
                 "cannot write");
  std::filesystem::create_directory(path("folder.circle"));
  expect_failure("quantize " + kModel + " -o " + path("folder.circle") + arguments, 3,
                 "not a regular file");
}

TEST_F(Program, EndsByASignalAndLeavesNothing) {
  // Would take minutes without the signal.
  std::ofstream(path("long.toml")) << "[fit]\nbasis_solver = \"gradient\"\niterations = 100000\n";
  std::ofstream(path("old.circle")) << "old";
  const std::vector<std::string> arguments = {HALFTONE_PROGRAM,   "quantize", kModel,   "-o",
                                              path("old.circle"), "--data",   kExample, "--recipe",
                                              path("long.toml")};
  std::vector<char*> argv;
  for (const std::string& each : arguments) argv.push_back(const_cast<char*>(each.c_str()));
  argv.push_back(nullptr);
  for (const int signal : {SIGINT, SIGTERM}) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      std::signal(signal, SIG_DFL);  // a shell may have started this test without SIGINT
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    const auto start = std::chrono::steady_clock::now();
    ::kill(child, signal);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    EXPECT_EQ(WTERMSIG(status), signal);
    EXPECT_EQ(text_of(path("old.circle")), "old");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 2);
  }
}

}  // namespace
}  // namespace halftone
