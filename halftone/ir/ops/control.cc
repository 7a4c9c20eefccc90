// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/control.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/ir/evaluate_graph.h"
#include "halftone/ir/extent.h"

namespace halftone::ir {
namespace {

/// The first input that becomes an input of the body.
constexpr std::size_t kFirstState = 2;

const ValueType& input_of(const Graph& body, std::size_t i) {
  return body.value(body.inputs()[i]).type;
}
const ValueType& output_of(const Graph& body, std::size_t i) {
  return body.value(body.outputs()[i]).type;
}
const std::string& input_name(const Graph& body, std::size_t i) {
  return body.value(body.inputs()[i]).name;
}

Extent bytes_of(const LoopResult& result) {
  Extent bytes(static_cast<std::int64_t>(size_bytes(result.element)));
  for (const Dim extent : result.shape.dims()) bytes = bytes * extent_of(extent);
  return bytes;
}

Shape without_axis(const Shape& shape, std::size_t axis) {
  std::vector<Dim> dims(shape.dims().begin(), shape.dims().end());
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  return Shape(std::move(dims));
}

Shape with_axis(const Shape& shape, std::size_t axis, Dim extent) {
  std::vector<Dim> dims(shape.dims().begin(), shape.dims().end());
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), extent);
  return Shape(std::move(dims));
}

bool fits(const ValueType& a, const ValueType& b) {
  return a.encoding == b.encoding && may_be_equal(a.shape, b.shape);
}

void require_type(const std::string& what, const ValueType& expected, const ValueType& found) {
  require(fits(expected, found),
          what + ": expected " + expected.to_string() + ", found " + found.to_string());
}

void require_flag(const ValueType& type, ElementType element, const std::string& what) {
  const bool is_one = type.shape.is_static() && type.shape.element_count() == 1;
  require(
      type.is_dense(element) && is_one,
      what + ": expected one " + std::string(to_string(element)) + ", found " + type.to_string());
}

/// Checks the body by itself.
void check_body(const Loop& op) {
  require(op.body != nullptr, "expected a body");
  const Graph& body = *op.body;
  const std::size_t states = op.num_states();
  const std::size_t first = first_state_output(op);
  require(body.inputs().size() > states + op.reads.size() &&
              body.outputs().size() == first + states + op.stacks.size() && body.states().empty(),
          "a body whose inputs and outputs do not fit the loop");
  require_flag(input_of(body, 0), ElementType::kInt64, "number of the iteration");
  if (op.is_while) require_flag(output_of(body, 0), ElementType::kBool, "condition of the body");
  for (const ValueId id : body.outputs()) {
    require(body.value(id).type.encoding.is_dense(), "results of a body: expected no codes");
  }
  for (std::size_t s = 0; s < states; ++s) {
    require_type("state '" + input_name(body, 1 + s) + "' behind an iteration",
                 input_of(body, 1 + s), output_of(body, first + s));
  }
  for (std::size_t s = 0; s < op.stacks.size(); ++s) {
    require(op.stacks[s].axis <= output_of(body, first + states + s).shape.rank(),
            "axis of a stack: expected one of its axes");
  }
  require(op.stacks.empty() || (op.trips && !op.is_while),
          "a result for each iteration needs their number before the loop runs");
}

/// The type of the slices of an input.
ValueType slice_type(const Loop& op, std::size_t read, const ValueType& x) {
  const std::size_t axis = op.reads[read].axis;
  require(axis < x.shape.rank(), "axis of slices: expected one of " + x.to_string());
  require(op.trips && may_be_equal(*op.trips, x.shape[axis]),
          "slices along axis " + std::to_string(axis) + " of " + x.to_string() + ": expected " +
              (op.trips ? to_string(*op.trips) : "a known number of") + " iterations");
  return {without_axis(x.shape, axis), x.encoding};
}

/// Whether no iteration depends on others, on their number, or on more of the batch than its slice,
/// and where the result of each has the index of its slice.
bool maps_slices(const Loop& op, InputTypes inputs) {
  const bool reversed = !op.reads.empty() && op.reads[0].reversed;
  const auto is_aligned = [&](const SliceAxis& each) { return each.reversed == reversed; };
  const auto depends = [](const ValueType* type) {
    return type != nullptr && std::ranges::any_of(type->shape.dims(), depends_on_batch);
  };
  const Graph& body = *op.body;
  return op.num_states() == 0 && !op.is_while && body.consumers(body.inputs()[0]).empty() &&
         std::ranges::count(body.outputs(), body.inputs()[0]) == 0 &&
         std::ranges::all_of(op.reads, is_aligned) && std::ranges::all_of(op.stacks, is_aligned) &&
         std::ranges::none_of(inputs.subspan(kFirstState + op.reads.size()), depends);
}

