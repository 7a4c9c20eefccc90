// SPDX-License-Identifier: Apache-2.0
// The training verbs as a user or script runs them.
#include <sched.h>

#include <nlohmann/json.hpp>
#include <set>

#include "halftone/base/file.h"
#include "halftone/data/npy.h"
#include "halftone/formats/model.h"
#include "tests/integer_classifier.h"
#include "tests/program.h"

namespace halftone {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class TrainingProgram : public Program {};

#ifdef HALFTONE_TRAINS
TEST_F(TrainingProgram, DistillsATeacherToTheSameFileOnAnyDevices) {
  const std::string data = " --data " + kExample + " --limit 512";
  const auto distill = [&](const std::string& devices) {
    const Outcome outcome =
        run("distill --teacher " + kModel + " -o " + path("s.circle") + data +
            " --weight-bits 2 --activation-bits 2 --epochs 2 --json --devices " + devices);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const json result = json::parse(outcome.out);
    EXPECT_EQ(result.at("epochs").size(), 2U);
    EXPECT_LT(result.at("epochs")[1].at("loss"), result.at("epochs")[0].at("loss"));
    EXPECT_EQ(result.at("output_bytes"), std::filesystem::file_size(path("s.circle")));
    return text_of(path("s.circle"));
  };
  const std::string one = distill("1");
  EXPECT_TRUE(distill("2") == one);
  EXPECT_TRUE(distill("1 --memory 0") == one);
  const Outcome eval = run("eval " + path("s.circle") + " --data " + kExample + " --json");
  // So few steps are noisy: seeds give 0.88 to 0.94.
  EXPECT_GT(json::parse(eval.out).at("value"), 0.8);
  // A low-bit student continues to learn, also from labels alone.
  const Outcome again = run("distill --teacher " + kModel + " --student " + path("s.circle") +
                            " -o " + path("t.onnx") + data + " --label-weight 1 --optimizer sgd");
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_TRUE(std::filesystem::exists(path("t.onnx")));
}

TEST_F(TrainingProgram, TeachesByANetworkOfIntegers) {
  const std::string integers = path("integers.onnx");
  formats::save_model(integer_classifier(), integers);
  const std::string rest =
      " -o " + path("s.circle") + " --data " + kExample + " --limit 256 --epochs 1";
  const Outcome taught = run("distill --teacher " + integers + " --student " + kModel + rest);
  EXPECT_EQ(taught.code, 0) << taught.err;
  std::filesystem::remove(path("s.circle"));
  // What learns is float32.
  const Outcome learns = run("distill --teacher " + kModel + " --student " + integers + rest);
  EXPECT_NE(learns.code, 0);
  EXPECT_THAT(learns.err, HasSubstr("expected scores float32[N, ..., classes], found int8[N, 10]"));
  EXPECT_FALSE(std::filesystem::exists(path("s.circle")));
}

TEST_F(TrainingProgram, DistillsWithTheDriftOfACrossbar) {
  const std::string base = "distill --teacher " + kModel + " --data " + kExample + " --limit 512";
  const std::string bits = " --weight-bits 2 --activation-bits 2";
  const auto distill = [&](const std::string& options) {
    const Outcome outcome =
        run(base + bits + " -o " + path("s.circle") + " --json --batch 64" + options);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.code == 0 ? json::parse(outcome.out) : json();
  };
  const auto accuracy = [&] {
    const Outcome outcome = run("crossbar " + path("s.circle") + " --data " + kExample +
                                " --limit 500 --device pcm --seconds 86400 --seeds 1 --json");
    return json::parse(outcome.out).at("mean").get<double>();
  };
  EXPECT_FALSE(distill("").contains("layers"));
  const double without = accuracy();
  const json noisy = distill(" --crossbar pcm --seconds 86400");
  ASSERT_EQ(noisy.at("layers").size(), 2U);
  EXPECT_TRUE(noisy.at("layers")[0].at("digital").is_null());
  EXPECT_GT(accuracy(), without + 0.1);

  const std::string output = " -o " + path("t.circle");
  expect_failure(base + bits + output + " --crossbar no.toml", 3, "no.toml");
  expect_failure(base + bits + output + " --seconds 5", 2, "--seconds requires --crossbar");
  write_file(path("d.toml"), std::string("rows = 5\n"));
  expect_failure(base + bits + output + " --crossbar " + path("d.toml"), 2, "d.toml: line 1");
  expect_failure(base + output + " --student " + kModel + " --crossbar pcm", 4,
                 "student: no layer can be mapped on arrays; 'dense1': the input is not encoded");
  EXPECT_FALSE(std::filesystem::exists(path("t.circle")));
}

TEST_F(TrainingProgram, TrainsWithNumbersOfFewBits) {
  const auto trained = [&](const std::string& options) {
    const Outcome outcome = run("distill --teacher " + kModel + " -o " + path("s.onnx") +
                                " --data " + kExample + " --limit 256 --scheme float" + options);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return text_of(path("s.onnx"));
  };
  const std::string precision = " --precision bf16 --gradient-format e5m2 --loss-scale 256";
  const std::string few = trained(precision);
  EXPECT_TRUE(few == trained(precision + " --gradient-rounding stochastic"));
  EXPECT_FALSE(few == trained(precision + " --gradient-rounding nearest"));
  EXPECT_FALSE(few == trained(" --precision bf16"));
}

TEST_F(TrainingProgram, TrainsInEveryKindOfNumberSystem) {
  const auto train = [&](const std::string& options) {
    return "train " + kModel + " -o " + path("t.onnx") + " --data " + kExample +
           " --limit 1000 --batch 50 --epochs 3 --quiet --json " + options;
  };
  std::set<std::string> files;
  const auto agreement = [&](const std::string& options) {
    const Outcome outcome = run(train(options));
    EXPECT_EQ(outcome.code, 0) << options << ": " << outcome.err;
    if (outcome.code != 0) return 0.0;
    EXPECT_TRUE(files.insert(text_of(path("t.onnx"))).second) << options;
    return json::parse(outcome.out).at("epochs")[2].at("agreement").get<double>();
  };
  const double full = agreement("");
  EXPECT_GT(full, 0.85);
  for (const char* options :
       {"--precision mxfp8_e4m3 --gradient-format e5m2_nan", "--precision nvfp4",
        "--precision int8 --gradient-format posit8", "--precision bfp6 --gradient-format bf16_nan",
        "--precision e4m3 --gradient-format e5m2", "--precision log4"}) {
    EXPECT_GT(agreement(options), full - 0.1) << options;
  }
}

// A loss scale that is too large for the gradients' format shows only where the format overflows.
TEST_F(TrainingProgram, ShowsGradientsThatOverflow) {
  const auto train = [&](const std::string& format) {
    return run("train " + kModel + " -o " + path("t.onnx") + " --data " + kExample +
               " --limit 500 --batch 50 --epochs 1 --quiet --loss-scale 268435456 "
               "--gradient-format " +
               format);
  };
  EXPECT_EQ(train("fp16").code, 0);
  const Outcome outcome = train("fp16_nan");
  EXPECT_NE(outcome.code, 0) << outcome.out;
  EXPECT_THAT(outcome.err, HasSubstr("NaN or infinite in step 1 of epoch 1"));
}

TEST_F(TrainingProgram, DistillsFromSeveralTeachersAndTheFileOfTheirAnswers) {
  const std::string base = "distill --teacher " + kModel + " --teacher " + kModel + " --data " +
                           kExample + " --scheme float --limit 256 --label-weight 0.5";
  const auto distill = [&](const std::string& options) {
    const Outcome outcome = run(base + " -o " + path("s.circle") + options);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return text_of(path("s.circle"));
  };
  const std::string asked = distill("");
  const std::string cache = " --teacher-cache " + path("answers");
  EXPECT_TRUE(distill(cache) == asked);
  EXPECT_EQ(std::filesystem::file_size(path("answers")), 48U + 256 * 2 * 10 * 4 + 8);
  EXPECT_TRUE(distill(cache) == asked);
  EXPECT_FALSE(distill(" --feature hidden=hidden:100") == asked);
  const Outcome inspect = run("inspect --simplified " + kModel);
  EXPECT_THAT(inspect.out, HasSubstr("\nhidden: float32[N, 700]"));

  const std::string output = " -o " + path("t.circle");
  expect_failure(base + output + cache + " --teacher " + kModel, 3,
                 "of [256, 3, 10], found [256, 2");
  expect_failure(base + output + cache + " --flip", 2, "augmentation changes the samples");
  expect_failure(base + output + " --feature hidden=hiden", 2,
                 "the student has no value or node 'hiden'; similar names: 'hidden'");
  expect_failure(base + output + " --feature hidden", 2,
                 "expected TEACHER_VALUE=STUDENT_VALUE or with :WEIGHT");
  EXPECT_FALSE(std::filesystem::exists(path("t.circle")));
}

TEST_F(TrainingProgram, RefusesToDistillWhatDoesNotFit) {
  const std::string output = " -o " + path("s.circle");
  const std::vector<float> x(200 * 784, 0.5F);
  data::write_npy(path("x.npy"), data::make_npy(std::span<const float>(x), {200, 784}));
  expect_failure("distill --teacher " + kModel + output + " --data " + path("x.npy") +
                     " --label-weight 0.5 --scheme float",
                 2, "has no labels");
  expect_failure("distill --teacher " + kModel + output + " --data " + path("x.npy") +
                     " --scheme float --batch 256",
                 2,
                 path("x.npy") +
                     ": expected at least the 256 samples of a batch, found 200: choose a smaller "
                     "batch or use more samples (--batch)");
  for (const char* option : {"--level-rate-factor", "--learning-rate"}) {
    expect_failure(
        "distill --teacher " + kModel + output + " --data " + kExample + " " + option + " -1", 2,
        std::string(option) + ": expected a number above 0, found '-1'");
  }
  for (const std::string number : {"-1", "nan", "inf", "1x"}) {
    expect_failure("distill --teacher " + kModel + output + " --data " + kExample +
                       " --clip-grad-norm " + number,
                   2, "--clip-grad-norm: expected a number of at least 0, found '" + number + "'");
  }
  expect_failure("distill --teacher " + path("no.onnx") + output + " --data " + kExample, 3,
                 "no.onnx");
  expect_failure(
      "distill --teacher " + kModel + output + " --data " + kExample + " --temperature 0", 2,
      "--temperature");
  for (const std::string option : {"--precision", "--gradient-format"}) {
    expect_failure(
        "distill --teacher " + kModel + output + " --data " + kExample + " " + option + " fp7", 2,
        "number format: expected one of fp32, affine1 to affine16, ");
    expect_failure(
        "distill --teacher " + kModel + output + " --data " + kExample + " " + option + " basis4",
        2, "found 'basis4', whose levels are learned");
    expect_failure(
        "distill --teacher " + kModel + output + " --data " + kExample + " " + option + " e2m1_nan",
        2, "found 'e2m1', whose codes are all numbers");
  }
  expect_failure("distill --teacher " + kModel + output + " --data " + kExample + " --loss-scale 3",
                 2, "loss scale: expected a power of two");
  EXPECT_FALSE(std::filesystem::exists(path("s.circle")));
}

TEST_F(TrainingProgram, LowersTheBitsOfAStudentInStages) {
  const std::string base = "distill --teacher " + kModel + " --data " + kExample + " --limit 300";
  const std::string output = " -o " + path("s.circle");
  const Outcome outcome = run(base + " --student " + kModel + output +
                              " --weight-bits 1 --activation-bits 2 --stages 4:1,2:1 --epochs 2" +
                              " --freeze-from 0.5 --checkpoint " + path("run.ckpt") + " --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out).at("epochs").size(), 4U);
  for (const char* file : {"run.ckpt", "run.ckpt.stage1", "run.ckpt.stage2", "run.svg"}) {
    EXPECT_TRUE(std::filesystem::exists(path(file))) << file;
  }
  const Outcome inspect = run("inspect --json " + path("s.circle"));
  for (const json& layer : json::parse(inspect.out).at("layers")) {
    EXPECT_EQ(layer.at("weight_bits"), 1);
  }
  const std::string other = " -o " + path("t.circle");
  expect_failure(base + other + " --stages 2:0", 2, "stage: expected BITS:EPOCHS");
  expect_failure(base + other + " --student " + kModel + " --stages 4:1", 2,
                 "expected settings of a recipe too, such as bits per weight (--recipe)");
  EXPECT_FALSE(std::filesystem::exists(path("t.circle")));
}

TEST_F(TrainingProgram, TrainsAFloatNetworkFromItsGraphAlone) {
  const std::string data = " --data " + kExample + " --limit 1000";
  const auto train = [&](const std::string& options) {
    const Outcome outcome = run("train " + kModel + " -o " + path("t.onnx") + data +
                                " --validation-split 0.2 --batch 50 --json " + options);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.code == 0 ? json::parse(outcome.out) : json();
  };
  const json fresh = train("--epochs 4 --schedule step --milestones 0.5,0.75 --warmup-epochs 0.5");
  EXPECT_LT(fresh.at("epochs")[0].at("agreement"), 0.8);
  EXPECT_GT(fresh.at("epochs")[3].at("agreement"), 0.8);
  EXPECT_LT(fresh.at("epochs")[3].at("rate"),
            0.02 * fresh.at("epochs")[1].at("rate").get<double>());
  EXPECT_GE(fresh.at("best_epoch"), 1);
  EXPECT_EQ(fresh.at("output_bytes"), std::filesystem::file_size(path("t.onnx")));
  const json kept = train("--epochs 1 --keep --learning-rate 1e-6");
  EXPECT_GT(kept.at("epochs")[0].at("agreement"), 0.9);
  EXPECT_GT(kept.at("epochs")[0].at("held_out"), 0.9);
  const Outcome student = run("distill --teacher " + kModel + " --student " + kModel + " --fresh" +
                              " -o " + path("s.onnx") + data + " --json");
  ASSERT_EQ(student.code, 0) << student.err;
  EXPECT_LT(json::parse(student.out).at("epochs")[0].at("agreement"), 0.9);
}

TEST_F(TrainingProgram, IsInterruptedAndGoesOnToTheSameFile) {
  const auto train = [&](const std::string& name, const std::string& options) {
    return "train " + kModel + " -o " + path(name) + " --data " + kExample +
           " --limit 500 --batch 50 --epochs 6 --flip --quiet " + options;
  };
  const std::string keep = " --checkpoint " + path("run.ckpt");
  for (const int signal : {SIGINT, SIGTERM}) {
    std::filesystem::remove(path("run.ckpt"));
    const Outcome stopped = run_until_kept(train("s.onnx", keep), path("run.ckpt"), signal);
    EXPECT_EQ(stopped.code, 130) << stopped.err;
    EXPECT_EQ(stopped.err,
              "halftone: interrupted; saved in " + path("run.ckpt") + ", go on with --resume\n");
    EXPECT_EQ(stopped.out, "");
    EXPECT_FALSE(std::filesystem::exists(path("s.onnx")));
  }
  expect_failure(train("s.onnx", keep), 2, "found one: remove it or resume (--resume)");
  expect_failure(train("s.onnx", keep + " --resume --learning-rate 0.5"), 2,
                 "rate was 0.001, is 0.5");
  expect_failure(train("s.onnx", keep + " --resume --gradient-format e5m2_nan"), 2,
                 "format of gradients was fp32, rounded by chance, is e5m2_nan, rounded by chance");
  const Outcome rest = run(train("s.onnx", keep + " --resume"));
  EXPECT_EQ(rest.code, 0) << rest.err;
  const Outcome whole = run(train("whole.onnx", ""));
  EXPECT_EQ(whole.code, 0) << whole.err;
  EXPECT_TRUE(text_of(path("s.onnx")) == text_of(path("whole.onnx")));
  const std::string csv = text_of(path("run.csv"));
  EXPECT_EQ(csv.substr(0, csv.find('\n')), "epoch,loss,agreement,held_out,rate,seconds");
  EXPECT_EQ(std::ranges::count(csv, '\n'), 7);
  EXPECT_THAT(text_of(path("run.svg")), HasSubstr("</svg>"));
  // A truncated checkpoint is named and not overwritten.
  std::filesystem::resize_file(path("run.ckpt"), 1000);
  expect_failure(train("s.onnx", keep + " --resume"), 3, path("run.ckpt") + ": truncated");
  EXPECT_EQ(std::filesystem::file_size(path("run.ckpt")), 1000U);
}

/// A command that runs others on one of the cores that this process may use.
std::string on_one_core() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  sched_getaffinity(0, sizeof(cores), &cores);
  std::size_t core = 0;
  while (CPU_ISSET(core, &cores) == 0) ++core;
  return "taskset -c " + std::to_string(core);
}

TEST_F(TrainingProgram, WritesTheSameFileOnAnyNumberOfCores) {
  const std::string base = "train " + kModel + " -o " + path("t.onnx") + " --data " + kExample +
                           " --limit 512 --epochs 2 --quiet";
  const auto written = [&](const Outcome& outcome) {
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return text_of(path("t.onnx"));
  };
  const std::string wanted = written(run(base, "OPENBLAS_NUM_THREADS=2 OMP_NUM_THREADS=2"));
  EXPECT_TRUE(written(run(base, "OPENBLAS_NUM_THREADS=1")) == wanted);
  EXPECT_TRUE(written(run(base, on_one_core())) == wanted);
#ifdef HALFTONE_MPIRUN
  EXPECT_TRUE(written(run_ranks(2, base)) == wanted);
#endif
}

TEST_F(TrainingProgram, ResumesOnAnotherNumberOfCoresToTheSameFile) {
  const auto train = [&](const std::string& name, const std::string& options) {
    return "train " + kModel + " -o " + path(name) + " --data " + kExample +
           " --limit 500 --batch 50 --epochs 3 --quiet " + options;
  };
  const std::string keep = " --checkpoint " + path("run.ckpt");
  const Outcome stopped = run_until_kept(train("t.onnx", keep), path("run.ckpt"), SIGTERM);
  EXPECT_EQ(stopped.code, 130) << stopped.err;
  const Outcome rest = run(train("t.onnx", keep + " --resume"), on_one_core());
  EXPECT_EQ(rest.code, 0) << rest.err;
  EXPECT_EQ(run(train("whole.onnx", "")).code, 0);
  EXPECT_TRUE(text_of(path("t.onnx")) == text_of(path("whole.onnx")));
}

#ifdef HALFTONE_MPIRUN
TEST_F(TrainingProgram, EndsOnASignalToAnyRank) {
  // With two parts of a batch, the last of three ranks has none.
  for (const int rank : {1, 2}) {
    std::filesystem::remove(path("run.ckpt"));
    const std::string wrapper = "sh -c 'if [ $OMPI_COMM_WORLD_RANK = " + std::to_string(rank) +
                                " ]; then (while [ ! -e " + path("run.ckpt") +
                                " ]; do sleep 0.05; done; kill -TERM $$) & fi; exec \"$0\" \"$@\"'";
    const Outcome outcome = run_ranks(
        3,
        "train " + kModel + " -o " + path("s.onnx") + " --data " + kExample +
            " --limit 500 --batch 50 --epochs 1000 --quiet --checkpoint " + path("run.ckpt"),
        wrapper);
    EXPECT_EQ(outcome.code, 130) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("halftone: interrupted; saved in " + path("run.ckpt")));
    EXPECT_FALSE(std::filesystem::exists(path("s.onnx")));
  }
}
#endif

