// SPDX-License-Identifier: Apache-2.0
// The functions of toml++, whose headers only declare them elsewhere (TOML_HEADER_ONLY=0).
#define TOML_IMPLEMENTATION
#include <toml++/toml.h>
