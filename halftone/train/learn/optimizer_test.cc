// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/learn/optimizer.h"

#include <ATen/ATen.h>

#include <vector>

#include "halftone/base/testing.h"

namespace halftone::train {
namespace {

/// Two parameters, pulled towards zero.
struct Bowl {
  explicit Bowl(const OptimizerOptions& options)
      : parameters{at::ones({3}).requires_grad_(), at::full({2, 2}, -2.0F).requires_grad_()},
        optimizer(parameters, /*num_levels=*/1, options) {}

  void step() { optimizer.step({parameters[0].detach().clone(), 3 * parameters[1].detach()}, 0.1); }

  std::vector<at::Tensor> parameters;
  Optimizer optimizer;
};

std::vector<OptimizerOptions> all_kinds() {
  std::vector<OptimizerOptions> kinds(3);
  kinds[0].kind = OptimizerKind::kSgd;
  kinds[1].kind = OptimizerKind::kSgd;
  kinds[1].momentum = 0;
  kinds[1].weight_decay = 0.01;
  kinds[2].clip_grad_norm = 0.5;
  return kinds;
}

TEST(Optimizer, GoesOnFromItsState) {
  for (const OptimizerOptions& options : all_kinds()) {
    Bowl bowl(options);
    for (int i = 0; i < 3; ++i) bowl.step();
    Bowl other(options);
    other.optimizer.set_state(copy_of(bowl.optimizer.state()));
    for (std::size_t p = 0; p < 2; ++p) other.parameters[p].detach().copy_(bowl.parameters[p]);
    for (int i = 0; i < 3; ++i) {
      bowl.step();
      other.step();
    }
    for (std::size_t p = 0; p < 2; ++p) {
      EXPECT_TRUE(at::equal(other.parameters[p], bowl.parameters[p]));
      EXPECT_LT(bowl.parameters[p].detach().abs().max().item<float>(), p == 0 ? 1 : 2);
    }
  }
}

TEST(Optimizer, MovesLevelsAtARateOfTheirOwn) {
  OptimizerOptions options;
  options.kind = OptimizerKind::kSgd;
  options.momentum = 0;
  options.level_rate = 0.25;
  options.weight_decay = 0.5;
  Bowl bowl(options);
  bowl.step();
  EXPECT_FLOAT_EQ(bowl.parameters[0][0].item<float>(), 1 - 0.1F * (1 + 0.5F));
  EXPECT_FLOAT_EQ(bowl.parameters[1][0][0].item<float>(), -2 + 0.25F * 0.1F * 6);
}

TEST(Optimizer, RefusesTheStateOfAnother) {
  OptimizerOptions sgd;
  sgd.kind = OptimizerKind::kSgd;
  const Bowl descent(sgd);
  Bowl adam(OptimizerOptions{});
  expect_error(ErrorKind::kFormat, "'mean/0': expected Float[3], found nothing",
               [&] { adam.optimizer.set_state(descent.optimizer.state()); });
  NamedTensors state = copy_of(adam.optimizer.state());
  state[0].tensor = at::zeros({4});
  expect_error(ErrorKind::kFormat, "'mean/0': expected Float[3], found Float[4]",
               [&] { adam.optimizer.set_state(state); });
}

}  // namespace
}  // namespace halftone::train
