// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/execute/stream.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/ir/element.h"
#include "halftone/ir/symbolic_batch.h"
#include "halftone/runtime/execute/session.h"
#include "halftone/spmd/collectives.hpp"

namespace halftone::runtime {
namespace {

/// The sessions of one graph, as many as run concurrently.
class SessionPool {
 public:
  SessionPool(ir::Graph graph, const PlanSettings& options)
      : graph_(std::move(graph)), options_(options) {}

  /// Makes the plan now instead of with the first session.
  void plan() {
    const std::lock_guard lock(mutex_);
    plan_once();
  }

  std::unique_ptr<Session> take() {
    const std::lock_guard lock(mutex_);
    plan_once();
    if (free_.empty()) return std::make_unique<Session>(plan_);
    std::unique_ptr<Session> session = std::move(free_.back());
    free_.pop_back();
    return session;
  }
  void give_back(std::unique_ptr<Session> session) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(session));
  }
  /// Frees the plan and the sessions that are not taken; both are made again when needed.
  void clear() {
    const std::lock_guard lock(mutex_);
    free_.clear();
    plan_ = nullptr;
  }

 private:
  void plan_once() {
    if (plan_ == nullptr) plan_ = make_plan(graph_, options_);
  }

  std::mutex mutex_;
  ir::Graph graph_;
  PlanSettings options_;
  std::shared_ptr<const Plan> plan_;
  std::vector<std::unique_ptr<Session>> free_;
};

/// Whether the first extent of a value is the batch, symbolic or as the graph fixes it.
bool leads_with_batch(const ir::Shape& shape, std::optional<std::size_t> fixed_batch) {
  if (shape.rank() == 0) return false;
  return shape[0] == ir::kBatch ||
         (fixed_batch && shape.is_static() && shape[0] == static_cast<ir::Dim>(*fixed_batch));
}

/// The number of samples per run.
std::size_t batch_of(const StreamPart& part, std::size_t batch) {
  if (batch == 0) fail(ErrorKind::kUsage, "batch: expected at least 1, found 0");
  const ir::Graph& graph = part.graph;
  if (const auto fixed = part.fixed_batch ? part.fixed_batch : ir::fixed_batch(graph)) {
    return *fixed;
  }
  const bool all_lead = std::ranges::all_of(graph.outputs(), [&](ir::ValueId id) {
    return leads_with_batch(graph.value(id).type.shape, std::nullopt);
  });
  return all_lead ? std::min(batch, part.num_samples) : 1;
}

void check_outputs(const ir::Graph& graph, std::size_t batch) {
  for (const ir::ValueId id : graph.outputs()) {
    const ir::Value& value = graph.value(id);
    if (leads_with_batch(value.type.shape, batch)) continue;
    fail(ErrorKind::kUnsupported, "output '" + value.name + "': expected the batch (" +
                                      std::to_string(batch) + ") as first extent, found " +
                                      value.type.to_string());
  }
}

/// The axis of an input along which samples lie.
std::size_t batch_axis(const ir::Value& value, std::size_t stated, std::size_t batch) {
  const ir::Shape& shape = value.type.shape;
  if (shape.is_static()) {
    const bool fits = stated < shape.rank() && shape[stated] == static_cast<ir::Dim>(batch);
    if (fits || batch == 1) return stated;
    fail(ErrorKind::kUnsupported,
         "input '" + value.name + "': expected the batch (" + std::to_string(batch) + ") as " +
             (stated == 0 ? "first extent" : "extent") + ", found " + value.type.to_string());
  }
  const auto axis = std::ranges::find_if(shape.dims(), ir::is_open);
  if (*axis != ir::kBatch || std::ranges::count_if(shape.dims(), ir::is_open) > 1) {
    fail(ErrorKind::kUnsupported,
         "input '" + value.name + "': expected one batch axis, found " + value.type.to_string());
  }
  return static_cast<std::size_t>(axis - shape.dims().begin());
}