/// Copies between a tensor and its slices.
struct Slices {
  AxisView view;
  std::size_t element_bytes;
  bool reversed;

  Slices(const Shape& shape, const SliceAxis& axis, ElementType element)
      : view(axis_view(shape, axis.axis)),
        element_bytes(size_bytes(element)),
        reversed(axis.reversed) {}

  [[nodiscard]] std::size_t row_bytes() const { return view.inner * element_bytes; }
  [[nodiscard]] std::size_t begin_of(std::size_t outer, std::size_t t) const {
    return (outer * view.extent + (reversed ? view.extent - 1 - t : t)) * row_bytes();
  }
  void read(std::span<const std::byte> whole, std::size_t t, std::span<std::byte> slice) const {
    for (std::size_t o = 0; o < view.outer; ++o) {
      std::ranges::copy(whole.subspan(begin_of(o, t), row_bytes()),
                        slice.subspan(o * row_bytes()).begin());
    }
  }
  void write(std::span<const std::byte> slice, std::size_t t, std::span<std::byte> whole) const {
    for (std::size_t o = 0; o < view.outer; ++o) {
      std::ranges::copy(slice.subspan(o * row_bytes(), row_bytes()),
                        whole.subspan(begin_of(o, t)).begin());
    }
  }
};

/// A loop while the reference implementation runs it.
class Iterations {
 public:
  Iterations(const Loop& op, InputTensors inputs, const RunBody& run_body, Tensor& record)
      : op_(op), inputs_(inputs), run_body_(run_body), record_(record), results_(results_of(op)) {
    for (std::size_t s = 0; s < op.num_states(); ++s) {
      states_.push_back(inputs[kFirstState + s]->clone());
    }
  }

  void run() {
    bool goes_on = inputs_[0]->as<std::uint8_t>()[0] != 0;
    std::optional<std::size_t> limit;
    if (op_.trips) limit = static_cast<std::size_t>(*op_.trips);
    if (inputs_[1] != nullptr) {
      limit =
          static_cast<std::size_t>(std::max<std::int64_t>(inputs_[1]->as<std::int64_t>()[0], 0));
    }
    for (std::size_t t = 0; goes_on && (!limit || t < *limit); ++t) {
      if (t == op_.max_iterations) fail_endless(t);
      goes_on = iterate(t);
    }
    std::size_t result = 0;
    for (std::size_t s = 0; s < states_.size(); ++s) {
      if (op_.keeps[s]) std::ranges::copy(states_[s].bytes(), part(result++).begin());
    }
  }

 private:
  [[nodiscard]] std::span<std::byte> part(std::size_t result) const {
    return record_.bytes().subspan(static_cast<std::size_t>(results_[result].offset));
  }

  bool iterate(std::size_t t) {
    std::vector<Tensor> outputs = run_body_(operands(t));
    const std::size_t first = first_state_output(op_);
    for (std::size_t s = 0; s < states_.size(); ++s) states_[s] = std::move(outputs[first + s]);
    const std::size_t kept = results_.size() - op_.stacks.size();
    for (std::size_t s = 0; s < op_.stacks.size(); ++s) {
      const LoopResult& whole = results_[kept + s];
      const Tensor& slice = outputs[first + states_.size() + s];
      Slices(whole.shape, op_.stacks[s], whole.element).write(slice.bytes(), t, part(kept + s));
    }
    return !op_.is_while || outputs[0].as<std::uint8_t>()[0] != 0;
  }

  [[nodiscard]] std::vector<Tensor> operands(std::size_t t) const {
    std::vector<Tensor> operands;
    const auto number = static_cast<std::int64_t>(t);
    operands.push_back(Tensor::from<std::int64_t>({}, std::span(&number, 1)));
    for (const Tensor& state : states_) operands.push_back(state.clone());
    for (std::size_t i = kFirstState + states_.size(); i < inputs_.size(); ++i) {
      const std::size_t read = i - kFirstState - states_.size();
      const Tensor& x = *inputs_[i];
      if (read >= op_.reads.size()) {
        operands.push_back(x.clone());
        continue;
      }
      Tensor slice(x.element(), without_axis(x.shape(), op_.reads[read].axis));
      Slices(x.shape(), op_.reads[read], x.element()).read(x.bytes(), t, slice.bytes());
      operands.push_back(std::move(slice));
    }
    return operands;
  }

