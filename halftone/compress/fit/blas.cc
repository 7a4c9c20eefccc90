// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/blas.h"

#include <cblas.h>

namespace halftone::compress {

void use_single_threaded_blas() { openblas_set_num_threads(1); }

}  // namespace halftone::compress
