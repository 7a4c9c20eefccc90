// SPDX-License-Identifier: Apache-2.0
// Plans of a program that links oneDNN.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): functions of POSIX
#include <sys/time.h>

#include <atomic>

#include "halftone/runtime/testing.h"

namespace halftone::runtime {
namespace {

using ir::test::float_type;

/// Sends a signal every 100 microseconds, and counts those that the calling thread handled, and of
/// these those during which its stack pointer was outside of its stack.
class SignalStorm {
 public:
  SignalStorm() {
    pthread_attr_t attributes;
    pthread_getattr_np(pthread_self(), &attributes);
    void* begin = nullptr;
    std::size_t size = 0;
    pthread_attr_getstack(&attributes, &begin, &size);
    pthread_attr_destroy(&attributes);
    stack_ = {static_cast<std::byte*>(begin), size};
    handled_ = 0;
    outside_ = 0;
    struct sigaction action {};
    action.sa_handler = count;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, &before_);
    const itimerval often{{0, 100}, {0, 100}};
    setitimer(ITIMER_REAL, &often, nullptr);
  }
  ~SignalStorm() {
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    sigaction(SIGALRM, &before_, nullptr);
  }
  SignalStorm(const SignalStorm&) = delete;
  SignalStorm& operator=(const SignalStorm&) = delete;

  static int num_handled() { return handled_; }
  static int num_outside() { return outside_; }

 private:
  static void count(int /*signal*/) {
    const auto* here = static_cast<const std::byte*>(__builtin_frame_address(0));
    ++handled_;
    if (here < stack_.data() || here >= stack_.data() + stack_.size()) ++outside_;
  }

  static inline std::span<std::byte> stack_;
  static inline std::atomic<int> handled_{0};
  static inline std::atomic<int> outside_{0};
  struct sigaction before_ {};
};

TEST(OneDnn, SignalsFindTheStackInPlace) {
  // A product that oneDNN computes with its stack pointer in the heap, where signals must not
  // write.
  Random random(7);
  ir::Graph graph;
  const auto x = graph.add_input("x", float_type({ir::kBatch, 700}));
  const auto weights = graph.add_constant("w", testing::random_tensor({10, 700}, random));
  graph.add_output(graph.add_node("dense", ir::FullyConnected{}, {x, weights}));
  Session session(make_plan(std::move(graph), {.batch = 64}));
  EXPECT_EQ(testing::kernel_of(session.plan()), "onednn_f32");
  session.run();  // oneDNN generates code on the first run
  const SignalStorm storm;
  for (int run = 0; run < 100000 && SignalStorm::num_handled() < 200; ++run) session.run();
  EXPECT_GE(SignalStorm::num_handled(), 200);
  EXPECT_EQ(SignalStorm::num_outside(), 0);
}

TEST(OneDnn, ComputesFloatLayers) {
  const auto plan = make_plan(testing::make_perceptron({}), {.batch = 2});
  for (const PlanStep& step : plan->steps()) {
    if (step.op != "FullyConnected") continue;
    EXPECT_EQ(step.kernel, "onednn_f32") << step.name;
    EXPECT_EQ(step.arithmetic, KernelArithmetic::kFastestFloat) << step.name;
  }
}

TEST(OneDnn, DoesNotComputeLayersOfFixedOrder) {
  const PlanSettings options{.execution = {.float_order = FloatOrder::kFixed}};
  const auto plan = make_plan(testing::make_perceptron({}), options);
  const PlanStep& step = plan->steps().front();
  EXPECT_EQ(step.kernel, "fixed_order_f32");
  ASSERT_EQ(step.refused.size(), 4U);
  EXPECT_EQ(step.refused[3].kernel, "onednn_f32");
  EXPECT_EQ(step.refused[3].reason, "its order of sums depends on the processor");
}

TEST(OneDnn, GetsThreadsForEnoughWorkOnly) {
  const auto threads = [](ir::Dim extent) {
    ir::Graph graph;
    const auto x = graph.add_input("x", float_type({ir::kBatch, extent, extent, 16}));
    const ir::Pool pool{ir::PoolKind::kAverage, {2, 2}, ir::plain_window(2)};
    graph.add_output(graph.add_node("pool", pool, {x}));
    const auto plan = make_plan(std::move(graph), {.threads = 2});
    EXPECT_EQ(testing::kernel_of(*plan), "onednn_f32");
    return plan->steps().back().threads;
  };
  EXPECT_EQ(threads(8), 1);
  EXPECT_EQ(threads(200), 2);
}

}  // namespace
}  // namespace halftone::runtime