  const Loop& op_;
  InputTensors inputs_;
  const RunBody& run_body_;
  Tensor& record_;
  std::vector<LoopResult> results_;
  std::vector<Tensor> states_;
};

}  // namespace

std::vector<LoopResult> results_of(const Loop& loop) {
  const Graph& body = *loop.body;
  std::vector<LoopResult> results;
  Extent offset(0);
  const auto add = [&](ElementType element, Shape shape) {
    results.push_back({element, std::move(shape), dim_of(offset)});
    offset = offset + bytes_of(results.back());
  };
  for (std::size_t s = 0; s < loop.num_states(); ++s) {
    const ValueType& type = input_of(body, 1 + s);
    if (loop.keeps[s]) add(type.encoding.element, type.shape);
  }
  const std::size_t first = first_state_output(loop) + loop.num_states();
  for (std::size_t s = 0; s < loop.stacks.size(); ++s) {
    const ValueType& slice = output_of(body, first + s);
    add(slice.encoding.element, with_axis(slice.shape, loop.stacks[s].axis, *loop.trips));
  }
  return results;
}

void fail_endless(std::size_t max_iterations) {
  fail(ErrorKind::kUnsupported,
       "a loop did not end within " + std::to_string(max_iterations) + " iterations",
       Hint::kIterations);
}

ValueType infer_types(const Loop& op, InputTypes inputs) {
  check_body(op);
  const Graph& body = *op.body;
  require(inputs.size() == kFirstState + body.inputs().size() - 1,
          "expected " + std::to_string(kFirstState + body.inputs().size() - 1) + " inputs, found " +
              std::to_string(inputs.size()));
  require_dense(inputs, 0);
  require_flag(*inputs[0], ElementType::kBool, "condition");
  if (inputs[1] != nullptr) {
    require_flag(*inputs[1], ElementType::kInt64, "iterations");
    require(!op.trips, "a limit of iterations beside their known number");
  }
  for (std::size_t i = kFirstState; i < inputs.size(); ++i) {
    require_dense(inputs, i);
    const std::size_t read = i - kFirstState - op.num_states();
    const bool is_sliced = i >= kFirstState + op.num_states() && read < op.reads.size();
    require_type("'" + input_name(body, i - 1) + "' of the body", input_of(body, i - 1),
                 is_sliced ? slice_type(op, read, *inputs[i]) : *inputs[i]);
  }
  require(!op.trips || !depends_on_batch(*op.trips) || maps_slices(op, inputs),
          "iterations along the batch (" + to_string(op.trips.value_or(0)) + ") mix samples");
  Extent bytes(0);
  for (const LoopResult& result : results_of(op)) bytes = bytes + bytes_of(result);
  return dense_type(ElementType::kUint8, {dim_of(bytes)});
}

ValueType infer_types(const LoopResult& op, InputTypes inputs) {
  require_dense(inputs, 0);
  const ValueType& record = *inputs[0];
  require(record.is_dense(ElementType::kUint8) && record.shape.rank() == 1,
          "expected a record of bytes, found " + record.to_string());
  const Extent end = extent_of(op.offset) + bytes_of(op);
  const auto rest = (extent_of(record.shape[0]) - end).number();
  require(!rest || *rest >= 0, "a result past the end of " + record.to_string());
  return dense_type(op.element, op.shape);
}

Tensor run_loop(const Loop& loop, InputTensors inputs, const RunBody& run_body) {
  Tensor record = output_tensor(loop, inputs);
  Iterations(loop, inputs, run_body, record).run();
  return record;
}

Tensor evaluate(const Loop& op, InputTensors inputs) {
  return run_loop(op, inputs, [&](const std::vector<Tensor>& operands) {
    return evaluate_graph(*op.body, operands);
  });
}

Tensor evaluate(const LoopResult& op, InputTensors inputs) {
  Tensor result(op.element, op.shape);
  const auto bytes = inputs[0]->bytes().subspan(static_cast<std::size_t>(op.offset));
  std::copy_n(bytes.begin(), result.bytes().size(), result.bytes().begin());
  return result;
}

std::string attributes(const Loop& op) {
  std::string text = op.trips ? "trips=" + to_string(*op.trips) + " " : "";
  if (op.is_while) text += "while ";
  text += "states=" + std::to_string(op.num_states());
  if (!op.reads.empty()) text += " slices=" + std::to_string(op.reads.size());
  if (!op.stacks.empty()) text += " stacks=" + std::to_string(op.stacks.size());
  return text;
}

std::string attributes(const LoopResult& op) {
  return dense_type(op.element, op.shape).to_string() + " offset=" + to_string(op.offset);
}

}  // namespace halftone::ir
