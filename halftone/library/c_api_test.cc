// SPDX-License-Identifier: Apache-2.0
// The C API through the shared library, as others see it.
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "halftone/base/running_sum_testing.h"
#include "halftone/library/testing.h"

namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string kModel = std::string(HALFTONE_SOURCE_DIR) + "/examples/mnist/mnist_mlp_700.onnx";
constexpr std::size_t kPixels = 784;
constexpr std::size_t kClasses = 10;

std::vector<char> bytes_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

class CApi : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(halftone_context_create(nullptr, &context_));
    ASSERT_OK(halftone_model_load(context_, kModel.c_str(), nullptr, &model_));
  }
  void TearDown() override {
    halftone_model_destroy(model_);
    halftone_context_destroy(context_);
  }

  /// Pixels of `samples` images, the same for the same seed.
  static std::vector<float> pixels(std::size_t samples, unsigned seed = 1) {
    std::vector<float> x(samples * kPixels);
    for (float& value : x) {
      seed = seed * 1664525 + 1013904223;
      value = static_cast<float>(seed >> 8) / static_cast<float>(1 << 24);
    }
    return x;
  }

  static halftone_status run(halftone_session* session, const std::vector<float>& x,
                             std::vector<float>& y) {
    const halftone_input in = {x.data(), x.size() * sizeof(float)};
    const halftone_output out = {y.data(), y.size() * sizeof(float)};
    return halftone_session_run(session, &in, 1, &out, 1);
  }

  static std::vector<float> run_once(const halftone_plan* plan, const std::vector<float>& x) {
    halftone_session* session = nullptr;
    EXPECT_OK(halftone_session_create(plan, &session));
    std::vector<float> y(x.size() / kPixels * kClasses);
    EXPECT_OK(run(session, x, y));
    halftone_session_destroy(session);
    return y;
  }

  halftone_context* context_ = nullptr;
  halftone_model* model_ = nullptr;
};

TEST(CVersion, IsThatOfTheHeader) {
  const std::string header = std::to_string(HALFTONE_VERSION_MAJOR) + "." +
                             std::to_string(HALFTONE_VERSION_MINOR) + "." +
                             std::to_string(HALFTONE_VERSION_PATCH);
  EXPECT_EQ(halftone_version(), header);
  EXPECT_EQ(HALFTONE_VERSION, header) << "that of CMake";
}

TEST(CNames, OfStatusesAndTypes) {
  EXPECT_STREQ(halftone_status_name(HALFTONE_OK), "ok");
  for (int status = HALFTONE_OK; status <= HALFTONE_INTERNAL; ++status) {
    EXPECT_STRNE(halftone_status_name(static_cast<halftone_status>(status)), "unknown");
  }
  EXPECT_STREQ(halftone_status_name(static_cast<halftone_status>(15)), "unknown");
  EXPECT_STREQ(halftone_type_name(HALFTONE_FLOAT32), "float32");
  EXPECT_STREQ(halftone_type_name(HALFTONE_BFLOAT16), "bfloat16");
  EXPECT_STREQ(halftone_type_name(static_cast<halftone_type>(13)), "unknown");
  EXPECT_EQ(halftone_type_bytes(HALFTONE_INT64), 8u);
  EXPECT_EQ(halftone_type_bytes(static_cast<halftone_type>(15)), 0u);
}

TEST_F(CApi, DescribesInputsAndOutputs) {
  ASSERT_EQ(halftone_model_num_inputs(model_), 1u);
  ASSERT_EQ(halftone_model_num_outputs(model_), 1u);
  halftone_tensor_info info{};
  ASSERT_OK(halftone_model_input(model_, 0, &info));
  EXPECT_EQ(info.type, HALFTONE_FLOAT32);
  ASSERT_EQ(info.rank, 2u);
  EXPECT_EQ(info.extents[0], HALFTONE_OPEN);
  EXPECT_EQ(info.extents[1], 784);
  EXPECT_EQ(info.bytes, 0u);
  halftone_plan* plan = nullptr;
  auto options = sized<halftone_plan_options>();
  options.batch = 3;
  ASSERT_OK(halftone_plan_create(model_, &options, &plan));
  ASSERT_OK(halftone_plan_input(plan, 0, &info));
  EXPECT_EQ(info.extents[0], 3);
  EXPECT_EQ(info.bytes, 3 * kPixels * sizeof(float));
  ASSERT_OK(halftone_plan_output(plan, 0, &info));
  EXPECT_EQ(info.bytes, 3 * kClasses * sizeof(float));
  EXPECT_GT(std::string(info.name).size(), 0u);
  EXPECT_FAILS(halftone_plan_input(plan, 1, &info), HALFTONE_USAGE,
               "input: expected an index below 1, found 1");
  EXPECT_FAILS(halftone_model_output(model_, 1, &info), HALFTONE_USAGE, "output: ");
  EXPECT_EQ(halftone_plan_num_inputs(plan), 1u);
  EXPECT_EQ(halftone_plan_num_outputs(plan), 1u);
  EXPECT_GE(halftone_plan_weight_bytes(plan), kPixels * 700 * sizeof(float));
  EXPECT_GE(halftone_plan_session_bytes(plan), 3 * (kPixels + kClasses) * sizeof(float));
  halftone_plan_destroy(plan);
}

