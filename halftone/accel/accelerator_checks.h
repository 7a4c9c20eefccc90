// SPDX-License-Identifier: Apache-2.0
// What the parts of a description must not say. All fail with kUsage at the line.
#pragma once

#include <toml++/toml.h>

#include "halftone/accel/accelerator.h"

namespace halftone::accel {

void check_rate(const toml::table& table, const Rate& rate);
void check_unit(const toml::table& table, const ComputeUnit& unit);
void check_memory(const toml::table& table, const Memory& memory);
void check_rule(const toml::table& table, const OperatorRule& rule);
/// Of parts that were checked alone.
void check_accelerator(const toml::table& root, const Accelerator& accelerator);

}  // namespace halftone::accel
