// SPDX-License-Identifier: Apache-2.0
// The parts of the module _halftone. Each binds one header of halftone/api; what they mean, and the
// checks with Python's own messages, are in the typed Python above them.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <utility>

namespace halftone::python {

/// A result as the program prints it: for people, and as JSON.
using Texts = std::pair<std::string, std::string>;

/// The one table from ErrorKind to Python's exceptions.
void bind_errors();
void bind_network(nanobind::module_& module);
void bind_session(nanobind::module_& module);
void bind_data(nanobind::module_& module);
/// Adds fields(job), the rows of the options of a job.
void bind_field_rows(nanobind::module_& module);
void bind_hardware(nanobind::module_& module);
void bind_jobs(nanobind::module_& module);
void bind_language(nanobind::module_& module);
void bind_language_quantize(nanobind::module_& module);
void bind_report(nanobind::module_& module);
void bind_sensitivity(nanobind::module_& module);
void bind_systems(nanobind::module_& module);
/// Of the module _halftone_train.
void bind_training(nanobind::module_& module);

}  // namespace halftone::python