/// The first `count` samples of a tensor.
ir::Tensor first_samples(ir::Tensor tensor, std::size_t count) {
  ir::Shape shape = tensor.shape();
  if (static_cast<std::size_t>(shape[0]) == count) return tensor;
  shape[0] = static_cast<ir::Dim>(count);
  ir::Tensor cut(tensor.element(), shape);
  std::copy_n(tensor.bytes().begin(), cut.bytes().size(), cut.bytes().begin());
  return cut;
}

[[noreturn]] void fail_integer(float found, const ir::Value& input) {
  std::ostringstream number;
  number << found;
  fail(ErrorKind::kFormat, "input '" + input.name + "': expected values of " +
                               std::string(to_string(input.type.encoding.element)) +
                               " below 2^24, found " + number.str());
}

/// Writes numbers as the integers that an input requires.
void write_integers(std::span<const float> numbers, const ir::Value& input,
                    std::span<std::byte> bytes) {
  constexpr float kMax = 1 << 24;  // from here on, float32 cannot hold every integer
  const ir::ElementType element = input.type.encoding.element;
  ir::with_element(element, [&](auto zero) {
    using T = decltype(zero);
    constexpr auto kLow = static_cast<float>(std::numeric_limits<T>::lowest());
    const float high =
        element == ir::ElementType::kBool ? 1 : static_cast<float>(std::numeric_limits<T>::max());
    T* to = reinterpret_cast<T*>(bytes.data());
    for (const float x : numbers) {
      const bool fits = std::abs(x) < kMax && x == std::trunc(x) && kLow <= x && x <= high;
      if (!fits) fail_integer(x, input);
      *to++ = static_cast<T>(x);
    }
  });
}

constexpr const char* kBatchAxis = "batch";
constexpr const char* kActivity = "running the network";

}  // namespace

/// The samples of one size, and the sessions of their graph.
class Stream::Part {
 public:
  Part(StreamPart part, const StreamOptions& options)
      : num_samples_(part.num_samples),
        execution_(options.execution),
        whole_runs_(options.whole_runs),
        batch_(batch_of(part, options.batch)),
        cuts_(batch_ != 1 && !options.whole_runs),
        fill_(std::move(part.fill)) {
    check(part.graph);
    for (const ir::ValueId id : part.graph.outputs()) {
      output_shapes_.push_back(part.graph.value(id).type.shape);
    }
    has_open_batch_ = !ir::fixed_batch(part.graph).has_value();
    for (std::size_t i = 0; i < part.graph.inputs().size(); ++i) {
      const std::size_t stated = i < part.batch_axes.size() ? part.batch_axes[i] : 0;
      batch_axes_.push_back(batch_axis(part.graph.value(part.graph.inputs()[i]), stated, batch_));
    }
    pool_.emplace(untied(std::move(part.graph)), plan_options());
    if (!part.shortcut) return;
    kept_inputs_ = std::move(part.shortcut->inputs);
    shortcut_pool_.emplace(std::move(part.shortcut->graph), plan_options());
  }

  /// Makes the plan that most batches need now instead of with the first batch.
  void plan() { (shortcut_pool_ ? *shortcut_pool_ : *pool_).plan(); }

  [[nodiscard]] std::size_t num_samples() const { return num_samples_; }
  [[nodiscard]] std::size_t batch_size() const { return batch_; }
  [[nodiscard]] std::size_t num_batches() const { return (num_samples_ + batch_ - 1) / batch_; }

  [[nodiscard]] std::size_t run_elements(std::size_t output) const {
    return output_shapes_.at(output).with_batch(batch_).element_count();
  }
  [[nodiscard]] std::size_t all_elements(std::size_t output) const {
    const ir::Shape& shape = output_shapes_.at(output);
    return has_open_batch_ ? shape.with_batch(1).element_count() * num_samples_
                           : shape.element_count() * num_batches();
  }