TEST_F(TrainingProgram, SaysAccuracyOfLabelsAndAgreementWithTeachers) {
  const std::string rest = " -o " + path("t.onnx") + " --data " + kExample + " --limit 256";
  const Outcome train = run("train " + kModel + rest);
  EXPECT_THAT(train.out, HasSubstr("epoch    loss  accuracy"));
  EXPECT_THAT(train.err, HasSubstr(", accuracy "));
  const Outcome distill = run("distill --scheme float --teacher " + kModel + rest);
  EXPECT_THAT(distill.out, HasSubstr("epoch    loss  agreement"));
  EXPECT_THAT(distill.err, HasSubstr(", agreement "));
  const Outcome quiet = run("distill --scheme float --quiet --teacher " + kModel + rest);
  EXPECT_EQ(quiet.code, 0);
  EXPECT_EQ(quiet.out + quiet.err, "");
  expect_failure("train " + kModel + " --keep -o " + kModel + " --data " + kExample, 2,
                 "is the file to read ");
  const Outcome squares = run("distill --scheme float --loss mse --teacher " + kModel + rest);
  EXPECT_EQ(squares.code, 0) << squares.err;
}

TEST_F(TrainingProgram, PrintsALineForEachEpochUnlessItIsQuiet) {
  const auto distill = [&](const std::string& options) {
    const Outcome outcome =
        run("distill --teacher " + kModel + " -o " + path("s.onnx") + " --data " + kExample +
            " --limit 300 --scheme float --epochs 2 --schedule step " + options);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return std::pair(text_of(path("s.onnx")), outcome.err);
  };
  const std::string options =
      "--learning-rate 0.01 --level-rate-factor=0.5 --clip-grad-norm 0.1 --validation-split 0.2 "
      "--warmup-epochs 0.5 --schedule-decay 0.2 ";
  const auto before = distill(options);
  const auto now = distill(options + "--quiet");
  EXPECT_TRUE(before.first == now.first);
  EXPECT_EQ(now.second, "");
  EXPECT_EQ(std::ranges::count(before.second, '\n'), 2) << before.second;
  EXPECT_THAT(before.second, testing::StartsWith("epoch 1: loss "));
  EXPECT_THAT(before.second, HasSubstr("\nepoch 2: loss "));
  EXPECT_THAT(before.second, HasSubstr(", validation "));
}

