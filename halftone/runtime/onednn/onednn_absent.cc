// SPDX-License-Identifier: Apache-2.0
// Implements onednn.h without oneDNN.
#include "halftone/runtime/onednn/onednn.h"

namespace halftone::runtime {

OneDnnImplementations onednn_implementations() { return {}; }

OneDnnThreads::OneDnnThreads(int count) : before_(count) {}

OneDnnThreads::~OneDnnThreads() = default;

}  // namespace halftone::runtime
