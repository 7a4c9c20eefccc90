// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/execute/later_stages.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/ir/extent.h"
#include "halftone/ir/open_extents.h"
#include "halftone/runtime/execute/session.h"

namespace halftone::runtime {

LaterStages::LaterStages(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}

ir::Shape LaterStages::numbers_of(const Values& values) const {
  std::vector<ir::Dim> numbers;
  for (const auto& [symbol, id] : plan_->rest()->defined) {
    std::int64_t number = 0;
    std::memcpy(&number, values(id).bytes.data(), sizeof number);
    if (number < 0) {
      fail(ErrorKind::kShape, "extent " + symbol + ", which '" + plan_->graph().value(id).name +
                                  "' is: expected at least 0, found " + std::to_string(number));
    }
    numbers.push_back(number);
  }
  return ir::Shape(std::move(numbers));
}

Session& LaterStages::session_for(const ir::Shape& numbers) {
  if (Session* known = sessions_.find({&numbers, 1})) return *known;
  ir::Sizes sizes;
  for (std::size_t i = 0; i < numbers.rank(); ++i) {
    sizes.emplace(plan_->rest()->defined[i].symbol, numbers[i]);
  }
  ir::Graph graph = plan_->rest()->graph;
  ir::fill_in_extents(graph, sizes);
  return sessions_.add({numbers}, make_plan(std::move(graph), plan_->options()));
}

void LaterStages::run(const Values& values) {
  Session& session = session_for(numbers_of(values));
  const std::span<const ir::ValueId> inputs = session.plan().inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::ranges::copy(values(inputs[i]).bytes, session.input(i).begin());
  }
  session.run();
}

const Session& LaterStages::last() const {
  if (const Session* last = sessions_.last()) return *last;
  fail(ErrorKind::kUsage, "expected a run before its outputs, since extents depend on data");
}

}  // namespace halftone::runtime