  /// Says that a batch is done, or not wanted; the last one frees the plans.
  void leave_batch() {
    if (++num_left_ % num_batches() != 0) return;
    pool_->clear();
    if (shortcut_pool_) shortcut_pool_->clear();
  }

  /// @param index   of the batch in this part
  /// @param number  of the batch in the stream
  Batch run(std::size_t index, std::size_t number) {
    Batch batch{.first = index * batch_, .number = number, .run = index, .outputs = {}};
    batch.count = std::min(batch_, num_samples_ - batch.first);
    const std::vector<const ir::Tensor*> kept =
        kept_inputs_ ? kept_inputs_(number) : std::vector<const ir::Tensor*>();
    SessionPool& pool = kept.empty() ? *pool_ : *shortcut_pool_;
    std::unique_ptr<Session> session = pool.take();
    if (kept.empty()) {
      fill_inputs(*session, batch);
    } else {
      copy_inputs(*session, kept);
    }
    session->run();
    for (std::size_t i = 0; i < session->plan().outputs().size(); ++i) {
      ir::Tensor output = session->output_tensor(i);
      batch.outputs.push_back(cuts_ ? first_samples(std::move(output), batch.count)
                                    : std::move(output));
    }
    pool.give_back(std::move(session));
    return batch;
  }

 private:
  void check(const ir::Graph& graph) const {
    if (num_samples_ == 0) fail(ErrorKind::kFormat, "there are no samples");
    if (cuts_) check_outputs(graph, batch_);
  }

  /// Samples do not depend on those before them, so states are inputs, which are filled as others.
  static ir::Graph untied(ir::Graph graph) {
    graph.untie();
    return graph;
  }

  [[nodiscard]] PlanSettings plan_options() const {
    return {.batch = batch_, .execution = execution_};
  }

  /// An input as a matrix of the axes before the batch by the batch and the axes after it.
  [[nodiscard]] MatrixView<float> samples_matrix(const ir::Shape& shape, std::size_t input,
                                                 std::span<float> values) const {
    std::size_t rows = 1;
    for (std::size_t axis = 0; batch_ != 1 && axis < batch_axes_[input]; ++axis) {
      rows *= static_cast<std::size_t>(shape[axis]);
    }
    return {values, rows, values.size() / std::max<std::size_t>(rows, 1)};
  }

  /// Pads a short last batch with zeros.
  static void copy_inputs(Session& session, const std::vector<const ir::Tensor*>& kept) {
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const std::span<const std::byte> bytes = kept[i]->bytes();
      const std::span<std::byte> input = session.input(i);
      std::ranges::copy(bytes, input.begin());
      std::ranges::fill(input.subspan(bytes.size()), std::byte{0});
    }
  }

  void fill_inputs(Session& session, const Batch& batch) const {
    for (std::size_t i = 0; i < session.plan().graph().inputs().size(); ++i) {
      const ir::Graph& graph = session.plan().graph();
      const ir::Value& value = graph.value(graph.inputs()[i]);
      if (value.type.is_dense(ir::ElementType::kFloat32)) {
        fill_numbers(samples_matrix(value.type.shape, i, session.input_as<float>(i)), i, batch);
      } else {
        std::vector<float> numbers(value.type.shape.element_count());
        fill_numbers(samples_matrix(value.type.shape, i, numbers), i, batch);
        write_integers(numbers, value, session.input(i));
      }
    }
  }

  /// Fills in an input of a run.
  void fill_numbers(MatrixView<float> x, std::size_t input, const Batch& batch) const {
    const std::size_t each = x.size() / batch_;
    const std::span<float> values(x.data_handle(), x.size());
    if (x.rows() == 1) return fill_samples(values, input, batch);
    // Samples lie side by side: each row of the input has a part of each.
    std::vector<float> samples(values.size());
    fill_samples(samples, input, batch);
    const std::size_t part = x.cols() / batch_;
    for (std::size_t row = 0; row < x.rows(); ++row) {
      for (std::size_t s = 0; s < batch_; ++s) {
        std::ranges::copy(std::span(samples).subspan(s * each + row * part, part),
                          x.row(row).subspan(s * part).begin());
      }
    }
  }

  /// The samples of a run, one after another.
  void fill_samples(std::span<float> values, std::size_t input, const Batch& batch) const {
    const std::size_t each = values.size() / batch_;
    fill_(batch.first, batch.count, input, values.first(batch.count * each));
    values = values.subspan(batch.count * each);
    if (!whole_runs_) return void(std::ranges::fill(values, 0.0F));
    while (!values.empty()) {
      const std::size_t count = std::min(values.size() / each, num_samples_);
      fill_(0, count, input, values.first(count * each));
      values = values.subspan(count * each);
    }
  }

  const std::size_t num_samples_;
  const ExecutionOptions execution_;
  const bool whole_runs_;
  const std::size_t batch_;
  const bool cuts_;  ///< whether outputs of the last run are cut
  const FillInput fill_;
  std::optional<SessionPool> pool_;
  std::vector<ir::Shape> output_shapes_;
  bool has_open_batch_ = false;          ///< whether an input has a symbolic batch
  std::vector<std::size_t> batch_axes_;  ///< by input
  std::function<std::vector<const ir::Tensor*>(std::size_t)> kept_inputs_;  ///< of a shortcut
  std::optional<SessionPool> shortcut_pool_;
  std::atomic<std::size_t> num_left_{0};
};

