// SPDX-License-Identifier: Apache-2.0
// The C API on a network that leaves a length open.
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "halftone/base/onnx_bytes_testing.h"
#include "halftone/library/testing.h"

namespace {

using halftone::test::field;
using halftone::test::model_file;
using halftone::test::number_field;
using halftone::test::value_info;
using testing::HasSubstr;

/// y = tanh(x) for x [N, L], or another operator of x [1, 3], as ONNX.
std::string network(const std::string& op = "Tanh") {
  const std::string open = field(1, field(2, "N")) + field(1, field(2, "L"));
  const std::string known = field(1, number_field(1, 1)) + field(1, number_field(1, 3));
  const std::string node = field(1, "x") + field(2, "y") + field(4, op);
  return model_file(field(1, node) + field(2, "g") +
                    field(11, value_info("x", 1, op == "Tanh" ? open : known)) +
                    field(12, value_info("y", 1, open)));
}

class OpenExtents : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(halftone_context_create(nullptr, &context_));
    const std::string file = network();
    ASSERT_OK(halftone_model_load_memory(context_, file.data(), file.size(), nullptr, &model_));
  }
  void TearDown() override {
    halftone_model_destroy(model_);
    halftone_context_destroy(context_);
  }

  halftone_status plan(const char* input, std::int64_t length, std::size_t batch,
                       halftone_plan** result) const {
    const std::int64_t extents[] = {HALFTONE_OPEN, length};
    const halftone_input_shape shape = {input, extents, 2};
    auto options = sized<halftone_plan_options>();
    options.batch = batch;
    options.shapes = &shape;
    options.num_shapes = 1;
    return halftone_plan_create(model_, &options, result);
  }

  halftone_context* context_ = nullptr;
  halftone_model* model_ = nullptr;
};

TEST_F(OpenExtents, AreOpenInTheModel) {
  for (const auto describe : {halftone_model_input, halftone_model_output}) {
    halftone_tensor_info info;
    ASSERT_OK(describe(model_, 0, &info));
    EXPECT_EQ(info.rank, 2U);
    EXPECT_EQ(info.extents[0], HALFTONE_OPEN);
    EXPECT_EQ(info.extents[1], HALFTONE_OPEN);
    EXPECT_EQ(info.bytes, 0U);
  }
}

TEST_F(OpenExtents, GetNumbersInPlans) {
  for (const std::int64_t length : {3, 5}) {
    halftone_plan* sized_plan = nullptr;
    ASSERT_OK(plan("x", length, 2, &sized_plan));
    halftone_tensor_info info;
    ASSERT_OK(halftone_plan_output(sized_plan, 0, &info));
    EXPECT_EQ(info.extents[0], 2);
    EXPECT_EQ(info.extents[1], length);
    halftone_session* session = nullptr;
    ASSERT_OK(halftone_session_create(sized_plan, &session));
    std::vector<float> x(static_cast<std::size_t>(2 * length), 0.5F);
    std::vector<float> y(x.size());
    const halftone_input in = {x.data(), info.bytes};
    const halftone_output out = {y.data(), info.bytes};
    ASSERT_OK(halftone_session_run(session, &in, 1, &out, 1));
    // Two roundings to float32.
    for (const float found : y) EXPECT_NEAR(found, std::tanh(0.5), 2 * 0x1p-24);
    halftone_session_destroy(session);
    halftone_plan_destroy(sized_plan);
  }
}

TEST_F(OpenExtents, ChangeFromRunToRunOfASession) {
  halftone_plan* sized_plan = nullptr;
  ASSERT_OK(plan("x", 3, 2, &sized_plan));
  halftone_session* session = nullptr;
  ASSERT_OK(halftone_session_create(sized_plan, &session));
  halftone_plan_destroy(sized_plan);
  for (const std::int64_t length : {3, 5, 3, 4}) {
    const std::int64_t extents[] = {1, length};
    const halftone_input_shape shape = {"x", extents, 2};
    ASSERT_OK(halftone_session_resize(session, &shape, 1));
    halftone_tensor_info info;
    ASSERT_OK(halftone_session_output(session, 0, &info));
    EXPECT_EQ(info.extents[0], 1);
    EXPECT_EQ(info.extents[1], length);
    std::vector<float> x(static_cast<std::size_t>(length), 0.5F);
    std::vector<float> y(x.size());
    const halftone_input in = {x.data(), info.bytes};
    const halftone_output out = {y.data(), info.bytes};
    ASSERT_OK(halftone_session_run(session, &in, 1, &out, 1));
    for (const float found : y) EXPECT_NEAR(found, std::tanh(0.5), 2 * 0x1p-24);
    ASSERT_OK(halftone_session_resize(session, nullptr, 0));  // keeps all
    ASSERT_OK(halftone_session_read(session, 0, &out));
  }
  const std::int64_t extents[] = {1, 2, 3};
  const halftone_input_shape wrong = {"x", extents, 3};
  EXPECT_EQ(halftone_session_resize(session, &wrong, 1), HALFTONE_USAGE);
  EXPECT_THAT(halftone_error_message(), HasSubstr("input 'x' [N, L]"));
  const halftone_input_shape unknown = {"z", extents, 2};
  EXPECT_EQ(halftone_session_resize(session, &unknown, 1), HALFTONE_USAGE);
  EXPECT_THAT(halftone_error_message(), HasSubstr("shapes: the model has no such input"));
  EXPECT_EQ(halftone_session_resize(session, nullptr, 1), HALFTONE_USAGE);
  halftone_session_destroy(session);
}

