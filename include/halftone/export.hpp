// SPDX-License-Identifier: Apache-2.0
// How the C++ API is declared. Its names are halftone::NAME for those who use it; their symbols say
// halftone::v0::NAME, and v0 becomes v1 with version 1.0.
#pragma once

/// What the library shows to programs that link it.
#define HALFTONE_CPP_API __attribute__((visibility("default")))

#ifdef HALFTONE_INSIDE
// The library itself has names of its own in namespace halftone.
#define HALFTONE_VERSIONED
#else
/// The namespace v0 is part of halftone.
#define HALFTONE_VERSIONED inline
#endif
