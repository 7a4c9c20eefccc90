// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace halftone::compress {

/// Has the BLAS library do each product on the thread that asks for it: Halftone parallelises over
/// rows and batches itself, and the order of a sum must not depend on the number of threads.
void use_single_threaded_blas();

}  // namespace halftone::compress