/// The state that all lanes share.
class Stream::State {
 public:
  State(std::vector<StreamPart> parts, StreamOptions options) : options_(std::move(options)) {
    if (options_.devices.empty()) options_.devices = spmd::Devices::for_threads();
    for (StreamPart& part : parts) {
      parts_.push_back(std::make_unique<Part>(std::move(part), options_));
      num_samples_ += parts_.back()->num_samples();
      num_batches_ += parts_.back()->num_batches();
    }
    parts_.front()->plan();
  }

  [[nodiscard]] std::size_t num_parts() const { return parts_.size(); }
  [[nodiscard]] const Part& part(std::size_t index) const { return *parts_.at(index); }
  [[nodiscard]] std::size_t num_batches() const { return num_batches_; }
  [[nodiscard]] spmd::MapOptions map_options() const {
    return {.axis_name = kBatchAxis, .axis_size = num_batches_, .devices = options_.devices};
  }

  Batch run(std::size_t number) {
    const Position at = position_of(number);
    Batch batch = parts_[at.part]->run(at.run, number);
    batch.part = at.part;
    batch.first += at.first;
    parts_[at.part]->leave_batch();
    report(batch.count);
    return batch;
  }
  void leave_out(std::size_t number) { parts_[position_of(number).part]->leave_batch(); }

  void finish() const {
    if (options_.progress) options_.progress(1, kActivity);
  }

 private:
  /// Of a batch.
  struct Position {
    std::size_t part = 0;
    std::size_t first = 0;  ///< of the samples of that part
    std::size_t run = 0;    ///< in that part
  };
  [[nodiscard]] Position position_of(std::size_t number) const {
    Position at{.run = number};
    while (at.run >= parts_[at.part]->num_batches()) {
      at.run -= parts_[at.part]->num_batches();
      at.first += parts_[at.part++]->num_samples();
    }
    return at;
  }

  /// Only the thread that started the work reports progress; it runs batches like the others.
  void report(std::size_t count) {
    const std::size_t done = num_done_ += count;
    if (!options_.progress || std::this_thread::get_id() != starter_) return;
    const std::size_t mine = num_samples_ / options_.devices.num_ranks() + 1;
    options_.progress(std::min(1.0, static_cast<double>(done) / static_cast<double>(mine)),
                      kActivity);
  }

