// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/run/checkpoint.h"

#include <ATen/ATen.h>

#include <limits>
#include <vector>

#include "halftone/base/testing.h"
#include "halftone/train/run/content_hash.h"
#include "halftone/train/testing.h"

namespace halftone::train {
namespace {

Checkpoint example() {
  Checkpoint checkpoint;
  checkpoint.settings = {{"batch", "64"}, {"student", "00ff"}};
  checkpoint.steps = 77;
  checkpoint.epochs = {{1.5, 0.25, 0.125, 0.1, 3}, {1.25, 0.5, {}, 0.05, 4}};
  checkpoint.unfinished = {0.5, 0.1, {}, 0.01, 1};
  checkpoint.tensors = {{"numbers/0/dense.w", at::arange(6).to(at::kFloat).reshape({2, 3})},
                        {"steps", at::full({1}, 9, at::kLong)}};
  return checkpoint;
}

TEST(Checkpoint, ComesBackAsItWas) {
  const Checkpoint wanted = example();
  const Checkpoint found = checkpoint_from(to_bytes(wanted));
  EXPECT_NO_THROW(check_run_settings(found.settings, wanted.settings));
  EXPECT_EQ(found.steps, 77U);
  ASSERT_EQ(found.epochs.size(), 2U);
  EXPECT_EQ(found.epochs[0].loss, 1.5);
  EXPECT_EQ(found.epochs[0].agreement, 0.25);
  EXPECT_EQ(found.epochs[0].validation_accuracy, 0.125);
  EXPECT_EQ(found.epochs[1].validation_accuracy, std::nullopt);
  EXPECT_EQ(found.epochs[1].rate, 0.05);
  EXPECT_EQ(found.epochs[1].seconds, 4);
  EXPECT_EQ(found.unfinished.loss, 0.5);
  ASSERT_EQ(found.tensors.size(), 2U);
  for (const NamedTensor& each : wanted.tensors) {
    const NamedTensors with_name = without_prefix(each.name, found.tensors);
    ASSERT_EQ(with_name.size(), 1U);
    EXPECT_TRUE(at::equal(with_name[0].tensor, each.tensor));
    EXPECT_EQ(with_name[0].tensor.scalar_type(), each.tensor.scalar_type());
  }
}

TEST(Checkpoint, IsRefusedAtAnyLengthButItsOwn) {
  std::vector<std::byte> bytes = to_bytes(example());
  for (std::size_t length = 0; length < bytes.size(); length += length < 64 ? 1 : 37) {
    expect_error(ErrorKind::kFormat, length == 0 ? "found something else" : "truncated",
                 [&] { (void)checkpoint_from(std::span(bytes).first(length)); });
  }
  bytes.push_back(std::byte{0});
  expect_error(ErrorKind::kFormat, "truncated or extended", [&] { (void)checkpoint_from(bytes); });
}

TEST(Checkpoint, IsRefusedWithAnyByteChanged) {
  const std::vector<std::byte> bytes = to_bytes(example());
  for (std::size_t at = 0; at < bytes.size(); at += at < 64 ? 1 : 29) {
    std::vector<std::byte> changed = bytes;
    changed[at] ^= std::byte{0x40};
    const char* const text = at < 16 ? "found something else" : at < 24 ? "truncated" : "damaged";
    expect_error(ErrorKind::kFormat, text, [&] { (void)checkpoint_from(changed); });
  }
}

TEST(Checkpoint, TellsWhatIsOfAnotherRun) {
  const RunSettings was{{"batch", "64"}, {"rate", "0.1"}};
  expect_error(ErrorKind::kUsage, "belongs to another run: rate was 0.1, is 0.2", [&] {
    check_run_settings(was, {{"batch", "64"}, {"rate", "0.2"}});
  });
  expect_error(ErrorKind::kUsage, "belongs to another run: crop was unknown, is 2", [&] {
    check_run_settings(was, {{"batch", "64"}, {"crop", "2"}});
  });
}

TEST(NamedTensors, IsAssignedAsAWholeOrNotAtAll) {
  const NamedTensors into{{"a", at::zeros({2})}, {"b", at::zeros({2}, at::kLong)}};
  expect_error(ErrorKind::kFormat, "'b': expected Long[2], found nothing", [&] {
    assign(into, {{"a", at::ones({2})}});
  });
  expect_error(ErrorKind::kFormat, "'b': expected Long[2], found Float[2]", [&] {
    assign(into, {{"a", at::ones({2})}, {"b", at::ones({2})}});
  });
  EXPECT_TRUE(at::equal(into[0].tensor, at::zeros({2})));
  assign(into, {{"b", at::ones({2}, at::kLong)}, {"a", at::ones({2})}});
  EXPECT_TRUE(at::equal(into[0].tensor, at::ones({2})));
}

TEST(NamedTensors, KnowsWhetherItIsFinite) {
  const NamedTensors state{{"a", at::zeros({2})}, {"b", at::zeros({2}, at::kLong)}};
  EXPECT_TRUE(is_finite(state));
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    state[0].tensor[1] = bad;
    EXPECT_FALSE(is_finite(state));
  }
}

TEST(Fingerprint, TellsNetworksAndDataApart) {
  const ir::Graph teacher = test::teacher_network();
  const data::Dataset data = test::taught(teacher, 2);
  EXPECT_EQ(content_hash(teacher), content_hash(test::teacher_network()));
  EXPECT_NE(content_hash(teacher), content_hash(compress::perceptron(10, 20, 4, 2)));
  EXPECT_NE(content_hash(teacher), content_hash(test::student_network(teacher, data)));
  EXPECT_EQ(content_hash(data), content_hash(test::taught(teacher, 2)));
  EXPECT_NE(content_hash(data), content_hash(test::taught(teacher, 3)));
  EXPECT_NE(content_hash(data),
            content_hash(compress::random_dataset(test::kSamples, 10, 2)));  // no labels
}

}  // namespace
}  // namespace halftone::train
