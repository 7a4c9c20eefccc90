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

 private:
  void plan_once() {
    if (plan_ == nullptr) plan_ = make_plan(std::move(graph_), options_);
  }

  std::mutex mutex_;
  ir::Graph graph_;  ///< until the plan exists
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

/// The number of samples per run that the graph fixes.
std::optional<std::size_t> fixed_batch_of(const ir::Graph& graph, const StreamOptions& options) {
  return options.fixed_batch ? options.fixed_batch : ir::fixed_batch(graph);
}

/// The number of samples per run.
std::size_t batch_of(const ir::Graph& graph, const StreamOptions& options) {
  if (options.batch == 0) fail(ErrorKind::kUsage, "batch: expected at least 1, found 0");
  if (const auto fixed = fixed_batch_of(graph, options)) return *fixed;
  const bool all_lead = std::ranges::all_of(graph.outputs(), [&](ir::ValueId id) {
    return leads_with_batch(graph.value(id).type.shape, std::nullopt);
  });
  return all_lead ? std::min(options.batch, options.num_samples) : 1;
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
  const auto axis = std::ranges::find_if(shape.dims(), ir::is_batch);
  if (*axis != ir::kBatch || std::ranges::count_if(shape.dims(), ir::is_batch) > 1) {
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

/// The state that all lanes share.
class Stream::State {
 public:
  State(const ir::Graph& graph, StreamOptions options, FillInput fill,
        std::optional<Shortcut> shortcut)
      : options_(std::move(options)),
        batch_(batch_of(graph, options_)),
        cuts_(batch_ != 1 && !options_.whole_runs),
        fill_(std::move(fill)),
        pool_(untied(checked(graph)), plan_options()) {
    if (options_.devices.empty()) options_.devices = spmd::Devices::for_threads();
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
      const std::size_t stated = i < options_.batch_axes.size() ? options_.batch_axes[i] : 0;
      batch_axes_.push_back(batch_axis(graph.value(graph.inputs()[i]), stated, batch_));
    }
    if (shortcut) {
      kept_inputs_ = std::move(shortcut->inputs);
      shortcut_pool_.emplace(std::move(shortcut->graph), plan_options());
      shortcut_pool_->plan();
    } else {
      pool_.plan();
    }
  }

  [[nodiscard]] std::size_t batch_size() const { return batch_; }
  [[nodiscard]] std::size_t num_batches() const {
    return (options_.num_samples + batch_ - 1) / batch_;
  }
  [[nodiscard]] spmd::MapOptions map_options() const {
    return {.axis_name = kBatchAxis, .axis_size = num_batches(), .devices = options_.devices};
  }

  Batch run(std::size_t index) {
    Batch batch{index * batch_, 0, {}};
    batch.count = std::min(batch_, options_.num_samples - batch.first);
    const std::vector<const ir::Tensor*> kept =
        kept_inputs_ ? kept_inputs_(index) : std::vector<const ir::Tensor*>();
    SessionPool& pool = kept.empty() ? pool_ : *shortcut_pool_;
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
    report(batch.count);
    return batch;
  }

  void finish() const {
    if (options_.progress) options_.progress(1, kActivity);
  }

 private:
  [[nodiscard]] const ir::Graph& checked(const ir::Graph& graph) const {
    if (options_.num_samples == 0) fail(ErrorKind::kFormat, "there are no samples");
    if (cuts_) check_outputs(graph, batch_);
    return graph;
  }

  /// Samples do not depend on those before them, so states are inputs, which are filled as others.
  static ir::Graph untied(ir::Graph graph) {
    graph.untie();
    return graph;
  }

  [[nodiscard]] PlanSettings plan_options() const {
    return {.batch = batch_, .execution = options_.execution};
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
    if (!options_.whole_runs) return void(std::ranges::fill(values, 0.0F));
    while (!values.empty()) {
      const std::size_t count = std::min(values.size() / each, options_.num_samples);
      fill_(0, count, input, values.first(count * each));
      values = values.subspan(count * each);
    }
  }

  /// Only the thread that started the work reports progress; it runs batches like the others.
  void report(std::size_t count) {
    const std::size_t done = num_done_ += count;
    if (!options_.progress || std::this_thread::get_id() != starter_) return;
    const std::size_t mine = options_.num_samples / options_.devices.num_ranks() + 1;
    options_.progress(std::min(1.0, static_cast<double>(done) / static_cast<double>(mine)),
                      kActivity);
  }

  StreamOptions options_;
  const std::size_t batch_;
  const bool cuts_;  ///< whether outputs of the last run are cut
  const FillInput fill_;
  const std::thread::id starter_ = std::this_thread::get_id();
  SessionPool pool_;
  std::vector<std::size_t> batch_axes_;                                     ///< by input
  std::function<std::vector<const ir::Tensor*>(std::size_t)> kept_inputs_;  ///< of a shortcut
  std::optional<SessionPool> shortcut_pool_;
  std::atomic<std::size_t> num_done_{0};
};

Stream::Stream(const ir::Graph& graph, StreamOptions options, FillInput fill,
               std::optional<Shortcut> shortcut)
    : state_(std::make_unique<State>(graph, std::move(options), std::move(fill),
                                     std::move(shortcut))) {}
Stream::~Stream() = default;

std::size_t Stream::batch_size() const { return state_->batch_size(); }
std::size_t Stream::num_batches() const { return state_->num_batches(); }
Batch Stream::run_batch() const { return state_->run(spmd::axis_index(kBatchAxis)); }
spmd::MapOptions Stream::map_options() const { return state_->map_options(); }
void Stream::finish() const { state_->finish(); }

void Stream::visit(const std::function<bool(std::size_t)>& is_wanted,
                   const std::function<void(std::size_t, Batch)>& visit) const {
  const auto lane = [&] {
    const std::size_t batch = spmd::axis_index(kBatchAxis);
    if (is_wanted(batch)) visit(batch, state_->run(batch));
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
