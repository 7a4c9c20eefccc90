// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/recurrence/recurrence.h"

#include <gtest/gtest.h>

#include <vector>

#include "halftone/base/testing.h"
#include "halftone/kernels/per_target.h"
#include "halftone/kernels/testing.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

using Recurrence = PerTarget;

/// Numbers of one run of channels.
struct Channels {
  std::vector<float> a;
  std::vector<float> b;
  std::vector<float> state;
  std::vector<float> y;
};

Channels random_channels(std::size_t count, Random& random) {
  const auto numbers = [&] { return numerics::random_floats(random, count); };
  return {numbers(), numbers(), numbers(), numbers()};
}

/// Compares a function with its reference, of (channels), on the same numbers.
template <typename Found, typename Expected>
void expect_same(std::size_t count, const Found& found, const Expected& expected) {
  Random random(91 + count);
  Channels one = random_channels(count, random);
  Channels other = one;
  found(one);
  expected(other);
  EXPECT_EQ(bit_patterns(one.state), bit_patterns(other.state)) << count;
  EXPECT_EQ(bit_patterns(one.y), bit_patterns(other.y)) << count;
}

TEST_P(Recurrence, MatchesReferenceForEveryNumberOfChannels) {
  for (std::size_t count = 0; count <= 70; ++count) {
    expect_same(
        count, [](Channels& c) { add_products(c.a, c.b, c.y); },
        [](Channels& c) { add_products_reference(c.a, c.b, c.y); });
    expect_same(
        count,
        [](Channels& c) {
          step_states(c.a, c.b, {0.7F, -0.3F}, c.state, c.y);
        },
        [](Channels& c) {
          step_states_reference(c.a, c.b, {0.7F, -0.3F}, c.state, c.y);
        });
    expect_same(
        count, [](Channels& c) { decay_states(0.9F, 1.3F, c.state, c.y); },
        [](Channels& c) { decay_states_reference(0.9F, 1.3F, c.state, c.y); });
    expect_same(
        count, [](Channels& c) { change_states(c.a, 0.9F, 1.3F, c.state, c.y); },
        [](Channels& c) { change_states_reference(c.a, 0.9F, 1.3F, c.state, c.y); });
  }
}

TEST(RecurrenceSteps, UseTheNewState) {
  std::vector<float> state{2, 4};
  std::vector<float> y{1, 1};
  const std::vector<float> decay{0.5F, 2};
  const std::vector<float> x{3, -1};
  step_states(decay, x, {2, 10}, state, y);
  EXPECT_EQ(state, (std::vector<float>{7, 6}));
  EXPECT_EQ(y, (std::vector<float>{71, 61}));
  decay_states(2, 1, state, y);
  EXPECT_EQ(y, (std::vector<float>{85, 73}));
  change_states(x, 1, -1, state, y);
  EXPECT_EQ(y, (std::vector<float>{68, 62}));
}

HALFTONE_INSTANTIATE_PER_TARGET(Recurrence);

}  // namespace
}  // namespace halftone::kernels