TEST_F(OpenExtents, OfOutputsMayDependOnData) {
  halftone_model* model = nullptr;
  const std::string file = network("NonZero");
  ASSERT_OK(halftone_model_load_memory(context_, file.data(), file.size(), nullptr, &model));
  halftone_model_destroy(std::exchange(model_, model));
  halftone_plan* sized_plan = nullptr;
  ASSERT_OK(halftone_plan_create(model_, nullptr, &sized_plan));
  halftone_tensor_info info;
  ASSERT_OK(halftone_plan_output(sized_plan, 0, &info));
  EXPECT_EQ(info.extents[0], 2);
  EXPECT_EQ(info.extents[1], HALFTONE_OPEN);
  EXPECT_EQ(info.bytes, 0U);
  halftone_session* session = nullptr;
  ASSERT_OK(halftone_session_create(sized_plan, &session));
  EXPECT_EQ(halftone_session_output(session, 0, &info), HALFTONE_USAGE);
  EXPECT_THAT(halftone_error_message(), HasSubstr("expected a run before"));
  const float x[] = {0, 5, 7};
  const halftone_input in = {x, sizeof x};
  const halftone_output none = {nullptr, 0};
  ASSERT_OK(halftone_session_run(session, &in, 1, &none, 1));
  ASSERT_OK(halftone_session_output(session, 0, &info));
  EXPECT_EQ(info.extents[1], 2);
  std::int64_t found[4];
  ASSERT_EQ(info.bytes, sizeof found);
  const halftone_output out = {found, sizeof found};
  ASSERT_OK(halftone_session_read(session, 0, &out));
  EXPECT_THAT(found, testing::ElementsAre(0, 0, 1, 2));
  EXPECT_EQ(halftone_session_read(session, 0, &none), HALFTONE_SHAPE);
  EXPECT_THAT(halftone_error_message(), HasSubstr("expected 32 bytes, found 0"));
  EXPECT_EQ(halftone_session_output(session, 1, &info), HALFTONE_USAGE);
  EXPECT_EQ(halftone_session_run(session, &in, 1, &out, 1), HALFTONE_USAGE);
  EXPECT_THAT(halftone_error_message(), HasSubstr("its size depends on data"));
  halftone_session_destroy(session);
  halftone_plan_destroy(sized_plan);
}

TEST_F(OpenExtents, NeedNumbersThatFit) {
  halftone_plan* none = nullptr;
  EXPECT_EQ(halftone_plan_create(model_, nullptr, &none), HALFTONE_USAGE);
  EXPECT_THAT(halftone_error_message(),
              HasSubstr("input 'x' [N, L]: the file leaves extents open"));
  EXPECT_EQ(plan("z", 3, 1, &none), HALFTONE_USAGE);
  EXPECT_THAT(halftone_error_message(), HasSubstr("shapes: the model has no such input"));
  EXPECT_EQ(none, nullptr);
}

TEST_F(OpenExtents, MustBeThere) {
  const std::int64_t extents[] = {HALFTONE_OPEN, 4};
  const halftone_input_shape shape = {"x", extents, 2};
  auto fixed = sized<halftone_load_options>();
  fixed.shapes = &shape;
  fixed.num_shapes = 1;
  const std::string file = network();
  halftone_model_destroy(std::exchange(model_, nullptr));
  ASSERT_OK(halftone_model_load_memory(context_, file.data(), file.size(), &fixed, &model_));
  halftone_plan* none = nullptr;
  EXPECT_EQ(plan("x", 4, 1, &none), HALFTONE_USAGE);
  EXPECT_THAT(halftone_error_message(), HasSubstr("the model leaves no extents open"));
  ASSERT_OK(halftone_plan_create(model_, nullptr, &none));
  halftone_session* session = nullptr;
  ASSERT_OK(halftone_session_create(none, &session));
  EXPECT_EQ(halftone_session_resize(session, &shape, 1), HALFTONE_USAGE);
  EXPECT_THAT(halftone_error_message(), HasSubstr("the model leaves no extents open"));
  halftone_session_destroy(session);
  halftone_plan_destroy(none);
}

TEST(Loops, EndAtTheGivenNumberOfIterations) {
  halftone_context* context = nullptr;
  ASSERT_OK(halftone_context_create(nullptr, &context));
  auto options = sized<halftone_load_options>();
  options.max_iterations = 6;
  const std::string file = halftone::test::endless_loop_file();
  halftone_model* model = nullptr;
  ASSERT_OK(halftone_model_load_memory(context, file.data(), file.size(), &options, &model));
  halftone_plan* plan = nullptr;
  ASSERT_OK(halftone_plan_create(model, nullptr, &plan));
  halftone_session* session = nullptr;
  ASSERT_OK(halftone_session_create(plan, &session));
  const float x = 1;
  float y = 0;
  const halftone_input in = {&x, sizeof(x)};
  const halftone_output out = {&y, sizeof(y)};
  EXPECT_EQ(halftone_session_run(session, &in, 1, &out, 1), HALFTONE_UNSUPPORTED);
  EXPECT_THAT(halftone_error_message(), HasSubstr("did not end within 6 iterations"));
  halftone_session_destroy(session);
  halftone_plan_destroy(plan);
  halftone_model_destroy(model);
  halftone_context_destroy(context);
}

}  // namespace