  StreamOptions options_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::size_t num_samples_ = 0;
  std::size_t num_batches_ = 0;
  const std::thread::id starter_ = std::this_thread::get_id();
  std::atomic<std::size_t> num_done_{0};
};

namespace {

std::vector<StreamPart> single_part(const ir::Graph& graph, const StreamOptions& options,
                                    FillInput fill, std::optional<Shortcut> shortcut) {
  std::vector<StreamPart> parts;
  parts.push_back({graph, options.num_samples, std::move(fill), options.fixed_batch,
                   options.batch_axes, std::move(shortcut)});
  return parts;
}

}  // namespace

Stream::Stream(const ir::Graph& graph, const StreamOptions& options, FillInput fill,
               std::optional<Shortcut> shortcut)
    : Stream(single_part(graph, options, std::move(fill), std::move(shortcut)), options) {}
Stream::Stream(std::vector<StreamPart> parts, StreamOptions options)
    : state_(std::make_unique<State>(std::move(parts), std::move(options))) {}
Stream::~Stream() = default;

std::size_t Stream::num_parts() const { return state_->num_parts(); }
std::size_t Stream::batch_size(std::size_t part) const { return state_->part(part).batch_size(); }
std::size_t Stream::run_elements(std::size_t part, std::size_t output) const {
  return state_->part(part).run_elements(output);
}
std::size_t Stream::all_elements(std::size_t part, std::size_t output) const {
  return state_->part(part).all_elements(output);
}
std::size_t Stream::num_batches() const { return state_->num_batches(); }
Batch Stream::run_batch() const { return state_->run(spmd::axis_index(kBatchAxis)); }
spmd::MapOptions Stream::map_options() const { return state_->map_options(); }
void Stream::finish() const { state_->finish(); }

void Stream::visit(const std::function<bool(std::size_t)>& is_wanted,
                   const std::function<void(std::size_t, Batch)>& visit) const {
  const auto lane = [&] {
    const std::size_t batch = spmd::axis_index(kBatchAxis);
    if (is_wanted(batch)) {
      visit(batch, state_->run(batch));
    } else {
      state_->leave_out(batch);
    }
    return spmd::Array::scalar(std::int32_t{0});
  };
  spmd::spread_sum(lane, map_options())();
  finish();
}

std::vector<std::vector<float>> Stream::collect(
    std::size_t lists, std::size_t max_values,
    const std::function<std::vector<std::vector<float>>(const Batch&)>& numbers) const {
  using Lists = std::tuple<spmd::Array, spmd::Array>;  // [lists, max_values] values, [lists] sizes
  const auto lane = [&]() -> Lists {
    const std::vector<std::vector<float>> found = numbers(run_batch());
    HALFTONE_ASSERT(found.size() == lists);
    const auto rows = static_cast<std::int64_t>(lists);
    return {spmd::Array::make<float>({rows, static_cast<std::int64_t>(max_values)},
                                     [&](std::span<float> padded) {
                                       std::ranges::fill(padded, 0.0F);
                                       for (std::size_t l = 0; l < lists; ++l) {
                                         HALFTONE_ASSERT(found[l].size() <= max_values);
                                         std::ranges::copy(found[l],
                                                           padded.subspan(l * max_values).begin());
                                       }
                                     }),
            spmd::Array::make<std::int64_t>({rows}, [&](std::span<std::int64_t> counts) {
              for (std::size_t l = 0; l < lists; ++l) {
                counts[l] = static_cast<std::int64_t>(found[l].size());
              }
            })};
  };
  const auto [padded, counts] = spmd::gather(spmd::spread(lane, map_options())());
  finish();
  std::vector<std::vector<float>> result(lists);
  const auto values = padded.as<float>();
  const auto sizes = counts.as<std::int64_t>();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto row = values.subspan(i * max_values, static_cast<std::size_t>(sizes[i]));
    result[i % lists].insert(result[i % lists].end(), row.begin(), row.end());
  }
  return result;
}

}  // namespace halftone::runtime
