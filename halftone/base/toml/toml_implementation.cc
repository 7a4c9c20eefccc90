// SPDX-License-Identifier: Apache-2.0
// The functions of toml++, whose headers only declare them elsewhere: TOML_IMPLEMENTATION is
// defined for this source alone.
#include <toml++/toml.h>
