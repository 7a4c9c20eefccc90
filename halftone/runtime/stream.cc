// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/stream.h"

#include <algorithm>
#include <condition_variable>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/ir/symbolic_batch.h"
#include "halftone/runtime/session.h"

namespace halftone::runtime {
namespace {

/// Lets batches pass one at a time in order. A batch that fails lets those before it pass and
/// turns those after it away.
class Turnstile {
 public:
  /// Waits for the turn of batch `index`, then runs `body`; false, without running it, if an
  /// earlier batch has failed.
  template <typename Body>
  bool pass(std::size_t index, Body&& body) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return next_ == index || failed_ < index; });
    if (failed_ < index) return false;
    // The lock stays: nobody else may pass before `body` is done.
    body();
    ++next_;
    changed_.notify_all();
    return true;
  }

  void fail_at(std::size_t index) {
    const std::lock_guard lock(mutex_);
    failed_ = std::min(failed_, index);
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t next_ = 0;
  std::size_t failed_ = std::numeric_limits<std::size_t>::max();
};

/// The sessions of one plan: as many as run at once.
class SessionPool {
 public:
  explicit SessionPool(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}

  std::unique_ptr<Session> take() {
    const std::lock_guard lock(mutex_);
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
  std::mutex mutex_;
  std::shared_ptr<const Plan> plan_;
  std::vector<std::unique_ptr<Session>> free_;
};

/// The samples of one run.
std::size_t batch_of(const ir::Graph& graph, const StreamOptions& options) {
  if (options.batch == 0) fail(ErrorKind::kUsage, "batch: expected at least 1, found 0");
  return ir::fixed_batch(graph).value_or(std::min(options.batch, options.num_samples));
}

void check_batch_first(const ir::Value& value, const std::string& what, ir::Dim batch) {
  const ir::Shape& shape = value.type.shape;
  if (shape.rank() == 0 || shape[0] != batch) {
    fail(ErrorKind::kUnsupported, what + " '" + value.name + "': expected the batch (" +
                                      (batch == ir::kBatch ? "N" : std::to_string(batch)) +
                                      ") as first extent, found " + value.type.to_string());
  }
}

void check_streamable(const ir::Graph& graph, std::size_t batch) {
  const ir::Dim extent = ir::fixed_batch(graph) ? static_cast<ir::Dim>(batch) : ir::kBatch;
  for (const ir::ValueId id : graph.inputs()) {
    const ir::Value& value = graph.value(id);
    if (!value.type.is_dense(ir::ElementType::kFloat32)) {
      fail(ErrorKind::kUnsupported,
           "input '" + value.name + "': expected float32, found " + value.type.to_string());
    }
    check_batch_first(value, "input", extent);
  }
  for (const ir::ValueId id : graph.outputs()) {
    check_batch_first(graph.value(id), "output", extent);
  }
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

/// One call of run_stream().
class Stream {
 public:
  Stream(std::shared_ptr<const Plan> plan, std::size_t batch, const StreamOptions& options,
         const FillInput& fill, const ConsumeOutputs& consume)
      : batch_(batch), options_(options), fill_(fill), consume_(consume), pool_(std::move(plan)) {}

  void run() {
    const std::size_t num_batches = options_.num_samples / batch_ +
                                    static_cast<std::size_t>(options_.num_samples % batch_ != 0);
    parallel_for(num_batches, [this](std::size_t index) {
      try {
        run_batch(index);
      } catch (...) {
        filling_.fail_at(index);
        consuming_.fail_at(index);
        throw;
      }
    });
  }

 private:
  void run_batch(std::size_t index) {
    const std::size_t first = index * batch_;
    const std::size_t count = std::min(batch_, options_.num_samples - first);
    std::unique_ptr<Session> session = pool_.take();
    if (!filling_.pass(index, [&] { fill_inputs(*session, first, count); })) return;
    session->run();
    std::vector<ir::Tensor> outputs;
    for (std::size_t i = 0; i < session->plan().graph().outputs().size(); ++i) {
      outputs.push_back(first_samples(session->output_tensor(i), count));
    }
    pool_.give_back(std::move(session));
    consuming_.pass(index, [&] {
      consume_(first, count, outputs);
      report(first + count);
    });
  }

  void fill_inputs(Session& session, std::size_t first, std::size_t count) {
    for (std::size_t i = 0; i < session.plan().graph().inputs().size(); ++i) {
      const std::span<float> values = session.input_as<float>(i);
      const std::size_t used = values.size() / batch_ * count;
      fill_(first, count, i, values.first(used));
      std::ranges::fill(values.subspan(used), 0.0F);
    }
  }

  /// Progress is for the thread that started the work: it takes part like the others.
  void report(std::size_t done) {
    if (!options_.progress || std::this_thread::get_id() != starter_) return;
    options_.progress(static_cast<double>(done) / static_cast<double>(options_.num_samples),
                      "running the network");
  }

  const std::size_t batch_;
  const StreamOptions& options_;
  const FillInput& fill_;
  const ConsumeOutputs& consume_;
  const std::thread::id starter_ = std::this_thread::get_id();
  SessionPool pool_;
  Turnstile filling_;
  Turnstile consuming_;
};

}  // namespace

void run_stream(const ir::Graph& graph, const StreamOptions& options, const FillInput& fill,
                const ConsumeOutputs& consume) {
  const std::size_t batch = batch_of(graph, options);
  check_streamable(graph, batch);
  if (options.num_samples == 0) return;
  Stream(make_plan(graph, {.batch = batch, .int8_activations = options.int8_activations}), batch,
         options, fill, consume)
      .run();
  if (options.progress) options.progress(1, "running the network");
}

}  // namespace halftone::runtime
