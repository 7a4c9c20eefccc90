// SPDX-License-Identifier: Apache-2.0
#include "halftone/server/network_service.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/server/request_error.h"

namespace halftone::server {
namespace {

runtime::PlanSettings settings_of() {
  return {1, num_threads(), {.float_order = runtime::FloatOrder::kFixed}};
}

/// Whether a value has its samples one after another.
bool leads_with_batch(const ir::Shape& shape) {
  if (shape.rank() == 0 || shape[0] != ir::kBatch) return false;
  for (std::size_t axis = 1; axis < shape.rank(); ++axis) {
    if (shape[axis] <= 0) return false;
  }
  return true;
}

std::size_t samples_of(const ir::Tensor& tensor) {
  return static_cast<std::size_t>(tensor.shape()[0]);
}

ir::Shape with_samples(const ir::Shape& shape, std::size_t count) {
  std::vector<ir::Dim> dims;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) dims.push_back(shape[axis]);
  dims[0] = static_cast<ir::Dim>(count);
  return ir::Shape(std::move(dims));
}

}  // namespace

NetworkService::NetworkService(Network network, std::string name)
    : network_(std::move(network)),
      graph_(network_.graph),
      name_(std::move(name)),
      batches_(can_batch()),
      sessions_(network_, settings_of()),
      thread_([this] { work(); }) {}

NetworkService::~NetworkService() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  has_job_.notify_all();
  thread_.join();
}

bool NetworkService::can_batch() const {
  if (is_open(network_) || !graph_.states().empty() || graph_.inputs().empty()) return false;
  const auto leads = [&](ir::ValueId id) { return leads_with_batch(graph_.value(id).type.shape); };
  return std::ranges::all_of(graph_.inputs(), leads) &&
         std::ranges::all_of(graph_.outputs(), leads);
}

void NetworkService::check(const std::vector<ir::Tensor>& inputs) const {
  if (!batches_) return;  // a run says it
  const bool has_samples = inputs[0].shape().rank() > 0 && inputs[0].shape()[0] > 0;
  const std::size_t count = has_samples ? samples_of(inputs[0]) : 1;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ir::Value& value = graph_.value(graph_.inputs()[i]);
    const ir::Shape wanted = with_samples(value.type.shape, count);
    if (inputs[i].shape() == wanted) continue;
    throw RequestError(400,
                       "input '" + value.name + "': expected the shape " + wanted.to_string() +
                           ", found " + inputs[i].shape().to_string(),
                       "inputs");
  }
}

std::vector<ir::Tensor> NetworkService::run(std::vector<ir::Tensor> inputs) {
  check(inputs);
  Job job{std::move(inputs)};
  std::unique_lock lock(mutex_);
  if (is_draining_) throw RequestError(503, "the server is about to end", {}, "ending");
  waiting_.push_back(&job);
  has_job_.notify_one();
  is_done_.wait(lock, [&] { return job.is_done; });
  if (job.error) std::rethrow_exception(job.error);
  return std::move(job.outputs);
}

RunCounts NetworkService::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

bool NetworkService::is_draining() const {
  const std::lock_guard lock(mutex_);
  return is_draining_;
}

void NetworkService::drain() {
  const std::lock_guard lock(mutex_);
  is_draining_ = true;
}

std::vector<NetworkService::Job*> NetworkService::take() {
  std::vector<Job*> jobs;
  std::size_t count = 0;
  while (!waiting_.empty()) {
    Job* next = waiting_.front();
    const std::size_t more = batches_ ? samples_of(next->inputs[0]) : kMaxSamples;
    if (!jobs.empty() && count + more > kMaxSamples) break;
    count += more;
    jobs.push_back(next);
    waiting_.pop_front();
  }
  return jobs;
}

void NetworkService::work() {
  const UseThreadSettings use(settings_);
  std::unique_lock lock(mutex_);
  for (;;) {
    has_job_.wait(lock, [&] { return is_over_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const std::vector<Job*> jobs = take();
    lock.unlock();
    try {
      if (batches_) {
        run_together(jobs);
      } else {
        for (Job* job : jobs) run_alone(*job);
      }
    } catch (...) {
      for (Job* job : jobs) job->error = std::current_exception();
    }
    lock.lock();
    for (Job* job : jobs) job->is_done = true;
    is_done_.notify_all();
  }
}

/// Samples lie one after another in memory, so those of all jobs are one list, of which runs take
/// as many as powers of two: few plans serve any number.
void NetworkService::run_together(const std::vector<Job*>& jobs) {
  Samples all;
  for (const Job* job : jobs) all.count += samples_of(job->inputs[0]);
  for (std::size_t i = 0; i < graph_.inputs().size(); ++i) {
    std::vector<std::byte>& bytes = all.inputs.emplace_back();
    for (const Job* job : jobs) {
      const auto part = std::as_const(job->inputs[i]).bytes();
      bytes.insert(bytes.end(), part.begin(), part.end());
    }
  }
  all.outputs.resize(graph_.outputs().size());
  std::uint64_t runs = 0;
  for (std::size_t done = 0; done < all.count; ++runs) {
    const std::size_t count = std::bit_floor(std::min(all.count - done, kMaxSamples));
    run_part(*jobs[0], done, count, all);
    done += count;
  }
  std::size_t first = 0;
  for (Job* job : jobs) {
    const std::size_t count = samples_of(job->inputs[0]);
    for (std::size_t i = 0; i < all.outputs.size(); ++i) {
      ir::Tensor tensor(all.last[i].element(), with_samples(all.last[i].shape(), count));
      const std::size_t sample = all.outputs[i].size() / all.count;
      std::memcpy(tensor.bytes().data(), all.outputs[i].data() + first * sample, count * sample);
      job->outputs.push_back(std::move(tensor));
    }
    first += count;
  }
  const std::lock_guard lock(mutex_);
  counts_.runs += runs;
  counts_.samples += all.count;
}

void NetworkService::run_part(const Job& like, std::size_t first, std::size_t count, Samples& all) {
  std::vector<ir::Shape> shapes;
  std::vector<ir::Tensor> part;
  for (std::size_t i = 0; i < all.inputs.size(); ++i) {
    const std::size_t sample = all.inputs[i].size() / all.count;
    shapes.push_back(with_samples(like.inputs[i].shape(), count));
    part.emplace_back(like.inputs[i].element(), shapes.back());
    std::memcpy(part.back().bytes().data(), all.inputs[i].data() + first * sample, count * sample);
  }
  all.last = sessions_.at(shapes).run(part);
  for (std::size_t i = 0; i < all.outputs.size(); ++i) {
    const auto found = std::as_const(all.last[i]).bytes();
    all.outputs[i].insert(all.outputs[i].end(), found.begin(), found.end());
  }
}

void NetworkService::run_alone(Job& job) {
  try {
    std::vector<ir::Shape> shapes;
    for (const ir::Tensor& input : job.inputs) shapes.push_back(input.shape());
    sessions_.reset();  // each request is a stream of its own
    job.outputs = sessions_.at(shapes).run(job.inputs);
    const std::lock_guard lock(mutex_);
    ++counts_.runs;
    counts_.samples +=
        job.inputs.empty() || job.inputs[0].shape().rank() == 0 ? 1 : samples_of(job.inputs[0]);
  } catch (const Error& error) {
    const bool is_theirs = error.kind() == ErrorKind::kShape || error.kind() == ErrorKind::kUsage;
    job.error = is_theirs ? std::make_exception_ptr(RequestError(400, error.what(), "inputs"))
                          : std::current_exception();
  }
}

}  // namespace halftone::server
