// SPDX-License-Identifier: Apache-2.0
// How fast a language model reads and writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "halftone/export.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// For LanguageModel::measure_speed(). The tokens are random.
  struct LanguageSpeedOptions {
    std::size_t prompt = 512;            ///< tokens that are read at once; 0: none
    std::size_t generate = 128;          ///< tokens that are written one by one; 0: none
    std::vector<std::size_t> depths{0};  ///< tokens in front of them
    std::uint64_t seed = 0;
    /// Numbers of processes, on a machine each, that are to write together: how fast they would be
    /// is predicted from the steps of this one.
    std::vector<std::size_t> ranks{};
    std::vector<double> links{10, 100};    ///< of their network, in Gbit/s
    std::vector<double> latencies{25, 2};  ///< microseconds of a message on each link
  };

  /// The median of three runs.
  struct SpeedAtDepth {
    std::size_t depth = 0;
    double prompt_tokens_per_second = 0;  ///< 0: none were read
    double tokens_per_second = 0;         ///< 0: none were written
    std::size_t bytes_per_token = 0;      ///< read for each token that is written; 0: not known
    double bandwidth_share = 0;           ///< of the memory's, which these bytes take; 0: not known
    double predicted_prompt_tokens_per_second = 0;  ///< of described hardware; 0: none was given
    double predicted_tokens_per_second = 0;
  };

  /// How fast several processes would write, with no tokens in front.
  struct SpeedOnRanks {
    std::size_t ranks = 2;
    double link = 0;     ///< of their network, in Gbit/s
    double latency = 0;  ///< microseconds of a message
    double tokens_per_second = 0;
    double speedup = 1;            ///< over one process
    double message_share = 0;      ///< of the time
    std::size_t weight_bytes = 0;  ///< of the matrices of a process at most
  };

  /// How fast a language model reads and writes.
  struct LanguageSpeed {
    int threads = 1;
    std::size_t prompt_tokens = 0;
    std::size_t generated_tokens = 0;
    double memory_bytes_per_second = 0;  ///< measured in the same run
    std::vector<SpeedAtDepth> depths;
    std::string accelerator{};  ///< that predictions are of; empty: there are none
    std::vector<SpeedOnRanks> ranks{};
  };

}  // namespace v0
}  // namespace halftone