TEST_F(CApi, RunsTheSameFromAFileAndFromMemory) {
  const std::vector<char> bytes = bytes_of(kModel);
  std::vector<std::vector<float>> results;
  for (const int borrows : {-1, 0, 1}) {
    halftone_model* model = nullptr;
    std::vector<char> copy = bytes;
    auto options = sized<halftone_load_options>();
    options.borrows = borrows;
    if (borrows < 0) {
      ASSERT_OK(halftone_model_load(context_, kModel.c_str(), nullptr, &model));
    } else {
      ASSERT_OK(halftone_model_load_memory(context_, copy.data(), copy.size(), &options, &model));
    }
    if (borrows == 0) std::fill(copy.begin(), copy.end(), '\0');
    halftone_plan* plan = nullptr;
    ASSERT_OK(halftone_plan_create(model, nullptr, &plan));
    results.push_back(run_once(plan, pixels(1)));
    halftone_plan_destroy(plan);
    halftone_model_destroy(model);
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
  float largest = 0;
  for (const float score : results[0]) largest = std::max(largest, std::abs(score));
  EXPECT_GT(largest, 0.01F);
}

TEST_F(CApi, GivesEachSampleTheSameInAnyBatch) {
  const std::vector<float> x = pixels(4);
  std::vector<std::vector<float>> results;
  for (const std::size_t batch : {std::size_t{1}, std::size_t{4}}) {
    auto options = sized<halftone_plan_options>();
    options.batch = batch;
    options.float_order = HALFTONE_FIXED_ORDER;
    halftone_plan* plan = nullptr;
    ASSERT_OK(halftone_plan_create(model_, &options, &plan));
    std::vector<float> y;
    for (std::size_t first = 0; first < 4; first += batch) {
      const auto begin = x.begin() + static_cast<std::ptrdiff_t>(first * kPixels);
      const std::vector<float> part(begin, begin + static_cast<std::ptrdiff_t>(batch * kPixels));
      const std::vector<float> scores = run_once(plan, part);
      y.insert(y.end(), scores.begin(), scores.end());
    }
    results.push_back(y);
    halftone_plan_destroy(plan);
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST_F(CApi, KeepsStatesUntilTheyAreReset) {
  const std::string bytes = halftone::RunningSumModel::bytes();
  halftone_model* model = nullptr;
  halftone_model* other = nullptr;
  halftone_plan* plan = nullptr;
  halftone_session* session = nullptr;
  ASSERT_OK(halftone_model_load_memory(context_, bytes.data(), bytes.size(), nullptr, &model));
  ASSERT_OK(halftone_plan_create(model, nullptr, &plan));
  ASSERT_OK(halftone_session_create(plan, &session));
  const std::vector<float> x{1, 10};
  std::vector<float> y(2);
  for (const float expected : {1.0F, 2.0F, 3.0F}) {
    EXPECT_OK(run(session, x, y));
    EXPECT_EQ(y, (std::vector<float>{expected, 10 * expected}));
  }
  EXPECT_OK(halftone_session_reset(session));
  EXPECT_OK(run(session, x, y));
  EXPECT_EQ(y, x);
  EXPECT_FAILS(halftone_session_reset(nullptr), HALFTONE_USAGE, "session: expected");
  const std::string mute = halftone::RunningSumModel::bytes(false);
  EXPECT_FAILS(halftone_model_load_memory(context_, mute.data(), mute.size(), nullptr, &other),
               HALFTONE_FORMAT, "expected an output that is no state");
  halftone_session_destroy(session);
  halftone_plan_destroy(plan);
  halftone_model_destroy(model);
}

TEST_F(CApi, HandlesLiveInAnyOrder) {
  halftone_plan* plan = nullptr;
  halftone_session* session = nullptr;
  ASSERT_OK(halftone_plan_create(model_, nullptr, &plan));
  ASSERT_OK(halftone_session_create(plan, &session));
  std::vector<float> first(kClasses);
  ASSERT_OK(run(session, pixels(1), first));
  halftone_context_destroy(context_);
  halftone_model_destroy(model_);
  halftone_plan_destroy(plan);
  context_ = nullptr;
  model_ = nullptr;
  std::vector<float> second(kClasses);
  EXPECT_OK(run(session, pixels(1), second));
  EXPECT_EQ(first, second);
  halftone_session_destroy(session);
  halftone_session_destroy(nullptr);
}

TEST_F(CApi, GivesTheSameOnADevice) {
  halftone_plan* plan = nullptr;
  auto options = sized<halftone_plan_options>();
  options.float_order = HALFTONE_FIXED_ORDER;
  ASSERT_OK(halftone_plan_create(model_, &options, &plan));
  const std::vector<float> expected = run_once(plan, pixels(1));
  halftone_plan_destroy(plan);
  options.device = "opencl:99";
  EXPECT_FAILS(halftone_plan_create(model_, &options, &plan), HALFTONE_DEVICE, "opencl");
  options.device = "opencl";
  if (halftone_plan_create(model_, &options, &plan) == HALFTONE_DEVICE) {
    GTEST_SKIP() << halftone_error_message();
  }
  EXPECT_EQ(run_once(plan, pixels(1)), expected);
  halftone_plan_destroy(plan);
}

TEST_F(CApi, RunsManySessionsOfAPlanInManyThreads) {
  halftone_plan* plan = nullptr;
  auto options = sized<halftone_plan_options>();
  options.threads = 1;
  ASSERT_OK(halftone_plan_create(model_, &options, &plan));
  constexpr unsigned kThreads = 8;
  std::vector<std::vector<float>> expected;
  for (unsigned t = 0; t < kThreads; ++t) expected.push_back(run_once(plan, pixels(1, t)));
  std::atomic<int> different = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int repeat = 0; repeat < 5; ++repeat) {
        if (run_once(plan, pixels(1, t)) != expected[t]) ++different;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(different, 0);
  halftone_plan_destroy(plan);
}

TEST_F(CApi, RefusesASessionThatRunsInAnotherThread) {
  halftone_plan* plan = nullptr;
  halftone_session* session = nullptr;
  auto options = sized<halftone_plan_options>();
  options.batch = 256;
  ASSERT_OK(halftone_plan_create(model_, &options, &plan));
  ASSERT_OK(halftone_session_create(plan, &session));
  const std::vector<float> x = pixels(256);
  std::atomic<bool> stops = false;
  std::atomic<int> refused = 0;
  const auto use = [&] {
    std::vector<float> y(256 * kClasses);
    while (!stops) {
      if (run(session, x, y) == HALFTONE_OK) continue;
      EXPECT_THAT(halftone_error_message(), HasSubstr("one thread at a time"));
      if (++refused > 3) stops = true;
    }
  };
  std::thread other(use);
  use();
  other.join();
  EXPECT_GT(refused, 3);
  halftone_session_destroy(session);
  halftone_plan_destroy(plan);
}

TEST_F(CApi, ContextsDoNotDisturbEachOther) {
  auto options = sized<halftone_context_options>();
  options.threads = 1;
  options.memory_bytes = 1 << 20;
  halftone_context* small = nullptr;
  ASSERT_OK(halftone_context_create(&options, &small));
  EXPECT_EQ(halftone_context_threads(small), 1);
  EXPECT_GE(halftone_context_threads(context_), 1);
  EXPECT_STREQ(halftone_context_simd(small), halftone_context_simd(context_));
  halftone_model* model = nullptr;
  halftone_plan* plan = nullptr;
  const halftone_status status = halftone_model_load(small, kModel.c_str(), nullptr, &model);
  if (status == HALFTONE_OK) {
    EXPECT_FAILS(halftone_plan_create(model, nullptr, &plan), HALFTONE_MEMORY,
                 "the limit of the context is 1048576");
    halftone_model_destroy(model);
  } else {
    EXPECT_EQ(status, HALFTONE_MEMORY);
  }
  EXPECT_OK(halftone_plan_create(model_, nullptr, &plan));
  halftone_plan_destroy(plan);
  halftone_context_destroy(small);
}

TEST_F(CApi, MeasuresSteps) {
  halftone_plan* plan = nullptr;
  halftone_session* session = nullptr;
  ASSERT_OK(halftone_plan_create(model_, nullptr, &plan));
  ASSERT_OK(halftone_session_create(plan, &session));
  std::vector<float> y(kClasses);
  std::uint64_t sum = 0;
  const auto sum_steps = [&] {
    sum = 0;
    for (std::size_t s = 0; s < halftone_plan_num_steps(plan); ++s) {
      std::uint64_t ns = 0;
      EXPECT_OK(halftone_session_step_time(session, s, &ns));
      sum += ns;
    }
  };
  ASSERT_OK(run(session, pixels(1), y));
  sum_steps();
  EXPECT_EQ(sum, 0u);
  ASSERT_OK(halftone_session_profile(session, 1));
  ASSERT_OK(run(session, pixels(1), y));
  sum_steps();
  EXPECT_GT(sum, 0u);
  halftone_step_info step{};
  ASSERT_OK(halftone_plan_step(plan, 0, &step));
  for (const char* text : {step.name, step.operation, step.kernel, step.arithmetic, step.reason}) {
    EXPECT_NE(text, nullptr);
  }
  const std::size_t steps = halftone_plan_num_steps(plan);
  EXPECT_FAILS(halftone_plan_step(plan, steps, &step), HALFTONE_USAGE, "step: expected an index");
  EXPECT_FAILS(halftone_session_step_time(session, steps, &sum), HALFTONE_USAGE,
               "step: expected an index");
  halftone_session_destroy(session);
  halftone_plan_destroy(plan);
}

TEST_F(CApi, WritesWhatItMeasured) {
  const std::string file = testing::TempDir() + "halftone_c_api_tuning.txt";
  std::remove(file.c_str());
  auto options = sized<halftone_context_options>();
  options.tuning_file = file.c_str();
  halftone_context* context = nullptr;
  ASSERT_OK(halftone_context_create(&options, &context));
  EXPECT_OK(halftone_context_save_tuning(context));
  const std::vector<char> text = bytes_of(file);
  EXPECT_THAT(std::string(text.begin(), text.end()), StartsWith("halftone tuning"));
  EXPECT_FAILS(halftone_context_save_tuning(context_), HALFTONE_USAGE, "tuning file");
  halftone_context_destroy(context);
  std::remove(file.c_str());
}

TEST_F(CApi, GivesAnInputAnotherShape) {
  const std::int64_t extents[] = {5, 784};
  halftone_tensor_info info{};
  ASSERT_OK(halftone_model_input(model_, 0, &info));
  const std::string name = info.name;
  const halftone_input_shape shape = {name.c_str(), extents, 2};
  auto options = sized<halftone_load_options>();
  options.shapes = &shape;
  options.num_shapes = 1;
  halftone_model* model = nullptr;
  ASSERT_OK(halftone_model_load(context_, kModel.c_str(), &options, &model));
  ASSERT_OK(halftone_model_input(model, 0, &info));
  EXPECT_EQ(info.extents[0], 5);
  halftone_model_destroy(model);
  const halftone_input_shape wrong = {"nobody", extents, 2};
  auto bad = sized<halftone_load_options>();
  bad.shapes = &wrong;
  bad.num_shapes = 1;
  EXPECT_FAILS(halftone_model_load(context_, kModel.c_str(), &bad, &model), HALFTONE_USAGE,
               "nobody");
}

TEST_F(CApi, RefusesBadArgumentsInOneLine) {
  halftone_context* context = nullptr;
  EXPECT_FAILS(halftone_context_create(nullptr, nullptr), HALFTONE_USAGE,
               "context: expected a pointer, found NULL");
  auto options = sized<halftone_context_options>();
  options.threads = -1;
  EXPECT_FAILS(halftone_context_create(&options, &context), HALFTONE_USAGE,
               "threads: expected 0 to 1024, found -1");
  options = sized<decltype(options)>();
  options.simd = "MMX";
  EXPECT_FAILS(halftone_context_create(&options, &context), HALFTONE_USAGE, "found 'MMX'");
  options.struct_bytes = sizeof options + 8;
  EXPECT_FAILS(halftone_context_create(&options, &context), HALFTONE_USAGE, "struct_bytes");
  options.struct_bytes = 0;
  EXPECT_FAILS(halftone_context_create(&options, &context), HALFTONE_USAGE, "struct_bytes");
  EXPECT_EQ(context, nullptr);
  halftone_model* model = nullptr;
  EXPECT_FAILS(halftone_model_load(context_, "/nowhere/m.onnx", nullptr, &model), HALFTONE_IO,
               "/nowhere/m.onnx");
  EXPECT_FAILS(halftone_model_load(context_, "m.pt", nullptr, &model), HALFTONE_UNSUPPORTED,
               "found '.pt'");
  EXPECT_FAILS(halftone_model_load(nullptr, kModel.c_str(), nullptr, &model), HALFTONE_USAGE,
               "context: expected a pointer");
  EXPECT_FAILS(halftone_model_load_memory(context_, "no network", 10, nullptr, &model),
               HALFTONE_FORMAT, "network in memory: ");
  EXPECT_FAILS(halftone_model_load_memory(context_, "", 0, nullptr, &model), HALFTONE_FORMAT,
               "found no bytes");
  EXPECT_FAILS(halftone_model_load_memory(context_, nullptr, 5, nullptr, &model), HALFTONE_USAGE,
               "data: expected a pointer");
  EXPECT_EQ(model, nullptr);
  halftone_plan* plan = nullptr;
  auto how = sized<halftone_plan_options>();
  how.threads = 4096;
  EXPECT_FAILS(halftone_plan_create(model_, &how, &plan), HALFTONE_USAGE, "threads: expected 0 to");
  how = sized<decltype(how)>();
  how.float_order = 3;
  EXPECT_FAILS(halftone_plan_create(model_, &how, &plan), HALFTONE_USAGE, "float_order");
  EXPECT_FAILS(halftone_plan_create(nullptr, nullptr, &plan), HALFTONE_USAGE, "model: expected");
  halftone_session* session = nullptr;
  EXPECT_FAILS(halftone_session_create(nullptr, &session), HALFTONE_USAGE, "plan: expected");
  EXPECT_EQ(halftone_plan_num_steps(nullptr), 0u);
  EXPECT_EQ(halftone_context_threads(nullptr), 0);
}

TEST_F(CApi, RefusesMemoryThatDoesNotFit) {
  halftone_plan* plan = nullptr;
  halftone_session* session = nullptr;
  ASSERT_OK(halftone_plan_create(model_, nullptr, &plan));
  ASSERT_OK(halftone_session_create(plan, &session));
  std::vector<float> x = pixels(1);
  std::vector<float> y(kClasses);
  std::vector<float> few(5);
  EXPECT_EQ(run(session, few, y), HALFTONE_SHAPE);
  EXPECT_THAT(halftone_error_message(), HasSubstr("expected 3136 bytes, found 20"));
  EXPECT_EQ(run(session, x, few), HALFTONE_SHAPE);
  EXPECT_EQ(run(session, x, x), HALFTONE_SHAPE);
  const halftone_input in = {x.data(), x.size() * sizeof(float)};
  const halftone_output over = {x.data() + 1, y.size() * sizeof(float)};
  EXPECT_FAILS(halftone_session_run(session, &in, 1, &over, 1), HALFTONE_USAGE, "overlaps");
  const halftone_output none = {nullptr, y.size() * sizeof(float)};
  EXPECT_FAILS(halftone_session_run(session, &in, 1, &none, 1), HALFTONE_USAGE, "found NULL");
  EXPECT_FAILS(halftone_session_run(session, nullptr, 1, &none, 1), HALFTONE_USAGE, "inputs");
  EXPECT_FAILS(halftone_session_run(session, &in, 1, nullptr, 0), HALFTONE_SHAPE,
               "outputs of the graph: expected 1, found 0");
  EXPECT_EQ(run(session, x, y), HALFTONE_OK) << "works after errors";
  halftone_session_destroy(session);
  halftone_plan_destroy(plan);
}

TEST_F(CApi, KeepsAMessageForEachThread) {
  EXPECT_FAILS(halftone_session_create(nullptr, nullptr), HALFTONE_USAGE, "session: expected");
  std::thread([] { EXPECT_STREQ(halftone_error_message(), ""); }).join();
  EXPECT_THAT(halftone_error_message(), StartsWith("session: "));
}

}  // namespace