TEST_F(TrainingProgram, RefusesRunsThatCannotBeKept) {
  const std::string train =
      "train " + kModel + " -o " + path("t.onnx") + " --data " + kExample + " --limit 256 ";
  expect_failure(train + "--resume", 2, "--checkpoint");
  expect_failure(train + "--checkpoint " + path("run.csv"), 2,
                 "expected a file extension other than .csv and .svg");
  expect_failure(train + "--checkpoint " + path("none/run.ckpt"), 3, "cannot write");
  expect_failure(train + "--checkpoint " + path("run.ckpt") + " --resume", 3, "run.ckpt");
  expect_failure(train + "--patience 3", 2, "expected validation samples");
  expect_failure(train + "--milestones 0.9,0.1", 2, "milestones: expected ascending values");
  EXPECT_FALSE(std::filesystem::exists(path("t.onnx")));
}
#endif

/// The program in a folder without the one that trains.
class ProgramAlone : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    std::filesystem::copy_file(HALFTONE_PROGRAM, path("halftone"));
  }
  [[nodiscard]] Outcome run_alone(const std::string& arguments) const {
    const std::string command = "'" + path("halftone") + "' " + arguments + " > '" +
                                path("stdout") + "' 2> '" + path("stderr") + "'";
    const int status = std::system(command.c_str());
    return {WEXITSTATUS(status), text_of(path("stdout")), text_of(path("stderr"))};
  }
};

