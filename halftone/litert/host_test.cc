// SPDX-License-Identifier: Apache-2.0
#include "halftone/litert/host.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "halftone/api/hosted_plan.h"
#include "halftone/base/testing.h"

namespace halftone::litert {
namespace {

/// A context with one tensor, float32 [2, 3], that refuses everything.
struct Refusing : TfLiteContext {
  Refusing() : TfLiteContext{} {
    tensors_size = 1;
    tensors = &tensor;
    get_execution_plan = [](TfLiteContext*, TfLiteIntArray**) { return kTfLiteError; };
    get_node_and_registration = [](TfLiteContext*, int, TfLiteNode**, TfLiteRegistration**) {
      return kTfLiteError;
    };
    replace_nodes = [](TfLiteContext*, TfLiteRegistration, const TfLiteIntArray*, TfLiteDelegate*) {
      return kTfLiteError;
    };
    resize_tensor = [](TfLiteContext*, TfLiteTensor*, TfLiteIntArray* dims) {
      std::free(dims);
      return kTfLiteError;
    };
    tensor.type = kTfLiteFloat32;
    tensor.data = values.data();
    tensor.dims = reinterpret_cast<TfLiteIntArray*>(extents.data());
    tensor.bytes = sizeof(values);
    tensor.name = "x";
  }

  std::array<int, 3> extents = {2, 2, 3};
  std::array<float, 6> values{};
  TfLiteTensor tensor{};
};

TEST(LiteRtHost, ShowsTensorsAsSpans) {
  Refusing context;
  const HostTensor found = Host(context).tensor(0);
  EXPECT_EQ(found.type, ElementType::kFloat32);
  EXPECT_EQ(found.extents, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(found.bytes.data(), reinterpret_cast<std::byte*>(context.values.data()));
  EXPECT_EQ(found.bytes.size(), 24U);
}

TEST(LiteRtHost, NoticesStructsOfAnotherVersion) {
  Refusing context;
  context.tensor.bytes = 20;
  expect_error(ErrorKind::kUnsupported,
               "tensor 'x': expected 24 bytes, found 20; this LiteRT has other structs",
               [&] { (void)Host(context).tensor(0); });
  context.tensor.type = TfLiteType{5};
  expect_error(ErrorKind::kUnsupported, "elements of LiteRT's type 5: expected numbers",
               [&] { (void)Host(context).tensor(0); });
}

TEST(LiteRtHost, SaysWhatLiteRtRefuses) {
  Refusing context;
  const Host host(context);
  const std::array<int, 1> nodes = {0};
  const std::array<std::int64_t, 1> extents = {4};
  TfLiteDelegate delegate{};
  expect_error(ErrorKind::kUsage, "LiteRT refuses to show its plan",
               [&] { (void)host.execution_plan(); });
  expect_error(ErrorKind::kUsage, "LiteRT refuses to show node 3", [&] { (void)host.node(3); });
  expect_error(ErrorKind::kUsage, "LiteRT refuses to resize 'x'", [&] { host.resize(0, extents); });
  expect_error(ErrorKind::kUsage, "LiteRT refuses to let the delegate take its operators",
               [&] { host.replace(nodes, {}, delegate); });
}

TEST(HostedThreads, AreWholeNumbersFromOne) {
  EXPECT_EQ(hosted_threads("threads", "12"), 12);
  for (const std::string text : {"0", "-1", "2 ", "many", "99999999999", ""}) {
    expect_error(ErrorKind::kUsage,
                 "threads: expected a whole number of 1 or more, found '" + text + "'",
                 [&] { hosted_threads("threads", text); });
  }
}

}  // namespace
}  // namespace halftone::litert
