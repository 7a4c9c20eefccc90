// SPDX-License-Identifier: Apache-2.0
// The network behind the server: requests run together.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "halftone/api/sized_sessions.h"
#include "halftone/base/thread_settings.h"
#include "halftone/server/metrics.h"

namespace halftone::server {

struct RunCounts {
  std::uint64_t runs = 0;
  std::uint64_t samples = 0;  ///< of all runs
};

/// Runs requests of any thread on one of its own. Samples of requests that wait are run together
/// where the batch leads all inputs and outputs; each is what it is alone, bit for bit, since float
/// sums have a fixed order.
class NetworkService {
 public:
  /// Samples of a run at most.
  static constexpr std::size_t kMaxSamples = 64;

  /// @param name  of the network in answers
  NetworkService(Network network, std::string name);
  ~NetworkService();
  NetworkService(const NetworkService&) = delete;
  NetworkService& operator=(const NetworkService&) = delete;

  /// The outputs for some inputs, in order, with as many samples as these.
  /// @throws RequestError 400 if the network does not take them; 503 after drain()
  std::vector<ir::Tensor> run(std::vector<ir::Tensor> inputs);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const ir::Graph& graph() const { return graph_; }
  [[nodiscard]] Metrics& metrics() { return metrics_; }
  [[nodiscard]] RunCounts counts() const;
  [[nodiscard]] bool is_draining() const;
  /// Takes no more requests.
  void drain();

 private:
  /// What a request wants, on its thread until it is done.
  struct Job {
    std::vector<ir::Tensor> inputs;
    std::vector<ir::Tensor> outputs{};
    std::exception_ptr error{};
    bool is_done = false;
  };

  [[nodiscard]] bool can_batch() const;
  /// Checks a request. @throws RequestError 400
  void check(const std::vector<ir::Tensor>& inputs) const;
  void work();
  /// Jobs that run together: the first one that waits, and others as far as they fit.
  [[nodiscard]] std::vector<Job*> take();
  void run_together(const std::vector<Job*>& jobs);
  /// The samples of several jobs, as bytes by input and output.
  struct Samples {
    std::size_t count = 0;
    std::vector<std::vector<std::byte>> inputs{};
    std::vector<std::vector<std::byte>> outputs{};  ///< as far as they have run
    std::vector<ir::Tensor> last{};                 ///< outputs of the last run
  };
  /// @param like  a job with inputs of the same shapes but for the batch
  void run_part(const Job& like, std::size_t first, std::size_t count, Samples& all);
  void run_alone(Job& job);

  Network network_;
  ir::Graph graph_;  ///< as it was read
  std::string name_;
  bool batches_;
  Metrics metrics_;
  ThreadSettings settings_ = thread_settings();
  SizedSessions sessions_;
  mutable std::mutex mutex_;
  std::condition_variable has_job_;
  std::condition_variable is_done_;
  std::deque<Job*> waiting_;
  RunCounts counts_;
  bool is_draining_ = false;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace halftone::server
