// SPDX-License-Identifier: Apache-2.0
// The measured shapes and encodings.
#pragma once

#include <string>
#include <vector>

#include "bench/case.h"

namespace halftone::bench {

/// @param threads  of every suite except "threads", which compares one thread with two
std::vector<Suite> all_suites(int threads);

/// Network files as users run them, one sample each, beside the first ONNX file on ONNX Runtime.
Suite model_suite(const std::vector<std::string>& files, int threads);

}  // namespace halftone::bench