TEST_F(ProgramAlone, HelpsAsTheOneThatTrainsDoes) {
  for (const std::string verb : {"distill", "train"}) {
    const Outcome alone = run_alone(verb + " --help");
    EXPECT_EQ(alone.code, 0) << alone.err;
    EXPECT_THAT(alone.out, HasSubstr("--clip-grad-norm"));
    EXPECT_THAT(alone.out, HasSubstr("Example: halftone " + verb));
    EXPECT_EQ(alone.out, run(verb + " --help").out);
  }
}

TEST_F(ProgramAlone, RefusesNumbersOutOfRangeAndThoseThatAreNotFinite) {
  const auto expect_refusal = [&](const std::string& option, const std::string& number,
                                  const std::string& expected) {
    const Outcome outcome = run_alone("distill --teacher " + kModel + " -o " + path("s.circle") +
                                      " --data " + kExample + " " + option + " " + number);
    EXPECT_EQ(outcome.code, 2) << option;
    EXPECT_THAT(outcome.err, HasSubstr(option + ": expected " + expected));
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  };
  for (const std::string number : {"nan", "-1", "2"}) {
    for (const char* option :
         {"--momentum", "--label-weight", "--validation-split", "--freeze-from", "--milestones"}) {
      expect_refusal(option, number, "a number from 0 to 1, found '" + number + "'");
    }
  }
  expect_refusal("--patience", "-1", "a whole number from 0 to ");
  for (const char* option : {"--schedule-decay", "--temperature", "--loss-scale", "--scale"}) {
    expect_refusal(option, "nan", "a number above 0, found 'nan'");
  }
}

TEST_F(ProgramAlone, SaysWhereTheTrainerIsMissing) {
  const std::string rest = " -o " + path("s.circle") + " --data " + kExample;
  for (const std::string& arguments : {"distill --teacher " + kModel, "train " + kModel}) {
    const Outcome outcome = run_alone(arguments + rest);
    EXPECT_EQ(outcome.code, 4);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr(" needs the program halftone-train, and there is none in " +
                                       folder_.string()));
    EXPECT_THAT(outcome.err, HasSubstr("build it with libtorch ('make train')"));
    EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  }
}

}  // namespace
}  // namespace halftone
